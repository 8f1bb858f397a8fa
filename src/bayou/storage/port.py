"""The object-store port: what the rest of Bayou asks of storage, and what any store promises in return.

A store holds whole objects under keys. The contract, which `bayou.testing.contract` checks on any store:

- `put` is atomic: a reader sees the old object or the new one, never a part. With `when=ABSENT` at most one of all
  racing writers succeeds; with `when=version` a writer succeeds only if the object is still that version.
- A read after a successful `put` sees it. A `version` names the bytes that came with it: it is from the very answer
  that delivered or accepted them.
- `delete` of a missing key succeeds and has no precondition, so nobody's safety may rest on one.
- `list` yields keys in the order of their UTF-8 bytes.
- Failures are of four kinds, never mixed up: `NotFound` (the object is missing), `Conflict` (a precondition did not
  hold), `Unavailable` (transient), and the fatal ones (`Denied`, `UsageError`, `Unsupported`). None but the first means
  that an object is missing.

design/001 says why the port looks as it does, and what real stores do differently.
"""

import builtins
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, NewType, Self, TypeVar

import msgspec

T = TypeVar("T")

CHUNK = 1 << 20
"""The size in which bodies are read, about."""

Version = NewType("Version", str)
"""What the store calls these bytes: an ETag, a generation. Opaque; equal versions mean equal bytes."""

Body = bytes | Path
"""What to store: bytes in memory, or a file, which is streamed."""


class Unconditional(Enum):
    """The conditions of a `put` that name no version."""

    ANY = "any"
    ABSENT = "absent"


ANY = Unconditional.ANY
ABSENT = Unconditional.ABSENT
Condition = Unconditional | Version


class ObjectMeta(msgspec.Struct, frozen=True, gc=False):
    """What a store says about an object without its bytes. A listing may leave the version out."""

    key: str
    size: int
    modified: datetime
    version: Version | None


class Fetched(ABC):
    """An object on its way: its meta is here, its bytes are read once, by `bytes` or by `chunks`."""

    arrived: builtins.bytes | None = None
    """Its bytes, if they came with the answer. Then it keeps nothing waiting, and no wrapper has anything to watch."""

    def __init__(self, meta: ObjectMeta, version: Version) -> None:
        self.meta = meta
        self.version = version

    @abstractmethod
    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the bytes in pieces of bounded size."""

    async def bytes(self) -> bytes:
        return b"".join([chunk async for chunk in self.chunks()])


class FetchedBytes(Fetched):
    """An object that has arrived whole."""

    def __init__(self, meta: ObjectMeta, version: Version, content: bytes) -> None:
        super().__init__(meta, version)
        self.arrived: builtins.bytes = content

    async def chunks(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self.arrived), CHUNK):
            yield self.arrived[start : start + CHUNK]

    async def bytes(self) -> bytes:
        return self.arrived


class Watched(Fetched):
    """An object whose reading somebody watches: `seen` is told of the bytes as they are read."""

    def __init__(self, inner: Fetched, *, seen: Callable[[int], None]) -> None:
        super().__init__(inner.meta, inner.version)
        self._inner = inner
        self._seen = seen

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner.chunks():
            self._seen(len(chunk))
            yield chunk

    async def bytes(self) -> bytes:
        content = await self._inner.bytes()
        self._seen(len(content))
        return content


class Store(ABC):
    """A place for objects. Wrappers are stores too, so that retry, limits, prefixes and faults compose."""

    @abstractmethod
    async def get(self, key: str, *, start: int = 0, stop: int | None = None) -> Fetched:
        """Read an object, or its bytes from `start` up to but without `stop`. `meta.size` is that of the whole."""

    @abstractmethod
    async def get_if_changed(self, key: str, version: Version) -> Fetched | None:
        """Read an object unless it still is `version`: then None, at the price of a request without a body."""

    @abstractmethod
    async def put(self, key: str, body: Body, *, when: Condition = ANY) -> Version:
        """Store an object if the condition holds."""

    @abstractmethod
    async def delete(self, key: str) -> None:
        """Remove an object; one that is missing is removed already."""

    @abstractmethod
    def list(self, prefix: str = "", *, after: str | None = None) -> AsyncIterator[Sequence[ObjectMeta]]:
        """Yield pages of what lies below the folder `prefix`, from behind the key `after` on.

        A prefix consists of whole segments and has no trailing slash.
        """

    @abstractmethod
    async def head(self, key: str) -> ObjectMeta:
        """Say what is known of an object without reading it."""

    @abstractmethod
    async def copy(self, source: str, target: str) -> None:
        """Copy an object inside the store, over whatever `target` was."""

    async def close(self) -> None:
        """Give back what the store holds: threads, connections, files. Closing twice is fine."""
        return

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class Request(NamedTuple):
    """One call of a store, as wrappers see it. `key` is read, changed or listed below; a copy has a `source`."""

    verb: str
    key: str
    body: Body | None = None
    source: str | None = None


class Wrapper(Store):
    """A store around a store: subclasses override `around`, through which every call goes, or `watch`, for every body.

    Of a listing every page is such a call.
    """

    def __init__(self, inner: Store) -> None:
        self.inner = inner

    async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:  # noqa: ARG002 - for subclasses
        return await call()

    def watch(self, fetched: Fetched) -> Fetched:
        return fetched

    async def get(self, key: str, *, start: int = 0, stop: int | None = None) -> Fetched:
        return self.watch(await self.around(Request("get", key), lambda: self.inner.get(key, start=start, stop=stop)))

    async def get_if_changed(self, key: str, version: Version) -> Fetched | None:
        fetched = await self.around(Request("get", key), lambda: self.inner.get_if_changed(key, version))
        return None if fetched is None else self.watch(fetched)

    async def put(self, key: str, body: Body, *, when: Condition = ANY) -> Version:
        return await self.around(Request("put", key, body), lambda: self.inner.put(key, body, when=when))

    async def delete(self, key: str) -> None:
        await self.around(Request("delete", key), lambda: self.inner.delete(key))

    async def list(self, prefix: str = "", *, after: str | None = None) -> AsyncIterator[Sequence[ObjectMeta]]:
        pages = aiter(self.inner.list(prefix, after=after))
        while (page := await self.around(Request("list", prefix), lambda: anext(pages, None))) is not None:
            yield page

    async def head(self, key: str) -> ObjectMeta:
        return await self.around(Request("head", key), lambda: self.inner.head(key))

    async def copy(self, source: str, target: str) -> None:
        await self.around(Request("copy", target, source=source), lambda: self.inner.copy(source, target))

    async def close(self) -> None:
        await self.inner.close()
