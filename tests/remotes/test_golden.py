"""Buckets that the existing client wrote: read, committed onto, migrated, and still whole to that client afterwards."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.domain.scopes import scope_of
from bayou.layout.keys import CATALOG_EXPORT, Keyspace
from bayou.remotes import Format
from bayou.storage import Prefix, Store
from bayou.testing.legacy import LegacyWriter, legacy_commit_seq, legacy_scoped_view, legacy_view
from bayou.testing.machines import Machine, legacy_entry, put_objects
from bayou.testing.memory import MemoryStore

GOLDEN = Path(__file__).parent.parent / "golden"
MODEL = Model(ModelType("aws/ec2/vpc"), "0b2f6c1e-7a51-4c3e-9a55-1f4f0d6a1c02")
FOLDER = "aws/ec2/vpc/0b2f6c1e-7a51-4c3e-9a55-1f4f0d6a1c02"

# Folder, prefix, namespace, format.
BUCKETS = [
    ("a-v1-dual-write", "", "", Format.DUAL),
    ("b-v2-migrated", "", "", Format.SHARDED),
    ("b1-v2-after-noop-push", "", "", Format.SHARDED),
    ("c-v2-two-phase-modify-and-delete", "", "", Format.SHARDED),
    ("d0-ns-v1", "", "infra", Format.DUAL),
    ("d0-ns-v1", "", "team-a", Format.DUAL),
    ("d-ns-v2", "", "infra", Format.SHARDED),
    ("d-ns-v2", "", "team-a", Format.SHARDED),
    ("e-v1-prefix-and-unpartitionable", "teams/blue", "", Format.DUAL),
]
each = pytest.mark.parametrize(
    ("folder", "prefix", "namespace", "format_"), BUCKETS, ids=[f"{f}-{n}".rstrip("-") for f, _, n, _ in BUCKETS]
)
TIME = datetime(2026, 11, 18, tzinfo=UTC)
NEW = {f"data/{FOLDER}/vpc/9/raw": b"nine", f"data/{FOLDER}/vpc/9/metadata.yaml": b"version: 9"}


def bucket(folder: str, prefix: str) -> tuple[MemoryStore, Store]:
    store = MemoryStore()
    root = GOLDEN / folder / "bucket"
    for path in root.rglob("*"):
        if path.is_file():
            # Not by `put`: nothing of it is ours.
            store.objects[path.relative_to(root).as_posix()] = (path.read_bytes(), TIME)
    return store, Prefix(store, prefix) if prefix else store


@each
async def test_what_we_see_is_what_the_existing_client_sees(
    folder: str, prefix: str, namespace: str, format_: Format
) -> None:
    raw, store = bucket(folder, prefix)
    before = dict(raw.objects)
    keys = Keyspace(namespace)
    machine = Machine(store, namespace)
    snapshot = await machine.remote.load()
    assert snapshot.format is format_
    theirs = await legacy_view(store, keys)
    assert len(theirs) >= 3
    assert snapshot.contents() == {path: entry.get("sha256") for path, entry in theirs.items()}
    assert not snapshot.skipped()

    scoped = await Machine(store, namespace).view(scope_of([MODEL]))
    assert (await legacy_scoped_view(store, keys, FOLDER) or {}).keys() <= scoped.keys() <= snapshot.contents().keys()
    assert raw.objects == before

    # Every entry is an object of that size, so discovery finds the same.
    bare, below = bucket(folder, prefix)
    for key in [key for key in bare.objects if key.endswith(".datastore-index.json") or "_index/" in key]:
        del bare.objects[key]
    assert (await Machine(below, namespace).view()).keys() - {CATALOG_EXPORT} == theirs.keys() - {CATALOG_EXPORT}


@each
@pytest.mark.parametrize("how", ["", "migrate", "rebuild"])
async def test_after_our_commits_the_existing_client_goes_on(
    folder: str, prefix: str, namespace: str, format_: Format, how: str
) -> None:
    raw, store = bucket(folder, prefix)
    keys = Keyspace(namespace)
    foreign = {key: body for key, body in raw.objects.items() if namespace and not key.startswith(f"{namespace}/")}
    seen = await legacy_view(store, keys)
    number = await legacy_commit_seq(store, keys) or 0
    machine = Machine(store, namespace)
    if how:
        await getattr(machine.remote, how)(lambda: True)
    gone = min(path for path in seen if path != CATALOG_EXPORT)
    done = await machine.push(NEW, deleted=[gone])
    assert (len(done.committed), done.contested) == (3, ())

    expected = seen.keys() - {gone} | NEW.keys()
    after = Format.SHARDED if how == "migrate" else format_
    assert (await machine.remote.head()).format is after
    for view in (await legacy_view(store, keys), await Machine(store, namespace).view()):
        assert view.keys() == expected
    assert NEW.keys() <= (await legacy_scoped_view(store, keys, FOLDER) or {}).keys()
    if after is Format.SHARDED:
        assert (await legacy_commit_seq(store, keys) or 0) > number
    assert {key: raw.objects[key] for key in foreign} == foreign
    # L2, L3: what is new is either an index object or out of sight.
    for key in raw.objects.keys() - {f"{prefix}/{keys.data(path)}".lstrip("/") for path in expected}:
        rest = key.removeprefix(f"{prefix}/" if prefix else "").removeprefix(f"{namespace}/" if namespace else "")
        if rest.startswith("_index/"):
            assert json.loads(raw.objects[key][0])["version"] in {1, 2}

    # And it commits: whatever it does, both see the same.
    for step, path in enumerate(["audit/theirs.jsonl", f"data/{FOLDER}/vpc/10/raw"]):
        await put_objects(store, {path: b"theirs"}, namespace)
        writer = LegacyWriter(store, keys)
        single = after is Format.SHARDED and step == 1 and "e-v1" not in folder
        await (writer.push_at_once if single else writer.commit)({path: legacy_entry(path, b"theirs")})
        expected = expected | {path}
        assert (await Machine(store, namespace).view()).keys() == expected
        assert (await machine.view()).keys() == expected
        assert (await legacy_view(store, keys)).keys() == expected
    await machine.push({"logs/ours": b"x"})
    assert (await legacy_view(store, keys)).keys() == expected | {"logs/ours"}
    status = await Machine(store, namespace).remote.status()
    assert (status.shards.missing, status.shards.differing, status.is_vouched) == ((), (), True)


@each
async def test_the_repair_of_what_the_existing_client_wrote_writes_nothing_that_is_right(
    folder: str, prefix: str, namespace: str, format_: Format
) -> None:
    """It writes shards just as we do, so what it left can be vouched for as it is."""
    _, store = bucket(folder, prefix)
    machine = Machine(store, namespace)
    assert (await machine.remote.head()).format is format_
    await machine.push({"logs/ours": b"x"})
    written = {request.split()[1].rpartition("/")[2] for request in machine.asked() if request.startswith("put")}
    odd = {"_unpartitionable.json"} if "e-v1" in folder else set()
    assert written - odd <= {"ours", ".datastore-index.json", "logs.json", "_meta.json", "monolith.json"}
