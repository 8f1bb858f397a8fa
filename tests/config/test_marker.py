"""The marker is read whole or named as broken, and written without touching what it does not understand."""

import errno
import os
import stat
import subprocess
import sys
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


def test_a_marker_that_is_far_too_large_is_named(tmp_path: Path) -> None:
    path = _write(tmp_path, f"# {'x' * 2**20}\n")
    with pytest.raises(UsageError) as refused:
        read(tmp_path)
    assert refused.value.message == f"{path}: larger than 1048576 bytes"


def test_where_a_marker_is_broken_is_said_once(tmp_path: Path) -> None:
    path = _write(tmp_path, "a: 1\na: 2\n")
    with pytest.raises(UsageError) as refused:
        read(tmp_path)
    assert refused.value.message == f'{path}, line 2, column 1: the key "a" is there twice'


@pytest.mark.parametrize(
    ("code", "category", "kind"),
    [
        (errno.EACCES, Denied, ErrorKind.PERMISSION_DENIED),
        (errno.EIO, Unavailable, ErrorKind.TRANSIENT),
        (errno.ESTALE, Unavailable, ErrorKind.TRANSIENT),
        (errno.ENAMETOOLONG, UsageError, ErrorKind.INVALID_CONFIG),
    ],
)
def test_a_marker_that_the_disk_does_not_give_is_not_called_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, category: type[BayouError], kind: ErrorKind
) -> None:
    path = _write(tmp_path, "repoId: abc\n")

    def failing(_path: Path, _mode: str) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "open", failing)
    with pytest.raises(category) as refused:
        read(tmp_path)
    assert refused.value.kind is kind
    assert refused.value.message == f"{path} cannot be read: {os.strerror(code)}"


def test_a_file_in_the_place_of_a_repo_has_no_marker(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert read(tmp_path / "file") is None


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
    def refused_link(_source: Path, _target: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "link", refused_link)
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


def test_a_marker_that_became_a_folder_is_a_change_by_somebody_else(tmp_path: Path) -> None:
    path = _write(tmp_path, "repoId: abc\n")
    marker = read(tmp_path)
    assert marker is not None
    path.unlink()
    path.mkdir()
    with pytest.raises(Conflict, match="changed by somebody else"):
        save(marker, {"repoId": "def"})


def test_a_marker_that_became_a_link_to_itself_is_a_change_by_somebody_else(tmp_path: Path) -> None:
    path = _write(tmp_path, "repoId: abc\n")
    marker = read(tmp_path)
    assert marker is not None
    path.unlink()
    path.symlink_to(path.name)
    with pytest.raises(Conflict, match="changed by somebody else"):
        save(marker, {"repoId": "def"})
    with pytest.raises(UsageError, match="cannot be read"):
        read(tmp_path)


_SAVER = """
import sys
from pathlib import Path
from bayou.config.marker import read, save
from bayou.errors import Conflict
repo, name = Path(sys.argv[1]), sys.argv[2]
for number in range(20):
    while True:
        marker = read(repo)
        try:
            save(marker, {**marker.values, f"{name}{number}": 1})
        except Conflict:
            continue
        break
"""

_CREATOR = """
import sys
from pathlib import Path
from bayou.config.marker import create
from bayou.errors import Conflict
for repo in map(Path, sys.argv[2:]):
    try:
        create(repo, {"repoId": sys.argv[1]})
        print(repo)
    except Conflict:
        pass
"""


def _together(program: str, *arguments: list[str]) -> list[str]:
    """Run a program in several processes at once and give the output of each."""
    running = [
        subprocess.Popen([sys.executable, "-c", program, *of_one], stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own program
        for of_one in arguments
    ]
    answers = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0] * len(running)
    return answers


def test_no_acknowledged_save_of_several_processes_is_lost(tmp_path: Path) -> None:
    _write(tmp_path, "repoId: abc\n")
    names = ["a", "b", "c", "d"]
    _together(_SAVER, *([str(tmp_path), name] for name in names))
    marker = read(tmp_path)
    assert marker is not None
    assert marker.values.keys() == {"repoId"} | {f"{name}{number}" for name in names for number in range(20)}


def test_of_several_processes_one_creates_the_marker(tmp_path: Path) -> None:
    repos = [tmp_path / str(number) for number in range(40)]
    for repo in repos:
        repo.mkdir()
    names = ["a", "b", "c", "d"]
    created = _together(_CREATOR, *([name, *map(str, repos)] for name in names))
    winners = {repo: name for name, answer in zip(names, created, strict=True) for repo in answer.split()}
    assert sum(len(answer.split()) for answer in created) == len(winners) == len(repos)
    for repo in repos:
        marker = read(repo)
        assert marker is not None
        assert marker.values == {"repoId": winners[str(repo)]}
        assert list(repo.iterdir()) == [marker.path]


def test_a_disk_without_links_has_markers_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(_source: Path, _target: Path) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    assert create(tmp_path, {"repoId": "abc"}) == read(tmp_path)
    with pytest.raises(Conflict, match="there already"):
        create(tmp_path, {"repoId": "def"})
    assert [path.read_text() for path in tmp_path.iterdir()] == ['repoId: "abc"\n']


def test_a_new_marker_and_its_name_are_on_the_disk_before_it_is_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[int, bool]] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        synced.append((os.fstat(descriptor).st_ino, (tmp_path / ".swamp.yaml").exists()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    marker = create(tmp_path, {"repoId": "abc"})
    assert synced == [(marker.path.stat().st_ino, False), (tmp_path.stat().st_ino, True)]
    synced.clear()
    save(marker, {"repoId": "def"})
    assert synced == [(marker.path.stat().st_ino, True), (tmp_path.stat().st_ino, True)]


def test_a_marker_in_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        create(tmp_path / "nowhere", {"repoId": "abc"})
    assert refused.value.message == f"{tmp_path}/nowhere is not a folder"
    assert refused.value.kind is ErrorKind.INVALID_PATH


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
