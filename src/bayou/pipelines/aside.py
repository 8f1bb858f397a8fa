"""Aside: what tasks of a write put into its folder, where nobody sees it, and what they tell the driver of it.

Small contents travel in packs, so that a million of them are some thousand objects; a large one is an object of its
own. No two attempts at a task ever use one key, be they one after the other or at once: which of them counts is for
Spark to say, and what the others put aside goes with the folder.
"""

import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field

import msgspec

from bayou.domain.content import ContentId
from bayou.errors import Corrupt
from bayou.pipelines.frames import Version
from bayou.remotes.objects import each, read
from bayou.remotes.writes import Write
from bayou.storage.port import ABSENT, CHUNK, Store

_PACK = 8 * CHUNK
"""Bytes from which on a pack is put aside."""
_AT_ONCE = 16


class Row(msgspec.Struct, frozen=True, array_like=True):
    """A version, and the object that its content is in: from `start` on, or all of it where that is None."""

    version: Version
    object: str
    start: int | None

    @property
    def size(self) -> int:
        return self.version.artifact.size or 0

    @property
    def sha256(self) -> ContentId:
        assert self.version.artifact.checksum is not None  # noqa: S101 - it was hashed
        return self.version.artifact.checksum

    @property
    def is_large(self) -> bool:
        return self.start is None


@dataclass(frozen=True, slots=True)
class Told:
    """What an attempt tells the driver: in which object its rows are listed, and how many there are."""

    partition: int
    rows: str
    count: int


@dataclass(slots=True)
class Attempt:
    """One attempt at one task."""

    store: Store
    write: Write
    partition: int
    _prefix: str = ""
    _objects: int = 0
    _rows: list[Row] = field(default_factory=list)
    _pack: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self._prefix = f"{self.partition:06}-{uuid.uuid4()}"

    async def add(self, version: Version, content: bytes) -> None:
        if len(content) > CHUNK:
            own = f"{self._prefix}.{len(self._rows)}.raw"
            await self._put(own, content)
            self._rows.append(Row(version, own, None))
            return
        self._rows.append(Row(version, self._pack_name, len(self._pack)))
        self._pack += content
        if len(self._pack) >= _PACK:
            await self._put_pack()

    async def finish(self) -> Told:
        if self._pack:
            await self._put_pack()
        name = f"{self._prefix}.rows"
        if self._rows:
            await self._put(name, msgspec.msgpack.encode(self._rows))
        return Told(self.partition, name, len(self._rows))

    @property
    def _pack_name(self) -> str:
        return f"{self._prefix}.{self._objects}.pack"

    async def _put_pack(self) -> None:
        await self._put(self._pack_name, bytes(self._pack))
        self._objects += 1
        self._pack.clear()

    async def _put(self, name: str, body: bytes) -> None:
        await self.store.put(self.write.key(name), body, when=ABSENT)


async def all_there(store: Store, write: Write, told: Iterable[Told]) -> bool:
    """Whether the folder still holds the rows of all tasks."""
    there = set(await write.listed(store))
    return all(write.key(one.rows) in there for one in told if one.count)


async def rows_of(store: Store, write: Write, told: Iterable[Told]) -> list[Row]:
    """The rows of all tasks, by partition and as they came in it."""
    wanted = sorted((one for one in told if one.count), key=lambda one: one.partition)

    async def rows(one: Told) -> list[Row]:
        content = await _read(store, write.key(one.rows))
        return msgspec.msgpack.decode(content, type=list[Row])

    return [row for some in await each(_AT_ONCE, wanted, rows) for row in some]


async def with_contents(store: Store, write: Write, rows: Iterable[Row]) -> AsyncIterator[list[tuple[Row, bytes]]]:
    """The rows pack by pack, with their contents; last those whose contents are too large to come along."""
    packs: dict[str, list[Row]] = defaultdict(list)
    own: list[Row] = []
    for row in rows:
        (own if row.is_large else packs[row.object]).append(row)
    for name, some in packs.items():
        # Nothing but empty contents makes no pack.
        pack = await _read(store, write.key(name)) if any(row.size for row in some) else b""
        yield [(row, pack[row.start or 0 : (row.start or 0) + row.size]) for row in some]
    yield [(row, b"") for row in own]


async def _read(store: Store, key: str) -> bytes:
    blob = await read(store, key)
    if blob is None:
        raise Corrupt(key, expected="what a task put aside", found="nothing", remedy="Run the write again.")
    return blob.content
