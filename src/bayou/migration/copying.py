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
from bayou.storage.arriving import Arrived, bring, look
from bayou.storage.bodies import WHOLE
from bayou.storage.port import ABSENT, ANY, Condition, Store, Version

_TRIES = 4


class Trouble(StrEnum):
    """Why an object was not copied."""

    MISSING = "missing"
    """There is none."""
    CORRUPT = "corrupt"
    """It is not what the index says."""
    IN_FLIGHT = "in-flight"
    """The same of a file that is written again and again: somebody does, or died before he said so."""
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


async def copy(source: Store, target: Store, one: Wanted) -> Copied | Failed:
    """Carry one object over. Doing it again is right after whatever ended it: what lies there already is looked at."""
    with tempfile.TemporaryDirectory(prefix="bayou-") as folder:
        arrived = await fetch(source, one, Path(folder) / "object")
        return arrived if isinstance(arrived, Failed) else await put(target, one, arrived)


async def fetch(store: Store, one: Wanted, file: Path) -> Arrived | Failed:
    """The bytes that are wanted, in memory where they are few, else in this file."""
    arrived = await _bring(store, one.source, file)
    if arrived is None:
        return Failed(Trouble.MISSING, None)
    if arrived.content != (one.sha256 or arrived.content) or arrived.size != one.size:
        return Failed(Trouble.CORRUPT, arrived.content)
    return arrived


async def put(store: Store, one: Wanted, arrived: Arrived, *, conditional: bool = True) -> Copied | Failed:
    """A large object is uploaded in parts, which takes no condition: so a small one, which does, says that it comes.

    What that says follows from the content. So whoever goes on after a kill, and a twin, know it for their own.
    """
    key, body, content = one.target, arrived.body, arrived.content
    claim = None if one.size <= WHOLE else _claim(key, content)
    when: Condition | None = ABSENT if conditional else None
    for _ in range(_TRIES):
        if when is not None:
            with suppress(Conflict, NotFound):
                if claim is not None:
                    await store.put(key, claim, when=when)
                version = await store.put(key, body, when=when if claim is None else ANY)
                return Copied(one.size, content, version)
        found = await look(store, key)
        if found is None:
            when = ABSENT
        elif found[0] == content:
            return Copied(one.size, content, found[1])
        elif claim is not None and found[0] == _digest(claim):
            return Copied(one.size, content, await store.put(key, body, when=ANY))
        elif found[0] in one.replaces or found[0] in {_digest(_claim(key, each)) for each in one.replaces}:
            when = found[1]
        else:
            return Failed(Trouble.OCCUPIED, found[0])
    raise Unavailable(f"{key!r} changes faster than it can be replaced")


async def _bring(store: Store, key: str, file: Path) -> Arrived | None:
    for _ in range(_TRIES):
        with suppress(Conflict):  # it changed while it was read
            return await bring(store, key, lambda: file, lambda _: None)
    raise Unavailable(f"{key!r} changes faster than it can be read")


def _claim(key: str, content: ContentId) -> bytes:
    return msgspec.json.encode({"bayouClaim": str(uuid5(NAMESPACE_URL, f"{key} {content}"))})


def _digest(content: bytes) -> ContentId:
    return hashlib.sha256(content).hexdigest()
