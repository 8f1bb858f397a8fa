"""A new repo has all that clients expect, and making one changes nothing that was there."""

import os
from pathlib import Path

import pytest

from bayou.config import load, newrepo
from bayou.errors import Conflict, ErrorKind, UsageError


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


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\n.swamp/\r\n", b"a\r\n.swamp/\r\n%(begin)s\r\n.swamp-sources.yaml\r\n%(end)s\r\n"),
        (b"caf\xe9", b"caf\xe9\n%(begin)s\n.swamp/\n.swamp-sources.yaml\n%(end)s\n"),
        (b"a\x0cb\n", b"a\x0cb\n%(begin)s\n.swamp/\n.swamp-sources.yaml\n%(end)s\n"),
    ],
)
def test_what_git_ignored_before_stays_byte_for_byte(tmp_path: Path, before: bytes, after: bytes) -> None:
    (tmp_path / ".gitignore").write_bytes(before)
    newrepo.create(tmp_path)
    section = {b"begin": newrepo.BEGIN.encode(), b"end": newrepo.END.encode()}
    assert (tmp_path / ".gitignore").read_bytes() == after % section


@pytest.mark.parametrize("target", ["rules", "not/yet"])
def test_a_link_in_the_place_of_the_rules_stays_one(tmp_path: Path, target: str) -> None:
    (tmp_path / "rules").touch()
    (tmp_path / "not").mkdir()
    (tmp_path / ".gitignore").symlink_to(target)
    newrepo.create(tmp_path)
    assert (tmp_path / ".gitignore").is_symlink()
    assert ".swamp/" in (tmp_path / target).read_text()


def test_the_rules_of_a_folder_that_is_a_repo_already_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".swamp.yaml").write_text("repoId: a\n")
    with pytest.raises(Conflict):
        newrepo.create(tmp_path)
    assert [entry.name for entry in os.scandir(tmp_path)] == [".swamp.yaml"]


@pytest.mark.parametrize("in_the_way", ["repo", "repo/.swamp", "repo/.gitignore/x"])
def test_what_is_in_the_way_is_named_and_a_second_try_works(tmp_path: Path, in_the_way: str) -> None:
    """The marker comes last: what is not yet a repo can be made one by the same command."""
    thing = tmp_path / in_the_way
    thing.parent.mkdir(parents=True, exist_ok=True)
    thing.touch()
    with pytest.raises(UsageError, match=in_the_way.removesuffix("/x")):
        newrepo.create(tmp_path / "repo")
    thing.rename(tmp_path / "aside")
    if thing.parent.name == ".gitignore":
        thing.parent.rmdir()
    newrepo.create(tmp_path / "repo")
    assert load(tmp_path / "repo", {}, home=tmp_path).warnings == ()
