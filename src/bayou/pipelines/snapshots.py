"""Snapshots: what an index listed at an offset of a stream, so that the next batch is what differs from it.

A snapshot names each part of the index by its digest; the parts themselves lie beside it, each once. So an offset is a
short text, a snapshot costs the parts that changed, and a stream that is started again knows where it was.
"""

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import msgspec

from bayou.config import urls
from bayou.config.locations import Folder
from bayou.domain.entries import Entry
from bayou.errors import Corrupt
from bayou.remotes.objects import each, read
from bayou.remotes.parts import Part, shard
from bayou.storage.connecting import connect
from bayou.storage.port import Store
from bayou.wire.documents import problem

_WIDTH = 32
_SNAPSHOTS = "bayou/snapshots"
_PARTS = "bayou/parts"


class Seen(msgspec.Struct, frozen=True, array_like=True):
    """A part: its digest, and the version of its shard, where it has one that is known."""

    digest: str
    version: str | None = None


class Snapshot(msgspec.Struct, frozen=True):
    """The parts with versions, by namespace and name."""

    parts: Mapping[str, Mapping[str, Seen]] = {}

    def part(self, namespace: str, name: str) -> Seen | None:
        return self.parts.get(namespace, {}).get(name)

    def changed(self, since: "Snapshot") -> list[tuple[str, str]]:
        """The parts that differ, by namespace and name. What is gone altogether has nothing new in it."""
        return [
            (namespace, name)
            for namespace, parts in sorted(self.parts.items())
            for name, seen in sorted(parts.items())
            if (before := since.part(namespace, name)) is None or before.digest != seen.digest
        ]

    def digests(self) -> set[str]:
        return {seen.digest for parts in self.parts.values() for seen in parts.values()}


NOTHING = Snapshot()
BEGINNING = ""
"""The offset before everything."""


@dataclass(slots=True)
class Snapshots:
    """The snapshots of one stream, beside its checkpoint or wherever it was told."""

    store: Store
    _known: dict[str, Snapshot] = field(default_factory=dict)

    async def load(self, offset: str) -> Snapshot:
        if offset == BEGINNING:
            return NOTHING
        if offset not in self._known:
            key = _key(offset)
            blob = await read(self.store, key)
            if blob is None:
                raise Corrupt(
                    key,
                    expected="the snapshot of an offset",
                    found="none",
                    remedy="A stream needs the snapshots that its checkpoint speaks of. Begin with a new checkpoint.",
                )
            try:
                self._known = {offset: msgspec.json.decode(zlib.decompress(blob.content), type=Snapshot)}
            except (zlib.error, msgspec.DecodeError) as error:
                raise Corrupt(key, expected="a snapshot", found=problem(error)) from None
        return self._known[offset]

    async def save(self, after: str, snapshot: Snapshot, new: Iterable[Part]) -> str:
        """Its offset. The parts go first: what a snapshot names is there."""
        await each(_WIDTH, new, lambda part: self.store.put(f"{_PARTS}/{part.digest}", zlib.compress(part.body, 1)))
        body = msgspec.json.encode(snapshot, order="deterministic")
        offset = f"{_number(after) + 1:012}-{sha256(body).hexdigest()[:16]}"
        await self.store.put(_key(offset), zlib.compress(body))
        self._known = {offset: snapshot}
        return offset

    async def part(self, digest: str) -> Part:
        key = f"{_PARTS}/{digest}"
        blob = await read(self.store, key)
        if blob is None:
            raise Corrupt(key, expected="a part of an index, as a snapshot names it", found="none")
        try:
            return Part(zlib.decompress(blob.content), digest)
        except zlib.error as error:
            raise Corrupt(key, expected="a part of an index", found=str(error)) from None

    async def entries(self, seen: Seen | None) -> Mapping[str, Entry]:
        if seen is None:
            return {}
        part = await self.part(seen.digest)
        return shard(part.body, f"{_PARTS}/{seen.digest}").entries

    async def prune(self, until: str) -> None:
        """Forget what lies before an offset; what later ones need stays."""
        keys = [meta.key async for page in self.store.list(_SNAPSHOTS) for meta in page]
        offsets = [key.rpartition("/")[2] for key in keys]
        old = [offset for offset in offsets if _number(offset) < _number(until)]
        if not old:
            return
        kept: set[str] = set()
        for offset in set(offsets) - set(old):
            kept |= (await self.load(offset)).digests()
        gone: set[str] = set()
        for offset in old:
            gone |= (await self.load(offset)).digests()
        await each(_WIDTH, sorted(gone - kept), lambda digest: self.store.delete(f"{_PARTS}/{digest}"))
        await each(_WIDTH, old, lambda offset: self.store.delete(_key(offset)))


def open_snapshots(url: str) -> Store:
    """The store that they are in; a folder is made."""
    location = urls.parse(url)
    if isinstance(location, Folder):
        Path(location.path).mkdir(parents=True, exist_ok=True)
    return connect(location, concurrency=_WIDTH)


def _key(offset: str) -> str:
    return f"{_SNAPSHOTS}/{offset}"


def _number(offset: str) -> int:
    return int(offset.partition("-")[0] or 0)
