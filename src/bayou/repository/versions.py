"""Versions: how one comes into being. Whoever calls these holds the lock of the name.

The order is the protocol (design 3): the folder is claimed, `raw` is written, `metadata.yaml` makes it a version, and
`latest` is moved last. Who dies in between leaves at most a folder without metadata, which is no version: the next
writer takes another number, and gc removes it when it is old.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from bayou.catalog import Settling
from bayou.domain.artifacts import Artifact, ArtifactKey, Owner, check_owner
from bayou.errors import BayouError, ErrorKind, Unavailable
from bayou.layout.artifacts import LATEST, Part, version_folder
from bayou.repository.content import Content
from bayou.repository.holdings import Holdings, folder_of
from bayou.repository.reads import Found, latest, owner
from bayou.tree import Change, Tree, Written
from bayou.tree.names import Position, position
from bayou.wire import metadata

_MOST_TRIES = 100


class Committing(NamedTuple):
    change: Change
    settling: Settling


@contextmanager
def committing(holdings: Holdings, *keys: ArtifactKey) -> Iterator[Committing]:
    """What a writer does to names between its intent in the catalog and the rows that say the same as the files."""
    with (
        holdings.catalog.changing(*keys) as settling,
        holdings.tree.change(*map(folder_of, keys)) as change,
    ):
        yield Committing(change, settling)


def checked(tree: Tree, key: ArtifactKey, writer: Owner) -> Position:
    """Where the name stands, once it is clear that this writer may write to it. No file has been made yet."""
    where = position(tree, key)
    check_owner(key.name, owner(tree, key, where), writer)
    return where


def claim(change: Change, key: ArtifactKey, where: Position) -> int:
    """Take the next number. Existing clients hold no lock, so somebody may be faster."""
    for number in range(where.highest + 1, where.highest + 1 + _MOST_TRIES):
        if change.claim(version_folder(key.model, key.name, number)):
            return number
    raise Unavailable(
        f"{key}: {_MOST_TRIES} version numbers in a row were taken by others",
        kind=ErrorKind.TRANSIENT,
        remedy="Let fewer writers write to this name at once.",
    )


@contextmanager
def abandoned_on_failure(change: Change, key: ArtifactKey, number: int) -> Iterator[None]:
    """Leave nothing of a version that does not come into being."""
    try:
        yield
    except BaseException:
        discard(change, key, number)
        raise


def discard(change: Change, key: ArtifactKey, number: int) -> None:
    """Remove what there is of it. What cannot be removed stays invisible, and goes with a later gc."""
    with suppress(BayouError):
        change.remove_folder(version_folder(key.model, key.name, number))
        change.prune(folder_of(key))


def put(  # noqa: PLR0913 - all that a version is made of
    holdings: Holdings,
    key: ArtifactKey,
    where: Position,
    content: Content,
    describe: Callable[[int, Written], Artifact],
    *,
    advance: bool = True,
) -> Artifact:
    """The whole of it, for content that is at hand."""
    with committing(holdings, key) as (change, settling):
        number = claim(change, key, where)
        with abandoned_on_failure(change, key, number):
            artifact = describe(number, change.write(path_of(key, number, Part.RAW), content.chunks()))
            publish(change, key, artifact, where, advance=advance)
        settling.wrote(key, artifact, content.whole)
    return artifact


def publish(change: Change, key: ArtifactKey, artifact: Artifact, where: Position, *, advance: bool = True) -> None:
    """Make it a version, and the latest one. One that is not advanced stays above the marker, out of latest's sight."""
    folder = folder_of(key)
    if not advance and where.marker is None:
        # Without a marker the highest version is the latest, and nobody may fall back to this one (weakness 35).
        move_marker(change, key, where.latest or 0)
    change.replace(path_of(key, artifact.version, Part.METADATA), metadata.encode(artifact))
    if advance:
        move_marker(change, key, max(where.marker or 0, artifact.version))  # never backwards (weakness 34)
    else:
        change.sync(folder)


def move_marker(change: Change, key: ArtifactKey, to: int) -> None:
    """Let `latest` say this. 0 says that no version is the latest."""
    change.point(f"{folder_of(key)}/{LATEST}", str(to).encode())


@contextmanager
def locked_latest(holdings: Holdings, key: ArtifactKey) -> Iterator[Found | None]:
    """The latest version, with the lock of the name that it has now."""
    while True:
        found = latest(holdings.tree, key)
        now = found.key if found else key
        with holdings.tree.lock(folder_of(now)):
            found = latest(holdings.tree, now)
            if found is None or found.key == now:
                yield found
                return
        # Renamed while we waited for the lock.


def path_of(key: ArtifactKey, number: int, part: Part) -> str:
    return f"{version_folder(key.model, key.name, number)}/{part}"
