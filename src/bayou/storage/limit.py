"""How many requests a store has under way at a time: a window that shrinks when it is overloaded, and grows back."""

import asyncio
import builtins
import weakref
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from bayou.errors import ErrorKind, Unavailable
from bayou.storage.bodies import WHOLE, size_of
from bayou.storage.port import Fetched, Request, Store, Wrapper

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
        if not self._waiting and self._taken < self.width:
            self._taken += 1
            return self._halvings
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
    """Every request of a store takes a slot of a window; a read keeps it until its bytes have arrived.

    Where its reader is away for more than `idle` seconds, or for good, the slot is given back: whoever holds as many
    unread objects as the window is wide and waits for another one gets it in the end (promise 10).
    Files that go up in parts wait for one of few places besides. They do it here, where no time limit runs yet.
    """

    def __init__(self, inner: Store, window: Window, uploads: int = UPLOADS, idle: float = 30.0) -> None:
        super().__init__(inner)
        self.window = window
        self._idle = idle
        self._uploads = asyncio.Semaphore(uploads)

    async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:
        if request.body is None or isinstance(request.body, bytes) or size_of(request.body) <= WHOLE:
            return await self._in_a_slot(call)
        async with self._uploads:
            return await self._in_a_slot(call)

    async def _in_a_slot(self, call: Callable[[], Awaitable[T]]) -> T:
        halvings = await self.window.take()
        reading = False
        try:
            result = await call()
            reading = isinstance(result, Fetched) and result.arrived is None
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
        if fetched.arrived is not None:
            return fetched
        return _Slotted(fetched, _Slot(self.window.give_back, self._idle))


class _Slot:
    """The slot of a read. It is given back once, whoever asks for that."""

    def __init__(self, give_back: Callable[[], None], patience: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._give_back: Callable[[], None] | None = give_back
        self._patience = patience
        self._timer: asyncio.TimerHandle | None = None
        self.idle()

    def idle(self) -> None:
        """Wait for the reader, but not for ever."""
        if self._give_back is not None:
            self._timer = self._loop.call_later(self._patience, self.give_back)

    def busy(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def give_back(self) -> None:
        self.busy()
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            give_back()

    def drop(self) -> None:
        # An object that nobody read may be collected in any thread, amid anything, and after the loop's end.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self.give_back)


class _Slotted(Fetched):
    def __init__(self, inner: Fetched, slot: _Slot) -> None:
        super().__init__(inner.meta, inner.version)
        self._inner = inner
        self._slot = slot
        self._unread = weakref.finalize(self, slot.drop)

    async def chunks(self) -> AsyncIterator[builtins.bytes]:
        try:
            pieces = aiter(self._inner.chunks())
            self._slot.busy()
            while (chunk := await anext(pieces, None)) is not None:
                self._slot.idle()
                yield chunk
                self._slot.busy()
        finally:
            self._end()

    async def bytes(self) -> builtins.bytes:
        self._slot.busy()
        try:
            return await self._inner.bytes()
        finally:
            self._end()

    def _end(self) -> None:
        self._unread.detach()
        self._slot.give_back()
