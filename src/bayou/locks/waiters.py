"""Who waits: whoever has waited for some seconds leaves a note for those who look (`bayou lock status`).

No lock depends on it. It is written beside the waiting, renewed each minute, taken away by whoever is through, and
believed for a few minutes only, as a process that was killed takes nothing away. A lock that is free costs nothing
more, and no existing client ever looks there.
"""

import asyncio
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from bayou.errors import BayouError
from bayou.layout.keys import Keyspace
from bayou.locks.bodies import Identity, wall_ms
from bayou.locks.cells import Cells
from bayou.locks.clock import now as default_clock
from bayou.wire import waiter
from bayou.wire.times import to_milliseconds, to_text
from bayou.wire.waiter import WaiterNote

_NOTES = "bayou/waiting"
PATIENT = 3.0
"""Seconds of waiting that nobody has to know of."""
_AGAIN = 60.0
_BELIEVED = 180.0
_FAREWELL = 3.0
_TOGETHER = 32


class Waiter(NamedTuple):
    lock_key: str
    holder: str
    hostname: str
    pid: int
    seconds: float
    """Since when, by the clocks of two machines."""


class Presence:
    """That we wait, as others see it. Its coroutines run where the heart beats (`bayou.locks.heart`)."""

    def __init__(self, cells: Cells, keys: Keyspace, who: Identity, clock: Callable[[], float] = default_clock) -> None:
        self._cells = cells
        self._who = who
        self._clock = clock
        self._note = f"{keys.control(_NOTES)}/{uuid.uuid4()}.json"
        self._began = clock()
        self._shown: tuple[str, float] | None = None
        self._writing: asyncio.Task[None] | None = None

    def show(self, lock_key: str) -> None:
        """Leave a note, if it is time, or bring it up to date. Nobody waits for that."""
        now = self._clock()
        if now - self._began < PATIENT or (self._writing is not None and not self._writing.done()):
            return
        if self._shown is None or self._shown[0] != lock_key or now - self._shown[1] > _AGAIN:
            is_first, self._shown = self._shown is None, (lock_key, now)
            self._writing = asyncio.create_task(self._write(lock_key, now - self._began, is_first=is_first))

    def leave(self) -> "asyncio.Task[None] | None":
        """We are through, one way or the other. The task, if there is a note to take away, is for whoever closes."""
        return None if self._writing is None else asyncio.create_task(self._take_away(self._writing))

    async def _write(self, lock_key: str, waited: float, *, is_first: bool) -> None:
        now = wall_ms()
        since, at = to_text(int(now - waited * 1000) * 1_000_000), to_text(now * 1_000_000)
        note = WaiterNote(lock_key, self._who.holder, self._who.hostname, self._who.pid, since, at)
        with suppress(BayouError):
            if not is_first:
                await self._cells.discard(self._note)
            await self._cells.note(self._note, waiter.encode(note))

    async def _take_away(self, writing: "asyncio.Task[None]") -> None:
        writing.cancel()
        await asyncio.wait({writing})
        with suppress(BayouError, TimeoutError):
            async with asyncio.timeout(_FAREWELL):
                await self._cells.discard(self._note)


async def waiters(cells: Cells, keys: Keyspace) -> list[Waiter]:
    """Who says that he waits, longest first."""
    found = [one for one in (await _notes(cells, keys)).values() if one is not None]
    return sorted(found, key=lambda one: -one.seconds)


async def left_behind(cells: Cells, keys: Keyspace) -> list[str]:
    """The notes that nobody believes any more: of those who were killed while they waited."""
    return [key for key, one in (await _notes(cells, keys)).items() if one is None]


async def clear(cells: Cells, keys: Keyspace) -> int:
    """Take these away; how many they were."""
    left = await left_behind(cells, keys)
    for key in left:
        await cells.discard(key)
    return len(left)


async def _notes(cells: Cells, keys: Keyspace) -> dict[str, Waiter | None]:
    """All notes. None: what it says is old, or cannot be read."""
    slots = asyncio.Semaphore(_TOGETHER)

    async def look(key: str) -> Waiter | None:
        async with slots:
            seen = await cells.read(key)
        note = None if seen is None else waiter.decode(seen.content, key)
        if not isinstance(note, WaiterNote):
            return None
        written, since = to_milliseconds(note.written_at), to_milliseconds(note.since)
        if written is None or since is None or abs(wall_ms() - written) > _BELIEVED * 1000:
            return None
        return Waiter(note.lock_key, note.holder, note.hostname, note.pid, max(0.0, (wall_ms() - since) / 1000))

    notes = [key async for page in cells.below(keys.control(_NOTES)) for key in page]
    return dict(zip(notes, await asyncio.gather(*map(look, notes)), strict=True))
