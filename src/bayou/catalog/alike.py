"""Metadata that is like other metadata: versions of a name differ in little, so the rest is parsed once for them all.

It is remembered by its text, and only where that is in the form in which metadata is written.
"""

from bayou.catalog.rows import OF_METADATA, Described, described
from bayou.domain.artifacts import ArtifactKey
from bayou.tree.names import artifact_of
from bayou.wire import ourmetadata
from bayou.wire.ourmetadata import Differing
from bayou.wire.times import to_milliseconds

_MOST = 1024
_RUN = OF_METADATA.index("workflow_run_id")
_SIZE = OF_METADATA.index("size")
_CHECKSUM = OF_METADATA.index("checksum")
_TAGS = OF_METADATA.index("tags")

_seen: dict[tuple[str, str], Described] = {}


def read(data: bytes, path: str, key: ArtifactKey, number: int) -> Described:
    """What the metadata at this path says, which must be about the version that it lies with."""
    rest, differing = ourmetadata.divide(data) or (None, None)
    if rest is None or differing is None or (differing.name, differing.version) != (key.name, number):
        return described(artifact_of(data, path, key, number))
    like = _seen.get(rest)
    if like is not None:
        return _with(like, differing)
    artifact = ourmetadata.read(data)
    if artifact is None:
        return described(artifact_of(data, path, key, number))
    if len(_seen) >= _MOST:
        _seen.clear()
    found = _seen[rest] = described(artifact)
    return found


def _with(like: Described, differing: Differing) -> Described:
    content_type, _, chain, columns, tags = like
    artifact_id, _, version, run_id, created_at, size, checksum = differing
    own = (
        version,
        artifact_id,
        *columns[2:_RUN],
        run_id,
        *columns[_RUN + 1 : _SIZE],
        size or 0,
        int(size is not None),
        created_at,
        to_milliseconds(created_at),
        columns[_TAGS],
        checksum,
        *columns[_CHECKSUM + 1 :],
    )
    return Described(content_type, size, chain, own, tags)
