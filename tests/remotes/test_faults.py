"""Crashes and lost answers at every single request: what is left is whole, and the next one finishes or repairs it."""

import pytest

from bayou.errors import Unavailable
from bayou.layout.keys import Keyspace
from bayou.remotes import Changeset, Format
from bayou.storage import Patience, Retry
from bayou.testing.faults import Fault, Faulty, at
from bayou.testing.legacy import legacy_view
from bayou.testing.machines import Machine, change, entry_of, put_objects
from bayou.testing.memory import MemoryStore

SOLO = Keyspace()
QUICK = Patience(attempts=6, first_pause=0, longest_pause=0)
CRASHES = [Fault.FAIL_BEFORE, Fault.FAIL_AFTER]


def version(model: str, number: int) -> dict[str, bytes]:
    folder = f"data/t/s/{model}/state/{number}"
    return {f"{folder}/raw": f"{model} {number}".encode(), f"{folder}/metadata.yaml": f"version: {number}".encode()}


START = version("a", 1) | version("b", 1) | version("gone", 1) | {"reports/odd.md": b"odd"}
NEW = version("a", 2) | version("c", 1) | {"reports/new.md": b"new"}
STATES = ["empty", "dual", "sharded", "by existing clients"]


async def bucket(state: str) -> MemoryStore:
    store = MemoryStore()
    if state == "empty":
        await put_objects(store, START)
        return store
    machine = Machine(store)
    await machine.push(START)
    if state == "sharded":
        await machine.remote.migrate(lambda: True)
    if state == "by existing clients":
        for key in [key for key in store.objects if "_meta" in key or "id-b" in key or "_unpart" in key]:
            del store.objects[key]
    return store


async def wanted(store: MemoryStore) -> Changeset:
    listed = await Machine(store).view()
    units = [
        change(listed, version("a", 2)),
        change(listed, version("c", 1)),
        change(listed, {"reports/new.md": b"new"}),
    ]
    gone = change(listed, {}, version("gone", 1))
    buried = {path: entry_of("", body).sha256 or "" for path, body in version("gone", 1).items()}
    return Changeset("", (*units, type(gone)(gone.before, gone.after, buries=buried)))


async def check(store: MemoryStore, *, done: bool) -> None:
    """Whole versions, no more and no less than before or after, and the same for everybody."""
    seen = await Machine(store).view()
    for files in (version("a", 1), version("a", 2), version("b", 1), version("c", 1), version("gone", 1)):
        assert len(files.keys() & seen.keys()) in {0, 2}
    assert (START.keys() - version("gone", 1).keys()) <= seen.keys() <= (START | NEW).keys()
    if done:
        assert seen.keys() == (START | NEW).keys() - version("gone", 1).keys()
        assert None not in seen.values() or "data/t/s/b/state/1/raw" in [p for p, c in seen.items() if c is None]
    if ".datastore-index.json" in store.objects:
        assert (await legacy_view(store, SOLO)).keys() == seen.keys()


async def check_graves(reader: Machine) -> None:
    """Whoever sees an entry gone sees why, however little he asks for."""
    head = await reader.remote.head()
    snapshot = await reader.remote.load(head=head)
    if not snapshot.contents().keys() & version("gone", 1).keys():
        loaded = head if head.token == snapshot.token else None
        buried = await reader.remote.buried(["data--t--s--gone"], loaded)
        assert buried.graves.keys() == version("gone", 1).keys()


@pytest.mark.parametrize("fault", CRASHES)
@pytest.mark.parametrize("state", STATES)
async def test_a_commit_killed_at_any_request_is_finished_by_whoever_comes_next(state: str, fault: Fault) -> None:
    number, requests = 0, 1
    while number < requests:
        number += 1
        store = await bucket(state)
        await put_objects(store, NEW)
        changeset = await wanted(store)
        readers = [Machine(store), Machine(store)]
        await check_graves(readers[0])
        faulty = Faulty(store, at(number, fault))
        crashed = await fails(Machine(faulty).commit(changeset))
        requests = max(requests, len(faulty.requests) + 1)
        await check(store, done=not crashed)
        for reader in readers:
            await check_graves(reader)
        done = await Machine(store).commit(changeset)
        assert (len(done.committed), done.contested) == (4, ())
        await check(store, done=True)
        for reader in readers:
            await check_graves(reader)
        assert (await Machine(store).remote.buried(["data--t--s--gone"])).graves.keys() == version("gone", 1).keys()
    assert number > 6


@pytest.mark.parametrize("fault", CRASHES)
@pytest.mark.parametrize("state", ["dual", "by existing clients", "empty"])
async def test_a_migration_killed_at_any_request_is_finished_by_the_next_one(state: str, fault: Fault) -> None:
    number, requests = 0, 1
    while number < requests:
        number += 1
        store = await bucket(state)
        faulty = Faulty(store, at(number, fault))
        await fails(Machine(faulty).remote.migrate(lambda: True))
        requests = max(requests, len(faulty.requests) + 1)
        if state == "empty" and any(key.startswith("_index/") for key in store.objects):
            await Machine(store).remote.rebuild(lambda: True)
        again = Machine(store)
        assert (await again.view()).keys() == START.keys()
        await again.remote.migrate(lambda: True)
        assert (await again.remote.head()).format is Format.SHARDED
        assert (await Machine(store).view()).keys() == START.keys()
        assert (await legacy_view(store, SOLO)).keys() == START.keys()
    assert number > 4


@pytest.mark.parametrize("fault", CRASHES)
@pytest.mark.parametrize("damage", ["meta cut off", "shard cut off", "shard missing", "meta missing"])
async def test_a_rebuild_killed_at_any_request_is_finished_by_the_next_one(damage: str, fault: Fault) -> None:
    number, requests = 0, 1
    while number < requests:
        number += 1
        store = await bucket("sharded")
        shard = "_index/data--t--s--a.json"
        match damage:
            case "meta cut off":
                await store.put("_index/_meta.json", store.objects["_index/_meta.json"][0][:-20])
            case "meta missing":
                await store.delete("_index/_meta.json")
            case "shard cut off":
                await store.put(shard, store.objects[shard][0][:-20])
            case "shard missing":
                await store.delete(shard)
        faulty = Faulty(store, at(number, fault))
        await fails(Machine(faulty).remote.rebuild(lambda: True))
        requests = max(requests, len(faulty.requests) + 1)
        await Machine(store).remote.rebuild(lambda: True)
        assert (await Machine(store).view()).keys() == START.keys()
        assert (await legacy_view(store, SOLO)).keys() == START.keys()
        assert (await Machine(store).remote.head()).format is Format.SHARDED
    assert number > 6


@pytest.mark.parametrize("state", STATES)
async def test_a_commit_that_loses_any_answer_is_done_once(state: str) -> None:
    """Promise 3."""
    number, requests = 0, 1
    while number < requests:
        number += 1
        store = await bucket(state)
        await put_objects(store, NEW)
        changeset = await wanted(store)
        faulty = Faulty(store, at(number, Fault.FAIL_AFTER))
        done = await Machine(Retry(faulty, QUICK)).commit(changeset)
        requests = max(requests, len(faulty.requests))
        assert (len(done.committed), done.contested) == (4, ())
        await check(store, done=True)


async def fails(work: object) -> bool:
    try:
        await work  # type: ignore[misc]
    except Unavailable:
        return True
    return False
