"""Counting what a store is asked: requests by verb, bytes by direction, and every key if somebody wants to know."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from bayou.storage.bodies import size_of
from bayou.storage.port import Fetched, Request, Store, Watched, Wrapper

T = TypeVar("T")


@dataclass(slots=True)
class Tally:
    """What went through a recording store. `log` takes each request if it is given a list."""

    requests: Counter[str] = field(default_factory=Counter)
    bytes_up: int = 0
    bytes_down: int = 0
    log: list[Request] | None = None

    @property
    def total(self) -> int:
        return self.requests.total()


class Record(Wrapper):
    """Count each call as a request, before it is made: also those that fail.

    A file that goes up in parts counts once; a listing counts its pages, and once more for being told the end.
    """

    def __init__(self, inner: Store, tally: Tally) -> None:
        super().__init__(inner)
        self.tally = tally

    async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:
        size = 0 if request.body is None else size_of(request.body)
        self.tally.requests[request.verb] += 1
        if self.tally.log is not None:
            self.tally.log.append(request)
        result = await call()
        self.tally.bytes_up += size
        return result

    def watch(self, fetched: Fetched) -> Fetched:
        if fetched.arrived is None:
            return Watched(fetched, seen=self._received)
        self._received(len(fetched.arrived))
        return fetched

    def _received(self, count: int) -> None:
        self.tally.bytes_down += count
