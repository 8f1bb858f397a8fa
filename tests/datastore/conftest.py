"""The datastore of an empty repo."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import bayou


@pytest.fixture
def datastore(repo: Path) -> Iterator[bayou.Datastore]:
    with bayou.open(repo) as opened:
        yield opened
