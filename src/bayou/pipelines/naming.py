"""Naming: the names that a write is about, and which numbers their versions get."""

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from bayou.domain.artifacts import Artifact, ArtifactKey, Owner
from bayou.domain.models import Model
from bayou.layout.artifacts import LATEST, Part, VersionFile, name_folder
from bayou.layout.meanings import meaning
from bayou.pipelines.aside import Row
from bayou.pipelines.frames import Version
from bayou.wire import metadata


class Piece(NamedTuple):
    """One version: what is put where."""

    number: int
    row: Row
    artifact: Artifact
    metadata: bytes
    raw_path: str
    metadata_path: str


@dataclass(slots=True)
class Name:
    """A name that is written to, with its rows in the order of their versions, and how far it has got."""

    key: ArtifactKey
    rows: Sequence[tuple[int, Row]]
    """Each with its place among all rows of the write."""
    write_id: str
    started: str
    first: int = 0
    """The number of its first version; 0: it has none yet."""
    is_there: bool = False
    """Whether all is put under these numbers."""
    _taken: int = 0
    _pieces: tuple[int, list[Piece]] = field(default=(0, []))

    @property
    def folder(self) -> str:
        return name_folder(self.key.model, self.key.name)

    @property
    def marker(self) -> str:
        return f"{self.folder}/{LATEST}"

    @property
    def last(self) -> int:
        return self.first + len(self.rows) - 1

    @property
    def owners(self) -> set[Owner]:
        return {self._owner(row) for _, row in self.rows}

    @property
    def pieces(self) -> list[Piece]:
        """The versions under the numbers that they have now."""
        if self._pieces[0] != self.first:
            self._pieces = self.first, list(self._made())
        return self._pieces[1]

    def path(self, number: int, part: Part) -> str:
        return VersionFile(self.key.model, self.key.name, number, part).path

    def take_numbers(self, known: Collection[int]) -> None:
        """The next ones, unless those that it has are still free."""
        free = max((self._taken, *known), default=0) + 1
        if self.first < free:
            self.first, self.is_there = free, False

    def give_up(self, number: int) -> None:
        """Leave this number to whoever has it."""
        self._taken, self.is_there = max(self._taken, number), False

    def _made(self) -> Iterator[Piece]:
        """All follows from the write and the numbers, so that what is put twice is put once."""
        for number, (place, row) in enumerate(self.rows, self.first):
            artifact = msgspec.structs.replace(
                row.version.artifact,
                id=str(uuid.uuid5(uuid.UUID(self.write_id), str(place))),
                version=number,
                owner=self._owner(row),
                created_at=row.version.artifact.created_at or self.started,
            )
            raw_path, metadata_path = self.path(number, Part.RAW), self.path(number, Part.METADATA)
            yield Piece(number, row, artifact, metadata.encode(artifact), raw_path, metadata_path)

    def _owner(self, row: Row) -> Owner:
        owner = row.version.artifact.owner
        assert owner is not None  # noqa: S101 - every row has one
        return msgspec.structs.replace(owner, owner_ref=self.key.model.id)


def names_of(rows: Sequence[Row], model: Callable[[Version], Model], write_id: str, started: str) -> list[Name]:
    """The names, each with its rows by the time of their creation, and of one time by partition and as they came."""
    found: dict[ArtifactKey, list[tuple[int, Row]]] = {}
    for place, row in enumerate(rows):
        found.setdefault(ArtifactKey(model(row.version), row.version.artifact.name), []).append((place, row))
    return [
        Name(
            key,
            sorted(some, key=lambda pair: (pair[1].version.artifact.created_at or started, pair[0])),
            write_id,
            started,
        )
        for key, some in found.items()
    ]


def numbers_among(paths: Iterable[str]) -> dict[str, set[int]]:
    """The version numbers at these paths, by the folders of their names."""
    found: dict[str, set[int]] = {}
    for path in paths:
        what = meaning(path)
        if isinstance(what, VersionFile):
            found.setdefault(name_folder(what.model, what.name), set()).add(what.version)
    return found
