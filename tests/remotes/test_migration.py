"""Migration to shards, and rebuilding: never back, never less than there was, and safe to run again."""

import json

import pytest

from bayou.errors import Corrupt, ErrorKind, Unsupported
from bayou.layout.keys import Keyspace
from bayou.remotes import Changeset, Format
from bayou.testing.legacy import BrickedError, LegacyWriter, legacy_commit_seq, legacy_scoped_view, legacy_view
from bayou.testing.machines import Machine, change, legacy_entry, put_objects
from bayou.testing.memory import MemoryStore

SOLO = Keyspace()
META, MONOLITH = "_index/_meta.json", ".datastore-index.json"
QUARANTINE = "_control/bayou/quarantine/"


def version(model: str, number: int) -> dict[str, bytes]:
    folder = f"data/t/s/{model}/state/{number}"
    return {f"{folder}/raw": f"{model} {number}".encode(), f"{folder}/metadata.yaml": f"version: {number}".encode()}


START = version("a", 1) | version("b", 1) | {"reports/odd.md": b"odd", "audit/x": b"x"}


async def bucket(format_: Format) -> tuple[MemoryStore, Machine]:
    store = MemoryStore()
    machine = Machine(store)
    await machine.push(START)
    if format_ is Format.SHARDED:
        await machine.remote.migrate(lambda: True)
    return store, machine


async def is_whole(store: MemoryStore, files: dict[str, bytes], format_: Format) -> None:
    machine = Machine(store)
    assert (await machine.view()).keys() == files.keys()
    assert (await machine.remote.head()).format is format_
    assert (await legacy_view(store, SOLO)).keys() == files.keys()
    status = await machine.remote.status()
    assert status.is_sound


# Migration.


async def test_a_migrated_index_is_the_same_to_everybody() -> None:
    store, machine = await bucket(Format.DUAL)
    before = await machine.view()
    done = await machine.remote.migrate(lambda: True)
    assert (done.was_sharded, done.entries) == (False, len(START))
    await is_whole(store, START, Format.SHARDED)
    assert await machine.view() == before
    assert (await legacy_commit_seq(store, SOLO) or 0) > 1_700_000_000_000  # W-15


async def test_old_readers_notice_a_migration() -> None:
    """W-01: they look at the monolith alone, by its fingerprint."""
    store, machine = await bucket(Format.DUAL)
    before = store.objects[MONOLITH]
    await machine.remote.migrate(lambda: True)
    assert store.objects[MONOLITH] != before
    assert json.loads(store.objects[MONOLITH][0])["entries"] == json.loads(before[0])["entries"]


async def test_migrating_again_takes_nothing_from_the_old_monolith() -> None:
    """W-14."""
    store, machine = await bucket(Format.SHARDED)
    await machine.push(version("a", 2), deleted=list(version("b", 1)))
    meta = store.objects[META]
    done = await Machine(store).remote.migrate(lambda: True)
    assert done.was_sharded
    assert store.objects[META] == meta
    expected = {p: b for p, b in (START | version("a", 2)).items() if p not in version("b", 1)}
    assert (await Machine(store).view()).keys() == expected.keys()


async def test_an_empty_bucket_and_one_without_an_index_can_be_migrated() -> None:
    for files in ({}, START):
        store = MemoryStore()
        await put_objects(store, files)
        await Machine(store).remote.migrate(lambda: True)
        await is_whole(store, files, Format.SHARDED)
        await Machine(store).push(version("c", 1))
        await is_whole(store, files | version("c", 1), Format.SHARDED)


async def test_a_migration_by_an_existing_client_is_finished() -> None:
    store, _ = await bucket(Format.DUAL)
    await Machine(store).push({}, deleted=["reports/odd.md"])
    await LegacyWriter(store, SOLO).migrate()
    done = await Machine(store).remote.migrate(lambda: True)
    assert done.was_sharded
    assert json.loads(store.objects[MONOLITH][0])["bayou"] == {"format": "sharded"}
    assert (await Machine(store).remote.head()).is_vouched


async def test_a_commit_during_a_migration_lands_in_the_shards() -> None:
    store, machine = await bucket(Format.DUAL)
    listed = await machine.view()  # known as dual
    await Machine(store).remote.migrate(lambda: True)
    await put_objects(store, version("c", 1))
    assert not (await machine.commit(Changeset("", (change(listed, version("c", 1)),)))).contested
    await is_whole(store, START | version("c", 1), Format.SHARDED)


# A lost or damaged meta is never an old format (promise 12, W-13).


@pytest.mark.parametrize(
    "meta", [None, b"", b'{"version":2,"partitions":["_ro', b"{}", b'{"version":1,"partitions":[]}', b"[1]"]
)
async def test_a_sharded_index_whose_meta_is_lost_is_neither_read_nor_written_as_an_old_one(meta: bytes | None) -> None:
    store, known = await bucket(Format.SHARDED)
    await known.push(version("c", 1))
    await damage(store, META, meta)
    before = dict(store.objects)
    for machine in (known, Machine(store)):
        with pytest.raises(Corrupt) as caught:
            await machine.remote.load()
        assert "index rebuild" in caught.value.remedy
        with pytest.raises(Corrupt):
            await machine.commit(Changeset("", (change({}, version("d", 1)),)))
    assert store.objects == before

    seen = await legacy_seq_of(before[META][0]) if META in before else 0
    done = await Machine(store).remote.rebuild(lambda: True)
    assert done.format is Format.SHARDED
    await is_whole(store, START | version("c", 1), Format.SHARDED)
    assert (await legacy_commit_seq(store, SOLO) or 0) > seen
    if meta is not None and meta != b'{"version":1,"partitions":[]}':
        assert [store.objects[kept][0] for kept in done.quarantined] == [meta]
        assert all(kept.startswith(QUARANTINE) for kept in done.quarantined)
    again = await Machine(store).remote.rebuild(lambda: True)
    assert (again.repaired, again.quarantined, again.dropped, again.recovered) == ((), (), (), ())
    await known.push(version("d", 1))


async def legacy_seq_of(meta: bytes) -> int:
    try:
        return int(json.loads(meta).get("commitSeq") or 0)
    except (ValueError, AttributeError):
        return 0


async def damage(store: MemoryStore, key: str, content: bytes | None) -> None:
    if content is None:
        await store.delete(key)
    else:
        await store.put(key, content)


async def test_an_index_of_a_release_to_come_is_left_alone() -> None:
    store, machine = await bucket(Format.SHARDED)
    await store.put(META, b'{"version":3,"partitions":[]}')
    before = dict(store.objects)
    for work in (machine.remote.head, machine.remote.load):
        with pytest.raises(Unsupported) as caught:
            await work()
        assert caught.value.kind is ErrorKind.UNKNOWN_FORMAT
    for task in (machine.remote.migrate, machine.remote.rebuild):
        with pytest.raises(Unsupported):
            await task(lambda: True)
    assert store.objects == before


async def test_a_number_that_was_used_before_is_not_used_again_after_a_rebuild() -> None:
    """W-15: also one from a clock that ran ahead, read from what is left of the meta."""
    store, machine = await bucket(Format.SHARDED)
    meta = json.loads(store.objects[META][0]) | {"commitSeq": 9_000_000_000_000}
    await store.put(META, json.dumps(meta).encode()[:-1])
    await machine.remote.rebuild(lambda: True)
    assert await legacy_commit_seq(store, SOLO) == 9_000_000_000_001


# Damaged shards.


@pytest.mark.parametrize("content", [None, b"", b'{"version":1,"entries":{"data', b'{"version":7,"entries":{}}'])
async def test_a_lost_shard_is_rebuilt_from_what_lies_in_the_bucket(content: bytes | None) -> None:
    store, machine = await bucket(Format.SHARDED)
    await machine.push(version("a", 2))
    await damage(store, "_index/data--t--s--a.json", content)
    with pytest.raises(BrickedError):
        await legacy_view(store, SOLO)
    if content is not None:
        with pytest.raises(Corrupt, match="data--t--s--a"):
            await Machine(store).remote.load()
    done = await Machine(store).remote.rebuild(lambda: True)
    assert set(done.recovered) == (version("a", 1) | version("a", 2)).keys()
    await is_whole(store, START | version("a", 2), Format.SHARDED)
    # What the monolith still knew has its hash again.
    hashes = await Machine(store).view()
    assert all(hashes[path] is not None for path in version("a", 1))


async def test_entries_without_an_object_are_dropped_and_named() -> None:
    store, _ = await bucket(Format.SHARDED)
    gone = next(iter(version("a", 1)))
    await store.delete(gone)
    done = await Machine(store).remote.rebuild(lambda: True)
    assert done.dropped == (gone,)
    assert gone not in await Machine(store).view()


async def test_objects_that_nobody_lists_stay_unlisted() -> None:
    """They may be uploads under way, or deletions that wait for their sweep."""
    store, machine = await bucket(Format.SHARDED)
    await machine.push({}, deleted=list(version("b", 1)))
    await put_objects(store, {"audit/under-way": b"u"})
    for meta in (store.objects[META][0], b"cut off"):
        await store.put(META, meta)
        await machine.remote.rebuild(lambda: True)
        assert (await Machine(store).view()).keys() == START.keys() - version("b", 1).keys()


async def test_entries_in_a_wrong_shard_are_brought_home() -> None:
    """L4: existing clients read any listed shard, and would list the right one without an object."""
    store, machine = await bucket(Format.SHARDED)
    shard = {"version": 1, "entries": {p: legacy_entry(p, b) for p, b in version("z", 1).items()}}
    await put_objects(store, version("z", 1) | {"_index/extra.json": json.dumps(shard).encode()})
    meta = json.loads(store.objects[META][0])
    await store.put(META, json.dumps(meta | {"partitions": [*meta["partitions"], "extra"]}).encode())
    assert version("z", 1).keys() <= (await Machine(store).view()).keys()
    await machine.remote.rebuild(lambda: True)
    await is_whole(store, START | version("z", 1), Format.SHARDED)
    assert "data--t--s--z" in json.loads(store.objects[META][0])["partitions"]


# A dual index.


async def test_a_dual_index_is_rebuilt_as_a_dual_one() -> None:
    store, machine = await bucket(Format.DUAL)
    await store.put("_index/data--t--s--a.json", b"cut off")
    await store.put(META, store.objects[META][0][:-9])
    with pytest.raises(Corrupt):
        await machine.remote.status()
    done = await machine.remote.rebuild(lambda: True)
    assert (done.format, len(done.quarantined)) == (Format.DUAL, 2)
    await is_whole(store, START, Format.DUAL)
    assert (await legacy_scoped_view(store, SOLO, "t/s/a") or {}).keys() == version("a", 1).keys()


async def test_a_lost_monolith_is_rebuilt_from_its_shards() -> None:
    store, machine = await bucket(Format.DUAL)
    before = await machine.view()
    await store.put(MONOLITH, b'{"version":1')
    done = await Machine(store).remote.rebuild(lambda: True)
    assert done.format is Format.DUAL
    await is_whole(store, START, Format.DUAL)
    assert await Machine(store).view() == before


async def test_nothing_is_rebuilt_where_there_was_nothing() -> None:
    store = MemoryStore()
    assert (await Machine(store).remote.rebuild(lambda: True)).format is Format.NONE
    assert store.objects == {}


async def test_shards_without_meta_and_monolith_are_not_taken_for_a_new_bucket() -> None:
    store, machine = await bucket(Format.SHARDED)
    await store.delete(META)
    await store.delete(MONOLITH)
    fresh = Machine(store)
    assert (await fresh.view()).keys() == START.keys()  # a reader sees what lies there
    with pytest.raises(Corrupt):
        await fresh.commit(Changeset("", (change({}, version("d", 1)),)))
    await machine.remote.rebuild(lambda: True)
    await is_whole(store, START, Format.SHARDED)


async def test_a_bucket_that_somebody_filled_by_hand_gets_an_index() -> None:
    store = MemoryStore()
    await put_objects(store, START)
    machine = Machine(store)
    done = await machine.remote.rebuild(lambda: True)
    assert (done.format, set(done.recovered)) == (Format.DUAL, set(START))
    assert (await machine.remote.head()).is_vouched
    assert await Machine(store).view() == dict.fromkeys(START)
    assert (await legacy_view(store, SOLO)).keys() == START.keys()
