"""Buckets and caches that the existing client wrote: pulled, pushed onto, and still whole to that client afterwards."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bayou.layout.internal import never_crosses
from bayou.layout.keys import Keyspace
from bayou.locks import Locks, StoreCells
from bayou.storage import Prefix, Store
from bayou.testing.computers import Computer, name_of
from bayou.testing.legacy import LegacyWriter, legacy_view
from bayou.testing.machines import legacy_entry, put_objects
from bayou.testing.memory import MemoryStore

GOLDEN = Path(__file__).parent.parent / "golden"
# Folder, prefix, namespace.
BUCKETS = [
    ("a-v1-dual-write", "", ""),
    ("b-v2-migrated", "", ""),
    ("b1-v2-after-noop-push", "", ""),
    ("c-v2-two-phase-modify-and-delete", "", ""),
    ("d0-ns-v1", "", "infra"),
    ("d0-ns-v1", "", "team-a"),
    ("d-ns-v2", "", "infra"),
    ("d-ns-v2", "", "team-a"),
    ("e-v1-prefix-and-unpartitionable", "teams/blue", ""),
]
each_bucket = pytest.mark.parametrize(
    ("folder", "prefix", "namespace"), BUCKETS, ids=[f"{folder}-{ns}".rstrip("-") for folder, _, ns in BUCKETS]
)
TIME = datetime(2026, 11, 18, tzinfo=UTC)
Make = Callable[..., Computer]


def bucket(folder: str, prefix: str) -> tuple[MemoryStore, Store]:
    store = MemoryStore()
    root = GOLDEN / folder / "bucket"
    for path in root.rglob("*"):
        if path.is_file():
            store.objects[path.relative_to(root).as_posix()] = (path.read_bytes(), TIME)
    return store, Prefix(store, prefix) if prefix else store


@pytest.fixture
def computer(tmp_path: Path) -> Iterator[Make]:
    made: list[Computer] = []

    def make(name: str, store: Store, namespace: str, **settings: object) -> Computer:
        locks = Locks(lambda: StoreCells(store), Keyspace(namespace))
        made.append(Computer(tmp_path / name, store, namespace=namespace, locks=locks, **settings))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for each in made:
        each.close()


def data(computer: Computer) -> dict[str, bytes]:
    """What they take for data too, also where no folder of ours is."""
    root = computer.tree.root
    found = {file.relative_to(root).as_posix(): file for file in root.rglob("*") if file.is_file()}
    return {path: file.read_bytes() for path, file in found.items() if not never_crosses(path)}


@each_bucket
async def test_it_is_pulled_as_it_is_and_pushed_onto(folder: str, prefix: str, namespace: str, computer: Make) -> None:
    raw, store = bucket(folder, prefix)
    keys = Keyspace(namespace)
    before = dict(raw.objects)
    theirs = await legacy_view(store, keys)
    wanted = {path for path in theirs if not never_crosses(path)}

    one = computer("one", store, namespace)
    report = await one.pull()
    assert report.is_complete, report.failed
    files = data(one)
    assert files.keys() == wanted
    for path, body in files.items():
        assert theirs[path].get("sha256") in (None, hashlib.sha256(body).hexdigest())
    assert raw.objects == before, "a reader wrote"
    assert not (await one.push()).pushed

    state = name_of("new")
    one.write_version(1, b"ours", name="new")
    one.write("logs/ours", b"ours")
    gone = min(path for path in files if "/" in path and not path.endswith(("/raw", "/metadata.yaml", "/latest")))
    one.delete(gone)
    report = await one.push()
    assert report.is_complete, report.failed
    expected = theirs.keys() - {gone} | {f"{state}/1/raw", f"{state}/1/metadata.yaml", f"{state}/latest", "logs/ours"}
    assert (await legacy_view(store, keys)).keys() == expected
    foreign = {key: body for key, body in before.items() if namespace and not key.startswith(f"{namespace}/")}
    assert {key: raw.objects[key] for key in foreign} == foreign
    # L2, L3, L5: what is new is data, an index object of a form that they know, or out of their sight.
    inner = f"{prefix}/" if prefix else ""
    for key in raw.objects.keys() - before.keys():
        rest = key.removeprefix(inner).removeprefix(f"{namespace}/" if namespace else "")
        if rest.startswith("_index/"):
            assert json.loads(raw.objects[key][0])["version"] in {1, 2}
        else:
            known = ("data/", "logs/", "_control/", ".datastore.lock", ".locks/")
            assert rest.startswith(known) or key.removeprefix(inner).startswith(known), key

    # And they go on: what they push is pulled.
    await put_objects(store, {"audit/theirs.jsonl": b"theirs"}, namespace)
    await LegacyWriter(store, keys).commit({"audit/theirs.jsonl": legacy_entry("audit/theirs.jsonl", b"theirs")})
    assert (await one.pull()).pulled == ["audit/theirs.jsonl"]
    two = computer("two", store, namespace)
    assert (await two.pull()).is_complete
    assert data(two) == data(one)


async def test_a_cache_that_they_filled_is_taken_over_without_a_conflict(tmp_path: Path, computer: Make) -> None:
    """What changed and what was deleted there since they last pulled is news, and not a conflict with their copies."""
    folder = "a1-v1-after-cold-pull-by-second-client"
    raw, store = bucket(folder, "")
    keys = Keyspace()
    theirs = await legacy_view(store, keys)
    shutil.copytree(GOLDEN / folder / "cache", tmp_path / "one")
    changed, gone = sorted(path for path in theirs if path.startswith(("audit/", "outputs/", "logs/")))[:2]
    await put_objects(store, {changed: b"changed"})
    await store.delete(gone)
    await LegacyWriter(store, keys).commit({changed: legacy_entry(changed, b"changed")}, [gone])
    one = computer("one", store, "")
    report = await one.sync()
    assert report.is_complete, report.failed
    assert (report.conflicts, report.pushed) == ([], [])
    assert (report.pulled, report.deleted_here) == ([changed], [gone])
    assert raw.objects[changed][0] == one.files()[changed] == b"changed"
