"""The one retry layer: pauses with jitter, a deadline, a budget for the whole store, and certainty about lost answers.

A request that failed may have been carried out all the same. For a plain write that does not matter: it is made again.
A conditional write that is made again meets its own first try and looks like a conflict, so then the object is read
back: the bytes we sent are our success (promise 3). Who must know whether it was he who wrote, and not somebody else
the very same, puts an id of his own into the bytes. And who is told of a conflict looks whether his change is in
already: after a lost answer somebody else may have built upon it.
"""

import asyncio
import builtins
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Never, TypeVar

from bayou.errors import Conflict, Denied, ErrorKind, NotFound, Unavailable
from bayou.storage.bodies import same_bytes
from bayou.storage.port import ANY, Body, Condition, Fetched, ObjectMeta, Request, Store, Version, Wrapper

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a call is tried: attempts in all, seconds between them (doubling), seconds after its first failure."""

    attempts: int = 6
    first_pause: float = 0.1
    longest_pause: float = 10.0
    deadline: float = 120.0


class Budget:
    """Retries that a store may still make, so that an outage does not multiply the load. Successes earn them back."""

    def __init__(self, most: float = 100.0, earned: float = 0.1) -> None:
        self._most = most
        self._earned = earned
        self._left = most

    def earn(self) -> None:
        self._left = min(self._most, self._left + self._earned)

    def spend(self) -> bool:
        if self._left < 1:
            return False
        self._left -= 1
        return True


class Retry(Wrapper):
    def __init__(self, inner: Store, patience: Patience | None = None, budget: Budget | None = None) -> None:
        super().__init__(inner)
        self._patience = patience or Patience()
        self._budget = budget or Budget()

    async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:  # noqa: ARG002 - all alike
        return await self.tries().run(call)

    async def get(self, key: str, *, start: int = 0, stop: int | None = None) -> Fetched:
        fetched = await self.tries().run(lambda: self.inner.get(key, start=start, stop=stop))
        return fetched if fetched.arrived is not None else _Resuming(self, fetched, start, stop)

    async def get_if_changed(self, key: str, version: Version) -> Fetched | None:
        fetched = await self.tries().run(lambda: self.inner.get_if_changed(key, version))
        return fetched if fetched is None or fetched.arrived is not None else _Resuming(self, fetched, 0, None)

    async def put(self, key: str, body: Body, *, when: Condition = ANY) -> Version:
        tries = self.tries()
        try:
            return await tries.run(lambda: self.inner.put(key, body, when=when))
        except (Conflict, Unavailable) as error:
            if when is ANY or not tries.failed:
                raise
            try:
                version = await self._landed(key, body)
            except (Unavailable, Denied, Conflict):
                raise _unknown(error) from error
            if version is not None:
                return version
            if isinstance(error, Conflict):
                raise
            raise _unknown(error) from error

    async def list(self, prefix: str = "", *, after: str | None = None) -> AsyncIterator[Sequence[ObjectMeta]]:
        """After a failure start again and leave out what was listed already.

        To go on behind the last key would be less work, but on a store that lists folder by folder it would leave out
        keys in silence. This way one notices.
        """
        tries = self.tries()
        behind = ""  # all that was listed before the last failure
        while True:
            last, ordered = "", True
            try:
                async for page in self.inner.list(prefix, after=after):
                    keys = [last, *(meta.key for meta in page)]
                    last, ordered = keys[-1], ordered and keys == sorted(keys)
                    if behind and not ordered:
                        _refuse(prefix)
                    fresh = [meta for meta in page if meta.key > behind] if behind else page
                    if fresh:
                        yield fresh
                        tries = self.tries()
            except Unavailable as error:
                if not ordered:
                    raise
                behind = max(behind, last)
                await tries.pause(error)
            else:
                return

    def tries(self) -> "Tries":
        return Tries(self._patience, self._budget)

    async def _landed(self, key: str, body: Body) -> Version | None:
        """Give the version of the object if it holds what was sent: then an earlier try took effect."""
        try:
            fetched = await self.get(key)
        except NotFound:
            return None
        return fetched.version if await same_bytes(fetched, body) else None


class Tries:
    """The attempts of one call. `failed` counts those that may or may not have been carried out."""

    def __init__(self, patience: Patience, budget: Budget) -> None:
        self._patience = patience
        self._budget = budget
        self._since: float | None = None  # the first failure
        self.failed = 0

    async def run(self, request: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                result = await request()
            except Unavailable as error:
                if error.kind is ErrorKind.STORE_FULL:
                    raise  # nobody frees a disk within a pause, and what does not fit was not stored
                await self.pause(error)
            else:
                self._budget.earn()
                return result

    async def pause(self, error: Unavailable) -> None:
        """Wait before the next attempt, or raise the error when there is to be none."""
        self.failed += 1
        now = time.monotonic()
        if self._since is None:
            self._since = now
        pause = self._length(error)
        if self.failed >= self._patience.attempts:
            raise _final(error, f"tried {self.failed} times")
        if now + pause > self._since + self._patience.deadline:
            asked = f"the store asks for a pause of {pause:.0f} s"
            raise _final(error, f"tried for {now - self._since:.0f} s" if error.retry_after is None else asked)
        if not self._budget.spend():
            raise _final(error, "not tried again, as too many requests to this store fail")
        await asyncio.sleep(pause)

    def _length(self, error: Unavailable) -> float:
        if error.retry_after is not None:
            return error.retry_after
        longest = min(self._patience.longest_pause, self._patience.first_pause * 2 ** (self.failed - 1))
        return random.uniform(longest / 2, longest)  # noqa: S311 - it spreads load and guards nothing


class _Resuming(Fetched):
    """A body that goes on where it broke off, as long as the object is still the same."""

    def __init__(self, retry: Retry, inner: Fetched, start: int, stop: int | None) -> None:
        super().__init__(inner.meta, inner.version)
        self._retry = retry
        self._inner = inner
        self._at = start
        self._stop = stop
        self._end = inner.meta.size if stop is None else min(stop, inner.meta.size)

    async def chunks(self) -> AsyncIterator[builtins.bytes]:
        tries = self._retry.tries()
        while True:
            try:
                async for chunk in (await self._source(tries)).chunks():
                    self._at += len(chunk)
                    yield chunk
                    tries = self._retry.tries()
            except Unavailable as error:
                if self._at >= self._end:
                    return
                await tries.pause(error)
            else:
                return

    async def bytes(self) -> builtins.bytes:
        tries = self._retry.tries()
        while True:
            try:
                return await (await self._source(tries)).bytes()
            except Unavailable as error:
                await tries.pause(error)

    async def _source(self, tries: "Tries") -> Fetched:
        """What arrived first, or after a failure the rest of the same object."""
        if not tries.failed:
            return self._inner
        rest = await self._retry.inner.get(self.meta.key, start=self._at, stop=self._stop)
        if rest.version != self.version:
            message = f"{self.meta.key!r} changed while it was read"
            raise Conflict(message, remedy="Read it again.")
        self._inner = rest
        return rest


def _refuse(prefix: str) -> Never:
    raise Unavailable(f"the listing of {prefix!r} broke off, and this store does not list in the order of keys")


def _unknown(error: Conflict | Unavailable) -> Unavailable:
    message = f"{error.message}; it is not known whether the write took effect"
    remedy = "Look whether it did before writing again; running the same command again does that."
    return Unavailable(message, kind=ErrorKind.OUTCOME_UNKNOWN, remedy=remedy)


def _final(error: Unavailable, why: str) -> Unavailable:
    error.message = f"{error.message} ({why})"
    return error
