"""Relocating between namespaces: all of it arrives, nothing else is touched, and whoever is killed goes on."""

from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from bayou.errors import BayouError, Conflict, Corrupt
from bayou.layout.directories import in_datastore
from bayou.layout.keys import Keyspace
from bayou.remotes import Change, Changeset, Format, ObjectRemote, namespaces
from bayou.storage.connecting import connect
from bayou.storage.port import Store
from bayou.sync import relocatingfiles
from bayou.sync.relocating import move, plan
from bayou.testing.faults import Fault, Faulty, at
from bayou.testing.legacy import legacy_view
from bayou.testing.machines import Machine, entry_of, put_objects
from bayou.testing.memory import MemoryStore
from bayou.testing.servers.places import new_place

STATE = "data/aws/vpc/a/state"
START = {
    f"{STATE}/1/raw": b"one",
    f"{STATE}/1/metadata.yaml": b"version: 1",
    f"{STATE}/latest": b"1",
    "audit/x": b"audit",
    "logs/gone": b"gone",
}
HERE = START.keys() - {"logs/gone"}
THEIRS = {"web/data/t/x": b"theirs", "web/.namespace.json": b"{}", "infra/.namespace.json": b"{}"}


def takes(path: str) -> bool:
    return path.partition("/")[0] in in_datastore()


async def bucket(form: Format, namespace: str = "") -> MemoryStore:
    store = MemoryStore()
    machine = Machine(store, namespace)
    await machine.push(START)
    gone = {"logs/gone": entry_of("logs/gone", b"gone").sha256 or ""}
    await machine.commit(Changeset(namespace, (Change(before=gone, buries=gone),)))
    if form is Format.SHARDED:
        await machine.remote.migrate(lambda: True)
    await put_objects(store, THEIRS)
    return store


def ends(store: Store, *, reverse: bool = False) -> tuple[ObjectRemote, ObjectRemote]:
    solo, infra = ObjectRemote(store), ObjectRemote(store, "infra")
    return (infra, solo) if reverse else (solo, infra)


async def arrived(store: MemoryStore, form: Format, *, reverse: bool = False) -> None:
    source, target = ends(store, reverse=reverse)
    keys = target.place.keys
    assert (await target.load()).contents().keys() == HERE
    assert (await legacy_view(store, keys)).keys() == HERE
    assert (await target.head()).format is form
    assert {path: store.objects[keys.data(path)][0] for path in HERE} == {path: START[path] for path in HERE}
    assert (await target.buried(["logs"])).graves.keys() == {"logs/gone"}
    assert (await source.load()).contents() == {}
    assert not any(source.place.keys.data(path) in store.objects for path in HERE)
    assert {key: store.objects[key][0] for key in THEIRS} == THEIRS


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("form", [Format.DUAL, Format.SHARDED])
async def test_everything_moves_and_moving_again_is_nothing(form: Format, *, reverse: bool) -> None:
    store = await bucket(form, "infra" if reverse else "")
    source, target = ends(store, reverse=reverse)
    planned = await plan(source, target, takes)
    moved = await move(source, target, takes, lambda: True)
    assert moved == planned
    assert moved.entries.keys() == HERE
    await arrived(store, form, reverse=reverse)
    before = dict(store.objects)
    assert not await move(*ends(store, reverse=reverse), takes, lambda: True)
    assert store.objects == before


@pytest.mark.parametrize("fault", [Fault.FAIL_BEFORE, Fault.FAIL_AFTER])
@pytest.mark.parametrize("form", [Format.DUAL, Format.SHARDED])
async def test_a_move_killed_at_any_request_is_finished_by_the_next_one(form: Format, fault: Fault) -> None:
    whole = store = await bucket(form)
    for number in count(1):
        store = MemoryStore()
        store.objects = dict(whole.objects)
        faulty = Faulty(store, at(number, fault))
        with suppress(BayouError):
            await move(*ends(faulty), takes, lambda: True)
        if len(faulty.requests) < number:
            break
        # At any time everything is listed in one place at least, with its object.
        for path in HERE:
            listed = [end for end in ends(store) if path in (await end.load()).contents()]
            assert any(end.place.keys.data(path) in store.objects for end in listed)
        await move(*ends(store), takes, lambda: True)
        await arrived(store, form)
    assert number > 30
    await arrived(store, form)


async def test_what_is_in_the_way_is_named_before_anything_changes() -> None:
    for body, listed in ((b"other", True), (b"other", False)):
        store = await bucket(Format.DUAL)
        if listed:
            await Machine(store, "infra").push({"audit/x": body})
        else:
            await put_objects(store, {"audit/x": body}, "infra")
        before = dict(store.objects)
        with pytest.raises(Conflict, match="audit/x"):
            await move(*ends(store), takes, lambda: True)
        assert store.objects == before


async def test_what_is_damaged_does_not_move() -> None:
    store = await bucket(Format.DUAL)
    await store.delete("audit/x")
    before = dict(store.objects)
    with pytest.raises(Corrupt, match="audit/x"):
        await move(*ends(store), takes, lambda: True)
    assert store.objects == before


async def test_a_lost_lock_leaves_the_originals() -> None:
    store = await bucket(Format.DUAL)
    with pytest.raises(Conflict):
        await move(*ends(store), takes, lambda: False)
    assert all(path in store.objects for path in HERE)
    assert (await ObjectRemote(store).load()).contents().keys() == HERE


async def test_what_nobody_lists_is_nobodys_to_move() -> None:
    """W-33: without an index there is no telling whose the root of a shared bucket is."""
    store = MemoryStore()
    await put_objects(store, {"data/t/s/a/state/1/raw": b"whose?"})
    assert not await move(*ends(store), takes, lambda: True)
    assert store.objects.keys() == {"data/t/s/a/state/1/raw"}


async def test_a_namespace_is_given_up_only_by_whose_it_is() -> None:
    store = MemoryStore()
    await namespaces.register(store, "infra", "repo-a", 0)
    await namespaces.unregister(store, "infra", "repo-b")
    assert await namespaces.namespaces(store) == ["infra"]
    await namespaces.unregister(store, "infra", "repo-a")
    assert await namespaces.namespaces(store) == []
    assert Keyspace("infra").manifest not in store.objects


@pytest.mark.parametrize("name", ["ministack", "moto", "seaweedfs", "fake_gcs", "azurite", "rclone"])
async def test_it_moves_on_real_servers_whatever_the_names_are(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """W-50, W-51: a copy is whole, and of the key that was meant."""
    server = request.getfixturevalue(name)
    files = {
        f"logs/{odd}": odd.encode() for odd in ("a b", "a+b", "a%2Bb", "100%", "ü-日本", "a&b=c?d#e", "'q'", "@x/~y")
    }
    files |= {f"{STATE}/1/raw": b"x" * 3_000_000, f"{STATE}/1/metadata.yaml": b"version: 1"}
    async with connect(new_place(server, monkeypatch.setenv, prefix="p q")) as store:
        await Machine(store, conditional=server.conditional).push(files)
        source, target = (ObjectRemote(store, ns, conditional=server.conditional) for ns in ("", "infra"))
        await move(source, target, takes, lambda: True)
        assert (await ObjectRemote(store, "infra").load()).contents().keys() == files.keys()
        for path, body in files.items():
            assert await (await store.get(f"infra/{path}")).bytes() == body
        left = {meta.key async for page in store.list() for meta in page if takes(meta.key)}
        assert left == set()


# Files.


def fill(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def tree(root: Path) -> dict[str, str]:
    return {file.relative_to(root).as_posix(): file.read_text() for file in root.rglob("*") if file.is_file()}


def test_folders_move_by_name_and_merge_with_what_is_there(tmp_path: Path) -> None:
    fill(tmp_path, {"data/a/x": "1", "data/a/y": "2", "logs/z": "3", "_control/j": "4", "infra/data/a/x": "1"})
    planned = relocatingfiles.plan(tmp_path, tmp_path / "infra", ("data", "logs", "audit"))
    assert [(folder.name, folder.files, folder.size) for folder in planned] == [("data", 2, 2), ("logs", 1, 1)]
    assert relocatingfiles.move(tmp_path, tmp_path / "infra", ("data", "logs", "audit")) == planned
    expected = {"infra/data/a/x": "1", "infra/data/a/y": "2", "infra/logs/z": "3", "_control/j": "4"}
    assert tree(tmp_path) == expected
    assert not (tmp_path / "data").exists()
    moved = relocatingfiles.files_of(planned, tmp_path / "infra")
    assert sorted(moved) == ["data/a/x", "data/a/y", "logs/z"]
    assert relocatingfiles.move(tmp_path, tmp_path / "infra", ("data", "logs")) == []


def test_two_files_that_differ_stop_a_move_before_it_begins(tmp_path: Path) -> None:
    files = {"data/a/x": "1", "logs/z": "3", "infra/logs/z": "other"}
    fill(tmp_path, files)
    with pytest.raises(Conflict, match="logs/z"):
        relocatingfiles.move(tmp_path, tmp_path / "infra", ("data", "logs"))
    assert tree(tmp_path) == files


def test_links_move_and_are_not_followed(tmp_path: Path) -> None:
    fill(tmp_path, {"data/a/x": "1", "elsewhere/secret": "s"})
    (tmp_path / "data/a/link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "infra/data/a").mkdir(parents=True)
    relocatingfiles.move(tmp_path, tmp_path / "infra", ("data",))
    assert (tmp_path / "infra/data/a/link").is_symlink()
    assert (tmp_path / "elsewhere/secret").read_text() == "s"
