"""Catalog exports: rows of a namespace for others to read; and what others offer, asked for by name and only read."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from bayou.domain.namespaces import SOLO, check_namespace
from bayou.errors import Corrupt, ErrorKind, NotFound, UsageError
from bayou.layout.keys import Keyspace
from bayou.layout.safety import check_path
from bayou.remotes.looking import Place
from bayou.remotes.objects import each, read
from bayou.storage.port import Fetched
from bayou.wire import export as form
from bayou.wire.documents import Void
from bayou.wire.export import Row

_EXPORTED = "exported"


async def export(place: Place, rows: Sequence[Row]) -> bool:
    """Put the rows where others find them. False: they are there already, looked at and not only remembered.

    What was exported is remembered for this namespace and this object (sync spec W-47), so an export that somebody
    removed or overwrote is put back.
    """
    body = form.encode(rows)
    digest = hashlib.sha256(body).hexdigest()
    key = place.keys.catalog_export
    known = place.cache.note(place.namespace, _EXPORTED)
    if known is not None and known["digest"] == digest and await _version(place, key) == known["version"]:
        return False
    version = await place.store.put(key, body)
    place.cache.write_note(place.namespace, _EXPORTED, {"digest": digest, "version": version})
    return True


async def foreign_catalogs(place: Place, namespaces: Iterable[str]) -> Mapping[str, list[dict[str, object]] | Void]:
    """The rows that each namespace exported, or why there are none: one that is damaged hides no other."""
    asked = [_foreign(namespace) for namespace in namespaces]
    return dict(await each(place.width, asked, lambda keys: _rows(place, keys)))


async def foreign_content(place: Place, namespace: str, path: str) -> Fetched | None:
    """A file of another namespace, to be read at once; None if it is missing."""
    try:
        return await place.store.get(_foreign(namespace).data(check_path(path)))
    except NotFound:
        return None


async def _rows(place: Place, keys: Keyspace) -> tuple[str, list[dict[str, object]] | Void]:
    blob = await read(place.store, keys.catalog_export)
    if blob is None:
        return keys.namespace, Void(f"{keys.catalog_export}: there is none")
    try:
        return keys.namespace, form.decode(blob.content, keys.catalog_export)
    except Corrupt as error:
        return keys.namespace, Void(str(error))


async def _version(place: Place, key: str) -> str | None:
    try:
        return (await place.store.head(key)).version
    except NotFound:
        return None


def _foreign(namespace: str) -> Keyspace:
    if namespace == SOLO:
        raise UsageError("a namespace needs a name", kind=ErrorKind.INVALID_NAME)
    return Keyspace(check_namespace(namespace))
