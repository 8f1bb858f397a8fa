"""Reading small objects whole, several at a time."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from enum import Enum
from typing import NamedTuple, TypeVar

from bayou.errors import Conflict, NotFound, Unavailable
from bayou.storage.port import Fetched, Store, Version

Item = TypeVar("Item")
Result = TypeVar("Result")

_TRIES = 5


class Blob(NamedTuple):
    """An object that has arrived: its bytes, their version, and when they were stored, by the store's clock."""

    content: bytes
    version: Version
    modified: datetime


class Unchanged(Enum):
    UNCHANGED = "unchanged"


UNCHANGED = Unchanged.UNCHANGED
"""The answer to a conditional read of what has not changed."""


async def read(store: Store, key: str) -> Blob | None:
    """The object, or None if it is missing. Any other failure is raised: it never means "missing"."""
    answer = await taken(store, key, None, _whole)
    return answer if isinstance(answer, Blob) else None


async def read_if_changed(store: Store, key: str, version: str) -> Blob | Unchanged | None:
    return await taken(store, key, version, _whole)


async def taken(
    store: Store, key: str, known: str | None, take: Callable[[Fetched], Awaitable[Result]]
) -> Result | Unchanged | None:
    """What `take` makes of the object, unless it still has the version that is known; None if it is missing."""
    for _ in range(_TRIES):
        try:
            fetched = await (store.get(key) if known is None else store.get_if_changed(key, Version(known)))
            return UNCHANGED if fetched is None else await take(fetched)
        except NotFound:
            return None
        except Conflict:
            continue  # it changed while it was read
    raise Unavailable(f"{key!r} changes faster than it can be read")


async def _whole(fetched: Fetched) -> Blob:
    return Blob(await fetched.bytes(), fetched.version, fetched.meta.modified)


async def each(width: int, items: Iterable[Item], work: Callable[[Item], Awaitable[Result]]) -> list[Result]:
    """Work on all items, at most `width` at a time, each as soon as another one is done. The first failure ends it."""
    waiting = list(items)
    queue = iter(enumerate(waiting))
    results: dict[int, Result] = {}

    async def go_through() -> None:
        for number, item in queue:
            results[number] = await work(item)

    tasks = [asyncio.create_task(go_through()) for _ in range(min(width, len(waiting)))]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return [results[number] for number in range(len(waiting))]


def is_md5_of(version: str, content: bytes) -> bool:
    """Whether this version is the ETag that S3 gives these bytes. If not, it says nothing."""
    return version.strip('"') == hashlib.md5(content, usedforsecurity=False).hexdigest()
