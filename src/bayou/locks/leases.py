"""Taking leases: wait until a lock is free or abandoned, take it, keep it alive, let it go.

An error of the store never counts as "free" and never as "lost": it is waited out like a holder (sync spec W-57, W-58,
W-60).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress

from bayou.errors import BayouError, Conflict, Unavailable
from bayou.locks.bodies import DEFAULT_TTL, NO_MARK, Identity, Mark, State, free_body, ourselves
from bayou.locks.cells import Cells
from bayou.locks.clock import now as default_clock
from bayou.locks.errors import SecondWriter
from bayou.locks.lease import Lease, keep
from bayou.locks.nesting import Family
from bayou.locks.patience import SOON, Patience
from bayou.locks.watch import Watch

_FAREWELL = 5.0  # seconds for giving back what a cancelled call may have taken
_NOBODY = Family()


class Leases:
    """The leases of one process on one place. Its coroutines belong into one event loop."""

    def __init__(
        self,
        cells: Cells,
        *,
        ttl: float = DEFAULT_TTL,
        who: Identity | None = None,
        clock: Callable[[], float] = default_clock,
    ) -> None:
        self.cells = cells
        self.ttl = ttl
        self.who = who or ourselves()
        self.clock = clock
        self._hearts: dict[Lease, asyncio.Task[None]] = {}

    async def look(self, key: str, known: State | None = None) -> State:
        """What a lock says now; cheaper if it still is what it was."""
        before = None if known is None else known.seen
        seen = await self.cells.read(key, before)
        return known if known is not None and seen is not None and seen is before else State(seen, key)

    def watch(self) -> Watch:
        return Watch(self.who, self.clock)

    async def take(
        self,
        key: str,
        patience: Patience,
        *,
        family: Family = _NOBODY,
        register: Callable[[], Awaitable[bool]] | None = None,
        watch: Watch | None = None,
    ) -> Lease | None:
        """Take a lock and keep it. None: its holder waits for us, so it is as good as ours.

        `register` is awaited where nothing says that there is a note of the lock: once it is ours, as a sweep could
        remove the note before. Who comes back brings his `watch`.
        """
        watch = watch or self.watch()
        while True:
            lease = Lease(self.cells, key, self.who, self.ttl, self.clock)
            try:
                if not await self._take(lease, patience, family, watch):
                    return None
            except BaseException:
                await self._withdraw(lease)
                raise
            if lease.seems_held:
                break
            # The store took so long to answer that the time was over.
            await self._withdraw(lease)
        self._hearts[lease] = asyncio.create_task(keep(lease, self.clock), name=f"heart of {key}")
        if register is not None and not lease.is_registered:
            try:
                await self._register(lease, register, patience)
            except BaseException:
                await self.drop(lease)
                raise
        return lease

    async def drop(self, lease: Lease, mark: Mark = NO_MARK) -> BayouError | None:
        """Let a lock go. An error is returned: the lock then ends by itself, when its time is over."""
        try:
            await lease.release(mark)
        except BayouError as error:
            return error
        finally:
            self.abandon(lease)
        return None

    async def drop_all(self, leases: Iterable[Lease]) -> list[BayouError]:
        """Let locks go, the last one first; all of them, whatever goes wrong."""
        errors = [await self.drop(lease) for lease in reversed(list(leases))]
        return [error for error in errors if error is not None]

    async def erase(self, lease: Lease) -> None:
        """Let a lock go, and leave no trace of it. Only for leases much longer than a deletion can be under way."""
        self.abandon(lease)
        await lease.erase()

    def abandon(self, lease: Lease) -> None:
        """Keep a lock no longer alive; it ends by itself, when its time is over."""
        heart = self._hearts.pop(lease, None)
        if heart is not None:
            heart.cancel()

    async def end(self, state: State, mark: Mark = NO_MARK) -> None:
        """End somebody's hold on a lock as it was seen, or raise Conflict if it is not that any more."""
        if state.seen is None:
            return
        if self.cells.removes and mark == NO_MARK:
            await self.cells.remove(state.where, state.seen.version)
        else:
            body = free_body(self.who, mark, is_registered=state.is_registered)
            await self.cells.replace(state.where, body, state.seen.version)

    async def _take(self, lease: Lease, patience: Patience, family: Family, watch: Watch) -> bool:
        state: State | None = None
        while True:
            asked, before = self.clock(), state
            try:
                state = await self.look(lease.key, before)
                if lease.adopt(state, asked):
                    await lease.renew()
                    return True
                if family.holds(state, self.who):
                    return False
                if state.is_free or watch.is_stale(state, asked):
                    await lease.claim(state)
                    return True
            except Conflict:
                state = None
                await patience.pause(State(None, lease.key), at_most=SOON)
            except Unavailable:
                if patience.left <= 0:
                    raise
                state = None
                await patience.pause(State(None, lease.key))
            else:
                self._refuse_second_writer(before, state)
                await patience.pause(state, at_most=watch.left(state))

    async def _register(self, lease: Lease, register: Callable[[], Awaitable[bool]], patience: Patience) -> None:
        while not lease.is_registered:
            try:
                is_first = await register()
            except Unavailable:
                if patience.left <= 0:
                    raise
                await patience.pause(State(None, lease.key))
            else:
                lease.is_registered, lease.is_shared = True, not (lease.was_body or is_first)

    def _refuse_second_writer(self, before: State | None, state: State) -> None:
        # He renewed his lock while we looked on: he lives.
        if not self.cells.several_writers and before is not None and before.seen not in (None, state.seen):
            raise SecondWriter(state.where, state.holder)

    async def _withdraw(self, lease: Lease) -> None:
        """Give back what may be ours without our knowing, since an answer was lost or the call was cancelled."""
        if not lease.was_claimed:
            return
        with suppress(BayouError, TimeoutError):
            async with asyncio.timeout(_FAREWELL):
                if lease.adopt(await self.look(lease.key), self.clock()):
                    await lease.release()
