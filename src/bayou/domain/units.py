"""Units: what the diff decides about as one, and the kind of path that says how two changes of it are merged."""

from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias

import msgspec


class Kind(StrEnum):
    VERSION = "version"  # a finalized version folder
    STREAM = "stream"  # a version folder that still grows
    LATEST = "latest"
    OUTPUT = "output"
    RUN = "run"
    DEFINITION = "definition"
    AUDIT = "audit"
    DERIVED = "derived"
    OTHER = "other"

    @property
    def carries_id(self) -> bool:
        """Its bytes say which thing it is, so that other bytes at its path may be another thing, not a newer one."""
        return self in _CARRY_ID

    @property
    def is_written_once(self) -> bool:
        """Each write makes a new id, so the same bytes are the same write and never a second one."""
        return self in _CARRY_ID and self is not Kind.DEFINITION


_CARRY_ID = frozenset({Kind.VERSION, Kind.STREAM, Kind.OUTPUT, Kind.RUN, Kind.DEFINITION})


class Unit(msgspec.Struct, frozen=True, gc=False):
    """A version folder, or any other file by itself. `members` are the files that a unit of its kind has."""

    key: str
    kind: Kind
    members: tuple[str, ...]
    marker: str | None = None
    """Of a version: the path of the `latest` beside it."""


Classify: TypeAlias = Callable[[str], Unit]
"""From a path to its unit: a pure function of the layout. Only asked about paths on which the sides differ."""
