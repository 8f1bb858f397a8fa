"""The marker is read whole or named as broken, and written without touching what it does not understand."""

import os
import stat
from pathlib import Path

import pytest

from bayou.config.marker import create, read, save
from bayou.errors import BayouError, Conflict, Denied, ErrorKind, Unavailable, UsageError


def _write(repo: Path, text: str) -> Path:
    path = repo / ".swamp.yaml"
    path.write_bytes(text.encode())
    return path


def test_a_folder_without_a_marker_has_none(tmp_path: Path) -> None:
    assert read(tmp_path) is None


def test_half_a_repo_is_not_the_same_as_no_repo(tmp_path: Path) -> None:
    (tmp_path / ".swamp").mkdir()
    with pytest.raises(UsageError, match="only partly initialised") as refused:
        read(tmp_path)
    assert refused.value.kind is ErrorKind.REPO_INCOMPLETE
    assert "bayou init" in refused.value.remedy


@pytest.mark.parametrize("text", ["", "# nothing yet\n"])
def test_an_empty_marker_says_nothing(tmp_path: Path, text: str) -> None:
    _write(tmp_path, text)
    marker = read(tmp_path)
    assert marker is not None
    assert marker.values == {}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- a\n", "expected a mapping of settings, found a list"),
        ("a\n", "expected a mapping of settings, found a single value"),
        ("defaultDriver: x\n", "defaultDriver is no longer supported"),
        ("defaultDriverConfig: {}\n", "defaultDriverConfig is no longer supported"),
        ("a: [\n", "line 2, column 1"),
    ],
)
def test_a_marker_that_makes_no_sense_is_named(tmp_path: Path, text: str, problem: str) -> None:
    path = _write(tmp_path, text)
    with pytest.raises(UsageError) as refused:
        read(tmp_path)
    assert str(path) in refused.value.message
    assert problem in refused.value.message


def test_bytes_that_are_not_text_are_named(tmp_path: Path) -> None:
    (tmp_path / ".swamp.yaml").write_bytes(b"a: \xff\n")
    with pytest.raises(UsageError, match="not UTF-8 at byte 3"):
        read(tmp_path)


def test_a_marker_that_is_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / ".swamp.yaml").mkdir()
    with pytest.raises(UsageError, match="cannot be read"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("", ()),
        ("tool: cursor\n", ("cursor",)),
        ("tool: none\n", ()),
        ("tool: cursor\ntools: [kiro, cursor]\n", ("kiro", "cursor")),
        ("tool: cursor\ntools: []\n", ()),
    ],
)
def test_the_older_tool_counts_as_a_list_of_one(tmp_path: Path, text: str, tools: tuple[str, ...]) -> None:
    _write(tmp_path, text)
    marker = read(tmp_path)
    assert marker is not None
    assert marker.tools == tools


def test_a_save_changes_one_place_of_the_file(tmp_path: Path) -> None:
    path = _write(tmp_path, "# ours\r\ntool: cursor # old\r\nfuture: {x: 1}\r\nrepoId: abc\r\n")
    marker = read(tmp_path)
    assert marker is not None
    saved = save(marker, {**marker.values, "repoId": "def"})
    assert path.read_bytes() == b'# ours\r\ntool: cursor # old\r\nfuture: {x: 1}\r\nrepoId: "def"\r\n'
    assert saved == read(tmp_path)
    assert list(tmp_path.iterdir()) == [path]


def test_a_save_that_changes_nothing_does_not_write(tmp_path: Path) -> None:
    path = _write(tmp_path, "repoId: abc\n")
    before = path.stat()
    marker = read(tmp_path)
    assert marker is not None
    assert save(marker, marker.values) == marker
    assert path.stat().st_ino == before.st_ino


def test_a_save_keeps_permissions_and_a_symbolic_link(tmp_path: Path) -> None:
    target = tmp_path / "shared.yaml"
    target.write_text("repoId: abc\n")
    target.chmod(0o640)
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / ".swamp.yaml").symlink_to(target)
    marker = read(repo)
    assert marker is not None
    save(marker, {"repoId": "def"})
    assert (repo / ".swamp.yaml").is_symlink()
    assert target.read_text() == 'repoId: "def"\n'
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_save_never_overwrites_what_somebody_else_wrote_meanwhile(tmp_path: Path) -> None:
    path = _write(tmp_path, "repoId: abc\n")
    marker = read(tmp_path)
    assert marker is not None
    _write(tmp_path, "repoId: theirs\n")
    with pytest.raises(Conflict, match="changed by somebody else"):
        save(marker, {"repoId": "ours"})
    assert path.read_text() == "repoId: theirs\n"


def test_a_failed_save_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _write(tmp_path, "repoId: abc\n")
    marker = read(tmp_path)
    assert marker is not None

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Unavailable) as refused:
        save(marker, {"repoId": "def"})
    assert refused.value.kind is ErrorKind.STORE_FULL
    assert path.read_text() == "repoId: abc\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_marker_that_may_not_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused_rename(_source: Path, _target: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "replace", refused_rename)
    with pytest.raises(Denied, match="cannot be written: Permission denied"):
        create(tmp_path, {"repoId": "abc"})
    assert list(tmp_path.iterdir()) == []


def test_a_marker_that_is_gone_meanwhile_is_not_written_again(tmp_path: Path) -> None:
    path = _write(tmp_path, "repoId: abc\n")
    marker = read(tmp_path)
    assert marker is not None
    path.unlink()
    with pytest.raises(Conflict):
        save(marker, {"repoId": "def"})
    assert not path.exists()


def test_a_new_marker_has_its_strings_quoted_and_the_usual_permissions(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        marker = create(
            tmp_path, {"swampVersion": "1", "repoId": "abc", "datastore": {"type": "filesystem", "path": "~/x"}}
        )
    finally:
        os.umask(mask)
    expected = 'swampVersion: "1"\nrepoId: "abc"\ndatastore:\n  type: "filesystem"\n  path: "~/x"\n'
    assert marker.path.read_text() == expected
    assert stat.S_IMODE(marker.path.stat().st_mode) == 0o644
    assert read(tmp_path) == marker


def test_a_marker_is_never_created_over_another(tmp_path: Path) -> None:
    _write(tmp_path, "repoId: abc\n")
    with pytest.raises(Conflict, match="there already") as refused:
        create(tmp_path, {"repoId": "def"})
    assert isinstance(refused.value, BayouError)
    assert refused.value.kind is ErrorKind.ALREADY_EXISTS
