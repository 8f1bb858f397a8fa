"""A push in two phases: what is prepared nobody sees, what is committed everybody does, whatever came in between."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from bayou.config.locations import Location
from bayou.errors import BayouError, Conflict, UsageError
from bayou.remotes import Format
from bayou.storage.connecting import connect
from bayou.storage.port import Store
from bayou.sync.report import Report
from bayou.sync.syncing import Sync
from bayou.testing.computers import Computer, name_of
from bayou.testing.faults import Fault, Faulty, at
from bayou.testing.memory import MemoryStore
from bayou.testing.servers.places import new_place

STATE, OTHER = name_of(), name_of(model="5c0d2f7e-0000-4c3e-9a55-1f4f0d6a1c02")
MODEL = "5c0d2f7e-0000-4c3e-9a55-1f4f0d6a1c02"


class Make(Protocol):
    def __call__(self, name: str, **settings: object) -> Computer: ...


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture(params=[Format.DUAL, Format.SHARDED])
def form(request: pytest.FixtureRequest) -> Format:
    return Format(request.param)


@pytest.fixture
def computer(tmp_path: Path, store: MemoryStore) -> Iterator[Make]:
    made: list[Computer] = []

    def make(name: str, **settings: object) -> Computer:
        given = settings.pop("store", store)
        made.append(Computer(tmp_path / name, given, **settings))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for each in made:
        each.close()


async def begun(computer: Make, form: Format) -> Computer:
    one = computer("one")
    one.write_version(1, b"one")
    one.write("logs/a", b"a")
    await one.push()
    if form is Format.SHARDED:
        await one.ends.remote.migrate(lambda: True)
        await one.pull()
    return one


async def seen_by_a_stranger(computer: Make, name: str) -> dict[str, bytes]:
    stranger = computer(name)
    await stranger.pull()
    return stranger.files()


async def test_what_is_prepared_is_uploaded_and_nobody_sees_it(
    computer: Make, store: MemoryStore, form: Format
) -> None:
    one = await begun(computer, form)
    before = await seen_by_a_stranger(computer, "before")
    one.write_version(2, b"two")
    one.asked()
    prepared = await one.engine.prepare()
    asked = one.asked()
    assert not [line for line in asked if line.startswith("put") and "/2/" not in line and "latest" not in line]
    assert f"{STATE}/2/raw" in store.objects
    assert one.journal.status().dirty
    assert not any(lock.is_held for lock in one.ends.locks.status())
    # The marker is the one mutable file of a version: its new bytes are "in flight", and no reader takes them.
    stranger = computer("stranger")
    await stranger.pull()
    assert {path: body for path, body in stranger.files().items() if not path.endswith("latest")} == {
        path: body for path, body in before.items() if not path.endswith("latest")
    }
    assert f"{STATE}/2/raw" not in (await stranger.ends.remote.load()).contents()
    assert prepared.changeset.namespace == ""


async def test_commit_lists_it_under_the_lock_and_twice_is_once(
    computer: Make, store: MemoryStore, form: Format
) -> None:
    one = await begun(computer, form)
    one.write_version(2, b"two")
    one.write("logs/b", b"b")
    prepared = await one.engine.prepare()
    report = await one.engine.commit(prepared)
    assert sorted(report.pushed) == [f"{STATE}/2/metadata.yaml", f"{STATE}/2/raw", f"{STATE}/latest", "logs/b"]
    assert one.journal.status().dirty == 0
    assert await seen_by_a_stranger(computer, "two") == one.files()

    index = {key: body for key, (body, _) in store.objects.items() if "index" in key}
    again = await one.engine.commit(prepared)
    assert not again.failed
    assert {key: body for key, (body, _) in store.objects.items() if "index" in key} == index
    assert (await one.sync()).pushed == []


async def test_committing_again_what_was_changed_since_changes_nothing(computer: Make, form: Format) -> None:
    one = await begun(computer, form)
    one.write("logs/a", b"second")
    prepared = await one.engine.prepare()
    await one.engine.commit(prepared)
    one.write("logs/a", b"third")
    await one.push()
    report = await one.engine.commit(prepared)
    assert report.failed.keys() == {"logs/a"}
    assert (await seen_by_a_stranger(computer, "two"))["logs/a"] == b"third"
    one.write("logs/a", b"fourth")
    await one.engine.commit(prepared)
    await one.push()
    assert (await seen_by_a_stranger(computer, "three"))["logs/a"] == b"fourth"


async def test_what_others_commit_in_between_is_merged(computer: Make, form: Format) -> None:
    """W-10, W-11: neither loses anything, and neither believes to know what it has not read."""
    one = await begun(computer, form)
    two = computer("two")
    await two.pull()
    one.write_version(2, b"one's")
    two.write_version(1, b"two's", model=MODEL)
    two.write("logs/b", b"two's")
    first, second = await one.engine.prepare(), await two.engine.prepare()
    await two.engine.commit(second)
    assert not (await one.engine.commit(first)).failed
    await one.pull()
    await two.pull()
    assert one.files() == two.files()
    assert {f"{STATE}/2/raw", f"{OTHER}/1/raw", "logs/b"} <= one.files().keys()


async def test_what_is_contested_stays_dirty_with_its_reason_and_the_rest_is_committed(
    computer: Make, form: Format
) -> None:
    one = await begun(computer, form)
    two = computer("two")
    await two.pull()
    one.write("logs/mine", b"mine")
    one.delete("logs/a")
    prepared = await one.engine.prepare()
    two.write("logs/a", b"two's")
    await two.push()
    report = await one.engine.commit(prepared)
    assert report.pushed == ["logs/mine"]
    assert report.failed.keys() == {"logs/a"}
    assert all(report.failed.values())
    assert "logs/a" in one.journal.status().paths
    await one.sync()
    assert one.files()["logs/a"] == b"two's"  # a change beats a deletion


async def test_one_file_that_cannot_be_uploaded_holds_up_no_other(computer: Make, store: MemoryStore) -> None:
    """W-75."""
    one = await begun(computer, Format.DUAL)

    refusing = Faulty(store, lambda request: Fault.FAIL_BEFORE if request.key.endswith("/2/raw") else None)
    again = computer("one", store=refusing)
    again.write_version(2, b"two")
    again.write("logs/b", b"b")
    report = Report()
    prepared = await again.engine.prepare(report=report)
    await again.engine.commit(prepared, report)
    assert report.pushed == ["logs/b"]
    assert report.failed.keys() == {f"{STATE}/2/raw"}
    assert again.journal.status().dirty
    assert (await one.sync()).failed == {}
    assert f"{STATE}/2/raw" in await seen_by_a_stranger(computer, "two")


async def test_it_is_committed_where_it_was_prepared_for_and_nowhere_else(computer: Make, tmp_path: Path) -> None:
    """W-35."""
    one = computer("one", namespace="infra")
    one.write("logs/a", b"a")
    prepared = await one.engine.prepare()
    assert prepared.changeset.namespace == "infra"
    solo = computer("solo")
    solo.write("logs/x", b"x")
    await solo.push()
    with pytest.raises(UsageError):
        await solo.ends.remote.commit(prepared.changeset, lambda: True)
    other = Computer(tmp_path / "other", MemoryStore(), namespace="infra")
    await other.ends.remote.establish()
    with pytest.raises(Conflict, match="prepared for the store"):
        await other.ends.remote.commit(prepared.changeset, lambda: True)
    other.close()


async def test_a_lost_lock_commits_nothing(computer: Make, form: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    one = await begun(computer, form)
    one.write("logs/b", b"b")
    prepared = await one.engine.prepare()
    commit = one.ends.remote.commit

    async def lose(changeset, still_held, **more):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN003, ANN202, ARG001
        return await commit(changeset, lambda: False, **more)

    monkeypatch.setattr(one.ends.remote, "commit", lose)
    with pytest.raises(Conflict, match="lock was lost"):
        await one.engine.commit(prepared)
    monkeypatch.undo()
    assert one.journal.status().dirty
    assert "logs/b" not in await seen_by_a_stranger(computer, "two")
    assert (await one.engine.commit(prepared)).pushed == ["logs/b"]


@pytest.mark.parametrize("fault", [Fault.FAIL_BEFORE, Fault.FAIL_AFTER])
async def test_a_commit_killed_at_any_request_can_be_made_again(
    computer: Make, store: MemoryStore, form: Format, fault: Fault
) -> None:
    one = await begun(computer, form)
    one.write_version(2, b"two")
    one.write("logs/b", b"b")
    prepared = await one.engine.prepare()
    whole = dict(store.objects)
    for number in range(1, 30):
        store.objects = dict(whole)
        faulty = Faulty(store, at(number, fault))
        remote = Computer(one.journal.place.cache, faulty).ends.remote
        try:
            await remote.commit(prepared.changeset, lambda: True)
        except BayouError:
            await one.ends.remote.commit(prepared.changeset, lambda: True)
        finally:
            remote.close()
        if len(faulty.requests) < number:
            break
        stranger = computer(f"stranger{number}")
        await stranger.pull()
        assert {f"{STATE}/2/raw", "logs/b"} <= stranger.files().keys()
        stranger.close()
    else:
        pytest.fail("it makes too many requests")


async def test_preparing_with_nothing_to_say_prepares_nothing(computer: Make, form: Format) -> None:
    """Acceptance 123, 148."""
    one = await begun(computer, form)
    one.asked()
    prepared = await one.engine.prepare()
    assert prepared.changeset.changes == ()
    report = await one.engine.commit(prepared)
    assert (report.pushed, report.failed) == ([], {})
    assert not any(line.startswith("put") for line in one.asked())


# On real servers.


@pytest.fixture(params=["ministack", "moto", "seaweedfs", "fake_gcs", "azurite"])
def bucket(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Location:
    return new_place(request.getfixturevalue(request.param), monkeypatch.setenv)


async def test_writers_that_prepare_together_and_commit_together_lose_nothing(bucket: Location, tmp_path: Path) -> None:
    async with connect(bucket) as store:
        writers = [_writer(tmp_path, store, number) for number in range(3)]
        writers[0].write("logs/first", b"so that there is an index")
        await writers[0].push()
        for number, writer in enumerate(writers):
            writer.write_version(1, f"{number}".encode(), model=f"5c0d2f7e-000{number}-4c3e-9a55-1f4f0d6a1c02")
            writer.write(f"logs/{number}", b"log")
        prepared = [await writer.engine.prepare() for writer in writers]
        # Whatever the locks do: each commit compares and swaps, and merges again.
        done = await asyncio.gather(
            *(
                writer.ends.remote.commit(each.changeset, lambda: True)
                for writer, each in zip(writers, prepared, strict=True)
            )
        )
        assert not any(each.contested for each in done)
        for writer, each in zip(writers, prepared, strict=True):
            assert not (await Sync(writer.ends).commit(each)).failed
        await asyncio.gather(*(writer.pull() for writer in writers))
        assert writers[0].files() == writers[1].files() == writers[2].files()
        assert len(writers[0].files()) == 13
        for writer in writers:
            writer.close()


def _writer(folder: Path, store: Store, number: int) -> Computer:
    return Computer(folder / str(number), store, namespace="infra")
