"""Time that passes only when nothing else is left to do: hours of waiting in a moment, the same each time.

    run(main())     # in a loop whose `time()` is the fake clock

Only for what waits through its loop. A thread or a socket that the loop waits for is overtaken by the clock.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from bayou.storage.port import ANY, Body, Condition, Version
from bayou.testing.memory import MemoryStore

T = TypeVar("T")

_START = datetime(2026, 11, 2, tzinfo=UTC)


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine, and all that it starts, in fake time."""
    with asyncio.Runner(loop_factory=FakeTimeLoop) as runner:
        return runner.run(main)


def now() -> float:
    """The fake time of the running loop, in seconds from 0."""
    return asyncio.get_running_loop().time()


def wall() -> datetime:
    """The fake time as a date: that of a machine whose clock is right."""
    return _START + timedelta(seconds=now())


class FakeTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._passed = 0.0
        super().__init__(_Skipping(self))

    def time(self) -> float:
        return self._passed

    def skip(self, seconds: float) -> None:
        self._passed += seconds


class _Skipping(selectors.DefaultSelector):
    """Where a loop would sleep, the clock moves on instead."""

    def __init__(self, loop: FakeTimeLoop) -> None:
        super().__init__()
        self._fake = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("everybody waits, and nothing will ever happen")
        if not ready and timeout is not None and timeout > 0:
            self._fake.skip(timeout)
        return ready


class DatedMemoryStore(MemoryStore):
    """A store in memory whose objects carry the fake time."""

    async def put(self, key: str, body: Body, *, when: Condition = ANY) -> Version:
        version = await super().put(key, body, when=when)
        self.objects[key] = (self.objects[key][0], wall())
        return version
