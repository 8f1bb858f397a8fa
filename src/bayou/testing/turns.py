"""Interleavings: several writers on one store, whose requests are carried out in the order that a test chooses."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from bayou.storage.port import Request, Store, Wrapper

T = TypeVar("T")

_SETTLED = 15  # rounds of the loop, after which whoever can do something without a request has done it

_CHANGES = {"put", "delete", "copy"}

Queue = deque[tuple[asyncio.Future[None], bool]]
"""Requests that wait, each with whether it changes something."""


class Turns:
    """Gives each writer a store of its own, whose every request waits for its turn."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[str, Queue] = {}

    def store(self, name: str) -> Store:
        return _Waiting(self._store, self._waiting.setdefault(name, deque()))

    async def play(
        self,
        writers: Mapping[str, Awaitable[object]],
        choose: Callable[[list[str]], str],
        after_change: Callable[[], Awaitable[None]],
    ) -> dict[str, Any]:
        """Let all writers run to their end; `choose` says who goes next of those who wait.

        After each change it is looked at what is then. Gives results or errors.
        """
        tasks = {name: asyncio.ensure_future(writer) for name, writer in writers.items()}
        try:
            while not all(task.done() for task in tasks.values()):
                for _ in range(_SETTLED):
                    await asyncio.sleep(0)
                ready = sorted(name for name, waiting in self._waiting.items() if _next(waiting))
                if not ready:
                    await asyncio.sleep(0.001)
                    continue
                turn, changes = self._waiting[choose(ready)].popleft()
                turn.set_result(None)
                if changes:
                    for _ in range(_SETTLED):
                        await asyncio.sleep(0)
                    await after_change()
        finally:
            for task in tasks.values():
                task.cancel()
            results = await asyncio.gather(*tasks.values(), return_exceptions=True)
        return dict(zip(tasks, results, strict=True))


def _next(waiting: Queue) -> bool:
    while waiting and waiting[0][0].done():
        waiting.popleft()  # whoever asked was cancelled
    return bool(waiting)


class _Waiting(Wrapper):
    def __init__(self, inner: Store, waiting: Queue) -> None:
        super().__init__(inner)
        self._waiting = waiting

    async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((turn, request.verb in _CHANGES))
        await turn
        return await call()
