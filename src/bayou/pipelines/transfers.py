"""Transfers: an object from one store to another, verified on its way, in bounded memory."""

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bayou.errors import Conflict, Corrupt, ErrorKind, NotFound
from bayou.storage.port import ABSENT, Body, Condition, Store, Version

_IN_MEMORY = 8 * 2**20


@dataclass(frozen=True, slots=True)
class Wanted:
    """An object that is to be elsewhere: by which key, and what it has to be."""

    source: str
    target: str
    size: int
    sha256: str | None


async def copy_over(source: Store, target: Store, one: Wanted, *, found: str | None = None) -> Version:
    """Put the object there, over bytes with the hash `found`, or over nothing. `Conflict` if it is not so any more;
    `Corrupt` if the source has not what is wanted.
    """
    when = ABSENT if found is None else await _version_of(target, one.target, found)
    with tempfile.TemporaryDirectory(prefix="bayou-") as folder:
        body = await _fetched(source, one, Path(folder) / "object")
        return await target.put(one.target, body, when=when)


async def _fetched(source: Store, one: Wanted, file: Path) -> Body:
    digest, size = hashlib.sha256(), 0
    fetched = await source.get(one.source)
    in_memory: list[bytes] | None = [] if one.size <= _IN_MEMORY else None
    with file.open("wb") as sink:
        async for chunk in fetched.chunks():
            digest.update(chunk)
            size += len(chunk)
            if in_memory is None:
                sink.write(chunk)
            else:
                in_memory.append(chunk)
    if one.sha256 is not None and digest.hexdigest() != one.sha256:
        raise Corrupt(
            one.source, expected=f"sha256 {one.sha256}", found=digest.hexdigest(), kind=ErrorKind.HASH_MISMATCH
        )
    return file if in_memory is None else b"".join(in_memory)


async def _version_of(store: Store, key: str, expected: str) -> Condition:
    """The version of an object that still has these bytes."""
    digest = hashlib.sha256()
    try:
        fetched = await store.get(key)
        async for chunk in fetched.chunks():
            digest.update(chunk)
    except NotFound:
        raise Conflict(f"{key!r} is gone") from None
    if digest.hexdigest() != expected:
        raise Conflict(f"{key!r} holds other bytes by now")
    return fetched.version
