"""Upload files, each on the condition that what it replaces still lies there. Nothing of this is visible to anybody:
only a commit lists what was uploaded.
"""

import asyncio
import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from bayou.domain.content import ContentId
from bayou.domain.entries import Entry
from bayou.errors import Conflict, NotFound, Unavailable
from bayou.storage.port import ABSENT, ANY, CHUNK, Condition, Store, Version
from bayou.sync import disk
from bayou.sync.ends import Ends
from bayou.sync.stats import Stamp
from bayou.wire.times import to_text

_TRIES = 4


class There(Protocol):
    """Where uploads go."""

    @property
    def store(self) -> Store: ...
    @property
    def conditional(self) -> bool: ...
    def key(self, path: str) -> str: ...


class Occupied(Exception):  # noqa: N818 - no error: a fact to plan with
    """Something else lies where this was to go."""

    def __init__(self, path: str, found: ContentId | None) -> None:
        super().__init__(path)
        self.path = path
        self.found = found


class Changing(Exception):  # noqa: N818 - as above
    """The file is not what it was when it was looked at. It is marked again by now."""


class Placed(NamedTuple):
    version: Version
    lay_there: bool
    """Whether something lay in this place before. Where nobody lists it, a sweep may be about to remove it."""


@dataclass(frozen=True, slots=True)
class Uploaded:
    entry: Entry
    placed: Placed


@dataclass(frozen=True, slots=True)
class Occupants:
    """What may lie where uploads go, by path."""

    expected: Mapping[str, ContentId]
    """What the index says, or a look found."""
    versions: Mapping[str, tuple[ContentId, str]]
    """Which version the store called what, when it was last seen."""
    ours: Mapping[str, frozenset[ContentId]]
    """What this machine put there before, and did not live to list."""

    def may_go(self, path: str, content: ContentId) -> bool:
        return content == self.expected.get(path) or content in self.ours.get(path, ())


class Ready(NamedTuple):
    """A file that was looked at, and holds what it is to hold: in memory where it is small."""

    path: str
    content: ContentId
    stamp: Stamp
    body: bytes | Path


async def ready(ends: Ends, path: str, content: ContentId) -> Ready:
    file = ends.file(path)
    stamp = _stamp(file)
    if stamp.size > CHUNK:
        if await asyncio.to_thread(_content_as_of, ends, path, stamp) != content:
            raise Changing(path)
        return Ready(path, content, stamp, file)
    body = file.read_bytes()
    if hashlib.sha256(body).hexdigest() != content:
        raise Changing(path)
    return Ready(path, content, stamp, body)


async def upload(ends: Ends, file: Ready, occupants: Occupants) -> Uploaded:
    """Put a file where the index will find it."""
    placed = await put(ends, file.path, file.content, file.body, occupants)
    if isinstance(file.body, Path) and _stamp(file.body) != file.stamp:
        raise Changing(file.path)
    size, written = file.stamp.size, to_text(file.stamp.mtime_ns)
    return Uploaded(Entry(file.path, size, to_text(ends.now()), written, file.content), placed)


async def put(there: There, path: str, content: ContentId, body: bytes | Path, occupants: Occupants) -> Placed:
    """Put these bytes where the index will find them, unless something lies there that must not go."""
    if not there.conditional:
        return Placed(await there.store.put(there.key(path), body, when=ANY), lay_there=False)
    known = occupants.versions.get(path)
    when: Condition | None = ABSENT
    if known is not None and occupants.may_go(path, known[0]):
        when = Version(known[1])
    elif path in occupants.expected:
        when = None
    for _ in range(_TRIES):
        if when is not None:
            with suppress(Conflict, NotFound):
                return Placed(await there.store.put(there.key(path), body, when=when), lay_there=when is not ABSENT)
        found = await _lies_there(there, path)
        if found is None:
            when = ABSENT
        elif found[0] == content:
            return Placed(found[1], lay_there=True)  # put before, by us or by somebody with the same thing
        elif occupants.may_go(path, found[0]):
            when = found[1]
        else:
            raise Occupied(path, found[0])
    raise Unavailable(f"{path!r} changes faster in the bucket than it can be replaced")


async def _lies_there(there: There, path: str) -> tuple[ContentId, Version] | None:
    try:
        fetched = await there.store.get(there.key(path))
    except NotFound:
        return None
    digest = hashlib.sha256()
    async for chunk in fetched.chunks():
        digest.update(chunk)
    return digest.hexdigest(), fetched.version


def _content_as_of(ends: Ends, path: str, stamp: Stamp) -> ContentId | None:
    known = ends.journal.stats.known([(path, stamp)]).get(path)
    if known is not None:
        return known
    read = disk.read(str(ends.file(path)), lambda: None)
    return read.content if read is not None and read.stamp == stamp else None


def _stamp(file: Path) -> Stamp:
    seen = disk.look(str(file))
    if seen is None or seen.form is not disk.Form.FILE:
        raise Changing(str(file))
    return seen.stamp
