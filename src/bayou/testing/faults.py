"""A store that fails on purpose, at the calls that a test chooses."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from enum import Enum
from typing import TypeVar

from bayou.errors import Unavailable
from bayou.storage.port import Fetched, Request, Store, Wrapper

T = TypeVar("T")


class Fault(Enum):
    """What goes wrong with a request."""

    FAIL_BEFORE = "fails, and was not carried out"
    FAIL_AFTER = "is carried out, but its answer is lost"
    HANG_BEFORE = "never answers, and was not carried out"
    HANG_AFTER = "is carried out, but never answers"
    WRONG_BYTES = "delivers other bytes than are stored"
    BREAK_OFF = "delivers half of the bytes, then fails"


Chooser = Callable[[Request], Fault | None]


def at(number: int, fault: Fault, *, verb: str | None = None) -> Chooser:
    """Choose the request of that number, from 1 on, among all or among those of a verb."""
    seen = 0

    def choose(request: Request) -> Fault | None:
        nonlocal seen
        if verb in {None, request.verb}:
            seen += 1
            return fault if seen == number else None
        return None

    return choose


def sometimes(share: float, *faults: Fault, seed: int) -> Chooser:
    """Choose a share of all requests, the same ones for the same seed."""
    dice = random.Random(seed)  # noqa: S311 - repeatable on purpose

    def choose(_: Request) -> Fault | None:
        return dice.choice(faults) if dice.random() < share else None

    return choose


class Faulty(Wrapper):
    """Pass requests through, except those for which `choose` names a fault. `requests` are all that came."""

    def __init__(self, inner: Store, choose: Chooser) -> None:
        super().__init__(inner)
        self._choose = choose
        self._struck: Fault | None = None
        self.requests: list[Request] = []

    async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:
        self.requests.append(request)
        fault = self._choose(request)
        if fault is Fault.FAIL_BEFORE:
            raise _lost()
        if fault is Fault.HANG_BEFORE:
            await asyncio.Event().wait()
        result = await call()
        if fault is Fault.FAIL_AFTER:
            raise _lost()
        if fault is Fault.HANG_AFTER:
            await asyncio.Event().wait()
        self._struck = fault  # for `watch`, which is called next, with nothing in between
        return result

    def watch(self, fetched: Fetched) -> Fetched:
        return fetched if self._struck is None else _Damaged(fetched, self._struck)


class _Damaged(Fetched):
    def __init__(self, inner: Fetched, fault: Fault) -> None:
        super().__init__(inner.meta, inner.version)
        self._inner = inner
        self._fault = fault

    async def chunks(self) -> AsyncIterator[bytes]:
        content = await self._inner.bytes()
        if self._fault is Fault.BREAK_OFF:
            yield content[: len(content) // 2]
            raise _lost()
        yield bytes([content[0] ^ 1]) + content[1:] if content else b"?"


def _lost() -> Unavailable:
    return Unavailable("a fault of the test")
