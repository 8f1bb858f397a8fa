"""A new repo has all that clients expect, and making one changes nothing that was there."""

import os
from pathlib import Path

import pytest

from bayou.config import load, newrepo
from bayou.errors import Conflict, ErrorKind


def test_a_new_repo_is_found_and_keeps_its_data_in_itself(tmp_path: Path) -> None:
    made = newrepo.create(tmp_path / "deep" / "repo")
    settings = load(tmp_path / "deep" / "repo", {}, home=tmp_path)
    assert settings.repo == tmp_path / "deep" / "repo"
    assert settings.repo_id == made.values["repoId"]
    assert settings.warnings == ()
    assert {entry.name for entry in os.scandir(settings.repo / ".swamp")} >= {
        "data",
        "outputs",
        "workflow-runs",
        "audit",
    }


def test_git_ignores_runtime_data_and_keeps_its_other_rules(tmp_path: Path) -> None:
    ignored = tmp_path / ".gitignore"
    ignored.write_text("*.pyc")
    newrepo.create(tmp_path)
    lines = ignored.read_text().splitlines()
    assert lines[0] == "*.pyc"
    assert {".swamp/", ".swamp-sources.yaml"} <= set(lines)


def test_rules_that_are_there_are_not_repeated(tmp_path: Path) -> None:
    ignored = tmp_path / ".gitignore"
    ignored.write_text(".swamp/\n.swamp-sources.yaml\n")
    newrepo.create(tmp_path)
    assert ignored.read_text() == ".swamp/\n.swamp-sources.yaml\n"


def test_a_repo_is_not_made_twice(tmp_path: Path) -> None:
    first = newrepo.create(tmp_path)
    with pytest.raises(Conflict) as caught:
        newrepo.create(tmp_path)
    assert caught.value.kind is ErrorKind.ALREADY_EXISTS
    assert (tmp_path / ".swamp.yaml").read_text() == first.text
