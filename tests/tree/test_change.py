"""Changes: whole or not at all, told before they are made, and on the disk when that is asked for."""

import errno
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import BayouError, ErrorKind
from bayou.tree import Change, Tree
from bayou.tree.tiers import Tiers

NAME = "data/t/id/name"


class Heard:
    """Marks that note what they are told, and what was on the disk at that moment."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.events: list[tuple[str, tuple[str, ...], list[str]]] = []

    def changing(self, paths: Sequence[str]) -> Callable[[], None]:
        return self._note("changing", paths)

    def removing(self, paths: Sequence[str]) -> Callable[[], None]:
        return self._note("removing", paths)

    def _note(self, kind: str, paths: Sequence[str]) -> Callable[[], None]:
        self.events.append((kind, tuple(paths), files(self.root)))
        return lambda: self.events.append((f"{kind} done", tuple(paths), files(self.root)))


def files(root: Path) -> list[str]:
    return sorted(
        str(found.relative_to(root)) for found in root.rglob("*") if found.is_file() and "_control" not in found.parts
    )


def everything(root: Path) -> list[str]:
    return sorted(
        str(found.relative_to(root)) for found in root.rglob("*") if found.is_file() and "locks" not in found.parts
    )


@pytest.fixture
def ds(tmp_path: Path) -> Path:
    return tmp_path / "ds"


@pytest.fixture
def tree(ds: Path) -> Tree:
    return Tree(ds, ds, durable=False)


def test_a_change_is_marked_before_a_file_is_touched_and_the_mark_closed_afterwards(ds: Path) -> None:
    heard = Heard(ds)
    tree = Tree(ds, ds, marks=heard)
    with tree.change(NAME) as change:
        change.replace(f"{NAME}/latest", b"1")
    assert heard.events == [
        ("changing", (NAME,), []),
        ("changing done", (NAME,), [f"{NAME}/latest"]),
    ]


def test_a_mark_is_closed_when_the_change_fails(ds: Path) -> None:
    heard = Heard(ds)
    with pytest.raises(ZeroDivisionError), Tree(ds, ds, marks=heard).removal("data/a", "data/b"):
        raise ZeroDivisionError
    assert [event[:2] for event in heard.events] == [
        ("removing", ("data/a", "data/b")),
        ("removing done", ("data/a", "data/b")),
    ]


def test_reads_mark_nothing(ds: Path) -> None:
    heard = Heard(ds)
    tree = Tree(ds, ds, marks=heard)
    tree.read("data/a"), tree.names("data"), tree.size("data/a")
    with tree.open("data/a"), tree.lock("data/a"):
        pass
    assert heard.events == []


def test_nobody_hears_of_what_only_this_machine_has(ds: Path) -> None:
    heard = Heard(ds)
    tree = Tree(ds, ds, marks=heard, tiers=Tiers(exclude=("data/private/**",)))
    with tree.change("bundles/x", "outputs/t/run/x.yaml") as change:
        change.replace("bundles/x", b"x")
    assert [event[1] for event in heard.events] == [("outputs/t/run/x.yaml",)] * 2


def test_a_file_is_replaced_and_nothing_else_is_left(tree: Tree, ds: Path) -> None:
    with tree.change(NAME) as change:
        change.replace(f"{NAME}/latest", b"1")
        change.replace(f"{NAME}/latest", b"2")
    assert tree.read(f"{NAME}/latest") == b"2"
    assert everything(ds) == [f"{NAME}/latest"]


@pytest.mark.parametrize("step", ["write", "replace"])
def test_a_replacement_that_fails_leaves_the_file_as_it_was(
    tree: Tree, ds: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fail(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with tree.change(NAME) as change:
        change.replace(f"{NAME}/latest", b"1")
        monkeypatch.setattr(os, step, fail)
        with pytest.raises(BayouError) as caught:
            change.replace(f"{NAME}/latest", b"2")
    assert caught.value.kind is ErrorKind.STORE_FULL
    assert f"{NAME}/latest" in str(caught.value)
    monkeypatch.undo()
    assert tree.read(f"{NAME}/latest") == b"1"
    assert everything(ds) == [f"{NAME}/latest"]


def test_a_link_is_replaced_and_not_what_it_points_to(tree: Tree, ds: Path) -> None:
    (ds / NAME / "3").mkdir(parents=True)
    (ds / NAME / "latest").symlink_to("3")
    with tree.change(NAME) as change:
        change.replace(f"{NAME}/latest", b"4")
    assert not (ds / NAME / "latest").is_symlink()
    assert (ds / NAME / "latest").read_bytes() == b"4"
    assert (ds / NAME / "3").is_dir()


@pytest.mark.parametrize("exchange", [True, False], ids=["exchanged", "renamed"])
@pytest.mark.parametrize("durable", [True, False])
def test_a_marker_is_moved_whatever_was_there(
    ds: Path,
    monkeypatch: pytest.MonkeyPatch,
    durable: bool,  # noqa: FBT001 - a parameter
    exchange: bool,  # noqa: FBT001 - a parameter
) -> None:
    if not exchange:
        monkeypatch.setattr("bayou.tree.exchange._exchange", lambda: None)
    tree = Tree(ds, ds, durable=durable)
    (ds / NAME / "3").mkdir(parents=True)
    with tree.change(NAME) as change:
        for number in (b"1", b"2"):
            change.point(f"{NAME}/latest", number)
            assert tree.read(f"{NAME}/latest") == number
        (ds / NAME / "latest").unlink()
        (ds / NAME / "latest").symlink_to("3")
        change.point(f"{NAME}/latest", b"4")
    assert not (ds / NAME / "latest").is_symlink()
    assert everything(ds) == [f"{NAME}/latest"]
    assert (ds / NAME / "latest").read_bytes() == b"4"


@pytest.mark.parametrize("exchange", [True, False], ids=["exchanged", "renamed"])
def test_a_folder_in_the_place_of_a_marker_stays(
    tree: Tree,
    ds: Path,
    monkeypatch: pytest.MonkeyPatch,
    exchange: bool,  # noqa: FBT001 - a parameter
) -> None:
    if not exchange:
        monkeypatch.setattr("bayou.tree.exchange._exchange", lambda: None)
    (ds / NAME / "latest" / "in the way").mkdir(parents=True)
    with tree.change(NAME) as change, pytest.raises(BayouError):
        change.point(f"{NAME}/latest", b"1")
    assert (ds / NAME / "latest" / "in the way").is_dir()
    assert everything(ds) == []


def test_bytes_are_never_written_through_a_link(tree: Tree, ds: Path, tmp_path: Path) -> None:
    (ds / NAME / "1").mkdir(parents=True)
    (tmp_path / "theirs").write_bytes(b"theirs")
    with tree.change(NAME) as change:
        change.write(f"{NAME}/1/other", [b"x"])  # from now on the folder is known to be ours
        (ds / NAME / "1" / "raw").symlink_to(tmp_path / "theirs")
        for attempt in (lambda: change.write(f"{NAME}/1/raw", [b"x"]), lambda: change.append(f"{NAME}/1/raw", b"x")):
            with pytest.raises(BayouError):
                attempt()
    assert (tmp_path / "theirs").read_bytes() == b"theirs"


@pytest.mark.parametrize("make", [Change.create, lambda change, path, _: change.claim(path)])
def test_there_is_but_one_maker(tree: Tree, ds: Path, make: Callable[[Change, str, bytes], bool]) -> None:
    with tree.change(NAME) as change:
        assert make(change, f"{NAME}/x", b"mine")
        assert not make(change, f"{NAME}/x", b"theirs")
    assert [file for file in everything(ds) if file != f"{NAME}/x"] == []
    assert tree.read(f"{NAME}/x") == b"mine" if (ds / NAME / "x").is_file() else True


def test_what_is_written_is_hashed_on_the_way(tree: Tree) -> None:
    with tree.change(NAME) as change:
        written = change.write(f"{NAME}/1/raw", [b"ab", bytearray(b""), memoryview(b"c")])  # type: ignore[list-item]
    assert written == (3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    assert tree.read(f"{NAME}/1/raw") == b"abc"


def test_a_short_write_is_gone_on_with(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: whole(fd, data[:3]))
    with tree.change(NAME) as change:
        change.write(f"{NAME}/raw", [b"0123456789"])
        change.append(f"{NAME}/log", b"0123456789")
        change.replace(f"{NAME}/latest", b"0123456789")
    for name in ("raw", "log", "latest"):
        assert tree.read(f"{NAME}/{name}") == b"0123456789"


def test_what_another_program_wrote_is_hashed_too(tree: Tree, ds: Path) -> None:
    with tree.change(NAME) as change:
        writing = change.begin(f"{NAME}/1/raw")
        (ds / NAME / "1" / "raw").write_bytes(b"abc")
        assert writing.finish() == (3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        writing.close()


def test_an_append_that_fails_takes_back_what_it_added(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, calls = os.write, iter(range(100))

    def full_after_a_while(fd: int, data: bytes) -> int:
        if next(calls):
            raise OSError(errno.ENOSPC, "No space left on device")
        return whole(fd, data[:2])

    with tree.change(NAME) as change:
        assert change.append(f"{NAME}/log", b"one\n") == 4
        monkeypatch.setattr(os, "write", full_after_a_while)
        with pytest.raises(BayouError):
            change.append(f"{NAME}/log", b"two\n")
        monkeypatch.undo()
        assert tree.read(f"{NAME}/log") == b"one\n"
        assert change.append(f"{NAME}/log", b"three\n") == 10


def test_a_folder_goes_with_all_that_is_in_it_and_so_do_its_empty_parents(tree: Tree, ds: Path) -> None:
    with tree.change("outputs") as change:
        change.replace("outputs/t/run/a.yaml", b"a")
        change.replace("outputs/u/run/b.yaml", b"b")
    with tree.removal("outputs/t/run") as removal:
        removal.remove_folder("outputs/t/run")
        removal.remove_folder("outputs/t/run")
        removal.prune("outputs/t/run")
        removal.prune("outputs/u/run")
    assert everything(ds) == ["outputs/u/run/b.yaml"]
    assert not (ds / "outputs/t").exists()


def test_the_first_folder_is_never_pruned(tree: Tree, ds: Path) -> None:
    with tree.removal("audit/x") as removal:
        removal.replace("audit/x/y", b"")
        removal.remove("audit/x/y")
        removal.remove("audit/x/y")
        removal.prune("audit/x")
    assert (ds / "audit").is_dir()
    assert not (ds / "audit/x").exists()


def test_a_folder_that_somebody_prunes_meanwhile_is_made_again(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    rename, pruned = os.replace, list[str]()

    def replace(source: str, target: str) -> None:
        if not pruned:
            pruned.append(target)
            with tree.removal(NAME) as removal:
                removal.prune(NAME)
        rename(source, target)

    with tree.change(NAME) as change:
        change.claim(NAME)
        monkeypatch.setattr(os, "replace", replace)
        change.replace(f"{NAME}/latest", b"1")
    assert pruned
    assert tree.read(f"{NAME}/latest") == b"1"


class Syncs:
    """What is synced, in order, among the renames."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
        self.calls: list[str] = []
        fsync, replace = os.fsync, os.replace

        def synced(fd: int) -> None:
            kind = "folder" if stat.S_ISDIR(os.fstat(fd).st_mode) else "file"
            path = Path(f"/proc/self/fd/{fd}").readlink()
            shown = "temporary" if path.suffix == ".tmp" else str(path.relative_to(root))
            self.calls.append(f"{kind} {shown}")
            fsync(fd)

        def replaced(source: str, target: str) -> None:
            self.calls.append(f"rename {Path(target).relative_to(root)}")
            replace(source, target)

        monkeypatch.setattr(os, "fsync", synced)
        monkeypatch.setattr(os, "replace", replaced)


def test_content_is_on_the_disk_before_its_name_and_the_name_before_anybody_is_told(
    ds: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ds / NAME).mkdir(parents=True)
    syncs = Syncs(monkeypatch, ds)
    with Tree(ds, ds, durable=True).change(NAME) as change:
        change.claim(f"{NAME}/1")
        change.write(f"{NAME}/1/raw", [b"x"])
        change.replace(f"{NAME}/1/metadata.yaml", b"x")
        change.replace(f"{NAME}/latest", b"1")
    assert syncs.calls == [
        f"file {NAME}/1/raw",
        "file temporary",
        f"rename {NAME}/1/metadata.yaml",
        f"folder {NAME}/1",
        "file temporary",
        f"rename {NAME}/latest",
        f"folder {NAME}",
    ]


def test_new_folders_are_on_the_disk_before_what_is_in_them_counts(ds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ds.mkdir()
    syncs = Syncs(monkeypatch, ds)
    with Tree(ds, ds, durable=True).change("data/a/b") as change:
        change.replace("data/a/b", b"x")
    assert syncs.calls == [
        "file temporary",
        "rename data/a/b",
        "folder .",
        "folder data",
        "rename data/a/b",
        "folder data/a",
    ]


def test_nothing_waits_for_the_disk_when_that_was_not_asked_for(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, ds: Path
) -> None:
    syncs = Syncs(monkeypatch, ds)
    with tree.change(NAME) as change:
        change.write(f"{NAME}/1/raw", [b"x"])
        change.append(f"{NAME}/1/raw", b"x")
        change.replace(f"{NAME}/latest", b"1")
        change.create(f"{NAME}/new", b"1")
        change.sync(NAME)
        change.remove(f"{NAME}/new")
        change.remove_folder(f"{NAME}/1")
    assert not [call for call in syncs.calls if not call.startswith("rename")]


@given(st.lists(st.sampled_from(["data/x/1/raw", "data/x/latest", "bundles/y", "outputs/z/a.yaml"]), max_size=6))
def test_any_mix_of_changes_leaves_no_temporary_file(
    tmp_path_factory: pytest.TempPathFactory, paths: list[str]
) -> None:
    root = tmp_path_factory.mktemp("tree")
    tree = Tree(root / "ds", root / "local", namespace="ns", durable=False)
    with tree.change("data") as change:
        for path in paths:
            change.replace(path, path.encode())
            change.create(path, b"other")
    assert all(tree.read(path) == path.encode() for path in paths)
    assert not list(root.rglob("*.tmp"))
