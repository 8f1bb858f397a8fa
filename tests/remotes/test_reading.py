"""Reading: how little is asked, that nothing is written, and that nothing outside the namespace is touched."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.domain.scopes import EVERYTHING, Scope, scope_of
from bayou.errors import Denied, Unavailable
from bayou.layout.keys import STORE_ID, Keyspace
from bayou.remotes import Changeset, Format
from bayou.remotes.remote import CACHE_FILE
from bayou.storage import Patience, Retry
from bayou.storage.port import Fetched, Request
from bayou.testing.faults import Fault, Faulty, at
from bayou.testing.legacy import LegacyWriter
from bayou.testing.machines import Machine, change, legacy_entry, put_objects
from bayou.testing.memory import MemoryStore

T = TypeVar("T")

META, MONOLITH = "_index/_meta.json", ".datastore-index.json"
FORMATS = [Format.DUAL, Format.SHARDED]


def model(number: int, version: int = 1) -> dict[str, bytes]:
    """All that belongs to a model of two segments, as scattered as existing clients scatter it (W-20)."""
    folder = f"data/aws/vpc/id-{number}/state"
    return {
        f"{folder}/{version}/raw": f"{number} {version}".encode(),
        f"{folder}/{version}/metadata.yaml": f"version: {version} # {number}".encode(),
        f"{folder}/latest": str(version).encode(),
        f"outputs/aws/vpc/create/id-{number}-2026-11-02T08-15-30-120Z.yaml": b"output",
    }


def scope(number: int) -> Scope:
    return scope_of([Model(ModelType("aws/vpc"), f"id-{number}")])


def files_of(count: int) -> dict[str, bytes]:
    return {path: body for number in range(count) for path, body in model(number).items()}


async def bucket(format_: Format, files: dict[str, bytes], namespace: str = "") -> tuple[MemoryStore, Machine]:
    store = MemoryStore()
    machine = Machine(store, namespace)
    await machine.push(files)
    if format_ is Format.SHARDED:
        await machine.remote.migrate(lambda: True)
    machine.asked()
    return store, machine


def shard(name: str) -> str:
    return f"get _index/{name}.json"


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("count", [3, 300])
async def test_the_first_read_of_a_model_asks_for_its_shards_and_nothing_else(format_: Format, count: int) -> None:
    store, _ = await bucket(format_, files_of(count))
    machine = Machine(store)
    assert (await machine.view(scope(1))).keys() == model(1).keys()
    own = ["data--aws--vpc--id-1", "data--aws--vpc", "outputs--aws--vpc--create"]
    asked = [f"get {META}", *map(shard, own), *([f"get {MONOLITH}"] if format_ is Format.DUAL else [])]
    assert sorted(machine.asked()) == sorted(asked)
    monolith = len(store.objects[MONOLITH][0])
    if count > 3:
        assert machine.tally.bytes_down < monolith

    assert (await machine.view(scope(1))).keys() == model(1).keys()
    assert len(machine.asked()) == 1


@pytest.mark.parametrize("format_", FORMATS)
async def test_one_changed_model_costs_its_shards_and_not_the_index(format_: Format) -> None:
    """W-63, W-70."""
    store, writer = await bucket(format_, files_of(300))
    machine = Machine(store)
    await machine.view()
    machine.asked()
    await writer.push({path: body for path, body in model(1, version=2).items() if "/2/" in path})
    assert model(1, version=2).keys() <= (await machine.view()).keys()
    head = [f"head {MONOLITH}"] if format_ is Format.DUAL else []
    assert machine.asked() == [*head, f"get {META}", shard("data--aws--vpc--id-1")]
    await machine.view()
    assert len(machine.asked()) == 1


@pytest.mark.parametrize("format_", FORMATS)
async def test_what_was_read_is_remembered_by_the_next_process(format_: Format, tmp_path: Path) -> None:
    store, writer = await bucket(format_, files_of(30))
    first = Machine(store, cache=tmp_path)
    expected = await first.view()
    first.remote.close()
    assert (tmp_path / CACHE_FILE).exists()
    await writer.push({"audit/x": b"x"})
    second = Machine(store, cache=tmp_path)
    assert (await second.view()).keys() == expected.keys() | {"audit/x"}
    assert len(second.asked()) <= 3
    second.remote.close()


async def test_a_damaged_cache_is_begun_anew(tmp_path: Path) -> None:
    store, _ = await bucket(Format.SHARDED, files_of(3))
    (tmp_path / CACHE_FILE).parent.mkdir(parents=True)
    (tmp_path / CACHE_FILE).write_bytes(b"not a database" * 100)
    machine = Machine(store, cache=tmp_path)
    assert (await machine.view()).keys() == files_of(3).keys()
    machine.remote.close()


@pytest.mark.parametrize("format_", FORMATS)
async def test_a_model_that_nobody_wrote_loads_nothing(format_: Format) -> None:
    """W-22: not the whole of an old monolith."""
    store, _ = await bucket(format_, files_of(5))
    machine = Machine(store)
    nobody = scope_of([Model(ModelType("other/type"), "nobody")])
    assert await machine.view(nobody) == {}
    assert len(machine.asked()) == (2 if format_ is Format.DUAL else 1)


@pytest.mark.parametrize("format_", FORMATS)
async def test_models_that_share_a_shard_are_told_apart(format_: Format) -> None:
    """W-39: `data/a--b/M`, `data/a/b/M` and `data/a/b--M` are all in `data--a--b--M`."""
    types = {"a--b": "M", "a/b": "M", "a": "b--M"}
    files = {f"data/{type_}/{id_}/n/1/raw": type_.encode() for type_, id_ in types.items()}
    store, _ = await bucket(format_, files)
    for type_, id_ in types.items():
        assert (await Machine(store).view(scope_of([Model(ModelType(type_), id_)]))).keys() == {
            f"data/{type_}/{id_}/n/1/raw"
        }


async def test_shards_are_read_side_by_side_and_not_all_at_once() -> None:
    """W-69, W-72."""
    store, _ = await bucket(Format.SHARDED, files_of(100))
    crowd = Crowd(store)
    await Machine(crowd, width=10).view()
    assert crowd.most == 10
    await Machine(crowd, width=10).push(files_of(40) | {f"data/aws/vpc/id-{n}/state/7/raw": b"7" for n in range(40)})
    assert crowd.most == 10


class Crowd(Faulty):
    """Counts the requests that are under way together."""

    def __init__(self, inner: MemoryStore) -> None:
        super().__init__(inner, lambda _: None)
        self.under_way = self.most = 0

    async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:  # noqa: ARG002  a hook's signature
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(0)
            return await call()
        finally:
            self.under_way -= 1


# Readers.


@pytest.mark.parametrize("format_", [*FORMATS, Format.NONE])
async def test_readers_write_nothing(format_: Format) -> None:
    """W-16, W-17."""
    if format_ is Format.NONE:
        store = MemoryStore()
        await put_objects(store, files_of(2) | {".locks/infra.lock": b"l", "data/x/.lock": b"l", "_control/r": b"r"})
    else:
        store, _ = await bucket(format_, files_of(2))
        await store.delete(next(iter(model(1))))  # a dangling entry is reported by whoever fetches it
    machine = Machine(store)
    for each in (EVERYTHING, scope(1)):
        await machine.view(each)
    await machine.remote.status()
    await machine.remote.identity()
    await machine.remote.buried(["data--aws--vpc--id-1", None])
    assert all(request.split()[0] in {"get", "head", "list"} for request in machine.asked())


@pytest.mark.parametrize("format_", FORMATS)
async def test_a_read_that_fails_is_never_taken_for_an_absence(format_: Format) -> None:
    """W-77, promise 12: one 503 is tried again, a lasting one is raised; nothing looks empty or old."""
    store, _ = await bucket(format_, files_of(3))
    requests = 1
    number = 0
    while number < requests:
        number += 1
        faulty = Faulty(store, at(number, Fault.FAIL_BEFORE))
        seen = await Machine(Retry(faulty, Patience(first_pause=0, longest_pause=0))).view()
        requests = len(faulty.requests) - 1
        assert seen.keys() == files_of(3).keys()
        with pytest.raises(Unavailable):
            await Machine(Faulty(store, at(number, Fault.FAIL_BEFORE))).view()
    assert number > 1


async def test_who_may_not_read_is_told_so() -> None:
    class Closed(MemoryStore):
        async def get(self, key: str, *, start: int = 0, stop: int | None = None) -> Fetched:  # noqa: ARG002
            raise Denied("no")

    with pytest.raises(Denied):
        await Machine(Closed()).view()


async def test_a_bucket_without_an_index_shows_what_lies_in_it() -> None:
    """Acceptance 14, 17, 18."""
    store = MemoryStore()
    assert await Machine(store).view() == {}
    other = {"team-a/.namespace.json": b"{}", "team-a/data/x/y/z/1/raw": b"theirs"}
    internal = {".datastore.lock": b"", ".push-queue.json": b"", "data/t/_catalog.db": b"", "secrets/k": b"s"}
    await put_objects(store, files_of(2) | other | internal | {"_control/x": b"c"})
    snapshot = await Machine(store).remote.load()
    assert snapshot.format is Format.NONE
    assert snapshot.contents() == dict.fromkeys(files_of(2))
    assert {path: entry.size for path, entry in snapshot.all().items()} == {p: len(b) for p, b in files_of(2).items()}
    assert (await Machine(store, "team-a").view()).keys() == {"data/x/y/z/1/raw"}


async def test_a_first_commit_publishes_what_lies_there_with_its_own() -> None:
    """Acceptance 19, 21."""
    store = MemoryStore()
    await put_objects(store, files_of(2) | {"audit/x": b"x"})
    machine = Machine(store)
    done = await machine.commit(Changeset("", (change({}, {"audit/x": b"x"}),)))
    assert len(done.committed) == 1
    seen = await Machine(store).view()
    assert seen.keys() == files_of(2).keys() | {"audit/x"}
    assert seen["audit/x"] is not None


# Namespaces (promise 7).


@pytest.mark.parametrize("format_", [*FORMATS, Format.NONE])
async def test_every_request_stays_in_the_namespace(format_: Format) -> None:
    store = MemoryStore()
    await put_objects(store, {"data/x/y/z/1/raw": b"root", "team-a/audit/x": b"theirs"})
    await Machine(store).push({"audit/root": b"r"})
    await Machine(store, "team-a").push({"audit/a": b"a"})
    await put_objects(store, files_of(2), "infra")
    machine = Machine(store, "infra")
    if format_ is not Format.NONE:
        await machine.push(files_of(2))
    if format_ is Format.SHARDED:
        await machine.remote.migrate(lambda: True)
    await machine.view()
    await machine.view(scope(1))
    listed = await machine.view()
    path = next(iter(model(1)))
    gone = change(listed, {}, [path])
    await machine.commit(Changeset("infra", (type(gone)(gone.before, {}, buries={path: "0" * 64}),)))
    await store.put("infra/_index/_meta.json", b"damaged")
    await machine.remote.rebuild(lambda: True)
    await machine.remote.status()
    await machine.remote.buried(["data--aws--vpc--id-1", None])
    await machine.remote.records.put("claims/x", b"1")
    await machine.remote.records.list("claims/")
    await machine.remote.establish()
    keys = {request.split(" ", 1)[1] for request in machine.asked()}
    assert {key for key in keys if not key.startswith("infra/")} <= {"infra", STORE_ID}
    assert (await Machine(store, "team-a").view()).keys() >= {"audit/a"}
    assert (await Machine(store).view()).keys() >= {"audit/root"}


async def test_a_missing_file_of_a_namespace_is_not_looked_for_in_the_root() -> None:
    """W-36: the index of a namespace is all that counts for it."""
    store = MemoryStore()
    await Machine(store).push({"audit/x": b"root"})
    machine = Machine(store, "infra")
    assert await machine.view() == {}
    assert all(
        request.endswith(("infra", "infra/.datastore-index.json", "infra/_index/_meta.json"))
        for request in machine.asked()
    )


async def test_legacy_entries_without_a_hash_are_unknown_and_not_equal() -> None:
    """W-37."""
    store, machine = await bucket(Format.DUAL, files_of(1))
    entry = {k: v for k, v in legacy_entry("audit/x", b"x").items() if k != "sha256"}
    await put_objects(store, {"audit/x": b"x"})
    await LegacyWriter(store, Keyspace()).commit({"audit/x": entry})
    listed = await machine.view()
    assert listed["audit/x"] is None
    stale = await machine.commit(Changeset("", (change({"audit/x": "0" * 64}, {"audit/x": b"y"}),)))
    assert len(stale.contested) == 1
    learnt = await machine.commit(Changeset("", (change(listed, {"audit/x": b"x"}),)))
    assert len(learnt.committed) == 1
    assert (await Machine(store).view())["audit/x"] is not None
