"""One lease: a lock that is ours until a moment that every renewal moves on. Its nonce is the fencing token.

It is renewed, released and taken over by replacing the version that was read, so none of the three can hurt a
successor. Every answer that was lost is settled by reading back: the nonce says whose it is (sync spec W-53..W-58).
"""

import asyncio
import os
import uuid
from collections.abc import Callable
from concurrent.futures import Future

from bayou.errors import BayouError, Conflict, ErrorKind, Unavailable
from bayou.locks.bodies import NO_MARK, Identity, Mark, State, free_body, held_body, wall_ms
from bayou.locks.cells import Cells
from bayou.locks.clock import now as default_clock
from bayou.locks.errors import LockLost
from bayou.storage.port import Version

_TRIES = 3


class Lease:
    """Its coroutines run where its heart beats (`bayou.locks.heart`); what is no coroutine may be asked anywhere."""

    def __init__(
        self, cells: Cells, key: str, who: Identity, ttl: float, clock: Callable[[], float] = default_clock
    ) -> None:
        self.key = key
        self.nonce = str(uuid.uuid4())
        self.who = who
        self.ttl = ttl
        self.process = os.getpid()
        self.mark = NO_MARK
        """What the lock said before it was ours."""
        self.is_registered = False
        """Whether there is a note of the lock (`bayou.locks.registry`)."""
        self.was_body = False
        """Whether somebody's body was overwritten, which an existing client may be about to delete."""
        self.follows_ours = False
        """Whether one of us had it last, and let it go: nobody else was in between."""
        self.is_shared = False
        """Whether existing clients use this lock too: they removed what we had left there."""
        self.was_claimed = False
        """Whether a write was begun that may make it ours."""
        self.loss: Future[str] = Future()
        """Done once the lock is lost, with the reason. For `asyncio.wrap_future` and `add_done_callback`."""
        self.loss.set_running_or_notify_cancel()  # so that nobody who waits for it can cancel it
        self._cells = cells
        self._clock = clock
        self._turn = asyncio.Lock()
        self._version: Version | None = None
        self._since = self._until = clock()
        self._stamp = 0
        self._is_over = False

    @property
    def seems_held(self) -> bool:
        """Whether it is ours as far as this process can know by itself: nobody takes over before our time is up."""
        return self.is_open and self._clock() < self._until

    @property
    def is_fresh(self) -> bool:
        """Whether it was proven so lately that there is no need to ask the store."""
        return self.is_open and self._until - self._clock() > self.ttl / 2

    @property
    def is_open(self) -> bool:
        """Neither released nor lost, nor that of a parent process."""
        return self._version is not None and not self._is_over and not self.loss.done() and os.getpid() == self.process

    @property
    def age(self) -> float:
        """Seconds since it was taken."""
        return self._clock() - self._since

    @property
    def until(self) -> float:
        """When somebody else may take it over, if nothing is done before."""
        return self._until

    async def claim(self, state: State) -> None:
        """Take the lock, which was found free or abandoned. Conflict: somebody else was faster."""
        asked, self.was_claimed = self._clock(), True
        self.mark, self.was_body, self.is_registered = state.mark, state.seen is not None, state.is_registered
        self.follows_ours = state.is_registered and state.is_free
        if state.seen is None:
            version = await self._cells.create(self.key, self._body())
        else:
            version = await self._cells.replace(self.key, self._body(), state.seen.version)
        self._since = asked
        self._hold(version, asked)

    def adopt(self, state: State, asked: float) -> bool:
        """Whether what was found there is ours: an earlier try, whose answer was lost, took effect."""
        if state.seen is None or state.nonce != self.nonce:
            return False
        self._version = state.seen.version
        self._until = max(self._until, asked)
        return True

    async def renew(self) -> None:
        """Prove that it is ours, and for another while; or find out that it is not: then `loss` is done."""
        async with self._turn:
            for _ in range(_TRIES):
                if not self.is_open or self._version is None:
                    return
                asked = self._clock()
                try:
                    self._hold(await self._cells.replace(self.key, self._body(), self._version), asked)
                except Conflict:
                    # Somebody else's doing, or that of a renewal of ours whose answer never came.
                    asked = self._clock()
                    state = State(await self._cells.read(self.key), self.key)
                    if not self.adopt(state, asked):
                        self.lose(f"{state.holder} has it" if not state.is_free else "it was taken away")
                else:
                    return

    async def still_held(self) -> bool:
        """The question before every commit. Asks the store unless the last proof is fresh, and is never wrong for long:
        whoever must be sure compares and swaps besides.
        """
        return self.is_fresh or await self.prove()

    async def prove(self) -> bool:
        """Ask the store, in any case."""
        await self.renew()
        return self.seems_held

    def check(self) -> None:
        """Raise LockLost unless it seems held."""
        if not self.seems_held:
            raise LockLost(self.key, self.loss.result() if self.loss.done() else "it was not renewed in time")

    async def release(self, mark: Mark = NO_MARK) -> None:
        """Let the next one have it. Again, or after it was lost, this does nothing.

        Among ourselves it is overwritten: a deletion without a condition could arrive late and hit the next one. Where
        existing clients take part it is deleted, with most of our time left: they would delete what we leave, and with
        it, a moment later, the lock of whoever was faster than they (design/009 has the figures).
        """
        async with self._turn:
            if not self.is_open or self._version is None:
                self._is_over = True
                return
            self._is_over = True
            for _ in range(_TRIES):
                try:
                    left = self._until - self._clock()
                    if self._cells.removes and mark == NO_MARK:
                        await self._cells.remove(self.key, self._version)
                    elif self.is_shared and mark == NO_MARK and left > self.ttl / 2:
                        await self._delete(self._version, left / 2)
                    else:
                        body = free_body(self.who, mark, is_registered=self.is_registered)
                        await self._cells.replace(self.key, body, self._version)
                except Conflict:
                    if not self.adopt(State(await self._cells.read(self.key), self.key), self._clock()):
                        return
                else:
                    return

    async def _delete(self, version: Version, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._cells.remove(self.key, version)
        except TimeoutError as error:
            raise Unavailable(f"{self.key!r}: no answer to the deletion", kind=ErrorKind.DEADLINE_EXCEEDED) from error

    async def erase(self) -> None:
        """Let go, and remove the object itself. It must be ours for much longer than that can take."""
        async with self._turn:
            if self.is_open and self._version is not None:
                self._is_over = True
                await self._cells.remove(self.key, self._version)

    def lose(self, why: str) -> None:
        if not self.loss.done():
            self.loss.set_result(why)

    def _hold(self, version: Version, asked: float) -> None:
        self._version, self._until = version, asked + self.ttl

    def _body(self) -> bytes:
        # Existing clients compare this time with their clock. It always moves on, so that no two bodies are equal.
        self._stamp = max(wall_ms(), self._stamp + 1)
        return held_body(self.who, self.nonce, self.ttl, self._stamp)


async def keep(lease: Lease, clock: Callable[[], float] = default_clock) -> None:
    """Renew a lease until it is released or lost: its heart.

    An error drops nothing as long as nobody else may take the lock (W-57); after that the holder is told. After a pause
    of this machine the first thing is to ask: if nobody took it over, it is still ours.
    """
    # The early first look: an existing client that was about to delete what we overwrote has done so by then.
    pause = min(1.0, lease.ttl / 3) if lease.was_body else lease.ttl / 3
    while True:
        await asyncio.sleep(pause)
        if not lease.is_open:
            return
        try:
            async with asyncio.timeout(max(lease.until - clock(), lease.ttl / 3)):
                await lease.renew()
        except (BayouError, OSError, TimeoutError) as error:
            if clock() >= lease.until:
                lease.lose(f"the store did not answer in time ({str(error) or 'no answer'})")
            pause = lease.ttl / 20
        else:
            pause = lease.ttl / 3
