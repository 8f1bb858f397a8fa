"""The contract of a store as the simplest program that keeps it: the model that real stores are compared with."""

import hashlib
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime

from bayou.errors import Conflict, ErrorKind, NotFound, UsageError
from bayou.storage.bodies import size_of
from bayou.storage.keys import check_key, check_listing
from bayou.storage.port import (
    ABSENT,
    ANY,
    Body,
    Condition,
    Fetched,
    FetchedBytes,
    ObjectMeta,
    Store,
    Unconditional,
    Version,
    Wrapper,
)

PAGE = 1000


class MemoryStore(Store):
    """Objects in a dictionary. No call yields to others in between, so each is atomic."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, datetime]] = {}

    async def get(self, key: str, *, start: int = 0, stop: int | None = None) -> Fetched:
        meta = await self.head(key)
        content = self.objects[key][0]
        if start and start >= len(content):
            message = f"{key!r} has {len(content)} bytes, none from {start} on"
            raise UsageError(message, remedy="Ask for a range inside of the object.")
        return FetchedBytes(meta, version_of(content), content[start:stop])

    async def get_if_changed(self, key: str, version: Version) -> Fetched | None:
        fetched = await self.get(key)
        return None if fetched.version == version else fetched

    async def put(self, key: str, body: Body, *, when: Condition = ANY) -> Version:
        check_key(key)
        size_of(body)  # a file that cannot be read is the caller's error
        content = body if isinstance(body, bytes) else body.read_bytes()
        if when is ABSENT and key in self.objects:
            raise Conflict(f"{key!r} exists already", kind=ErrorKind.ALREADY_EXISTS)
        current = version_of(self.objects[key][0]) if key in self.objects else None
        if not isinstance(when, Unconditional) and current != when:
            raise Conflict(f"{key!r} is not version {when}")
        self.objects[key] = (content, datetime.now(UTC))
        return version_of(content)

    async def delete(self, key: str) -> None:
        check_key(key)
        self.objects.pop(key, None)

    async def list(self, prefix: str = "", *, after: str | None = None) -> AsyncIterator[Sequence[ObjectMeta]]:
        check_listing(prefix, after)
        below = f"{prefix}/" if prefix else ""
        keys = sorted(key for key in self.objects if key.startswith(below) and (after is None or key > after))
        for first in range(0, len(keys), PAGE):
            yield [self._describe(key) for key in keys[first : first + PAGE] if key in self.objects]

    async def head(self, key: str) -> ObjectMeta:
        check_key(key)
        if key not in self.objects:
            raise NotFound(f"no object {key!r}")
        return self._describe(key)

    async def copy(self, source: str, target: str) -> None:
        check_key(target)
        await self.head(source)
        self.objects[target] = (self.objects[source][0], datetime.now(UTC))

    def _describe(self, key: str) -> ObjectMeta:
        content, modified = self.objects[key]
        return ObjectMeta(key, len(content), modified, version_of(content))


class Unread(Fetched):
    """A body that is still on its way."""

    def __init__(self, inner: Fetched) -> None:
        super().__init__(inner.meta, inner.version)
        self._inner = inner

    def chunks(self) -> AsyncIterator[bytes]:
        return self._inner.chunks()


class OnItsWay(Wrapper):
    """Answers that come before their bodies, as those of large objects do."""

    def watch(self, fetched: Fetched) -> Fetched:
        return Unread(fetched)


def version_of(content: bytes) -> Version:
    # Like the ETags of S3: equal bytes are the same version again.
    return Version(hashlib.sha256(content).hexdigest())
