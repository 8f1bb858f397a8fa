"""One lease: taken by one, kept alive, taken over only when it stood still, and lost aloud."""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from bayou.errors import Conflict, Denied, Unavailable
from bayou.locks.bodies import Identity, State, held_body
from bayou.locks.cells import Seen, SingleWriterCells, StoreCells
from bayou.locks.errors import LockBusy, LockLost, SecondWriter
from bayou.locks.lease import Lease
from bayou.locks.leases import Leases
from bayou.locks.patience import Patience, Waiting
from bayou.locks.watch import Watch
from bayou.storage import ABSENT, ANY, Body, Condition, Record, Store, Tally, Version, Wrapper
from bayou.storage.port import Request
from bayou.testing import clock
from bayou.testing.clock import DatedMemoryStore
from bayou.testing.latency import Latency

T = TypeVar("T")
Machine = Callable[..., Leases]
KEY = ".datastore.lock"


def patience(seconds: float = 60.0) -> Patience:
    return Patience(seconds, clock=clock.now)


async def taken(leases: Leases, seconds: float = 60.0) -> Lease:
    lease = await leases.take(KEY, patience(seconds))
    assert lease is not None
    return lease


async def body(store: Store) -> dict[str, object]:
    found: dict[str, object] = json.loads(await (await store.get(KEY)).bytes())
    return found


def die(leases: Leases, lease: Lease) -> None:
    """What is left of a holder that is killed: nobody renews."""
    leases.abandon(lease)


class Gate(Wrapper):
    """Requests that `stops` names wait until the gate is opened; others pass."""

    def __init__(self, inner: Store, stops: Callable[[Request], bool]) -> None:
        super().__init__(inner)
        self.stops = stops
        self.opened = asyncio.Event()
        self.reached = asyncio.Event()

    async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:
        if self.stops(request) and not self.opened.is_set():
            self.reached.set()
            await self.opened.wait()
        return await call()


class Broken(Wrapper):
    """Every request fails with this error, while there is one."""

    error: Exception | None = None

    async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:  # noqa: ARG002
        if self.error is not None:
            raise self.error
        return await call()


async def test_one_of_many_gets_it_and_the_others_wait_their_turn(machine: Machine) -> None:
    at_work, most, done = 0, 0, 0

    async def work() -> None:
        nonlocal at_work, most, done
        leases = machine()
        lease = await taken(leases)
        at_work += 1
        most = max(most, at_work)
        await asyncio.sleep(0.5)
        at_work -= 1
        done += 1
        await leases.drop(lease)

    await asyncio.gather(*(work() for _ in range(20)))
    assert (most, done) == (1, 20)


async def test_what_is_held_says_who_and_what_is_released_has_expired_for_everybody(
    machine: Machine, store: Store
) -> None:
    leases = machine(name="runner-7", pid=4121)
    lease = await taken(leases)
    held = await body(store)
    assert held | {"acquiredAt": "", "nonce": ""} == {
        "holder": "me@runner-7",
        "hostname": "runner-7",
        "pid": 4121,
        "acquiredAt": "",
        "ttlMs": 30000,
        "nonce": "",
    }
    assert list(held) == ["holder", "hostname", "pid", "acquiredAt", "ttlMs", "nonce"]
    assert held["nonce"] == lease.nonce
    await leases.drop(lease)
    free = await body(store)
    assert (free["ttlMs"], free["acquiredAt"]) == (1, "1970-01-01T00:00:00.000Z")
    assert free["nonce"] != lease.nonce


async def test_a_free_lock_costs_three_requests_whether_new_or_used_before(store: Store, machine: Machine) -> None:
    for _ in range(3):
        tally = Tally()
        leases = machine(StoreCells(Record(store, tally)))
        await leases.drop(await taken(leases))
        assert tally.requests == Counter(get=1, put=2)


async def test_whoever_takes_a_lock_knows_whether_others_had_it(store: Store, machine: Machine) -> None:
    """By what it finds there: existing clients delete what they release, and a dead holder has let nothing go."""
    one, other = machine(), machine()

    async def noted() -> bool:
        return False

    async def take(leases: Leases) -> Lease:
        lease = await leases.take(KEY, patience(), register=noted)
        assert lease is not None
        return lease

    for leases, expected in ((one, False), (other, True), (one, True)):
        lease = await take(leases)
        assert lease.follows_ours is expected
        lease.is_shared = False
        await leases.drop(lease)
    await store.delete(KEY)
    lease = await take(other)
    assert not lease.follows_ours
    die(other, lease)
    assert not (await take(one)).follows_ours


async def test_a_poll_of_a_lock_that_did_not_change_is_one_conditional_read(store: Store, machine: Machine) -> None:
    await taken(machine())
    tally = Tally(log=[])
    waiter = machine(StoreCells(Record(store, tally)))
    with pytest.raises(LockBusy):
        await taken(waiter, 5.0)
    assert tally.requests.keys() == {"get"}
    assert tally.requests["get"] < 5 / 0.25 + 2


async def test_a_busy_lock_names_its_holder_and_the_time_as_existing_clients_do(machine: Machine) -> None:
    await taken(machine(name="runner-7", pid=4121))
    with pytest.raises(LockBusy) as caught:
        await taken(machine(), 2.0)
    error = caught.value
    assert error.message.startswith('Lock ".datastore.lock" held by me@runner-7 (pid 4121) — timed out after ')
    assert (error.lock_key, error.holder, error.exit_code) == (KEY, "me@runner-7 (pid 4121)", 75)
    assert 2000 <= error.waited_ms < 2300


async def test_who_does_not_want_to_wait_tries_once(machine: Machine) -> None:
    leases = machine()
    lease = await taken(leases, 0)
    with pytest.raises(LockBusy):
        await taken(machine(), 0)
    assert clock.now() == 0
    await leases.drop(lease)
    await taken(machine(), 0)


async def test_who_waits_is_told_for_whom_once_and_again_when_the_holder_changes(machine: Machine) -> None:
    first, second = machine(name="a"), machine(name="b")
    told: list[Waiting] = []
    lease = await taken(first)
    queued = asyncio.create_task(taken(second))
    await asyncio.sleep(3)
    waiter = machine(name="c")
    third = asyncio.create_task(waiter.take(KEY, Patience(60, told.append, clock.now)))
    await asyncio.sleep(3)
    await first.drop(lease)
    await asyncio.sleep(3)
    if not third.done():
        await second.drop(await queued)
    await third
    assert [waiting.holder for waiting in told] in (["me@a (pid 1)"], ["me@a (pid 1)", "me@b (pid 1)"])


async def test_a_heart_keeps_a_lock_for_as_long_as_it_takes(machine: Machine, store: Store) -> None:
    leases = machine()
    lease = await taken(leases)
    before = (await body(store))["acquiredAt"]
    with pytest.raises(LockBusy):
        await taken(machine(), 1800)
    assert lease.seems_held
    assert (await body(store))["nonce"] == lease.nonce
    assert (await body(store))["acquiredAt"] != before  # existing clients compare it with their clock


async def test_a_dead_holder_is_replaced_when_its_time_is_over_and_not_before(machine: Machine) -> None:
    leases = machine()
    die(leases, await taken(leases))
    died = clock.now()
    await taken(machine())
    assert 30 < clock.now() - died < 33


async def test_many_who_wait_for_a_dead_holder_do_not_take_it_twice(machine: Machine, store: Store) -> None:
    dead = machine()
    die(dead, await taken(dead))
    at_work, most = 0, 0

    async def work() -> None:
        nonlocal at_work, most
        leases = machine(StoreCells(Latency(store, 0.05)))
        lease = await taken(leases, 200)
        at_work += 1
        most = max(most, at_work)
        await asyncio.sleep(1)
        assert await lease.prove()
        at_work -= 1
        await leases.drop(lease)

    await asyncio.gather(*(work() for _ in range(20)))
    assert most == 1


async def test_a_holder_that_was_replaced_learns_of_it_and_can_hurt_nobody(machine: Machine, store: Store) -> None:
    paused = machine()
    lease = await taken(paused)
    die(paused, lease)
    successor = machine()
    new = await taken(successor)
    assert not lease.seems_held  # by itself, without a request: its time is over
    assert not await lease.still_held()
    assert lease.loss.result() == "me@host-2 (pid 1) has it"
    with pytest.raises(LockLost, match="me@host-2"):
        lease.check()
    assert await paused.drop(lease) is None
    assert (await body(store))["nonce"] == new.nonce
    assert await new.prove()


async def test_nobody_takes_over_before_the_holder_gives_up_by_itself(machine: Machine, store: Store) -> None:
    """Whatever the requests take: the holder counts from the start of its write, the other from the end of its read."""
    for seconds in (0.0, 0.3, 2.0):
        holder = machine(StoreCells(Latency(store, seconds)))
        lease = await taken(holder, 200)
        die(holder, lease)
        other = machine(StoreCells(Latency(store, seconds / 2)))
        new = await taken(other, 200)
        assert clock.now() - seconds / 2 >= lease.until
        await other.drop(new)


async def test_a_holder_that_slept_and_was_not_replaced_still_has_it(machine: Machine) -> None:
    leases = machine()
    lease = await taken(leases)
    die(leases, lease)
    await asyncio.sleep(3600)
    assert not lease.seems_held
    assert await lease.still_held()
    assert lease.seems_held


async def test_two_bodies_of_a_holder_are_never_equal_even_when_the_wall_clock_stands_still(
    machine: Machine, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bayou.locks.lease.wall_ms", lambda: 1_793_606_130_120)
    lease = await taken(machine())
    seen = set()
    for _ in range(5):
        seen.add(await (await store.get(KEY)).bytes())
        assert await lease.prove()
    assert len(seen) == 5


@pytest.mark.parametrize("error", [Unavailable("503"), Denied("expired")])
async def test_an_error_of_the_store_neither_drops_a_lock_nor_keeps_it_for_longer_than_its_time(
    machine: Machine, store: Store, error: Exception
) -> None:
    broken = Broken(store)
    lease = await taken(machine(StoreCells(broken)))
    broken.error = error
    await asyncio.sleep(25)
    assert lease.seems_held
    assert not lease.loss.done()
    broken.error = None
    await asyncio.sleep(5)
    assert lease.until > clock.now() + 15
    broken.error = error
    await asyncio.sleep(lease.until - clock.now() + 11)
    assert "did not answer" in lease.loss.result()
    assert not lease.is_open


async def test_an_error_is_never_a_free_lock(machine: Machine, store: Store) -> None:
    await taken(machine())
    broken = Broken(store)
    broken.error = Unavailable("503")
    with pytest.raises(Unavailable):
        await taken(machine(StoreCells(broken)), 3)
    broken.error = Denied("403")
    with pytest.raises(Denied):
        await taken(machine(StoreCells(broken)), 3)


async def test_an_outage_while_waiting_is_waited_out(machine: Machine, store: Store) -> None:
    broken = Broken(store)
    broken.error = Unavailable("503")
    waiter = asyncio.create_task(taken(machine(StoreCells(broken))))
    await asyncio.sleep(20)
    broken.error = None
    assert (await waiter).seems_held


async def test_a_renewal_that_hangs_does_not_hide_the_loss(machine: Machine, store: Store) -> None:
    gate = Gate(store, lambda _: False)
    lease = await taken(machine(StoreCells(gate)))
    gate.stops = lambda _: True
    await asyncio.wrap_future(lease.loss)
    assert clock.now() <= lease.until + 15


async def test_an_unreadable_body_holds_for_the_default_time(machine: Machine, store: Store) -> None:
    await store.put(KEY, b"not json")
    await taken(machine())
    assert 30 < clock.now() < 33


@pytest.mark.parametrize(("ttl_ms", "least"), [(10**15, 600), (5_000, 5), (0, 0), (-5, 0)])
async def test_the_time_in_a_foreign_body_counts_up_to_a_limit(
    machine: Machine, store: Store, ttl_ms: int, least: float
) -> None:
    foreign = {"holder": "x@y", "hostname": "y", "pid": 1, "acquiredAt": "2999-01-01T00:00:00.000Z", "ttlMs": ttl_ms}
    await store.put(KEY, json.dumps(foreign).encode())
    await taken(machine(), 1000)
    assert least <= clock.now() <= least + 3


@pytest.mark.parametrize("hours", [-1, 1])
async def test_clocks_that_differ_by_an_hour_do_not_matter(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    leases = machine()
    lease = await taken(leases)
    monkeypatch.setattr("bayou.locks.bodies.time.time_ns", lambda: (1_793_606_130 + hours * 3600) * 10**9)
    with pytest.raises(LockBusy):
        await taken(machine(), 120)
    assert await lease.prove()
    die(leases, lease)
    died = clock.now()
    await taken(machine())
    assert 29 < clock.now() - died < 33


async def test_the_dead_of_this_machine_are_replaced_sooner_and_those_of_others_are_not(
    machine: Machine, dead_pid: int
) -> None:
    for host, least, most in (("here", 15, 18), ("elsewhere", 30, 33)):
        leases = machine(name="here", pid=dead_pid)
        lease = await taken(leases)
        die(leases, lease)
        died = clock.now()
        other = machine(name=host)
        new = await taken(other)
        assert least < clock.now() - died < most
        await other.drop(new)


async def test_a_holder_whose_pid_looks_dead_from_here_and_who_renews_is_left_alone(
    machine: Machine, dead_pid: int
) -> None:
    """Two containers with one host name: its process is not to be seen from here, its renewals are."""
    lease = await taken(machine(name="here", pid=dead_pid))
    with pytest.raises(LockBusy):
        await taken(machine(name="here"), 300)
    assert await lease.prove()


async def test_a_takeover_replaces_what_was_seen_and_nothing_newer(machine: Machine, store: Store) -> None:
    """The holder wakes up between the look and the write of whoever takes over (sync spec W-55)."""
    sleeper = machine()
    lease = await taken(sleeper)
    die(sleeper, lease)
    gate = Gate(store, lambda request: request.verb == "put")
    taker = asyncio.create_task(taken(machine(StoreCells(gate)), 40))
    await gate.reached.wait()
    assert await lease.prove()
    gate.opened.set()
    await asyncio.sleep(1)
    assert await lease.prove()
    assert not taker.done()
    taker.cancel()


async def test_a_late_renewal_cannot_overwrite_the_successor(machine: Machine, store: Store) -> None:
    """It was under way when the lock was taken over (sync spec W-56)."""
    gate = Gate(store, lambda _: False)
    lease = await taken(machine(StoreCells(gate)))
    gate.stops = lambda request: request.verb == "put"
    await gate.reached.wait()
    new = await taken(machine(), 100)
    gate.opened.set()
    await asyncio.wrap_future(lease.loss)
    assert await new.prove()


async def test_a_late_release_cannot_end_the_lock_of_the_successor(machine: Machine, store: Store) -> None:
    gate = Gate(store, lambda request: request.verb == "put")
    gate.opened.set()
    leases = machine(StoreCells(gate))
    lease = await taken(leases)
    gate.opened.clear()
    released = asyncio.create_task(leases.drop(lease))
    await gate.reached.wait()
    new = await taken(machine(), 100)
    gate.opened.set()
    assert await released is None
    assert await new.prove()


async def test_nothing_is_ever_deleted(machine: Machine, store: Store) -> None:
    """A store's deletions have no condition, so one that arrives late would hit whoever comes next."""
    tally = Tally()
    leases = machine(StoreCells(Record(store, tally)))
    for _ in range(3):
        await leases.drop(await taken(leases, 100))
    die(leases, await taken(leases))
    await taken(machine(StoreCells(Record(store, tally))))
    assert tally.requests["delete"] == 0


async def test_a_cancelled_wait_leaves_nothing_behind(machine: Machine, store: Store) -> None:
    gate = Gate(store, lambda request: request.verb == "put")

    class Late(Wrapper):
        """The write is carried out, and its answer comes much later."""

        async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:
            result = await call()
            if request.verb == "put" and not gate.opened.is_set():
                gate.reached.set()
                await gate.opened.wait()
            return result

    waiter = asyncio.create_task(taken(machine(StoreCells(Late(store)))))
    await gate.reached.wait()
    gate.opened.set()
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert State(await StoreCells(store).read(KEY), KEY).is_free


async def test_releasing_twice_is_fine_and_a_released_lock_is_not_held(machine: Machine) -> None:
    leases = machine()
    lease = await taken(leases)
    await leases.drop(lease)
    await leases.drop(lease)
    assert not lease.seems_held
    assert not await lease.prove()
    other = machine()
    new = await taken(other, 0)
    await leases.drop(lease)
    assert await new.prove()


async def test_a_renewal_after_an_existing_client_removed_the_lock_is_a_loss_and_comes_soon(
    machine: Machine, store: Store
) -> None:
    """It found a released lock, and deletes it a moment after somebody else took it."""
    first = machine()
    await first.drop(await taken(first))
    lease = await taken(machine())
    taken_at = clock.now()
    await store.delete(KEY)
    await asyncio.wrap_future(lease.loss)
    assert clock.now() - taken_at <= 1


async def test_a_proof_is_asked_for_only_when_the_last_one_is_old(machine: Machine, store: Store) -> None:
    tally = Tally()
    leases = machine(StoreCells(Record(store, tally)))
    lease = await taken(leases)
    die(leases, lease)
    before = tally.total
    assert await lease.still_held()
    assert tally.total == before
    await asyncio.sleep(16)
    assert await lease.still_held()
    assert tally.total == before + 1


class Ignoring(DatedMemoryStore):
    """It takes conditions for comments."""

    async def put(self, key: str, body: Body, *, when: Condition = ANY) -> Version:  # noqa: ARG002
        return await super().put(key, body)


async def test_a_store_without_conditions_is_for_one_writer_and_says_so() -> None:
    store = Ignoring()
    assert await store.put("a", b"x", when=ABSENT) != await store.put("a", b"y", when=ABSENT)

    def machine() -> Leases:
        return Leases(SingleWriterCells(store), clock=clock.now)

    leases = machine()
    lease = await taken(leases)
    with pytest.raises(SecondWriter, match="single writer") as caught:
        await taken(machine())
    assert clock.now() < 12  # as soon as the holder is seen to live
    assert caught.value.remedy
    await leases.drop(lease)
    again = await taken(machine(), 0)  # one after the other is fine
    assert await again.prove()


async def test_on_a_store_without_conditions_the_dead_are_replaced_and_an_overwrite_is_noticed() -> None:
    store = Ignoring()
    dead = Leases(SingleWriterCells(store), clock=clock.now)
    lease = await taken(dead)
    die(dead, lease)
    await taken(Leases(SingleWriterCells(store), clock=clock.now))
    assert not await lease.prove()
    with pytest.raises(Conflict):
        await SingleWriterCells(store).create(KEY, b"x")


async def test_a_wait_ends_however_little_is_left_of_it() -> None:
    """What is left may be so little that no clock moves by it."""

    async def wait() -> None:
        patience = Patience(5, clock=clock.now)
        for _ in range(100):
            await patience.pause(State(None, "k"))

    for number in range(100):
        await asyncio.sleep(0.1 + number / 7)
        with pytest.raises(LockBusy):
            await wait()


def test_the_time_that_the_first_look_took_is_not_watched() -> None:
    """What it found may have been written at its very end, and its holder counts from there."""
    now = 0.0
    watch = Watch(Identity("me@here", "here", 1), lambda: now)
    state = State(Seen(held_body(Identity("x@there", "there", 2), "n", 30.0, 0), Version("1")), "k")
    now = 20.0
    assert not watch.is_stale(state, asked=0.0)
    assert not watch.is_stale(state, asked=50.0)
    assert watch.is_stale(state, asked=50.1)
