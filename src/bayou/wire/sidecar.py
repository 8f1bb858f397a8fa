"""The sidecar, `.datastore-sync-state.json`: what existing clients remember about a cache (sync spec 2.2)."""

from typing import Final, Literal

import msgspec

from bayou.errors import Corrupt
from bayou.wire.documents import Void, is_integer, parse_object, shape
from bayou.wire.javascript import pretty

_NOUN = "a sidecar"
_FIELDS_OF_VERSION_1 = ("version", "remoteIndexETag", "remoteIndexGeneration", "lastVerifiedAt", "localDirty")
_NO_PATHS: Final = {"dirtyPaths": [], "bulkInvalidated": False, "lazyPullActive": False}


class Sidecar(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", kw_only=True):
    """Version 2, or the scalars of a version 1, which knew no paths.

    `local_dirty` without `dirty_paths` says that anything may have changed: a full walk (sync spec 4.6). So reads a
    version 1, and a version 2 whose writer left the paths out. Whoever adds a first path to such a one also sets
    `bulk_invalidated`, or the path would seem to be all that changed (W-28).

    The fingerprint of the monolith is an ETag on S3 and a generation on GCS; "" says that nothing is known.
    """

    version: Literal[1, 2]
    remote_index_etag: str | None = msgspec.field(default=None, name="remoteIndexETag")
    remote_index_generation: str | None = None
    last_verified_at: str
    local_dirty: bool
    dirty_paths: tuple[str, ...]
    bulk_invalidated: bool
    lazy_pull_active: bool
    dirty_paths_overflowed: bool | None = None
    last_catalog_hash: str | None = None
    data_key_migrated: bool | None = None
    commit_seq: int | None = None


def decode(data: bytes, where: str) -> Sidecar | Void:
    """`Void` is what existing clients take for "no sidecar", whatever is wrong with it. It never raises."""
    try:
        document = parse_object(data, where, _NOUN)
        if is_integer(document.get("version")) and document["version"] == 1:
            document = {name: document[name] for name in _FIELDS_OF_VERSION_1 if name in document}
        sidecar = shape(_NO_PATHS | document, Sidecar, where, _NOUN)
    except Corrupt as error:
        return Void(str(error))
    if sidecar.remote_index_etag is None and sidecar.remote_index_generation is None:
        return Void(f"{where}: {_NOUN} without a fingerprint")
    return sidecar


def encode(sidecar: Sidecar) -> bytes:
    document = msgspec.to_builtins(sidecar)
    if sidecar.version == 1:
        document = {name: document[name] for name in _FIELDS_OF_VERSION_1 if name in document}
    return pretty(document)
