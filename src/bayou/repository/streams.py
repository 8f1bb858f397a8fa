"""Append to streaming data: the latest version grows, and no new one comes into being (repository spec 1.4)."""

import msgspec

from bayou.domain.artifacts import Artifact, ArtifactKey, Owner, check_owner
from bayou.errors import ErrorKind, NotFound, UsageError
from bayou.layout.artifacts import Part
from bayou.repository import content as contents
from bayou.repository.content import Given
from bayou.repository.holdings import Holdings, folder_of
from bayou.repository.versions import committing, locked_latest, path_of
from bayou.tree import Change
from bayou.wire import metadata


def append(holdings: Holdings, key: ArtifactKey, given: Given, writer: Owner) -> Artifact:
    """Add to the end of the latest version. It keeps its `createdAt`, and has no checksum from then on."""
    if holdings.ephemeral is not None and holdings.ephemeral.find(key):
        return holdings.ephemeral.append(key, given, writer)
    content = contents.content(given)
    added = b"".join(content.chunks()) if content.whole is None else content.whole
    with locked_latest(holdings, key) as found:
        if found is None or found.artifact.is_deleted:
            raise NotFound(
                f"{key}: there is nothing to append to",
                kind=ErrorKind.DATA_MISSING,
                remedy="Write a first version, as streaming data.",
            )
        check_owner(key.name, found.artifact.owner, writer)
        if not found.artifact.streaming:
            raise UsageError(f"{key} is not streaming data", remedy="Write a new version, as streaming data.")
        return _append(holdings, found.key, found.artifact, added)


def _append(holdings: Holdings, key: ArtifactKey, artifact: Artifact, added: bytes) -> Artifact:
    with committing(holdings, key) as (change, settling):
        if artifact.checksum is not None:
            # Before the bytes that it would be wrong for: whoever dies in between leaves a version that can be read.
            artifact = _rewritten(change, key, msgspec.structs.replace(artifact, checksum=None))
        size = change.append(path_of(key, artifact.version, Part.RAW), added)
        artifact = _rewritten(change, key, msgspec.structs.replace(artifact, size=size))
        change.touch(folder_of(key))
        settling.wrote(key, artifact, None)
    return artifact


def _rewritten(change: Change, key: ArtifactKey, artifact: Artifact) -> Artifact:
    change.replace(path_of(key, artifact.version, Part.METADATA), metadata.encode(artifact))
    return artifact
