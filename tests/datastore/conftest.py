"""A repo, and the datastore in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import bayou
from bayou.config import newrepo


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repo, which is where we stand, with a home of its own."""
    folder = tmp_path / "repo"
    newrepo.create(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SWAMP_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BAYOU_DURABLE", "0")
    for name in ("SWAMP_DATASTORE", "SWAMP_REPO_DIR"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def datastore(repo: Path) -> Iterator[bayou.Datastore]:
    with bayou.open(repo) as opened:
        yield opened
