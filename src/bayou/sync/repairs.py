"""Repairs: what is to be done about each difference of index and bucket. A plan; it changes nothing.

Nothing is thrown away on the ground that it is not there. What the cache still has is uploaded again; what lies whole
in the bucket is listed again; only what a tombstone names is swept away, and what a bulk write that was cut off said
that it would put there. What nobody has any more is unlisted.
"""

import hashlib
from collections.abc import AsyncIterator, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from bayou.domain.content import ContentId
from bayou.domain.partitions import partition_key
from bayou.domain.units import Kind as UnitKind
from bayou.domain.units import Unit
from bayou.errors import Corrupt
from bayou.layout.artifacts import Part, version_of
from bayou.layout.units import classifier
from bayou.remotes.objects import read
from bayou.remotes.writes import intended, under_way
from bayou.storage.arriving import content_of
from bayou.sync.ends import Ends
from bayou.sync.ledger import LISTED, OF_BUCKET, Ledger, Line
from bayou.sync.verifying import is_ours, of_object
from bayou.wire import metadata
from bayou.wire.times import to_text

# Whether a version is a stream says its metadata, which is looked at here anyway.
_classify = classifier(lambda _: False)


class Action(StrEnum):
    UPLOAD = "upload"  # the cache has what the index lists
    CORRECT = "correct"  # the index is to say what lies there
    LIST = "list"  # it lies there whole, and was never deleted
    UNLIST = "unlist"  # a part of it is nowhere to be found
    POINT = "point"  # a marker that names what is not there
    SWEEP = "sweep"  # it was deleted, or never committed, and nobody lists it
    CLEAR = "clear"  # what a bulk write that was cut off has put aside
    LEAVE = "leave"  # not for us to decide, or not yet


@dataclass(frozen=True, slots=True)
class Fix:
    action: Action
    path: str
    """Of a file, or the folder of a version."""
    why: str
    lines: tuple[Line, ...] = ()
    """The files that it is about, as they were found."""
    contents: Mapping[str, ContentId] = field(default_factory=dict)
    """What lies in the bucket, where that was read."""
    body: bytes | None = None
    """What a marker is to say. None: it is to go."""


async def fixes(ends: Ends, ledger: Ledger, settled_ns: int) -> AsyncIterator[Fix]:
    """What to do, unit by unit. Objects that changed after `settled_ns` may be part of a push that is under way."""
    cut_off = [write for write in await under_way(ends.remote.place) if _moment(write.modified) <= settled_ns]
    doctor = _Doctor(ends, ledger, settled_ns, intended(cut_off))
    last = ""
    for line in ledger.lines(OF_BUCKET):
        difference = of_object(line)
        if difference is None or (line.listed_size is None and not is_ours(ends, line.path)):
            continue
        unit = _classify(line.path)
        if unit.kind is UnitKind.LATEST:
            doctor.markers.add(unit.key)
        elif unit.key != last:
            last = unit.key
            for fix in await doctor.treat(unit):
                yield fix
    for path in sorted(doctor.markers):
        for fix in await doctor.point(path):
            yield fix
    for write in cut_off:
        yield Fix(Action.CLEAR, write.write.folder, "a bulk write that was cut off has left it behind")


@dataclass(slots=True)
class _Doctor:
    ends: Ends
    ledger: Ledger
    settled_ns: int
    intended: Mapping[str, AbstractSet[ContentId]]
    """What bulk writes that were cut off meant to put at paths."""
    markers: set[str] = field(default_factory=set)
    _listed: set[str] = field(default_factory=set)
    _unlisted: set[str] = field(default_factory=set)
    """Version folders that this plan lists and unlists."""

    async def treat(self, unit: Unit) -> list[Fix]:
        lines = tuple(line for path in unit.members if (line := self.ledger.find(path)) is not None)
        listed = [line for line in lines if line.listed_size is not None]
        bad = [line for line in listed if of_object(line) is not None]
        if not listed:
            return [await self._orphan(unit, lines)]
        if any(line.object_size is None and not _is_in_cache(line) for line in bad):
            self._unlisted.add(unit.key)
            if unit.marker is not None:
                self.markers.add(unit.marker)
            return [Fix(Action.UNLIST, unit.key, "its content is neither in the bucket nor in this cache", lines)]
        found = [await self._wrong(unit, lines, line) for line in bad]
        if len(listed) < len(lines) and not bad:
            found.append(await self._list(unit, lines))
        return found

    async def point(self, path: str) -> list[Fix]:
        """A marker is right if it lies there as listed, and names a version that is listed."""
        line = self.ledger.find(path)
        if line is None or (line.listed_size is None and (line.is_buried or not self._is_settled(line))):
            return [] if line is None or line.object_size is None else [await self._orphan(_classify(path), (line,))]
        body = await self._marker(line)
        versions = self._versions(path.rpartition("/")[0])
        says = _number(body)
        if says in versions and body is not None and hashlib.sha256(body).hexdigest() == line.listed:
            return (
                [] if of_object(line) is None else [Fix(Action.POINT, path, "its object is lost", (line,), body=body)]
            )
        if says not in versions:
            to = max(versions, default=None)
            why = "it names a version that is not listed"
            return [Fix(Action.POINT, path, why, (line,), body=None if to is None else str(to).encode())]
        if not self._is_settled(line):
            return [_leave(line, "it was changed a short while ago: a push may be under way")]
        return [Fix(Action.POINT, path, "the index says something else than its object", (line,), body=body)]

    async def _marker(self, line: Line) -> bytes | None:
        """What lies there; what the cache has where nothing does."""
        blob = await read(self.ends.store, self.ends.key(line.path))
        if blob is not None:
            return blob.content
        return self.ends.tree.read(line.path) if _is_in_cache(line) else None

    async def _wrong(self, unit: Unit, lines: tuple[Line, ...], line: Line) -> Fix:
        """The object is not what the index lists, or missing; the cache may have what it was."""
        if _is_in_cache(line):
            return Fix(Action.UPLOAD, line.path, "this cache has what the index lists", (line,))
        if not self._is_settled(line):
            return _leave(line, "it was changed a short while ago: a push may be under way")
        contents = await self._contents(lines)
        why = await self._flaw(unit, contents)
        if why is not None:
            return _leave(line, f"{why}; repair it from a machine that has it")
        lies = {line.path: contents[line.path]}
        return Fix(Action.CORRECT, line.path, "the index says something else than its object", (line,), lies)

    async def _orphan(self, unit: Unit, lines: tuple[Line, ...]) -> Fix:
        there = tuple(line for line in lines if line.object_size is not None)
        if not all(self._is_settled(line) for line in there):
            return Fix(Action.LEAVE, unit.key, "it is young: a push may be under way", there)
        if all(line.is_buried for line in there):
            contents = await self._contents(there)
            buried = await self.ends.remote.buried({partition_key(line.path) for line in there})
            if all(contents.get(line.path) in buried.graves.get(line.path, ()) for line in there):
                return Fix(Action.SWEEP, unit.key, "it was deleted, and nobody lists it", there, contents)
            return Fix(Action.LEAVE, unit.key, "something else was deleted at its place", there)
        if all(line.path in self.intended for line in there):
            contents = await self._contents(there)
            if all(contents.get(line.path) in self.intended[line.path] for line in there):
                return Fix(Action.SWEEP, unit.key, "a bulk write put it there, and was cut off", there, contents)
        return await self._list(unit, there)

    async def _list(self, unit: Unit, lines: tuple[Line, ...]) -> Fix:
        buried = await self.ends.remote.buried({partition_key(line.path) for line in lines})
        contents = await self._contents(lines)
        if any(line.is_buried for line in lines):
            why: str | None = "a part of it was deleted"
        elif any(to_text(line.modified_ns or 0) < buried.since for line in lines):
            why = "it is so old that nobody knows whether it was deleted"
        else:
            why = await self._flaw(unit, contents)
        if why is not None:
            return Fix(Action.LEAVE, unit.key, why, lines)
        self._listed.add(unit.key)
        news = {line.path: contents[line.path] for line in lines if line.listed_size is None}
        return Fix(Action.LIST, unit.key, "it lies there whole, and nobody lists it", lines, news)

    async def _contents(self, lines: Iterable[Line]) -> dict[str, ContentId]:
        found = {line.path: await content_of(self.ends.store, self.ends.key(line.path)) for line in lines}
        return {path: content for path, content in found.items() if content is not None}

    async def _flaw(self, unit: Unit, contents: Mapping[str, ContentId]) -> str | None:
        """Why this is not a whole unit, if it is a version; None where nothing speaks against it."""
        if unit.kind is not UnitKind.VERSION:
            return None if contents else "it is gone"
        if len(contents) < len(unit.members):
            return "it is half a version"
        path, raw = f"{unit.key}/{Part.METADATA}", f"{unit.key}/{Part.RAW}"
        blob = await read(self.ends.store, self.ends.key(path))
        try:
            says = metadata.decode(b"" if blob is None else blob.content, path)
        except Corrupt as error:
            return str(error)
        if says.version != version_of(unit.key.rpartition("/")[2]):
            return f"its metadata is that of version {says.version}"
        if not says.streaming and says.checksum not in (None, contents[raw]):
            return "its content is not what its metadata says"
        return None

    def _versions(self, family: str) -> set[int]:
        """What is listed of a name once this plan is carried out."""
        folders = {line.path.rpartition("/")[0] for line in self.ledger.lines(LISTED, within=family)} | self._listed
        ours = (folder for folder in folders - self._unlisted if folder.rpartition("/")[0] == family)
        return {number for folder in ours if (number := version_of(folder.rpartition("/")[2])) is not None}

    def _is_settled(self, line: Line) -> bool:
        return line.modified_ns is None or line.modified_ns <= self.settled_ns


def _is_in_cache(line: Line) -> bool:
    return line.file is not None and (line.file, line.file_size) == (line.listed, line.listed_size)


def _number(body: bytes | None) -> int | None:
    return None if body is None else version_of(body.decode(errors="replace").strip())


def _moment(time: datetime) -> int:
    return int(time.timestamp() * 1_000_000_000)


def _leave(line: Line, why: str) -> Fix:
    return Fix(Action.LEAVE, line.path, why, (line,))
