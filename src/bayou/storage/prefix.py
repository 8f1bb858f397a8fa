"""A store below a prefix of another one."""

import builtins
from collections.abc import AsyncIterator, Sequence

import msgspec

from bayou.errors import ErrorKind, Unsupported
from bayou.storage.keys import check_key
from bayou.storage.port import ANY, Body, Condition, Fetched, FetchedBytes, ObjectMeta, Store, Version, Wrapper


class Prefix(Wrapper):
    """Everything lies below `prefix` and a slash; the prefix is taken as it is (sync spec, conventions)."""

    def __init__(self, inner: Store, prefix: str) -> None:
        _check_prefix(prefix)
        super().__init__(inner)
        self._below = f"{prefix}/"

    async def get(self, key: str, *, start: int = 0, stop: int | None = None) -> Fetched:
        return self._outer(await self.inner.get(self._below + key, start=start, stop=stop))

    async def get_if_changed(self, key: str, version: Version) -> Fetched | None:
        fetched = await self.inner.get_if_changed(self._below + key, version)
        return None if fetched is None else self._outer(fetched)

    async def put(self, key: str, body: Body, *, when: Condition = ANY) -> Version:
        return await self.inner.put(self._below + key, body, when=when)

    async def delete(self, key: str) -> None:
        await self.inner.delete(self._below + key)

    async def list(self, prefix: str = "", *, after: str | None = None) -> AsyncIterator[Sequence[ObjectMeta]]:
        below = self._below + prefix if prefix else self._below[:-1]
        behind = None if after is None else self._below + after
        async for page in self.inner.list(below, after=behind):
            yield [self._strip(meta) for meta in page]

    async def head(self, key: str) -> ObjectMeta:
        return self._strip(await self.inner.head(self._below + key))

    async def copy(self, source: str, target: str) -> None:
        await self.inner.copy(self._below + source, self._below + target)

    def _strip(self, meta: ObjectMeta) -> ObjectMeta:
        return msgspec.structs.replace(meta, key=meta.key.removeprefix(self._below))

    def _outer(self, fetched: Fetched) -> Fetched:
        meta = self._strip(fetched.meta)
        if fetched.arrived is not None:
            return FetchedBytes(meta, fetched.version, fetched.arrived)
        return _Outer(fetched, meta)


class _Outer(Fetched):
    """The same object under its key outside. What is inside keeps its own, to go on reading by."""

    def __init__(self, inner: Fetched, meta: ObjectMeta) -> None:
        super().__init__(meta, inner.version)
        self._inner = inner

    def chunks(self) -> AsyncIterator[builtins.bytes]:
        return self._inner.chunks()

    async def bytes(self) -> builtins.bytes:
        return await self._inner.bytes()


def _check_prefix(prefix: str) -> None:
    if "" in prefix.split("/"):
        message = f"the prefix {prefix!r} makes keys with an empty segment, such as {prefix + '/data'!r}"
        remedy = (
            "Use a prefix without a slash at its ends and without two in a row. Where existing clients have data below"
            " this one, copy it to such a prefix with the provider's own tool, and change the prefix for all of them."
        )
        raise Unsupported(message, kind=ErrorKind.STORE_CANNOT, remedy=remedy)
    check_key(prefix)
