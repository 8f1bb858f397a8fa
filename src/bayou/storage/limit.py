"""How many requests a store has under way at a time: a window that shrinks when it is overloaded, and grows back."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from functools import partial
from typing import TypeVar

from bayou.errors import ErrorKind, Unavailable
from bayou.storage.bodies import WHOLE, size_of
from bayou.storage.port import Fetched, Request, Store, Watched, Wrapper

T = TypeVar("T")

UPLOADS = 2  # files under way in parts at a time: with the size and number of the parts they bound the memory
_OVERLOADED = {ErrorKind.THROTTLED, ErrorKind.DEADLINE_EXCEEDED}  # said so, or did not get to us at all


class Window:
    """At most `most` slots, handed out in order. A throttled request halves it; a windowful of successes adds a slot.

    Requests that were under way together are throttled together, so a slot remembers how often the window had been
    halved when it was taken: only the first of them halves it again. (The additive increase and multiplicative decrease
    of TCP.)
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._width = float(most)
        self._halvings = 0
        self._taken = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def width(self) -> int:
        return int(self._width)

    @property
    def taken(self) -> int:
        return self._taken

    async def take(self) -> int:
        """Wait for a slot; the result is what `throttled` wants to know of it."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back()  # the slot came just before the cancellation
            raise
        return self._halvings

    def give_back(self) -> None:
        self._taken -= 1
        self._admit()

    def succeeded(self) -> None:
        self._width = min(self.most, self._width + 1 / self._width)
        self._admit()

    def throttled(self, halvings: int) -> None:
        if halvings == self._halvings:
            self._halvings += 1
            self._width = max(1.0, self._width / 2)

    def _admit(self) -> None:
        while self._waiting and self._taken < self.width:
            turn = self._waiting.popleft()
            if not turn.done():
                self._taken += 1
                turn.set_result(None)


class Limit(Wrapper):
    """Every request of a store takes a slot of a window; a read keeps it until its bytes have arrived or it is dropped.

    So nobody may hold more unread objects than the window is wide and wait for another one: read each as it comes.
    Files that go up in parts wait for one of few places besides. They do it here, where no time limit runs yet.
    """

    def __init__(self, inner: Store, window: Window, uploads: int = UPLOADS) -> None:
        super().__init__(inner)
        self.window = window
        self._uploads = asyncio.Semaphore(uploads)

    async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:
        large = request.body is not None and not isinstance(request.body, bytes) and size_of(request.body) > WHOLE
        async with self._uploads if large else nullcontext():
            return await self._in_a_slot(call)

    async def _in_a_slot(self, call: Callable[[], Awaitable[T]]) -> T:
        halvings = await self.window.take()
        reading = False
        try:
            result = await call()
            reading = isinstance(result, Fetched)
        except Unavailable as error:
            if error.kind in _OVERLOADED:
                self.window.throttled(halvings)
            raise
        finally:
            if not reading:
                self.window.give_back()
        self.window.succeeded()
        return result

    def watch(self, fetched: Fetched) -> Fetched:
        give_back = self.window.give_back
        return Watched(fetched, done=give_back, dropped=partial(_soon, asyncio.get_running_loop(), give_back))


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    # An object that nobody read may be collected in any thread, in the middle of anything, and after the loop's end.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(call)
