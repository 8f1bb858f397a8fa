"""Stores that are far away, or busy: every request takes longer, or is refused when it comes too soon after another."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from bayou.errors import ErrorKind, Unavailable
from bayou.storage.port import Request, Store, Wrapper

T = TypeVar("T")

_CHANGES = {"put", "delete", "copy"}


class Latency(Wrapper):
    """Every request takes `seconds` longer."""

    def __init__(self, inner: Store, seconds: float) -> None:
        super().__init__(inner)
        self._seconds = seconds

    async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:  # noqa: ARG002 - all alike
        await asyncio.sleep(self._seconds)
        return await call()


class Throttle(Wrapper):
    """At most one change of a key in `seconds`, as GCS does it (one a second); more are refused with "slow down"."""

    def __init__(self, inner: Store, seconds: float = 1.0, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(inner)
        self._seconds = seconds
        self._clock = clock
        self._changed: dict[str, float] = {}

    async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:
        if request.verb in _CHANGES:
            now = self._clock()
            if now - self._changed.get(request.key, float("-inf")) < self._seconds:
                raise Unavailable(f"{request.key!r} was changed a moment ago", kind=ErrorKind.THROTTLED)
            self._changed[request.key] = now
        return await call()
