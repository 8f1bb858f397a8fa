"""Who waits for whom: runs of models, commits, and structural commands (design/009; sync spec 4.17).

A run takes the locks of its models, then looks at the global lock. A structural command takes the global lock, then
looks at the locks of the models. So of two that meet at least one sees the other. A run that sees a structural command
gives its locks back and waits; a structural command that sees a run gives the global lock back and waits. Nobody waits
for a model's lock while he holds the global one, so a run always gets to its commit: there is no circle.

A structural command that waits says so in the free global lock (`Mark.drain`): new runs let it go first, but for those
inside of another run, which it waits for as well. Inside of a run it does not wait for long, as that run may be waited
for by the one that it waits for.
"""

import asyncio
import uuid
from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import partial

from bayou.domain.models import Model
from bayou.errors import BayouError, Conflict
from bayou.layout.keys import Keyspace
from bayou.locks.bodies import NO_MARK, Mark, State
from bayou.locks.errors import LockBusy
from bayou.locks.lease import Lease
from bayou.locks.leases import Leases
from bayou.locks.nesting import Family
from bayou.locks.patience import Patience
from bayou.locks.registry import model_locks, register, registered
from bayou.locks.watch import Watch
from bayou.wire.javascript import utf16_order

_SEVERAL = 10.0  # seconds that a run waits for more locks while it has some: others may take them in another order
_TOGETHER = 32  # locks that a drain looks at at a time
_MOMENT = 0.3  # seconds in which a run that saw us gives its lock back


async def take_models(
    leases: Leases, keys: Keyspace, models: Iterable[Model], patience: Patience, family: Family
) -> list[Lease]:
    """Take the locks of a run: sorted, each once, and not while a structural command is at work or waits its turn."""
    lock_keys = [keys.model_lock(model) for model in sorted(set(models), key=lambda m: utf16_order(f"{m.type}/{m.id}"))]
    gate = Gate(leases, keys.global_lock, family)
    watches = {key: leases.watch() for key in lock_keys}
    while True:
        held: list[Lease] = []
        try:
            try:
                for key in lock_keys:
                    one = patience.part(_SEVERAL) if held else patience
                    noted = partial(register, leases.cells, keys, key)
                    lease = await leases.take(key, one, family=family, register=noted, watch=watches[key])
                    if lease is not None:
                        held.append(lease)
            except LockBusy:
                if patience.left <= 0:
                    raise
            else:
                # In this order: what seems held after the look was held during it.
                if await gate.is_open() and all(lease.seems_held for lease in held):
                    return held
        except BaseException:
            await leases.drop_all(held)
            raise
        await leases.drop_all(held)
        await gate.wait(patience)


async def take_global(leases: Leases, keys: Keyspace, patience: Patience, family: Family) -> Lease | None:
    """Take the global lock, for a commit. None: this context holds it already."""
    noted = partial(register, leases.cells, keys, keys.global_lock)
    return await leases.take(keys.global_lock, patience, family=family, register=noted)


async def drop_global(leases: Leases, lease: Lease) -> BayouError | None:
    """Let the global lock go, and leave in it what was said there."""
    return await leases.drop(lease, _passed_on(leases, lease))


async def take_structure(
    leases: Leases, keys: Keyspace, patience: Patience, family: Family, *, walk: bool = True
) -> Lease | None:
    """Take the global lock when no run is under way. None: this context holds it already.

    `walk=False` looks at the registered locks only, for stores that no existing client uses.
    """
    drain = _Drain(leases, keys, family, walk=walk)
    patience = patience.part(_SEVERAL) if family.is_inside else patience
    try:
        while True:
            lease = await take_global(leases, keys, patience, family)
            if lease is None:
                return None
            try:
                busy = await drain.look(lease)
            except BaseException:
                await drop_global(leases, lease)
                raise
            if not busy and lease.seems_held:
                return lease
            await leases.drop(lease, drain.mark(lease))
            await drain.wait(busy, patience)
    except BaseException:
        await drain.give_up()
        raise


class Gate:
    """The global lock, as who wants to begin a run sees it."""

    def __init__(self, leases: Leases, key: str, family: Family) -> None:
        self._leases = leases
        self._key = key
        self._family = family
        self._watch = leases.watch()
        self._state = State(None, key)
        self._drain = ("", 0.0)

    async def is_open(self) -> bool:
        asked = self._leases.clock()
        self._state = state = await self._leases.look(self._key, self._state)
        if self._family.holds(state, self._leases.who):
            return True
        if state.is_free:
            return self._family.is_inside or self._has_waited_enough(state.mark.drain, asked)
        if not self._watch.is_stale(state, asked):
            return False
        try:
            # Never merely passed by: its holder may wake up, and must find out.
            await self._leases.end(state)
        except Conflict:
            return False
        return True

    async def wait(self, patience: Patience) -> None:
        while not await self.is_open():
            await patience.pause(self._state, at_most=None if self._state.is_free else self._watch.left(self._state))

    def _has_waited_enough(self, drain: str, asked: float) -> bool:
        """Whether no structural command waits, or one that does not say so again is dead."""
        if drain != self._drain[0]:
            self._drain = (drain, self._leases.clock())
        return not drain or asked - self._drain[1] > self._leases.ttl


class _Drain:
    """The look of a structural command at the runs that are under way."""

    def __init__(self, leases: Leases, keys: Keyspace, family: Family, *, walk: bool) -> None:
        self._leases = leases
        self._keys = keys
        self._family = family
        self._walk = walk
        self._ticket = uuid.uuid4().hex
        self._rounds = 0
        self._watches: dict[str, Watch] = {}

    async def look(self, lease: Lease) -> list[State]:
        """The model locks that are held. What `lease` was told, and tells the next one, is brought up to date."""
        walks = self._walk and not lease.mark.is_walked
        lock_keys = await model_locks(self._leases.cells, self._keys, walk=walks)
        busy = await self._held(lock_keys)
        if busy:
            # Perhaps they have seen us, and are about to give it back.
            await asyncio.sleep(_MOMENT)
            busy = await self._held([state.where for state in busy])
        if walks:
            known = await registered(self._leases.cells, self._keys) if busy else ()
            is_walked = all(state.where in known for state in busy)
        else:
            is_walked = lease.mark.is_walked
        others = "" if lease.mark.drain.startswith(self._ticket) else lease.mark.drain
        lease.mark = Mark(is_walked, others)
        return busy

    def mark(self, lease: Lease) -> Mark:
        """What to say in the lock while we wait; another text each time, so that one sees that we live."""
        self._rounds += 1
        return Mark(_passed_on(self._leases, lease).is_walked, f"{self._ticket}.{self._rounds}")

    async def wait(self, busy: Collection[State], patience: Patience) -> None:
        """Wait until these are free, or until it is time to speak up again. Those of the dead are ended."""
        until = self._leases.clock() + self._leases.ttl / 3
        states = {state.where: state for state in busy}
        while states:
            await patience.pause(next(iter(states.values())))
            for key, known in list(states.items()):
                asked = self._leases.clock()
                state = states[key] = await self._leases.look(key, known)
                watch = self._watches.setdefault(key, self._leases.watch())
                if watch.is_stale(state, asked):
                    with suppress(Conflict):
                        await self._leases.end(state)
                        del states[key]
                elif state.is_free:
                    del states[key]
            if self._leases.clock() >= until:
                return

    async def give_up(self) -> None:
        """Take back that we wait."""
        if self._rounds:
            with suppress(BayouError):
                state = await self._leases.look(self._keys.global_lock)
                if state.mark.drain.startswith(self._ticket):
                    is_walked = state.mark.is_walked and not self._leases.cells.removes
                    await self._leases.end(state, Mark(is_walked))

    async def _held(self, lock_keys: Iterable[str]) -> list[State]:
        slots = asyncio.Semaphore(_TOGETHER)

        async def look(key: str) -> State:
            async with slots:
                return await self._leases.look(key)

        states = await asyncio.gather(*map(look, lock_keys))
        return [state for state in states if not state.is_free and not self._family.holds(state, self._leases.who)]


def _passed_on(leases: Leases, lease: Lease) -> Mark:
    """What the next one should know. An existing client that found the lock taken for too long may have gone on."""
    leaves_body = not leases.cells.removes and not lease.is_shared
    is_walked = leaves_body and lease.mark.is_walked and lease.age < leases.ttl
    return Mark(is_walked, lease.mark.drain) if is_walked or lease.mark.drain else NO_MARK
