"""Copying: an object from one store to another, through this process, in bounded memory, hashed on its way.

Also where both are one store: a copy inside of it proves nothing about the bytes. What lies at the target is replaced
only if it is what the caller says it may be, as far as the store keeps writers apart.
"""

import hashlib
import tempfile
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5

import msgspec

from bayou.domain.content import ContentId
from bayou.errors import Conflict, NotFound, Unavailable
from bayou.storage.bodies import WHOLE, size_of
from bayou.storage.port import ABSENT, ANY, CHUNK, Body, Condition, Store, Version

_TRIES = 4


class Trouble(StrEnum):
    """Why an object was not copied."""

    MISSING = "missing"
    """There is none."""
    CORRUPT = "corrupt"
    """It is not what the index says."""
    OCCUPIED = "occupied"
    """Something else lies where it was to go."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """An object that is to be elsewhere: by which keys, what it has to be, and what may lie there."""

    source: str
    target: str
    size: int
    sha256: ContentId | None
    replaces: Collection[ContentId] = ()


class Copied(NamedTuple):
    size: int
    sha256: ContentId
    version: Version


class Failed(NamedTuple):
    trouble: Trouble
    found: str | None


async def copy(source: Store, target: Store, one: Wanted, *, conditional: bool = True) -> Copied | Failed:
    """Carry one object over. Doing it again is right after whatever ended it: what lies there already is looked at."""
    with tempfile.TemporaryDirectory(prefix="bayou-") as folder:
        fetched = await _fetch(source, one.source, Path(folder) / "object")
        if fetched is None:
            return Failed(Trouble.MISSING, None)
        body, content = fetched
        if content != (one.sha256 or content) or size_of(body) != one.size:
            return Failed(Trouble.CORRUPT, content)
        put = await _put(target, one, body, content, conditional=conditional)
        return Copied(one.size, content, put) if isinstance(put, str) else put


async def look(store: Store, key: str) -> tuple[ContentId, Version] | None:
    """Which content lies there, by reading all of it."""
    for _ in range(_TRIES):
        digest = hashlib.sha256()
        with suppress(Conflict):  # it changed while it was read
            try:
                fetched = await store.get(key)
            except NotFound:
                return None
            async for chunk in fetched.chunks():
                digest.update(chunk)
            return digest.hexdigest(), fetched.version
    raise Unavailable(f"{key!r} changes faster than it can be read")


async def _fetch(store: Store, key: str, file: Path) -> tuple[Body, ContentId] | None:
    """The bytes, in memory where they are few, else in a file."""
    for _ in range(_TRIES):
        digest = hashlib.sha256()
        with suppress(Conflict):
            try:
                fetched = await store.get(key)
            except NotFound:
                return None
            if fetched.has_arrived or fetched.meta.size <= CHUNK:
                content = await fetched.bytes()
                return content, hashlib.sha256(content).hexdigest()
            with file.open("wb", buffering=0) as sink:
                async for chunk in fetched.chunks():
                    digest.update(chunk)
                    left = memoryview(chunk)
                    while left:
                        left = left[sink.write(left) :]
            return file, digest.hexdigest()
    raise Unavailable(f"{key!r} changes faster than it can be read")


async def _put(store: Store, one: Wanted, body: Body, content: ContentId, *, conditional: bool) -> Version | Failed:
    """A large object is uploaded in parts, which takes no condition: so a small one, which does, says that it comes.

    What that says follows from the content. So whoever goes on after a kill, and a twin, know it for their own.
    """
    key = one.target
    claim = None if size_of(body) <= WHOLE else _claim(key, content)
    when: Condition | None = ABSENT if conditional else None
    for _ in range(_TRIES):
        if when is not None:
            with suppress(Conflict, NotFound):
                if claim is None:
                    return await store.put(key, body, when=when)
                await store.put(key, claim, when=when)
                return await store.put(key, body)
        found = await look(store, key)
        if found is None:
            when = ABSENT
        elif found[0] == content:
            return found[1]
        elif claim is not None and found[0] == hashlib.sha256(claim).hexdigest():
            return await store.put(key, body, when=ANY)
        elif found[0] in one.replaces:
            when = found[1]
        else:
            return Failed(Trouble.OCCUPIED, found[0])
    raise Unavailable(f"{key!r} changes faster than it can be replaced")


def _claim(key: str, content: ContentId) -> bytes:
    return msgspec.json.encode({"bayouClaim": str(uuid5(NAMESPACE_URL, f"{key} {content}"))})
