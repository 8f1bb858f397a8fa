"""A time limit for every request, so that nothing waits for a store that has gone silent (promise 10)."""

import asyncio
import builtins
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from bayou.errors import ErrorKind, Unavailable
from bayou.storage.bodies import size_of
from bayou.storage.port import Fetched, Request, Store, Wrapper

T = TypeVar("T")


class TimeLimit(Wrapper):
    """`seconds` for an answer or for the next piece of a body; more for a body that is sent, or read, as a whole.

    It gets the time besides that it takes at `slowest` bytes a second.
    """

    def __init__(self, inner: Store, seconds: float = 30.0, slowest: int = 64 << 10) -> None:
        super().__init__(inner)
        self.seconds = seconds
        self.slowest = slowest

    async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:
        return await self.within(request.key, call, 0 if request.body is None else size_of(request.body))

    def watch(self, fetched: Fetched) -> Fetched:
        return fetched if fetched.arrived is not None else _Timed(fetched, self)

    async def within(self, key: str, call: Callable[[], Awaitable[T]], size: int = 0) -> T:
        seconds = self.seconds + size / self.slowest
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return await call()
        except TimeoutError as error:
            if not limit.expired():
                raise
            message = f"{key!r}: no answer within {seconds:.0f} s"
            remedy = "Check the network; for a slow one, allow each request more time (requestTimeoutMs)."
            raise Unavailable(message, kind=ErrorKind.DEADLINE_EXCEEDED, remedy=remedy) from error


class _Timed(Fetched):
    def __init__(self, inner: Fetched, limit: TimeLimit) -> None:
        super().__init__(inner.meta, inner.version)
        self._inner = inner
        self._limit = limit

    async def chunks(self) -> AsyncIterator[builtins.bytes]:
        pieces = aiter(self._inner.chunks())
        while (chunk := await self._limit.within(self.meta.key, lambda: anext(pieces, None))) is not None:
            yield chunk

    async def bytes(self) -> builtins.bytes:
        return await self._limit.within(self.meta.key, self._inner.bytes, self.meta.size)
