"""News for a catalog: which names a sync changed, in whichever process, since the catalog last heard of one."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from bayou.catalog.catalog import News
from bayou.domain.artifacts import ArtifactKey
from bayou.layout.artifacts import LatestMarker, VersionFile
from bayou.layout.meanings import meaning

if TYPE_CHECKING:
    from bayou.sync.changes import ChangeLog, Position


def news_of(changes: "ChangeLog") -> News:
    def news(position: str | None) -> tuple[str, Collection[ArtifactKey] | None]:
        reached, paths = changes.since(None if position is None else _read(position))
        keys = None if paths is None else {key for path in paths if (key := _name_of(path)) is not None}
        return f"{reached.journal} {reached.sequence}", keys

    return news


def _read(position: str) -> "Position":
    from bayou.sync.changes import Position  # noqa: PLC0415 - not for folders

    journal, _, sequence = position.rpartition(" ")
    return Position(journal, int(sequence))


def _name_of(path: str) -> ArtifactKey | None:
    match meaning(path):
        case VersionFile(model, name) | LatestMarker(model, name):
            return ArtifactKey(model, name)
        case _:
            return None
