"""Lost requests and lost answers: at most one holder all the same, everybody gets it, nothing is left behind."""

import asyncio
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bayou.errors import Unavailable
from bayou.locks.bodies import Identity, State
from bayou.locks.cells import StoreCells
from bayou.locks.lease import Lease
from bayou.locks.leases import Leases
from bayou.locks.patience import Patience
from bayou.storage import Patience as StorePatience
from bayou.storage import Retry, Store, TimeLimit
from bayou.storage.port import Request
from bayou.testing import clock
from bayou.testing.clock import DatedMemoryStore
from bayou.testing.faults import Chooser, Fault, Faulty, at, sometimes
from bayou.testing.latency import Latency

KEY = ".datastore.lock"
QUICK = StorePatience(attempts=4, first_pause=0.1, longest_pause=1.0)


def machine(store: Store, choose: Chooser, name: str) -> Leases:
    """As a user's store is made: retries around a time limit around what goes wrong."""
    cells = StoreCells(Retry(TimeLimit(Faulty(Latency(store, 0.02), choose), 10.0), QUICK))
    return Leases(cells, who=Identity(f"me@{name}", name, 1), clock=clock.now)


async def hammer(seed: int, share: float, faults: tuple[Fault, ...]) -> None:
    store, dice = DatedMemoryStore(), Random(seed)  # noqa: S311 - repeatable on purpose
    inside: set[Lease] = set()
    done = 0

    async def work(number: int) -> None:
        nonlocal done
        leases = machine(store, sometimes(share, *faults, seed=seed + number), f"host-{number}")
        for _ in range(2):
            lease = await leases.take(KEY, Patience(3600, clock=clock.now))
            assert lease is not None
            assert lease.seems_held
            # A holder whose store is out of reach for too long is told so, before anybody else can have it.
            assert not any(other.seems_held for other in inside)
            inside.add(lease)
            await asyncio.sleep(dice.random() * 15)
            inside.remove(lease)
            if lease.seems_held:
                done += 1
            await leases.drop(lease)

    await asyncio.gather(*(work(number) for number in range(3)))
    assert done >= 4
    await asyncio.sleep(60)
    fresh = Leases(StoreCells(store), clock=clock.now)
    assert await fresh.take(KEY, Patience(35, clock=clock.now)) is not None


@example(seed=364980720, share=0.125, faults=tuple(Fault)[:4])  # one whose store hung for longer than its time
@given(
    seed=st.integers(0, 2**32),
    share=st.floats(0, 0.2),
    faults=st.sampled_from(
        [
            (Fault.FAIL_BEFORE,),
            (Fault.FAIL_AFTER,),
            (Fault.HANG_AFTER,),
            (Fault.FAIL_BEFORE, Fault.FAIL_AFTER, Fault.HANG_BEFORE, Fault.HANG_AFTER),
        ]
    ),
)
def test_whatever_is_lost_there_is_one_holder_at_a_time_and_all_get_their_turn(
    seed: int, share: float, faults: tuple[Fault, ...]
) -> None:
    clock.run(hammer(seed, share, faults))


@pytest.mark.parametrize("fault", [Fault.FAIL_BEFORE, Fault.FAIL_AFTER, Fault.HANG_AFTER])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
async def test_each_lost_answer_in_the_life_of_a_lease_is_settled(store: Store, number: int, fault: Fault) -> None:
    leases = machine(store, at(number, fault, verb="put"), "a")
    lease = await leases.take(KEY, Patience(60, clock=clock.now))
    assert lease is not None
    assert await lease.prove()
    await asyncio.sleep(25)
    assert await lease.still_held()
    assert await leases.drop(lease) is None
    assert State(await StoreCells(store).read(KEY), KEY).is_free


@pytest.mark.parametrize("fault", [Fault.FAIL_AFTER, Fault.HANG_AFTER])
async def test_a_creation_whose_answer_stays_lost_is_found_to_be_ours(store: Store, fault: Fault) -> None:
    """Nothing could be read back then; the next look finds our nonce (sync spec W-58)."""
    broken = True

    def choose(_: object) -> Fault | None:
        return fault if broken and KEY in store.objects else None  # type: ignore[attr-defined] # a store in memory

    def break_at_put(request: object) -> Fault | None:
        return fault if broken and getattr(request, "verb", "") == "put" else choose(request)

    waiter = asyncio.create_task(machine(store, break_at_put, "a").take(KEY, Patience(300, clock=clock.now)))
    await asyncio.sleep(100)
    broken = False
    since = clock.now()
    lease = await waiter
    assert lease is not None
    assert clock.now() - since < 5  # and not once our own try counts as abandoned
    assert lease.seems_held
    assert await lease.prove()


async def test_a_renewal_whose_answer_stays_lost_loses_nothing(store: Store) -> None:
    """It was carried out, and nothing could be read back then: what lies there is ours, of another version."""
    broken = False

    def choose(request: Request) -> Fault | None:
        if not broken:
            return None
        return Fault.FAIL_AFTER if request.verb == "put" else Fault.FAIL_BEFORE

    lease = await machine(store, choose, "a").take(KEY, Patience(0, clock=clock.now))
    assert lease is not None
    await asyncio.sleep(5)
    broken = True
    await asyncio.sleep(15)
    broken = False
    await asyncio.sleep(40)
    assert lease.seems_held
    assert await lease.prove()


async def test_who_gives_up_in_an_outage_says_that_it_is_one_and_leaves_no_lock(store: Store) -> None:
    broken = True
    leases = machine(store, lambda _: Fault.FAIL_AFTER if broken else None, "a")
    with pytest.raises(Unavailable):
        await leases.take(KEY, Patience(20, clock=clock.now))
    broken = False
    other = machine(store, lambda _: None, "b")
    assert await other.take(KEY, Patience(40, clock=clock.now)) is not None
