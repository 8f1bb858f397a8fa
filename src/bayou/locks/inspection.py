"""Looking at locks from outside, ending what hangs, and clearing away what is left.

An error is an error and never "free" (sync spec W-60); only what is not there is free.
"""

import asyncio
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from bayou.domain.models import Model
from bayou.errors import Conflict
from bayou.layout.keys import Keyspace
from bayou.locks.bodies import State, wall_ms
from bayou.locks.cells import Cells
from bayou.locks.errors import LockBusy
from bayou.locks.leases import Leases
from bayou.locks.patience import Patience
from bayou.locks.registry import model_locks, note_of, registered
from bayou.locks.waiters import Waiter, clear, waiters
from bayou.wire.times import to_milliseconds

_TOGETHER = 32
_LOOK, _LATER = 1.0, 0.01  # seconds
_SWEEP_TTL = 120.0  # seconds: much longer than any request for a deletion can be under way
_SWEEP_CALL = 30.0


class Scope(Enum):
    MODEL = "model"
    GLOBAL = "global"


class Fate(Enum):
    """What became of a lock that was to be ended if its holder is dead."""

    FREE = "nobody holds it"
    ALIVE = "its holder is alive"
    ENDED = "its holder was gone"


class Info(NamedTuple):
    """One lock that is held, or the global one."""

    scope: Scope
    lock_key: str
    is_held: bool
    holder: str | None = None
    """None where what it says cannot be read."""
    hostname: str | None = None
    pid: int | None = None
    ttl: float | None = None
    nonce: str | None = None
    """What `release_by_force` wants: which hold it is. None where it cannot be read."""
    acquired_at: str | None = None
    age: float | None = None
    """Seconds since its last sign of life, by the clocks of two machines: for people, never for decisions."""
    waiters: tuple[Waiter, ...] = ()
    """Who has waited for it for some seconds, longest first."""
    is_drained: bool = False
    """Of the global lock: whether a structural command waits for runs to end."""


async def status(cells: Cells, keys: Keyspace, *, walk: bool = False) -> list[Info]:
    """The model locks that are held, then the global one. `walk` finds those of existing clients too, at that price."""
    slots = asyncio.Semaphore(_TOGETHER)

    async def look(key: str) -> State:
        async with slots:
            return State(await cells.read(key), key)

    *models, overall = await asyncio.gather(*map(look, [*await model_locks(cells, keys, walk=walk), keys.global_lock]))
    found = [
        *(_describe(Scope.MODEL, state) for state in models if not state.is_free),
        _describe(Scope.GLOBAL, overall),
    ]
    waiting = await waiters(cells, keys)
    return [info._replace(waiters=tuple(one for one in waiting if one.lock_key == info.lock_key)) for info in found]


async def release_by_force(leases: Leases, key: str, nonce: str | None) -> bool:
    """End the hold of this nonce, and no other; say whether there was one. None ends one that cannot be read.

    Its holder finds out at the next renewal, and before the next commit.
    """
    state = await leases.look(key)
    if state.is_free or state.nonce != nonce:
        return False
    try:
        await leases.end(state)
    except Conflict:
        # It was renewed at that moment, or somebody else's by now.
        return await release_by_force(leases, key, nonce)
    return True


async def end_abandoned(leases: Leases, key: str) -> Fate:
    """End a hold that stands still for the whole of its time. A holder that renews it lives, and is left alone."""
    watch, first = leases.watch(), await leases.look(key)
    state = first
    while not state.is_free:
        if state != first:
            return Fate.ALIVE
        asked = leases.clock()
        state = await leases.look(key, state)
        if state == first and watch.is_stale(state, asked):
            try:
                await leases.end(state)
            except Conflict:
                continue
            return Fate.ENDED
        await asyncio.sleep(min(_LOOK, watch.left(state)) + _LATER)
    return Fate.FREE


async def sweep(leases: Leases, keys: Keyspace, models: Iterable[Model]) -> int:
    """Remove the notes, and what is left in the store, of those locks of these models that nobody holds; say of how
    many. And what is left of those who waited.

    A deletion has no condition, and may arrive late. So each lock is taken first, for much longer than that: meanwhile
    nobody can have it. If the store does not answer, it stays taken until that time is over.
    """
    await clear(leases.cells, keys)
    patient = Leases(leases.cells, ttl=_SWEEP_TTL, who=leases.who, clock=leases.clock)
    swept = 0
    gone = {keys.model_lock(model) for model in models}
    for key in await registered(leases.cells, keys):
        if key not in gone or not (await leases.look(key)).is_free:
            continue
        try:
            lease = await patient.take(key, Patience(0, clock=leases.clock))
        except LockBusy:
            continue
        if lease is None:
            continue
        try:
            async with asyncio.timeout(_SWEEP_CALL):
                await leases.cells.discard(note_of(keys, key))
                await patient.erase(lease)
        except BaseException:
            patient.abandon(lease)
            raise
        swept += 1
    return swept


def _describe(scope: Scope, state: State) -> Info:
    if state.is_free:
        return Info(scope, state.where, is_held=False, is_drained=bool(state.mark.drain))
    body = state.body
    if body is None:
        return Info(scope, state.where, is_held=True)
    seen_ms = to_milliseconds(body.acquired_at)
    age = None if seen_ms is None else max(0.0, (wall_ms() - seen_ms) / 1000)
    return Info(
        scope, state.where, True, body.holder, body.hostname, body.pid, state.ttl, body.nonce, body.acquired_at, age
    )
