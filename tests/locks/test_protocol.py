"""Runs, commits and structural commands: who keeps whom out, and that all of them get on."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.layout.keys import Keyspace
from bayou.locks.bodies import Identity, Mark, State
from bayou.locks.cells import StoreCells
from bayou.locks.errors import LockBusy
from bayou.locks.inspection import Fate, end_abandoned, release_by_force, status, sweep
from bayou.locks.lease import Lease
from bayou.locks.leases import Leases
from bayou.locks.nesting import Family
from bayou.locks.patience import Patience
from bayou.locks.protocol import drop_global, take_global, take_models, take_structure
from bayou.storage import Record, Store, Tally, Wrapper
from bayou.storage.port import Request
from bayou.testing import clock
from bayou.testing.clock import DatedMemoryStore
from bayou.testing.legacylocks import LegacyLock, LegacyRun

T = TypeVar("T")
Machine = Callable[..., Leases]
ALONE = Family()
KEYS = Keyspace()
VPC = Model(ModelType("aws/ec2/vpc"), "0b2f")
SHELL = Model(ModelType("command/shell"), "9f1c")
MODELS = [Model(ModelType("command/shell"), f"m{number}") for number in range(4)]


def patience(seconds: float = 600.0) -> Patience:
    return Patience(seconds, clock=clock.now)


async def state_of(store: Store, key: str) -> State:
    return State(await StoreCells(store).read(key), key)


@asynccontextmanager
async def run(
    leases: Leases, *models: Model, keys: Keyspace = KEYS, seconds: float = 600, family: Family = ALONE
) -> AsyncIterator[list[Lease]]:
    held = await take_models(leases, keys, models, patience(seconds), family)
    try:
        yield held
    finally:
        await leases.drop_all(held)


@asynccontextmanager
async def commit(
    leases: Leases, *, keys: Keyspace = KEYS, seconds: float = 600, family: Family = ALONE
) -> AsyncIterator[Lease | None]:
    lease = await take_global(leases, keys, patience(seconds), family)
    try:
        yield lease
    finally:
        if lease is not None:
            await drop_global(leases, lease)


@asynccontextmanager
async def structure(
    leases: Leases, *, keys: Keyspace = KEYS, seconds: float = 600, walk: bool = True, family: Family = ALONE
) -> AsyncIterator[Lease | None]:
    lease = await take_structure(leases, keys, patience(seconds), family, walk=walk)
    try:
        yield lease
    finally:
        if lease is not None:
            await drop_global(leases, lease)


async def test_runs_of_different_models_never_wait_and_those_of_one_do(machine: Machine) -> None:
    async with run(machine(), VPC):
        async with run(machine(), SHELL, seconds=0):
            assert clock.now() == 0
        with pytest.raises(LockBusy):
            async with run(machine(), VPC, seconds=5):
                pass


async def test_the_locks_of_a_run_are_sorted_and_each_is_taken_once(machine: Machine) -> None:
    async with run(machine(), SHELL, VPC, SHELL) as held:
        assert [lease.key for lease in held] == ["data/aws/ec2/vpc/0b2f/.lock", "data/command/shell/9f1c/.lock"]


async def test_a_run_that_cannot_have_all_its_locks_keeps_none(machine: Machine, store: Store) -> None:
    async with run(machine(), SHELL):
        with pytest.raises(LockBusy):
            async with run(machine(), VPC, SHELL, seconds=3):
                pass
        assert (await state_of(store, KEYS.model_lock(VPC))).is_free


async def test_a_run_waits_out_a_structural_command_and_a_structural_command_a_run(machine: Machine) -> None:
    order: list[str] = []

    async def structural() -> None:
        async with structure(machine()):
            order.append("structure begins")
            await asyncio.sleep(40)
            order.append("structure ends")

    async def running(name: str) -> None:
        async with run(machine(), VPC):
            order.append(f"{name} begins")
            await asyncio.sleep(40)
            order.append(f"{name} ends")

    first = asyncio.create_task(running("run"))
    await asyncio.sleep(1)
    other = asyncio.create_task(structural())
    await asyncio.sleep(45)
    last = asyncio.create_task(running("late"))
    await asyncio.gather(first, other, last)
    assert order == ["run begins", "run ends", "structure begins", "structure ends", "late begins", "late ends"]


async def test_a_run_gets_to_its_commit_while_a_structural_command_waits_for_it(machine: Machine) -> None:
    """The circle that must not be: it waits for the run's lock, the run waits for the global one."""
    leases = machine()
    async with run(leases, VPC):
        waiter = asyncio.create_task(structure(machine()).__aenter__())
        for _ in range(20):
            await asyncio.sleep(3)
            began = clock.now()
            async with commit(leases):
                assert clock.now() - began < 3
        assert not waiter.done()
    lease = await waiter
    assert lease is not None
    assert lease.seems_held


async def test_a_structural_command_gets_its_turn_among_runs_without_end(machine: Machine) -> None:
    """Without a word from it there would always be one run that has begun meanwhile."""
    stop = asyncio.Event()

    async def forever(model: Model, seconds: float) -> None:
        leases = machine()
        await asyncio.sleep(seconds)
        while not stop.is_set():
            async with run(leases, model):
                await asyncio.sleep(3)
                async with commit(leases):
                    await asyncio.sleep(0.1)

    runs = [asyncio.create_task(forever(model, number)) for number, model in enumerate(MODELS)]
    await asyncio.sleep(10)
    began = clock.now()
    async with structure(machine()):
        waited = clock.now() - began
    assert waited < 30
    stop.set()
    await asyncio.gather(*runs)


@pytest.mark.parametrize("how", ["gives up", "dies"])
async def test_runs_go_on_when_a_structural_command_that_waits_is_no_more(
    machine: Machine, store: Store, how: str
) -> None:
    gone = machine()
    async with run(machine(), VPC):
        waiter = asyncio.create_task(take_structure(gone, KEYS, patience(20), ALONE))
        await asyncio.sleep(5)
        assert (await state_of(store, KEYS.global_lock)).mark.drain
        if how == "gives up":
            with pytest.raises(LockBusy):
                await waiter
        else:
            gone.cells = Frozen(store)
            waiter.cancel()
            await asyncio.sleep(0)
        began = clock.now()
        async with run(machine(), SHELL):
            assert clock.now() - began < (1 if how == "gives up" else 32)


class Frozen(StoreCells):
    """The cells of a machine that does nothing any more."""

    async def read(self, *_: object) -> None:
        await asyncio.Event().wait()

    replace = create = read  # type: ignore[assignment]


async def test_a_dead_structural_command_is_ended_and_not_just_passed_by(machine: Machine) -> None:
    """When it wakes up it must find out."""
    sleeper = machine()
    lease = await take_structure(sleeper, KEYS, patience(), ALONE)
    assert lease is not None
    sleeper.abandon(lease)
    async with run(machine(), VPC):
        assert 30 < clock.now() < 33
        assert not await lease.prove()


async def test_a_dead_run_is_ended_by_a_structural_command(machine: Machine) -> None:
    sleeper = machine()
    (lease,) = await take_models(sleeper, KEYS, [VPC], patience(), ALONE)
    sleeper.abandon(lease)
    async with structure(machine()):
        assert 30 < clock.now() < 45
        assert not await lease.prove()


async def test_namespaces_never_wait_for_each_other(machine: Machine) -> None:
    infra, blue = Keyspace("infra"), Keyspace("blue")
    async with (
        structure(machine(), keys=infra, seconds=0),
        structure(machine(), keys=blue, seconds=0),
        structure(machine(), seconds=0),
    ):
        pass
    async with (
        structure(machine(), keys=infra, seconds=0),
        run(machine(), VPC, keys=blue, seconds=0),
        run(machine(), VPC, seconds=0),
        commit(machine(), keys=blue, seconds=0),
    ):
        assert clock.now() == 0


async def test_nested_commands_of_one_holder_do_not_wait_for_themselves(machine: Machine) -> None:
    async with run(machine(), VPC) as held:
        inside = ALONE.with_more(lease.nonce for lease in held)
        async with run(machine(), VPC, seconds=0, family=inside) as again:
            assert again == []
        async with structure(machine(), seconds=1, family=inside) as overall:
            assert overall is not None
            deeper = inside.with_more([overall.nonce])
            async with (
                run(machine(), SHELL, seconds=0, family=deeper) as other,
                structure(machine(), seconds=0, family=deeper) as same,
                commit(machine(), seconds=0, family=deeper) as shortly,
            ):
                assert len(other) == 1
                assert same is None
                assert shortly is None
        assert all(lease.seems_held for lease in held)


async def test_a_run_within_a_run_does_not_wait_for_whoever_waits_for_the_outer_one(machine: Machine) -> None:
    """A structural command waits for the outer run, which waits for the inner one: so that one is let through."""
    for parent in (False, True):
        async with run(machine(), VPC) as held:
            waiter = asyncio.create_task(one_structure(machine()))
            await asyncio.sleep(5)
            inside = Family(parents=frozenset({77})) if parent else ALONE.with_more(lease.nonce for lease in held)
            async with run(machine(name="here", pid=78), SHELL, seconds=2, family=inside) as other:
                assert len(other) == 1
            with pytest.raises(LockBusy):
                async with run(machine(), MODELS[2], seconds=2):
                    pass
        await waiter


async def test_structural_commands_within_two_runs_do_not_wait_for_each_other_for_long(machine: Machine) -> None:
    outcomes: list[str] = []

    async def nested(model: Model) -> None:
        async with run(machine(), model) as held:
            await asyncio.sleep(1)
            began = clock.now()
            try:
                async with structure(machine(), family=ALONE.with_more(lease.nonce for lease in held)):
                    outcomes.append("done")
            except LockBusy:
                assert clock.now() - began < 15
                outcomes.append("busy")

    await asyncio.gather(nested(VPC), nested(SHELL))
    assert "busy" in outcomes


async def test_the_child_of_an_existing_client_does_not_wait_for_its_parent(machine: Machine, store: Store) -> None:
    lock = LegacyLock(store, KEYS.model_lock(VPC), clock=clock.wall, hostname="here", pid=77)
    await lock.acquire()
    async with run(machine(name="here", pid=78), VPC, seconds=0, family=Family(parents=frozenset({77}))) as held:
        assert held == []
    for other in (machine(name="elsewhere"), machine(name="here", pid=77)):
        with pytest.raises(LockBusy):
            async with run(other, VPC, seconds=0, family=Family(parents=frozenset({77}))):
                pass
    await lock.release()


# The registry, and what it costs.


async def requests_of(store: Store, machine: Machine, use: Callable[[Leases], Awaitable[None]]) -> Counter[str]:
    tally = Tally()
    await use(machine(StoreCells(Record(store, tally))))
    return tally.requests


async def one_run(leases: Leases) -> None:
    async with run(leases, VPC):
        pass


async def one_commit(leases: Leases) -> None:
    async with commit(leases):
        pass


async def one_structure(leases: Leases) -> None:
    async with structure(leases):
        pass


async def test_a_run_costs_three_requests_for_its_lock_and_one_look_at_the_global_one(
    machine: Machine, store: Store
) -> None:
    assert await requests_of(store, machine, one_run) == Counter(get=2, put=3)  # the first ever leaves a note
    for _ in range(3):
        assert await requests_of(store, machine, one_run) == Counter(get=2, put=2)
    assert await requests_of(store, machine, one_commit) == Counter(get=1, put=3)  # so does the first commit
    for _ in range(3):
        assert await requests_of(store, machine, one_commit) == Counter(get=1, put=2)


async def test_a_structural_command_lists_one_prefix_and_walks_only_once(machine: Machine, store: Store) -> None:
    for number in range(3000):
        await store.put(f"data/command/shell/9f1c/report/{number}/raw", b"x")
    await one_run(machine())
    tally = Tally(log=[])
    leases = machine(StoreCells(Record(store, tally)))
    await one_structure(leases)
    assert {request.key for request in tally.log or () if request.verb == "list"} == {
        "data",
        "_control/bayou/leases/models",
    }
    for between in (one_structure, one_commit, one_run):
        await between(machine())
        tally.log, tally.requests = [], Counter()
        await one_structure(leases)
        assert {request.key for request in tally.log if request.verb == "list"} == {"_control/bayou/leases/models"}
        assert tally.requests == Counter(get=2, put=2, list=2)


async def test_a_run_of_an_existing_client_is_seen_by_a_structural_command(machine: Machine, store: Store) -> None:
    """Also when all before was Bayou's: it begins by looking at the global lock, and removes what has expired there."""
    await one_structure(machine())
    legacy = legacy_run(store, VPC)
    await legacy.begin()
    waiter = asyncio.create_task(one_structure(machine()))
    await asyncio.sleep(100)
    assert not waiter.done()
    await legacy.end()
    await waiter


async def test_a_structural_command_that_took_long_does_not_vouch_for_what_began_meanwhile(
    machine: Machine, store: Store
) -> None:
    """An existing client waits for the global lock, but not for ever."""
    async with structure(machine()):
        await LegacyLock(store, KEYS.model_lock(VPC), clock=clock.wall).acquire()
        await asyncio.sleep(61)
    with pytest.raises(LockBusy):
        async with structure(machine(), seconds=5):
            pass


async def test_what_is_said_in_the_global_lock_survives_commits(machine: Machine, store: Store) -> None:
    leases = machine()
    async with structure(leases):
        pass
    for _ in range(3):
        async with commit(machine()):
            pass
        assert (await state_of(store, KEYS.global_lock)).mark == Mark(is_walked=True)
    lock = LegacyLock(store, KEYS.global_lock, clock=clock.wall)
    await asyncio.sleep(1)
    await lock.acquire()
    await lock.release()
    async with commit(machine()):
        pass
    assert (await state_of(store, KEYS.global_lock)).mark == Mark()


async def test_a_sweep_leaves_what_is_held_and_removes_the_rest(machine: Machine, store: Store) -> None:
    async with run(machine(), VPC), run(machine(), *MODELS):
        pass
    async with run(machine(), SHELL):
        assert await sweep(machine(), KEYS, [VPC, SHELL, *MODELS]) == 5
        left = [meta.key async for page in store.list() for meta in page]
        assert [key for key in left if key.startswith("data/")] == [KEYS.model_lock(SHELL)]
        assert left.count("_control/bayou/leases/models/command/shell/9f1c.json") == 1
        with pytest.raises(LockBusy):
            async with structure(machine(), seconds=1):
                pass
    await one_run(machine())
    assert await sweep(machine(), KEYS, [VPC, SHELL, *MODELS]) == 2


async def test_a_deletion_of_the_sweep_that_arrives_late_hits_nobody(machine: Machine, store: Store) -> None:
    """It was under way for a minute: the lock was the sweeper's all that time."""

    class Late(Wrapper):
        async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:
            if request.verb == "delete" and request.key.endswith("/.lock"):
                asyncio.get_running_loop().call_later(60, lambda: kept.append(asyncio.ensure_future(call())))
                await asyncio.Event().wait()
            return await call()

    kept: list[asyncio.Future[object]] = []
    await one_run(machine())
    with pytest.raises(TimeoutError):
        await sweep(machine(StoreCells(Late(store))), KEYS, [VPC])
    async with run(machine(), VPC) as held:
        await asyncio.sleep(300)
        assert kept
        assert await held[0].prove()
        assert "_control/bayou/leases/models/aws/ec2/vpc/0b2f.json" in [
            meta.key async for page in store.list("_control") for meta in page
        ]


async def test_a_sweep_while_a_run_is_about_to_take_its_lock_hides_it_from_nobody(machine: Machine) -> None:
    """Were the note left before the lock is taken, the sweep would remove it in between."""
    going = asyncio.Event()

    class Slow(Wrapper):
        async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:
            if request.verb == "put" and request.key == KEYS.model_lock(VPC):
                await going.wait()
            return await call()

    store = DatedMemoryStore()
    fast = StoreCells(store)
    await one_structure(machine(fast))  # it walked, and says so
    await one_run(machine(fast))
    await store.delete(KEYS.model_lock(VPC))
    taken = asyncio.create_task(take_models(machine(StoreCells(Slow(store))), KEYS, [VPC], patience(60), ALONE))
    await asyncio.sleep(1)
    assert await sweep(machine(fast), KEYS, [VPC, SHELL, *MODELS]) == 1
    going.set()
    await taken
    with pytest.raises(LockBusy):
        async with structure(machine(fast), seconds=5):
            pass


async def test_what_is_abandoned_is_ended_and_what_is_alive_is_not(machine: Machine, store: Store) -> None:
    key = KEYS.model_lock(VPC)
    assert await end_abandoned(machine(), key) is Fate.FREE
    leases = machine()
    async with run(leases, VPC) as held:
        assert await end_abandoned(machine(), key) is Fate.ALIVE
        assert clock.now() < 12
        leases.abandon(held[0])
        began = clock.now()
        assert await end_abandoned(machine(), key) is Fate.ENDED
        assert 30 < clock.now() - began < 32
    assert (await state_of(store, key)).is_free


@pytest.mark.parametrize("how", ["structure", "force"])
async def test_a_lock_of_an_existing_client_that_was_ended_is_registered_by_who_takes_it_next(
    machine: Machine, store: Store, how: str
) -> None:
    lock = LegacyLock(store, KEYS.model_lock(VPC), clock=clock.wall)
    await lock.acquire()
    if how == "structure":
        lock.is_held = False  # it died
        await one_structure(machine())
    else:
        (info, _) = await status(StoreCells(store), KEYS, walk=True)
        assert await release_by_force(machine(), info.lock_key, info.nonce)
        await one_structure(machine())
    async with run(machine(), VPC):
        with pytest.raises(LockBusy):
            async with structure(machine(), seconds=5):
                pass


# Existing clients in the same store.


def legacy_run(store: Store, *models: Model) -> LegacyRun:
    overall = LegacyLock(store, KEYS.global_lock, clock=clock.wall, max_wait=1000)
    return LegacyRun(
        overall,
        [LegacyLock(store, KEYS.model_lock(model), clock=clock.wall, max_wait=1000) for model in models],
        clock=clock.wall,
    )


async def test_runs_and_structural_commands_of_both_kinds_keep_each_other_out(machine: Machine, store: Store) -> None:
    at_work: Counter[str] = Counter()
    dice = Random(7)  # noqa: S311 - repeatable on purpose

    def enter(*names: str) -> None:
        at_work.update(names)
        assert max(at_work.values()) == 1, at_work
        assert not at_work["structure"] or at_work.total() == 1, at_work

    async def ours(model: Model) -> None:
        for _ in range(6):
            leases = machine()
            async with run(leases, model, seconds=2000):
                enter(str(model))
                await asyncio.sleep(dice.random() * 3)
                async with commit(leases, seconds=2000):
                    enter("commit")
                    await asyncio.sleep(dice.random())
                    at_work["commit"] -= 1
                at_work[str(model)] -= 1
            await asyncio.sleep(dice.random())

    async def theirs(model: Model) -> None:
        for _ in range(6):
            legacy = legacy_run(store, model)
            await legacy.begin()
            enter(str(model))
            await asyncio.sleep(dice.random() * 3)

            async def work() -> None:
                enter("commit")
                await asyncio.sleep(dice.random())
                at_work["commit"] -= 1

            await legacy.commit(work)
            at_work[str(model)] -= 1
            await legacy.end()
            await asyncio.sleep(dice.random())

    async def structural() -> None:
        for _ in range(3):
            async with structure(machine(), seconds=2000):
                enter("structure")
                await asyncio.sleep(2)
                at_work["structure"] -= 1
            await asyncio.sleep(dice.random() * 10)

    await asyncio.gather(
        *(ours(model) for model in MODELS), *(theirs(model) for model in MODELS[1:]), structural(), structural()
    )


# Chance: any interleaving of requests, with deaths.


class Shuffled(Wrapper):
    """Every request takes a while before and after it is carried out."""

    def __init__(self, inner: Store, dice: Random) -> None:
        super().__init__(inner)
        self._dice = dice

    async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:  # noqa: ARG002 - all alike
        await asyncio.sleep(self._dice.random() * 0.4)
        result = await call()
        await asyncio.sleep(self._dice.random() * 0.4)
        return result


async def shuffled(seed: int, runs: Sequence[Sequence[Model]], structures: int, deaths: int) -> float:
    """Let all of them work at once; give the time that it took. Nobody may meet whom he must not meet."""
    store, dice = DatedMemoryStore(), Random(seed)  # noqa: S311 - repeatable on purpose
    runs_at_work: list[frozenset[Model]] = []
    structures_at_work = 0
    count = 0

    def leases() -> Leases:
        nonlocal count
        count += 1
        cells = StoreCells(Shuffled(store, dice))
        return Leases(cells, who=Identity("x", f"host-{count}", 1), clock=clock.now)

    async def running(models: Sequence[Model]) -> None:
        await asyncio.sleep(dice.random() * 2)
        ours = leases()
        async with run(ours, *models, seconds=10_000):
            assert not structures_at_work
            assert not any(frozenset(models) & others for others in runs_at_work)
            runs_at_work.append(frozenset(models))
            await asyncio.sleep(dice.random() * 5)
            runs_at_work.remove(frozenset(models))
            async with commit(ours, seconds=10_000):
                await asyncio.sleep(dice.random())

    async def structural() -> None:
        nonlocal structures_at_work
        await asyncio.sleep(dice.random() * 2)
        async with structure(leases(), seconds=10_000):
            assert not runs_at_work
            assert not structures_at_work
            structures_at_work += 1
            await asyncio.sleep(dice.random() * 5)
            structures_at_work -= 1

    async def dying(kind: int) -> None:
        """Begin something, and be gone at some moment: nothing is given back."""
        ours = leases()
        begun = (
            take_structure(ours, KEYS, patience(10_000), ALONE)
            if kind % 2
            else take_models(ours, KEYS, MODELS[:2], patience(10_000), ALONE)
        )
        task = asyncio.create_task(begun)
        await asyncio.sleep(dice.random() * 6)
        ours.cells = Frozen(store)
        if task.done() and (done := task.result()):
            for lease in done if isinstance(done, list) else [done]:
                ours.abandon(lease)
        for other in list(ours._hearts):
            ours.abandon(other)
        task.cancel()

    await asyncio.gather(
        *map(running, runs), *(structural() for _ in range(structures)), *(dying(number) for number in range(deaths))
    )
    return clock.now()


@given(
    seed=st.integers(0, 2**32),
    runs=st.lists(st.lists(st.sampled_from(MODELS), min_size=1, max_size=3, unique=True), max_size=5),
    structures=st.integers(0, 2),
    deaths=st.integers(0, 2),
)
def test_whatever_the_interleaving_nobody_meets_whom_he_must_not_and_all_get_on(
    seed: int, runs: list[list[Model]], structures: int, deaths: int
) -> None:
    assert clock.run(shuffled(seed, runs, structures, deaths)) < 600
