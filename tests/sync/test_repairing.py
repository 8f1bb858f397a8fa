"""Repair: what can be had back is had back, what was deleted is swept away, and nothing else goes."""

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Protocol

import pytest

from bayou.errors import BayouError
from bayou.layout.keys import Keyspace
from bayou.locks import Locks, open_cells
from bayou.remotes import Format
from bayou.storage.connecting import connect
from bayou.storage.port import Store
from bayou.sync import repairing
from bayou.sync.repairing import GRACE, Repair, plan, repair
from bayou.sync.repairs import Action
from bayou.sync.verifying import Kind, verify
from bayou.testing.computers import Computer, metadata, name_of
from bayou.testing.faults import Fault, Faulty, at
from bayou.testing.legacy import legacy_view
from bayou.testing.memory import MemoryStore
from bayou.testing.servers.places import new_place

STATE = name_of()
KEYS = Keyspace("infra")
NOW = timedelta(0)


class Make(Protocol):
    def __call__(self, name: str, **settings: object) -> Computer: ...


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture(params=["dual", "sharded"])
def form(request: pytest.FixtureRequest) -> Format:
    return Format(request.param)


@pytest.fixture
def computer(tmp_path: Path, store: Store) -> Iterator[Make]:
    made: list[Computer] = []

    def make(name: str, **settings: object) -> Computer:
        given = settings.pop("store", store)
        made.append(Computer(tmp_path / name, given, namespace="infra", **settings))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for each in made:
        each.close()


async def pushed(computer: Make, form: Format = Format.DUAL) -> Computer:
    one = computer("one")
    one.write_version(1, b"one")
    one.write_version(2, b"two")
    one.write("logs/a", b"log")
    await one.push()
    if form is Format.SHARDED:
        await one.ends.remote.migrate(lambda: True)
    return one


def age(store: MemoryStore, key: str, by: timedelta = 2 * GRACE) -> None:
    content, modified = store.objects[key]
    store.objects[key] = (content, modified - by)


def actions(found: Repair) -> dict[str, Action]:
    return {fix.path: fix.action for fix in found.fixes}


async def sound(computer: Computer, *, content: bool = True) -> bool:
    return not [each async for each in verify(computer.ends, content=content) if not each.kind.is_pending]


async def mend(computer: Computer, *, grace: timedelta = NOW, content: bool = False) -> Repair:
    """A dry run, then the run, which does what it said."""
    computer.asked()
    planned = await plan(computer.ends, grace=grace, content=content)
    assert not any(line.startswith(("put", "delete", "copy")) for line in computer.asked())
    done = await repair(computer.ends, grace=grace, content=content)
    if not planned.index:
        assert actions(done) == actions(planned)
    assert done.failed == {}
    return done


async def test_where_nothing_is_wrong_nothing_is_written(computer: Make, form: Format) -> None:
    one = await pushed(computer, form)
    one.asked()
    found = await mend(one)
    assert not found.is_needed
    assert not any(line.startswith(("put", "delete", "copy")) for line in one.asked())


async def test_a_lost_object_is_uploaded_again_where_the_cache_has_it(
    computer: Make, store: MemoryStore, form: Format
) -> None:
    one = await pushed(computer, form)
    for path in ("logs/a", f"{STATE}/1/raw", f"{STATE}/latest"):
        await store.delete(one.ends.key(path))
    assert actions(await mend(one)) == {
        "logs/a": Action.UPLOAD,
        f"{STATE}/1/raw": Action.UPLOAD,
        f"{STATE}/latest": Action.POINT,
    }
    assert await sound(one)
    two = computer("two")
    await two.pull()
    assert two.files() == one.files()


async def test_what_nobody_has_any_more_is_unlisted_and_the_rest_of_it_put_aside(
    computer: Make, store: MemoryStore, form: Format
) -> None:
    one = await pushed(computer, form)
    key = one.ends.key
    await store.delete(key(f"{STATE}/2/raw"))
    await store.delete(key("logs/a"))
    doctor = computer("doctor", lazy=True)
    await doctor.pull()
    assert actions(await mend(doctor)) == {
        "logs/a": Action.UNLIST,
        f"{STATE}/2": Action.UNLIST,
        f"{STATE}/latest": Action.POINT,
    }
    assert await sound(computer("three"))
    two = computer("two")
    await two.pull()
    assert two.files().keys() == {f"{STATE}/1/raw", f"{STATE}/1/metadata.yaml", f"{STATE}/latest"}
    assert two.files()[f"{STATE}/latest"] == b"1"
    aside = [name for name in store.objects if "/quarantine/" in name]
    assert [store.objects[name][0] for name in aside] == [metadata(2, b"two")]
    assert key(f"{STATE}/2/metadata.yaml") not in store.objects


async def test_the_first_half_of_a_push_keeps_its_place_when_the_old_entry_over_it_is_unlisted(
    computer: Make, store: MemoryStore, form: Format
) -> None:
    one = await pushed(computer, form)
    key = one.ends.key
    for part in ("raw", "metadata.yaml"):
        await store.delete(key(f"{STATE}/2/{part}"))
    await store.put(key(f"{STATE}/2/raw"), b"half")
    doctor = computer("doctor")
    assert actions(await mend(doctor, grace=GRACE))[f"{STATE}/2"] is Action.UNLIST
    assert store.objects[key(f"{STATE}/2/raw")][0] == b"half"
    assert not any("/quarantine/" in name for name in store.objects)
    await one.sync()
    assert one.files()[f"{STATE}/3/raw"] == b"two"


async def test_an_index_that_contradicts_a_file_is_corrected_when_no_upload_takes_so_long(
    computer: Make, store: MemoryStore, form: Format
) -> None:
    one = await pushed(computer, form)
    await store.put(one.ends.key("logs/a"), b"other bytes")
    doctor = computer("doctor")
    assert actions(await mend(doctor, grace=GRACE)) == {"logs/a": Action.LEAVE}
    age(store, one.ends.key("logs/a"))
    assert actions(await mend(doctor, grace=GRACE)) == {"logs/a": Action.CORRECT}
    await one.pull()
    assert one.files()["logs/a"] == b"other bytes"


async def test_a_damaged_version_is_named_and_mended_only_from_a_good_copy(
    computer: Make, store: MemoryStore, form: Format
) -> None:
    one = await pushed(computer, form)
    await store.put(one.ends.key(f"{STATE}/1/raw"), b"eno")
    doctor = computer("doctor")
    assert actions(await mend(doctor, content=True)) == {f"{STATE}/1/raw": Action.LEAVE}
    assert actions(await mend(one, content=True)) == {f"{STATE}/1/raw": Action.UPLOAD}
    assert await sound(one)


async def test_a_whole_version_that_nobody_lists_is_listed_and_half_a_one_is_not(
    computer: Make, store: MemoryStore, form: Format
) -> None:
    one = await pushed(computer, form)
    key = one.ends.key
    for path, body in (
        (f"{STATE}/3/raw", b"three"),
        (f"{STATE}/3/metadata.yaml", metadata(3, b"three")),
        (f"{STATE}/4/raw", b"four"),
        (f"{STATE}/5/raw", b"five"),
        (f"{STATE}/5/metadata.yaml", metadata(6, b"five")),
        ("logs/b", b"b"),
        ("unknown/x", b"not ours"),
    ):
        await store.put(key(path), body)
    assert set(actions(await mend(one, grace=GRACE)).values()) == {Action.LEAVE}
    expected = {
        "logs/b": Action.LIST,
        f"{STATE}/3": Action.LIST,
        f"{STATE}/4": Action.LEAVE,
        f"{STATE}/5": Action.LEAVE,
    }
    assert actions(await mend(one)) == expected
    await one.pull()
    assert one.files()[f"{STATE}/3/raw"] == b"three"
    assert one.files()["logs/b"] == b"b"
    assert not any(path.startswith((f"{STATE}/4", f"{STATE}/5")) for path in one.files())
    listed = await legacy_view(store, one.ends.remote.place.keys)
    assert f"{STATE}/3/raw" in listed


async def test_what_is_older_than_any_tombstone_is_left_alone(computer: Make, store: MemoryStore) -> None:
    one = await pushed(computer)
    await store.put(one.ends.key("logs/b"), b"b")
    age(store, one.ends.key("logs/b"), timedelta(days=200))
    found = await mend(one)
    assert actions(found) == {"logs/b": Action.LEAVE}
    assert not found.is_needed


async def test_the_sweep_takes_what_was_deleted_and_is_old_enough(
    computer: Make, store: MemoryStore, form: Format
) -> None:
    one = await pushed(computer, form)
    key = one.ends.key
    one.delete_version(1)
    one.delete("logs/a")
    await one.push()
    swept = {key("logs/a"), key(f"{STATE}/1/raw"), key(f"{STATE}/1/metadata.yaml")}
    assert swept <= store.objects.keys()
    assert set(actions(await mend(one, grace=GRACE)).values()) == {Action.LEAVE}
    assert swept <= store.objects.keys()
    before = set(store.objects)
    for name in swept:
        age(store, name)
    assert actions(await mend(one, grace=GRACE)) == {"logs/a": Action.SWEEP, f"{STATE}/1": Action.SWEEP}
    assert before - store.objects.keys() == swept
    two = computer("two")
    await two.pull()
    assert two.files() == one.files()


async def test_other_bytes_at_the_place_of_something_deleted_are_not_swept(computer: Make, store: MemoryStore) -> None:
    one = await pushed(computer)
    one.delete("logs/a")
    await one.push()
    await store.put(one.ends.key("logs/a"), b"written again, not committed yet")
    assert actions(await mend(one)) == {"logs/a": Action.LEAVE}


async def test_what_is_listed_again_between_plan_and_sweep_stays(
    computer: Make, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = await pushed(computer)
    one.delete("logs/a")
    await one.push()
    planned = await plan(one.ends, grace=NOW)
    assert actions(planned) == {"logs/a": Action.SWEEP}
    made = repairing._plan
    two = computer("two")

    async def plan_then_write(*given: object, **more: object) -> Repair:
        found = await made(*given, **more)  # type: ignore[arg-type]
        two.write("logs/a", b"log")
        prepared = await two.engine.prepare()
        await two.ends.remote.commit(prepared.changeset, lambda: True)  # by somebody who heeds no lock
        return found

    monkeypatch.setattr(repairing, "_plan", plan_then_write)
    done = await repair(one.ends, grace=NOW)
    assert done.failed.keys() == {"logs/a"}
    assert one.ends.key("logs/a") in store.objects


@pytest.mark.parametrize("is_cut_off", [False, True])
async def test_what_a_push_found_in_its_place_may_be_swept_before_it_commits(
    computer: Make, form: Format, *, is_cut_off: bool
) -> None:
    """It was deleted, is written again as it was, and still lies there: so nothing is uploaded, and nothing listed yet.
    Or something else that died is replaced, and the sweep had looked before.
    """
    one, two = await pushed(computer, form), computer("two")
    await two.sync()
    one.delete("logs/a")
    await one.push()
    await two.sync()
    if is_cut_off:
        two.write("logs/a", b"cut off")
        await two.engine.prepare()
    two.write("logs/a", b"log")
    prepared = await two.engine.prepare()
    if is_cut_off:
        await two.ends.store.delete(two.ends.key("logs/a"))  # by a sweep that saw what lay there before
    else:
        assert actions(await mend(one)) == {"logs/a": Action.SWEEP}
    report = await two.engine.commit(prepared)
    assert report.failed.keys() == {"logs/a"}
    assert await sound(one)
    assert (await two.sync()).pushed == ["logs/a"]
    assert await sound(two)
    await one.sync()
    assert one.files() == two.files()
    assert one.files()["logs/a"] == b"log"


async def test_a_bucket_without_an_index_gets_one(computer: Make, store: MemoryStore) -> None:
    one = await pushed(computer)
    keys = one.ends.remote.place.keys
    for name in [name for name in store.objects if "_index/" in name or name == keys.monolith]:
        await store.delete(name)
    fresh = computer("fresh")
    planned = await plan(fresh.ends, grace=NOW)
    assert [each.kind for each in planned.index] == [Kind.NO_INDEX]
    done = await mend(fresh)
    assert done.rebuilt is not None
    assert done.rebuilt.format is Format.DUAL
    two = computer("two")
    await two.pull()
    assert two.files() == one.files()


async def test_a_damaged_index_is_rebuilt_and_what_lost_its_object_comes_back_from_the_cache(
    computer: Make, store: MemoryStore
) -> None:
    one = await pushed(computer, Format.SHARDED)
    keys = one.ends.remote.place.keys
    await store.delete(keys.data(f"{STATE}/1/raw"))
    await store.put(keys.meta, b"{")
    done = await mend(one)
    assert [each.kind for each in done.index] == [Kind.DAMAGED_INDEX]
    assert await sound(one)
    two = computer("two")
    await two.pull()
    assert two.files() == one.files()


async def test_shards_that_are_missing_or_left_over_are_put_right(computer: Make, store: MemoryStore) -> None:
    one = await pushed(computer, Format.SHARDED)
    keys = one.ends.remote.place.keys
    await store.delete(keys.shard("logs"))
    stale = {"version": 1, "entries": {"audit/x": {"key": "audit/x", "size": 1, "lastModified": "2026-01-01"}}}
    await store.put(keys.shard("audit"), json.dumps(stale).encode())
    await mend(computer("doctor"))
    assert await sound(computer("two"))
    two = computer("three")
    await two.pull()
    assert two.files() == one.files()


@pytest.mark.parametrize("fault", [Fault.FAIL_BEFORE, Fault.FAIL_AFTER])
async def test_a_repair_killed_at_any_request_is_finished_by_the_next_one(
    computer: Make, store: MemoryStore, fault: Fault
) -> None:
    one = await pushed(computer)
    one.write_version(3, b"three", name="other")
    await one.push()
    one.delete_version(3, name="other")
    await one.push()
    await store.delete(one.ends.key("logs/a"))
    await store.put(one.ends.key("logs/b"), b"b")
    broken = dict(store.objects)
    for number in count(1):
        store.objects = dict(broken)
        faulty = Faulty(store, at(number, fault))
        doctor = computer(f"doctor{number}", store=faulty)
        with suppress(BayouError):
            await repair(doctor.ends, grace=NOW)
        doctor.close()
        if len(faulty.requests) < number:
            break
        for lock in [name for name in store.objects if name.endswith(".lock")]:
            del store.objects[lock]
        healer = computer(f"healer{number}")
        assert (await repair(healer.ends, grace=NOW)).failed == {}
        assert await sound(healer)
        listed = (await healer.ends.remote.load()).contents()
        assert {f"{STATE}/1/raw", f"{STATE}/2/raw", f"{STATE}/latest", "logs/b"} <= listed.keys()
        assert "logs/a" not in listed
        assert not any("/other/3/" in name for name in store.objects)
        healer.close()
    assert number > 20


@pytest.mark.parametrize("name", ["ministack", "seaweedfs", "fake_gcs", "azurite"])
@pytest.mark.parametrize("form", [Format.DUAL, Format.SHARDED])
async def test_it_mends_on_real_servers(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, form: Format
) -> None:
    location = new_place(request.getfixturevalue(name), monkeypatch.setenv)
    async with connect(location) as store:
        one = Computer(tmp_path / "one", store, namespace="infra", locks=Locks(lambda: open_cells(location), KEYS))
        one.write_version(1, b"one")
        one.write_version(2, b"two")
        one.write("logs/a", b"log")
        one.write("logs/b", b"log")
        await one.push()
        if form is Format.SHARDED:
            await one.ends.remote.migrate(lambda: True)
        one.delete("logs/b")
        await one.push()
        assert await sound(one)
        key = one.ends.key
        await store.put(key(f"{STATE}/1/raw"), b"eno")
        await store.put(key("logs/a"), b"other bytes")
        await store.put(key("logs/c"), b"c")
        await store.delete(key(f"{STATE}/2/raw"))
        assert actions(await mend(one, content=True)) == {
            "logs/a": Action.UPLOAD,
            "logs/b": Action.SWEEP,
            "logs/c": Action.LIST,
            f"{STATE}/1/raw": Action.UPLOAD,
            f"{STATE}/2/raw": Action.UPLOAD,
        }
        assert await sound(one)
        assert not (await plan(one.ends, grace=NOW, content=True)).is_needed
        one.close()
