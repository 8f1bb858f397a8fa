"""Existing clients and we keep each other out: with the lock of S3, of GCS, and with lock files."""

import asyncio
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.layout.keys import Keyspace
from bayou.locks.bodies import Identity
from bayou.locks.errors import LockBusy
from bayou.locks.files import FileCells
from bayou.locks.lease import Lease
from bayou.locks.leases import Leases
from bayou.locks.nesting import Family
from bayou.locks.patience import Patience
from bayou.locks.protocol import take_models, take_structure
from bayou.storage import Store
from bayou.testing import clock
from bayou.testing.latency import Latency
from bayou.testing.legacylocks import Kind, LegacyFileLock, LegacyLock, LegacyTimeoutError, utc_now

Machine = Callable[..., Leases]
KEY = ".datastore.lock"
GOLDEN = Path(__file__).parent.parent.joinpath("golden/f-lock/per-model.lock").read_bytes()
KINDS = pytest.mark.parametrize("kind", ["s3", "gcs"])


def legacy(store: Store, kind: Kind, **settings: float) -> LegacyLock:
    return LegacyLock(store, KEY, kind, clock=clock.wall, **settings)  # type: ignore[arg-type] # seconds


async def taken(leases: Leases, seconds: float = 60.0) -> Lease:
    lease = await leases.take(KEY, Patience(seconds, clock=clock.now))
    assert lease is not None
    return lease


@pytest.fixture(autouse=True)
def right_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our bodies carry the fake time where there is one, as their rule compares it with the store's."""

    def wall_ms() -> int:
        is_fake = isinstance(asyncio.get_running_loop(), clock.FakeTimeLoop)
        return round((clock.wall() if is_fake else utc_now()).timestamp() * 1000)

    monkeypatch.setattr("bayou.locks.lease.wall_ms", wall_ms)


@KINDS
async def test_we_wait_for_them_and_they_wait_for_us(machine: Machine, store: Store, kind: Kind) -> None:
    theirs = legacy(store, kind)
    await theirs.acquire()
    with pytest.raises(LockBusy, match=r"ci@legacy-host \(pid 4121\)"):
        await taken(machine(), 300)
    assert theirs.is_held
    await theirs.release()
    leases = machine()
    lease = await taken(leases, 0)
    with pytest.raises(LegacyTimeoutError):
        await legacy(store, kind, max_wait=300).acquire()
    assert await lease.prove()
    await leases.drop(lease)
    await asyncio.sleep(1)
    began = clock.now()
    after = legacy(store, kind)
    await after.acquire()
    assert clock.now() - began < 1  # what we release they take over, at the price of one of their steals
    await after.release()


@KINDS
async def test_each_replaces_the_dead_of_the_other(machine: Machine, store: Store, kind: Kind) -> None:
    theirs = legacy(store, kind)
    await theirs.acquire()
    theirs.is_held = False  # killed
    leases = machine()
    lease = await taken(leases)
    leases.abandon(lease)
    after = legacy(store, kind)
    await after.acquire()
    assert 60 < clock.now() < 66
    assert not await lease.prove()


@KINDS
async def test_a_client_of_theirs_that_wakes_up_leaves_our_lock_alone(
    machine: Machine, store: Store, kind: Kind
) -> None:
    theirs = legacy(store, kind)
    await theirs.acquire()
    assert theirs._heart is not None
    theirs._heart.cancel()
    lease = await taken(machine())
    await theirs.heartbeat()
    assert not theirs.is_held
    await theirs.release()
    assert await lease.prove()


@KINDS
@pytest.mark.parametrize("behind", [-3600, 3600])
async def test_our_rule_does_not_care_how_wrong_their_clock_is(
    machine: Machine, store: Store, kind: Kind, behind: int
) -> None:
    theirs = LegacyLock(store, KEY, kind, clock=lambda: clock.wall() + timedelta(seconds=behind))
    await theirs.acquire()
    with pytest.raises(LockBusy):
        await taken(machine(), 200)
    theirs.is_held = False
    await asyncio.sleep(11)
    began = clock.now()
    await taken(machine())
    assert 29 < clock.now() - began < 33


@KINDS
async def test_a_thief_with_a_wrong_clock_is_noticed_by_us_soon(machine: Machine, store: Store, kind: Kind) -> None:
    """They compare their clock with the store's: 31 s ahead they take a live lock (sync spec W-54)."""
    lease = await taken(machine())
    thief = LegacyLock(store, KEY, kind, clock=lambda: clock.wall() + timedelta(seconds=31))
    await thief.acquire()
    reason = await asyncio.wrap_future(lease.loss)
    assert "ci@legacy-host" in reason
    assert clock.now() < 11
    assert thief.is_held


@KINDS
async def test_a_blind_write_of_theirs_over_our_lock_is_noticed(machine: Machine, store: Store, kind: Kind) -> None:
    """Their heartbeat on S3 reads, and then writes whatever is there by then (sync spec W-56)."""
    theirs = legacy(store, kind)
    await theirs.acquire()
    body = await (await store.get(KEY)).bytes()
    theirs.is_held = False
    lease = await taken(machine())
    await store.put(KEY, body)
    assert not await lease.prove()


@KINDS
async def test_twenty_of_both_kinds_get_it_one_at_a_time(machine: Machine, store: Store, kind: Kind) -> None:
    """On a store without latency, where nothing comes between a look of theirs and their deletion."""
    inside = 0

    async def work() -> None:
        nonlocal inside
        inside += 1
        assert inside == 1
        await asyncio.sleep(0.3)
        inside -= 1

    async def ours() -> None:
        for _ in range(3):
            leases = machine()
            lease = await taken(leases, 3600)
            await work()
            await leases.drop(lease)

    async def theirs() -> None:
        for _ in range(3):
            lock = legacy(store, kind, max_wait=3600)
            await lock.acquire()
            await work()
            await lock.release()

    await asyncio.gather(*(ours() for _ in range(10)), *(theirs() for _ in range(10)))


async def test_what_their_late_deletion_takes_from_us_is_noticed_within_a_second(
    machine: Machine, store: Store
) -> None:
    """They saw a released lock, and delete it when it is ours already. Nobody can keep them from it."""
    first = machine()
    await first.drop(await taken(first))
    await asyncio.sleep(1)
    far = LegacyLock(Latency(store, 0.2), KEY, "s3", clock=clock.wall)
    thief = asyncio.create_task(far.acquire())
    await asyncio.sleep(0.5)  # it has looked, and is about to delete
    lease = await taken(machine(), 0)
    taken_at = clock.now()
    await asyncio.wrap_future(lease.loss)
    assert clock.now() - taken_at <= 1
    await thief


async def test_the_body_of_a_lock_that_an_existing_client_wrote_is_understood(machine: Machine, store: Store) -> None:
    await store.put(KEY, GOLDEN)
    state = await machine().look(KEY)
    assert (state.holder, state.ttl, state.is_free) == ("root@vm (pid 21805)", 3.0, False)
    await taken(machine())
    assert 3 < clock.now() < 5


# Files.


def folder(root: Path, name: str = "us", pid: int | None = None, ttl: float = 0.6) -> Leases:
    return Leases(FileCells(root), ttl=ttl, who=Identity(f"me@{name}", name, pid or os.getpid()))


def test_lock_files_of_both_kinds_keep_each_other_out(tmp_path: Path) -> None:
    async def main() -> None:
        theirs = LegacyFileLock(tmp_path / KEY)
        assert theirs.try_acquire()
        with pytest.raises(LockBusy, match="ci@legacy-host"):
            await folder(tmp_path).take(KEY, Patience(0.3))
        theirs.heartbeat()
        theirs.release()
        leases = folder(tmp_path)
        lease = await leases.take(KEY, Patience(0))
        assert lease is not None
        assert not theirs.try_acquire()
        body = theirs.inspect() or {}
        assert (body["holder"], body["hostname"], body["pid"]) == ("me@us", "us", os.getpid())
        assert body["nonce"] == lease.nonce
        await leases.drop(lease)
        assert not (tmp_path / KEY).exists()
        assert theirs.try_acquire()

    asyncio.run(main())


def test_a_lock_file_whose_time_is_over_is_taken_over_by_either(tmp_path: Path) -> None:
    async def main() -> None:
        theirs = LegacyFileLock(tmp_path / KEY, ttl_ms=500, hostname="elsewhere", pid=os.getpid())
        assert theirs.try_acquire()
        leases = folder(tmp_path)
        lease = await leases.take(KEY, Patience(20))
        assert lease is not None
        leases.abandon(lease)
        assert not theirs.inspect() or not theirs.try_acquire()
        late = LegacyFileLock(tmp_path / KEY, clock=lambda: utc_now() + timedelta(seconds=2))
        assert not late.try_acquire()  # removes it
        assert late.try_acquire()
        assert not await lease.prove()

    asyncio.run(main())


def test_a_pid_that_is_dead_here_says_nothing_about_another_host(tmp_path: Path, dead_pid: int) -> None:
    """Weakness 55: the host is compared before the pid."""

    async def main() -> None:
        theirs = LegacyFileLock(tmp_path / KEY, hostname="elsewhere", pid=dead_pid)
        assert theirs.try_acquire()
        state = await folder(tmp_path).look(KEY)
        assert not folder(tmp_path).watch().is_stale(state, 0)
        with pytest.raises(LockBusy):
            await folder(tmp_path).take(KEY, Patience(0.5))

    asyncio.run(main())


def test_runs_in_a_folder_lock_where_existing_clients_look(tmp_path: Path) -> None:
    model = Model(ModelType("command/shell"), "9f1c")

    async def main() -> None:
        for namespace, expected in (
            ("", "data/command/shell/9f1c/.lock"),
            ("infra", "infra/data/command/shell/9f1c/.lock"),
        ):
            leases = folder(tmp_path)
            held = await take_models(leases, Keyspace(namespace), [model], Patience(5), Family())
            assert (tmp_path / expected).is_file()
            await leases.drop_all(held)
            assert not (tmp_path / expected).exists()
        leases = folder(tmp_path)
        lease = await take_structure(leases, Keyspace("infra"), Patience(5), Family())
        assert lease is not None
        assert (tmp_path / ".locks/infra.lock").is_file()
        await leases.drop(lease)

    asyncio.run(main())


def test_a_structural_command_in_a_folder_sees_the_run_of_an_existing_client(tmp_path: Path) -> None:
    async def main() -> None:
        theirs = LegacyFileLock(tmp_path / "data/command/shell/9f1c/.lock")
        assert theirs.try_acquire()
        (tmp_path / "data/command/shell/9f1c/report/1").mkdir(parents=True)
        with pytest.raises(LockBusy):
            await take_structure(folder(tmp_path, ttl=30), Keyspace(), Patience(1), Family())
        assert not (tmp_path / KEY).exists()
        theirs.release()
        leases = folder(tmp_path)
        lease = await take_structure(leases, Keyspace(), Patience(5), Family())
        assert lease is not None
        await leases.drop(lease)

    asyncio.run(main())
