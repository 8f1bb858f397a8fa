"""Cells: what a lease needs of the place where locks are kept. One small object per lock, changed by one at a time.

This is the seam for other places: whoever can replace a small object only while it is still the version that was read
can keep locks. Failures are the four kinds of the storage port (`bayou.storage.port`).
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from typing import NamedTuple

from bayou.errors import Conflict, NotFound
from bayou.storage.port import ABSENT, ANY, Store, Version


class Seen(NamedTuple):
    """What was in a cell."""

    content: bytes
    version: Version


class Cells(ABC):
    removes: bool = False
    """Whether `remove` is safe here: whether it takes nothing away but the version that it names."""
    several_writers: bool = True
    """Whether two who write at the same time are kept apart."""

    @abstractmethod
    async def read(self, key: str, known: Seen | None = None) -> Seen | None:
        """What is in a cell, or None. `known` itself comes back where it is still that."""

    @abstractmethod
    async def create(self, key: str, content: bytes) -> Version:
        """Fill an empty cell, or raise Conflict."""

    @abstractmethod
    async def replace(self, key: str, content: bytes, version: Version) -> Version:
        """Replace this version, or raise Conflict."""

    @abstractmethod
    async def remove(self, key: str, version: Version) -> None:
        """Empty a cell of this version, or raise Conflict; without a condition where not `removes`."""

    @abstractmethod
    async def note(self, key: str, content: bytes) -> bool:
        """Leave a note, unless there is one; say whether there was none."""

    @abstractmethod
    async def discard(self, key: str) -> None:
        """Take a note away, if there is one."""

    @abstractmethod
    def below(self, folder: str) -> AsyncIterator[list[str]]:
        """Pages of the keys of notes below a folder."""

    @abstractmethod
    def locks_below(self, folder: str, name: str) -> AsyncIterator[list[str]]:
        """Pages of the keys of all cells of this name below a folder of artifacts: a walk."""

    async def close(self) -> None:
        """Give back what is held open."""
        return


class StoreCells(Cells):
    """Cells in an object store that honours conditions. Deletes have none, so a lock that ends is overwritten."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def read(self, key: str, known: Seen | None = None) -> Seen | None:
        try:
            if known is None:
                fetched = await self.store.get(key)
            else:
                changed = await self.store.get_if_changed(key, known.version)
                if changed is None:
                    return known
                fetched = changed
            return Seen(await fetched.bytes(), fetched.version)
        except NotFound:
            return None

    async def create(self, key: str, content: bytes) -> Version:
        return await self.store.put(key, content, when=ABSENT)

    async def replace(self, key: str, content: bytes, version: Version) -> Version:
        try:
            return await self.store.put(key, content, when=version)
        except NotFound as error:
            raise Conflict(f"{key!r} is gone") from error

    async def remove(self, key: str, version: Version) -> None:  # noqa: ARG002 - stores have no such condition
        await self.store.delete(key)

    async def note(self, key: str, content: bytes) -> bool:
        try:
            await self.store.put(key, content, when=ABSENT)
        except Conflict:
            return False
        return True

    async def discard(self, key: str) -> None:
        await self.store.delete(key)

    async def below(self, folder: str) -> AsyncIterator[list[str]]:
        async for page in self.store.list(folder):
            yield [meta.key for meta in page]

    async def locks_below(self, folder: str, name: str) -> AsyncIterator[list[str]]:
        async for page in self.store.list(folder):
            yield [meta.key for meta in page if meta.key.endswith(f"/{name}")]

    async def close(self) -> None:
        await self.store.close()


class SingleWriterCells(StoreCells):
    """Cells in a store that ignores conditions. A look before each write finds the other writer, unless he is just as
    fast: so here a second holder is an error, and nobody waits for one.
    """

    several_writers = False

    async def create(self, key: str, content: bytes) -> Version:
        if await self.read(key) is not None:
            raise Conflict(f"{key!r} exists already")
        return await self._write(key, content)

    async def replace(self, key: str, content: bytes, version: Version) -> Version:
        seen = await self.read(key)
        if seen is None or seen.version != version:
            raise Conflict(f"{key!r} is not version {version} any more")
        return await self._write(key, content)

    async def _write(self, key: str, content: bytes) -> Version:
        await self.store.put(key, content, when=ANY)
        seen = await self.read(key)
        if seen is None or seen.content != content:
            raise Conflict(f"{key!r} was overwritten at once")
        return seen.version
