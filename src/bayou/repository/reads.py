"""Read what is known about versions. Nothing here takes a lock, waits for a writer, or changes a file."""

from collections.abc import Iterator
from typing import NamedTuple

from bayou.domain.artifacts import Artifact, ArtifactKey, Owner, key_of
from bayou.errors import Corrupt, UsageError
from bayou.repository.holdings import folder_of
from bayou.tree import Tree
from bayou.tree.names import Position, look, position, read_artifact

_MOST_HOPS = 5
_TRIES = 3


class Found(NamedTuple):
    key: ArtifactKey
    """Where it is now: another name than the one asked for, if that was renamed."""
    artifact: Artifact


def latest(tree: Tree, key: ArtifactKey) -> Found | None:
    """The latest version, under the name that it has now. Markers of deletions are versions too; see `is_deleted`.

    None also for a name that was renamed more than five times, or in a circle (repository spec 1.4).
    """
    for _ in range(1 + _MOST_HOPS):
        artifact = _latest_of(tree, key)
        if artifact is None or artifact.renamed_to is None:
            return Found(key, artifact) if artifact else None
        renamed = _renamed(key, artifact.renamed_to)
        if renamed is None:
            return None
        key = renamed
    return None


def version(tree: Tree, key: ArtifactKey, number: int) -> Artifact | None:
    """A version by its number, which never leads to another name."""
    folder_of(key)
    return read_artifact(tree, key, number)


def versions(tree: Tree, key: ArtifactKey) -> list[int]:
    """The numbers of all versions, lowest first."""
    folder_of(key)
    found = look(tree, key)
    return sorted(found.finished) if found else []


def owner(tree: Tree, key: ArtifactKey, where: Position | None = None) -> Owner | None:
    """Who may write the next version: whoever wrote the latest, where that was renamed to, or nobody yet.

    A version whose metadata nobody can read has no say, so that it does not keep its owner from writing a new one.
    """
    for _ in range(1 + _MOST_HOPS):
        artifact = next(_readable(tree, key, where or position(tree, key)), None)
        if artifact is None or artifact.renamed_to is None:
            return artifact.owner if artifact else None
        renamed = _renamed(key, artifact.renamed_to)
        if renamed is None or position(tree, renamed).latest is None:
            return artifact.owner
        key, where = renamed, None
    return None


def _renamed(key: ArtifactKey, name: str) -> ArtifactKey | None:
    """Where a name leads; None where somebody wrote a name that data cannot have."""
    try:
        return key_of(key.model, name)
    except UsageError:
        return None


def _latest_of(tree: Tree, key: ArtifactKey) -> Artifact | None:
    folder_of(key)
    for _ in range(_TRIES):
        number = position(tree, key).latest
        if number is None:
            return None
        artifact = read_artifact(tree, key, number)
        if artifact is not None:
            return artifact
        # Deleted since the look; the next one finds another version, or none.
    return None


def _readable(tree: Tree, key: ArtifactKey, where: Position) -> Iterator[Artifact]:
    """The latest version, and those before it, as far as they can be read."""
    number = where.latest
    while number is not None:
        try:
            artifact = read_artifact(tree, key, number)
        except Corrupt:
            artifact = None
        if artifact is not None:
            yield artifact
        number = max((lower for lower in where.numbers if lower < number), default=None)
