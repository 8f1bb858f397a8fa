"""Reach: which datastore, and which namespaces of it, a job is about. A value, so that executors get it as it is."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from bayou.config import urls
from bayou.config.locations import Folder
from bayou.domain.namespaces import SOLO, check_namespace
from bayou.errors import ErrorKind, UsageError
from bayou.layout.keys import Keyspace
from bayou.remotes.cache import Cache
from bayou.remotes.looking import Place
from bayou.remotes.namespaces import namespaces
from bayou.storage.connecting import connect
from bayou.storage.port import Store

T = TypeVar("T")

ALL = "*"
WIDTH = 64
"""Requests of one task that are under way at a time."""


@dataclass(frozen=True, slots=True)
class Reach:
    """`namespaces` may hold `*`, until `settled` has asked the bucket which there are."""

    url: str
    namespaces: tuple[str, ...] = (SOLO,)

    @asynccontextmanager
    async def store(self) -> AsyncIterator[Store]:
        """The store, with credentials from the environment of whoever opens it."""
        async with connect(urls.parse(self.url), concurrency=WIDTH) as store:
            yield store

    async def settled(self, store: Store) -> "Reach":
        if ALL not in self.namespaces:
            return self
        registered = await namespaces(store)
        return replace(self, namespaces=(SOLO, *registered))


def place_of(store: Store, namespace: str) -> Place:
    """A namespace as a reader sees it, remembering nothing but while it reads."""
    return Place(store, Keyspace(namespace), Cache(), width=WIDTH)


def reach_of(options: Mapping[str, str]) -> Reach:
    """What options of a reader say: `url`, and `namespace` or `namespaces` (`infra,web`, or `*` for all)."""
    url = options.get("url") or options.get("path")
    if not url:
        raise UsageError("the option `url` is missing", remedy='Say which datastore: .option("url", "s3://bucket").')
    named = options.get("namespaces") or options.get("namespace") or SOLO
    return Reach(absolute(url), tuple(dict.fromkeys(_namespace(name.strip()) for name in named.split(","))))


def absolute(url: str) -> str:
    """The URL so that it means the same in every process: a folder as an absolute path."""
    location = urls.parse(url)
    return str(Path(location.path).absolute()) if isinstance(location, Folder) else url


def run_all(batches: AsyncIterator[T]) -> Iterator[T]:
    """What an async generator yields, one after the other, in an event loop of its own."""
    with asyncio.Runner() as runner:

        async def following() -> tuple[bool, T | None]:
            async for batch in batches:
                return True, batch
            return False, None

        try:
            while True:
                more, batch = runner.run(following())
                if not more:
                    return
                yield batch  # type: ignore[misc] # there is one
        finally:
            runner.run(_closed(batches))


async def _closed(batches: AsyncIterator[T]) -> None:
    close = getattr(batches, "aclose", None)
    if close is not None:
        await close()


def _namespace(name: str) -> str:
    if name == ALL:
        return name
    try:
        return check_namespace(name)
    except UsageError as error:
        raise UsageError(error.message, kind=ErrorKind.INVALID_NAME, remedy=error.remedy) from None
