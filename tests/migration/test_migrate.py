"""Migrating: all of it arrives with its hashes, nothing of anybody else is touched, and whoever is killed goes on."""

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TypeVar

import pytest

from bayou.errors import BayouError, Conflict, UsageError
from bayou.migration.copying import Failed, Trouble, Wanted, copy
from bayou.migration.ends import End
from bayou.migration.migrate import Outcome, preview
from bayou.remotes import Change, Changeset, Format, ObjectRemote
from bayou.remotes.identity import identity
from bayou.storage.filesystem import FilesystemStore
from bayou.storage.port import Request, Store, Wrapper
from bayou.storage.record import Record, Tally
from bayou.testing.faults import Fault as StoreFault
from bayou.testing.faults import Faulty, at
from bayou.testing.legacy import legacy_view
from bayou.testing.machines import Machine, entry_of, put_objects
from bayou.testing.memory import MemoryStore
from bayou.testing.migrations import carried

T = TypeVar("T")

STATE = "data/aws/vpc/a/state"
START = {
    f"{STATE}/1/raw": b"one",
    f"{STATE}/1/metadata.yaml": b"version: 1",
    f"{STATE}/latest": b"2",
    "audit/x": b"audit",
    "logs/gone": b"gone",
}
HERE = START.keys() - {"logs/gone"}
RECORD = "_control/claims/job-1"


async def bucket(form: Format = Format.DUAL, namespace: str = "") -> MemoryStore:
    store = MemoryStore()
    machine = Machine(store, namespace)
    await machine.remote.establish()
    await machine.push(START)
    gone = {"logs/gone": entry_of("logs/gone", b"gone").sha256 or ""}
    await machine.commit(Changeset(namespace, (Change(before=gone, buries=gone),)))
    if form is Format.SHARDED:
        await machine.remote.migrate(lambda: True)
    await machine.remote.records.put("claims/job-1", b"mine")
    return store


async def run(source: Store, target: Store, *, number: int = 1, namespace: str = "", **kinds: bool) -> Outcome:
    here = End(ObjectRemote(source, namespace), "here", is_folder=kinds.get("source_folder", False))
    remote = ObjectRemote(target, namespace, width=1, now=lambda: time.time_ns() + number * 10**9)
    there = End(remote, "there", is_folder=kinds.get("target_folder", False))

    return await carried(here, there)


async def view(store: Store, namespace: str = "") -> dict[str, bytes]:
    """What the index lists, with the bytes that lie there; each has the hash that is listed."""
    remote = ObjectRemote(store, namespace)
    listed = (await remote.load()).all()
    found = {path: await (await store.get(remote.place.keys.data(path))).bytes() for path in listed}
    assert {path: entry.sha256 for path, entry in listed.items()} == {
        path: entry_of(path, body).sha256 for path, body in found.items()
    }
    return found


@pytest.mark.parametrize("namespace", ["", "infra"])
@pytest.mark.parametrize("form", [Format.DUAL, Format.SHARDED])
async def test_everything_arrives_and_doing_it_again_is_nothing(form: Format, namespace: str) -> None:
    source, target = await bucket(form, namespace), MemoryStore()
    before = dict(source.objects)
    done = await run(source, target, namespace=namespace)
    assert (done.is_complete, done.copied, done.faults) == (True, len(HERE) + 1, {})
    assert await view(target, namespace) == {path: START[path] for path in HERE}
    remote = ObjectRemote(target, namespace)
    assert (await legacy_view(target, remote.place.keys)).keys() == HERE
    assert (await remote.head()).format is form
    assert (await remote.all_buried()).graves.keys() == {"logs/gone"}
    assert await remote.records.list() == ["claims/job-1"]
    assert await identity(target) not in (None, await identity(source))
    assert source.objects == before
    after = dict(target.objects)
    again = await run(source, target, number=2, namespace=namespace)
    assert (again.is_complete, again.copied, again.listed) == (True, 0, 0)
    assert target.objects == after


@pytest.mark.parametrize(
    ("form", "fault"), [(Format.DUAL, StoreFault.FAIL_AFTER), (Format.SHARDED, StoreFault.FAIL_BEFORE)]
)
async def test_one_that_was_killed_at_any_request_is_finished_by_the_next(form: Format, fault: StoreFault) -> None:
    source = await bucket(form)
    for number in count(1 + (form is Format.DUAL), 2):
        target = MemoryStore()
        faulty = Faulty(target, at(number, fault))
        with suppress(BayouError):
            await run(source, faulty)
        if len(faulty.requests) < number:
            break
        # Whoever looks in between sees whole versions, each file with its hash, or nothing at all.
        if (await ObjectRemote(target).head()).format is not Format.NONE:
            seen = await view(target)
            assert (f"{STATE}/1/raw" in seen) == (f"{STATE}/1/metadata.yaml" in seen)
        # Meanwhile something else is at the source: whatever the kill left behind is not in the way of that.
        now = {f"{STATE}/latest": b"%d" % number, "audit/x": b"audit %d" % number}
        await Machine(source).push(now)
        assert (await run(source, target, number=2)).is_complete
        assert await view(target) == {path: START[path] for path in HERE} | now
        assert (await ObjectRemote(target).all_buried()).graves.keys() == {"logs/gone"}
    assert number > 30


@pytest.mark.parametrize("fault", [StoreFault.FAIL_BEFORE, StoreFault.BREAK_OFF])
async def test_a_source_that_fails_at_any_request_loses_nothing(fault: StoreFault) -> None:
    source = await bucket()
    for number in count(1):
        target = MemoryStore()
        faulty = Faulty(source, at(number, fault))
        with suppress(BayouError):
            await run(faulty, target)
        if len(faulty.requests) < number:
            break
        assert (await run(source, target, number=2)).is_complete
        assert await view(target) == {path: START[path] for path in HERE}
    assert number > 15


async def test_wrong_bytes_on_the_way_are_never_listed() -> None:
    source = await bucket()
    for number in count(1):
        target = MemoryStore()
        faulty = Faulty(source, at(number, StoreFault.WRONG_BYTES, verb="get"))
        with suppress(BayouError):
            await run(faulty, target)
        if sum(request.verb == "get" for request in faulty.requests) < number:
            break
        if (await ObjectRemote(target).head()).format is not Format.NONE:
            assert (await view(target)).items() <= START.items()


class Disturbed(Wrapper):
    """Before one of its requests something happens, elsewhere or here."""

    def __init__(
        self, inner: Store, before: Callable[[int, Request], bool], happens: Callable[[], Awaitable[object]]
    ) -> None:
        super().__init__(inner)
        self.before, self.happens, self.number = before, happens, 0

    async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:
        self.number += 1
        if self.before(self.number, request):
            await self.happens()
        return await call()


async def test_what_is_written_at_the_source_meanwhile_arrives_too() -> None:
    new = {"audit/x": b"more audit", f"{STATE}/3/raw": b"three", f"{STATE}/3/metadata.yaml": b"version: 3"}
    for chosen in count(1, 4):
        source, target = await bucket(), MemoryStore()

        async def write(source: MemoryStore = source) -> None:
            await Machine(source).push(new, deleted=["logs/none"])

        disturbed = Disturbed(target, lambda number, _, chosen=chosen: number == chosen, write)  # type: ignore[misc]
        await run(source, disturbed)
        if disturbed.number < chosen:
            break
        assert (await run(source, target, number=2)).is_complete
        assert await view(target) == {path: START[path] for path in HERE} | new
    assert chosen > 30


async def test_what_was_deleted_at_the_source_since_is_deleted() -> None:
    source, target = await bucket(), MemoryStore()
    await run(source, target)
    version = {path: entry_of(path, START[path]).sha256 or "" for path in HERE if f"{STATE}/1/" in path}
    buried = Change(before=version, buries=version)
    dropped = Change(before={"audit/x": entry_of("audit/x", b"audit").sha256})
    await Machine(source).commit(Changeset("", (buried, dropped)))
    done = await run(source, target, number=2)
    assert (done.is_complete, done.removed) == (True, 2)
    # That something is not listed is no evidence: only what a tombstone names goes.
    assert (await view(target)).keys() == HERE - version.keys()
    assert (await ObjectRemote(target).all_buried()).graves.keys() == {"logs/gone", *version}


async def test_what_the_target_changed_since_stands() -> None:
    source, target = await bucket(), MemoryStore()
    await run(source, target)
    gone = {"audit/x": entry_of("audit/x", b"audit").sha256 or ""}
    there = Machine(target)
    await there.push({f"{STATE}/latest": b"1", "logs/new": b"theirs"})
    await there.commit(Changeset("", (Change(before=gone, buries=gone),)))
    assert (await run(source, target, number=2)).is_complete
    expected = {path: START[path] for path in HERE} | {f"{STATE}/latest": b"1", "logs/new": b"theirs"}
    expected.pop("audit/x")
    assert await view(target) == expected
    # Both changed: nothing is overwritten, and it is named. Something else is carried all the same.
    await Machine(source).push({f"{STATE}/latest": b"3", "logs/other": b"ours"})
    done = await run(source, target, number=3)
    assert (done.is_complete, set(done.differing)) == (False, {f"{STATE}/latest"})
    assert await view(target) == expected | {"logs/other": b"ours"}


async def test_what_changes_there_and_back_at_the_source_follows() -> None:
    source, target = await bucket(), MemoryStore()
    for number, body in enumerate((b"2", b"1", b"2", b"3"), start=1):
        await Machine(source).push({f"{STATE}/latest": body})
        assert (await run(source, target, number=number)).is_complete
        assert (await view(target))[f"{STATE}/latest"] == body


async def test_what_is_not_what_the_index_says_is_named_and_stays_behind_with_its_version() -> None:
    source, target = await bucket(), MemoryStore()
    await source.put(f"{STATE}/1/raw", b"rotten")
    await source.delete("audit/x")
    done = await run(source, target)
    assert {path: one.trouble for path, one in done.faults.items()} == {
        f"{STATE}/1/raw": Trouble.CORRUPT,
        "audit/x": Trouble.MISSING,
    }
    assert (done.is_complete, done.left) == (False, set())
    assert (await view(target)).keys() == {f"{STATE}/latest"}
    # Repaired at the source, the rest follows.
    await put_objects(source, {path: START[path] for path in (f"{STATE}/1/raw", "audit/x")})
    assert (await run(source, target, number=2)).is_complete
    assert (await view(target)).keys() == HERE


async def test_what_was_copied_once_and_is_lost_by_now_is_not_listed() -> None:
    source, target = await bucket(), MemoryStore()
    here, there = (End(ObjectRemote(store), str(store)) for store in (source, target))
    with pytest.raises(Conflict):
        await carried(here, there, lost=lambda: "audit/x" in target.objects)
    await target.delete("audit/x")
    await source.put("audit/x", b"rotten")
    done = await run(source, target)
    assert done.faults.keys() == {"audit/x"}
    assert (await view(target)).keys() == HERE - {"audit/x"}


async def test_a_place_with_data_of_others_is_refused_before_anything_is_written() -> None:
    source = await bucket()
    indexed, lying, claimed = MemoryStore(), MemoryStore(), MemoryStore()
    await Machine(indexed).push({"logs/x": b"theirs"})
    await put_objects(lying, {"data/aws/vpc/b/state/1/raw": b"theirs"})
    await put_objects(claimed, {RECORD: b"theirs"})
    for target in (indexed, lying, claimed):
        before = dict(target.objects)
        with pytest.raises(Conflict, match="holds data already"):
            await run(source, target)
        assert target.objects == before
    # What came from elsewhere is not mixed with this.
    target = MemoryStore()
    await run(await bucket(), target)
    with pytest.raises(Conflict, match="from"):
        await run(source, target)
    with pytest.raises(UsageError, match="one store"):
        await run(source, source)


async def test_a_file_of_somebody_else_that_appears_meanwhile_is_not_overwritten() -> None:
    source, target = await bucket(), MemoryStore()

    async def put() -> None:
        await target.put("audit/x", b"theirs")

    disturbed = Disturbed(target, lambda _, request: (request.verb, request.key) == ("put", "audit/x"), put)
    done = await run(source, disturbed)
    assert target.objects["audit/x"][0] == b"theirs"
    assert done.faults["audit/x"].trouble is Trouble.OCCUPIED
    assert (await view(target)).keys() == HERE - {"audit/x"}


async def test_a_preview_changes_nothing() -> None:
    source, target = await bucket(), MemoryStore()
    planned = await preview(End(ObjectRemote(source), "here"), End(ObjectRemote(target), "there"))
    assert planned.plan.copies.keys() == HERE | {RECORD}
    assert target.objects == {}


async def test_a_folder_needs_no_index_and_a_bucket_gets_one(tmp_path: Path) -> None:
    """Bucket to folder to bucket: the same files; half a version and what is of this machine stay."""
    source, target = await bucket(), MemoryStore()
    folder = FilesystemStore(tmp_path)
    assert (await run(source, folder, target_folder=True)).is_complete
    files = {path: (tmp_path / path).read_bytes() for path in HERE}
    assert files == {path: START[path] for path in HERE}
    assert not (tmp_path / ".datastore-index.json").exists()
    again = await run(source, folder, number=2, target_folder=True)
    assert (again.is_complete, again.copied) == (True, 0)
    await put_objects(folder, {f"{STATE}/3/raw": b"half", "outputs/a/run.log": b"mine", "README": b"?"})
    done = await run(folder, target, source_folder=True)
    assert done.is_complete
    assert await view(target) == {path: START[path] for path in HERE}
    await put_objects(folder, {"audit/x": b"later"})
    assert (await run(folder, target, number=2, source_folder=True)).is_complete
    assert (await view(target))["audit/x"] == b"later"


async def test_a_large_object_that_a_kill_left_as_a_claim_is_carried_by_the_next() -> None:
    body = bytes(range(256)) * (9 << 12)  # 9 MiB: above what goes in one request
    source, target = MemoryStore(), MemoryStore()
    await put_objects(source, {"files/large": body})
    wanted = Wanted("files/large", "files/large", len(body), entry_of("", body).sha256)
    for number in count(1):
        target = MemoryStore()
        faulty = Faulty(target, at(number, StoreFault.FAIL_AFTER, verb="put"))
        with suppress(BayouError):
            await copy(source, faulty, wanted)
        if sum(request.verb == "put" for request in faulty.requests) < number:
            break
        other = MemoryStore()
        other.objects = dict(target.objects)
        assert await copy(source, target, wanted)
        assert target.objects["files/large"][0] == body
        # By then it may be another one.
        changed = Wanted(
            "files/large", "files/large", len(body), entry_of("", body[::-1]).sha256, (wanted.sha256 or "",)
        )
        await put_objects(later := MemoryStore(), {"files/large": body[::-1]})
        assert not isinstance(await copy(later, other, changed), Failed)
        assert other.objects["files/large"][0] == body[::-1]
    assert number == 3


async def test_it_costs_a_read_and_a_write_for_each_and_nothing_for_what_is_done() -> None:
    source, target = MemoryStore(), MemoryStore()
    files = {f"logs/{number}": b"%d" % number for number in range(700)}
    await Machine(source).push(files)

    async def asked() -> tuple[int, int]:
        here, there = Tally(), Tally()
        done = await run(Record(source, here), Record(target, there), number=1 + bool(target.objects))
        assert done.is_complete
        return here.total - done.copied, there.total - done.copied

    first = await asked()
    assert max(first) < 64
    await Machine(source).push({"logs/new": b"new"})
    assert max(await asked()) < 60
    nothing = await asked()
    assert max(nothing) < 16
