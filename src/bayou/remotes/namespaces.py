"""Namespaces of a bucket: who registered which. Registering is the one thing that looks at another one's manifest."""

from collections.abc import Sequence
from contextlib import aclosing, suppress

from bayou.domain.namespaces import SOLO, check_namespace
from bayou.errors import Conflict, ErrorKind, UsageError
from bayou.layout.keys import MANIFEST, Keyspace, namespace_of_manifest
from bayou.remotes.objects import read
from bayou.storage.port import ABSENT, ObjectMeta, Store
from bayou.wire import manifest as form
from bayou.wire.manifest import Manifest
from bayou.wire.times import to_text

_BEHIND = chr(ord("/") + 1)


async def manifest(store: Store, namespace: str) -> Manifest | None:
    key = _key(namespace)
    blob = await read(store, key)
    return None if blob is None else form.decode(blob.content, key)


async def register(store: Store, namespace: str, repo_id: str, now: int) -> Manifest:
    """Make the namespace this repo's, or say whose it is. Looked at before and after, as some stores overwrite."""
    key = _key(namespace)
    known = await manifest(store, namespace)
    if known is None:
        with suppress(Conflict):  # somebody was faster, perhaps this very repo on another machine
            await store.put(key, form.encode(Manifest(namespace, repo_id, to_text(now))), when=ABSENT)
        known = await manifest(store, namespace)
    if known is None or known.repo_id != repo_id:
        owner = "somebody" if known is None else f"repo {known.repo_id}"
        raise Conflict(
            f"the namespace {namespace!r} is already registered by {owner}",
            kind=ErrorKind.ALREADY_EXISTS,
            remedy="Choose another namespace, or use the repo that registered it.",
        )
    return known


async def unregister(store: Store, namespace: str, repo_id: str) -> None:
    """Give up a namespace. What lies in it is not looked at; that of another repo is left alone."""
    known = await manifest(store, namespace)
    if known is not None and known.repo_id == repo_id:
        await store.delete(_key(namespace))


async def namespaces(store: Store) -> list[str]:
    """All registered namespaces: a request or two for each folder of the bucket, however much lies in it.

    A manifest lies with the data of its namespace, but before most of it. So of each page all but the last folder is
    known, and of that one the rest is left out.
    """
    found: set[str | None] = set()
    after: str | None = None
    while page := await _page(store, after):
        keys = [meta.key for meta in page]
        found.update(map(namespace_of_manifest, keys))
        folder, slash, _ = keys[-1].partition("/")
        is_past = slash and keys[-1] > f"{folder}/{MANIFEST}" and keys == sorted(keys)
        after = f"{folder}{_BEHIND}" if is_past else keys[-1]
    return sorted(namespace for namespace in found if namespace is not None)


async def _page(store: Store, after: str | None) -> Sequence[ObjectMeta] | None:
    async with aclosing(store.list(after=after)) as pages:  # type: ignore[type-var]
        return await anext(pages, None)


def _key(namespace: str) -> str:
    if namespace == SOLO:
        raise UsageError("a namespace needs a name", kind=ErrorKind.INVALID_NAME)
    return Keyspace(check_namespace(namespace)).manifest
