"""A bucket as an object store: S3, GCS and Azure Blob through obstore.

obstore's own retries are off for whatever may be conditional: `bayou.storage.retry` knows what a lost answer of such a
write means, obstore does not.
"""

import builtins
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import obstore
from obstore.exceptions import BaseError, NotModifiedError

from bayou.errors import Denied, ErrorKind, NotFound, Unavailable, Unsupported, UsageError
from bayou.storage import exit_pause
from bayou.storage.bodies import WHOLE, size_of
from bayou.storage.claims import Claims
from bayou.storage.failures import says_deleted, translate
from bayou.storage.keys import check_key, check_listing
from bayou.storage.port import (
    ABSENT,
    ANY,
    CHUNK,
    Body,
    Condition,
    Fetched,
    FetchedBytes,
    ObjectMeta,
    Store,
    Unconditional,
    Version,
)
from bayou.storage.versions import Versions

if TYPE_CHECKING:
    from obstore import GetOptions, GetResult, PutMode
    from obstore.store import ObjectStore

WHOLE_IF_MUST = 64 << 20  # up to here a file that replaces a certain version goes whole, as parts cannot be conditional
PARTS = 4  # parts of one file that are under way at a time
_MOST_PARTS = 9000  # S3 takes 10,000
_PAGE = 1000


class Bucket(Store):
    """The objects of one bucket or container, under exactly the keys that are asked for.

    `client` must not retry. `patient` is the same bucket for what is never conditional and consists of many requests:
    uploads in parts and listings. It repeats a single request by itself, as otherwise one lost packet would start the
    whole again.
    """

    def __init__(self, client: "ObjectStore", patient: "ObjectStore", versions: Versions) -> None:
        self._client = client
        self._patient = patient
        self._versions = versions
        self._claims = Claims()
        exit_pause.install()

    async def get(self, key: str, *, start: int = 0, stop: int | None = None) -> Fetched:
        check_key(key)
        if stop is None:
            return await self._get(key, {"range": {"offset": start}} if start else None)
        if stop > start:
            return await self._get(key, {"range": (start, stop)})
        meta = await self.head(key)
        return FetchedBytes(meta, self._version(key, meta.version), b"")

    async def get_if_changed(self, key: str, version: Version) -> Fetched | None:
        check_key(key)
        try:
            return await self._get(key, {"if_none_match": self._versions.etag(version)})
        except NotModifiedError:
            return None

    async def _get(self, key: str, options: "GetOptions | None") -> Fetched:
        with _translated(key):
            result = await obstore.get_async(self._client, key, options=options)
            meta = self._describe(result.meta)
            version = self._version(key, meta.version)
            start, stop = result.range
            if stop - start > CHUNK:
                return _Answer(meta, version, result)
            # A small one is not left waiting for its reader, with a connection and a slot of the window.
            return FetchedBytes(meta, version, builtins.bytes(await result.bytes_async()))

    async def put(self, key: str, body: Body, *, when: Condition = ANY) -> Version:
        check_key(key)
        size = size_of(body)
        if isinstance(body, bytes) or size <= WHOLE:
            return await self._put_whole(key, body, when)
        if when is ANY:
            return await self._put_in_parts(key, body, size)
        if when is ABSENT:
            async with self._claims.claimed(self, key, body):
                return await self._put_in_parts(key, body, size)
        if size <= WHOLE_IF_MUST:
            return await self._put_whole(key, body, when)
        message = f"{key!r}: a file of {size} bytes cannot replace a certain version; {WHOLE_IF_MUST} is the most"
        raise Unsupported(message, kind=ErrorKind.STORE_CANNOT, remedy="Store it under a new key.")

    async def _put_whole(self, key: str, body: Body, when: Condition) -> Version:
        with _written(key):
            mode = self._mode(when)
            result = await obstore.put_async(self._client, key, body, mode=mode, use_multipart=False)
        return self._version(key, self._versions.read(result))

    async def _put_in_parts(self, key: str, path: Path, size: int) -> Version:
        part = max(WHOLE, -(-size // _MOST_PARTS))
        with _written(key):
            result = await obstore.put_async(
                self._patient, key, path, use_multipart=True, chunk_size=part, max_concurrency=PARTS
            )
        return self._version(key, self._versions.read(result))

    async def delete(self, key: str) -> None:
        check_key(key)
        try:
            with _translated(key):
                await obstore.delete_async(self._client, key)
        except NotFound:
            return
        except Unavailable as error:
            if not says_deleted(error.__cause__):
                raise

    async def list(self, prefix: str = "", *, after: str | None = None) -> AsyncIterator[Sequence[ObjectMeta]]:
        check_listing(prefix, after)
        behind = max(after or "", f"{prefix}/" if prefix else "")
        pages = aiter(obstore.list(self._patient, prefix or None, offset=after, chunk_size=_PAGE))
        while True:
            with _translated(prefix):
                found = await anext(pages, None)
            if found is None:
                return
            # Azure's emulator ignores the offset.
            page = await self._objects([self._describe(meta) for meta in found if meta["path"] > behind])
            if page:
                yield page

    async def _objects(self, page: Sequence[ObjectMeta]) -> Sequence[ObjectMeta]:
        """The page without marks of folders: empty objects `folder/`, which obstore lists as `folder`.

        Such a one is only looked at where something lies below it, or where the page does not tell.
        """
        following = [*(meta.key for meta in page), None][1:]
        doubtful = {
            meta.key
            for meta, after in zip(page, following, strict=True)
            if not meta.size and (after is None or after.startswith(f"{meta.key}/"))
        }
        marks = {key for key in doubtful if not await self._exists(key)}
        return [meta for meta in page if meta.key not in marks] if marks else page

    async def _exists(self, key: str) -> bool:
        try:
            await self.head(key)
        except NotFound:
            return False
        except Denied:
            return True  # who may only list is told what is listed
        return True

    async def head(self, key: str) -> ObjectMeta:
        check_key(key)
        try:
            with _translated(key):
                return self._describe(await obstore.head_async(self._client, key))
        except (NotFound, UsageError):
            # An answer to HEAD has no body, so it cannot say that it is the bucket which is missing, or what was wrong
            # with the request. An answer to GET does.
            return (await self._get(key, None)).meta

    async def copy(self, source: str, target: str) -> None:
        check_key(source)
        check_key(target)
        with _translated(source, target):
            await obstore.copy_async(self._client, source, target)

    def _mode(self, when: Condition) -> "PutMode":
        if isinstance(when, Unconditional):
            return "create" if when is ABSENT else "overwrite"
        return self._versions.match(when)

    def _describe(self, meta: Mapping[str, Any]) -> ObjectMeta:
        return ObjectMeta(meta["path"], meta["size"], meta["last_modified"], self._versions.read(meta))

    def _version(self, key: str, version: Version | None) -> Version:
        if version is None:
            message = f"{key!r}: the store gave no ETag or generation with its answer"
            remedy = "Check that the endpoint is an object store."
            raise Unsupported(message, kind=ErrorKind.STORE_CANNOT, remedy=remedy)
        return version


class _Answer(Fetched):
    """An object whose bytes are still on their way."""

    def __init__(self, meta: ObjectMeta, version: Version, result: "GetResult") -> None:
        super().__init__(meta, version)
        self._result = result

    async def chunks(self) -> AsyncIterator[bytes]:
        with _translated(self.meta.key):
            async for chunk in self._result.stream(min_chunk_size=CHUNK):
                yield chunk

    async def bytes(self) -> builtins.bytes:
        with _translated(self.meta.key):
            return builtins.bytes(await self._result.bytes_async())


_PANIC = "RustPanic"  # a class that no module offers


@contextmanager
def _translated(*keys: str) -> Iterator[None]:
    try:
        yield
    except NotModifiedError:
        raise  # an answer, not a failure
    except (BaseError, OSError, ValueError, NotImplementedError) as error:
        raise translate(error, *keys) from error
    except Exception as error:
        if type(error).__name__ != _PANIC:
            raise
        raise translate(error, *keys) from error


@contextmanager
def _written(key: str) -> Iterator[None]:
    """As above, for what needs no object to be there: that one is missing is no answer to a write."""
    try:
        with _translated(key):
            yield
    except NotFound as error:
        raise Unavailable(
            error.message, remedy="Run the command again; if that does not help, check the endpoint."
        ) from error
