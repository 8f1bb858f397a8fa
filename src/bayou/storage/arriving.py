"""Objects read to their end: which content lies at a key, and bring it here, hashed on its way, in bounded memory."""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from bayou.domain.content import ContentId
from bayou.errors import Conflict, NotFound, Unavailable
from bayou.storage.oserrors import translated
from bayou.storage.port import Fetched, Store, Version

SMALL = 256 << 10
"""Up to this size an object is held in memory until it is in place: less than a file of its own costs."""

_TRIES = 3


class Arrived(NamedTuple):
    """An object that was read to its end: in memory where it is small, else in a file."""

    content: ContentId
    size: int
    version: Version
    body: bytes | Path

    def discard(self) -> None:
        """It is not wanted: what lies in a file goes."""
        if isinstance(self.body, Path):
            self.body.unlink(missing_ok=True)


async def content_of(store: Store, key: str) -> ContentId | None:
    """Which content lies there, by reading all of it; None where there is no object."""
    found = await look(store, key)
    return None if found is None else found[0]


async def look(store: Store, key: str) -> tuple[ContentId, Version] | None:
    """The same, and the version that it was read as."""
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


async def bring(store: Store, key: str, temporary: Callable[[], Path], seen: Callable[[int], None]) -> Arrived | None:
    """Read an object to its end and hash it on the way; None where there is none. `seen` is told of the bytes.

    A large one goes to a new file, chunk by chunk, which is the caller's to install or to remove.
    """
    try:
        fetched = await store.get(key)
    except NotFound:
        return None
    if fetched.arrived is not None or fetched.meta.size <= SMALL:
        body = await fetched.bytes()
        seen(len(body))
        return Arrived(hashlib.sha256(body).hexdigest(), len(body), fetched.version, body)
    place = temporary()
    with translated(str(place)):
        return await _to_file(fetched, place, seen)


async def _to_file(fetched: Fetched, place: Path, seen: Callable[[int], None]) -> Arrived:
    digest, size = hashlib.sha256(), 0
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        with place.open("xb", buffering=0) as file:
            async for chunk in fetched.chunks():
                digest.update(chunk)
                left = memoryview(chunk)
                while left:
                    left = left[file.write(left) :]
                size += len(chunk)
                seen(len(chunk))
    except BaseException:
        place.unlink(missing_ok=True)  # noqa: ASYNC240 - one call
        raise
    return Arrived(digest.hexdigest(), size, fetched.version, place)
