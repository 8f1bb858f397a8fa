"""Resolutions: how the local replica is edited so that the next diff is without a conflict."""

from typing import TypeAlias

import msgspec


class TakeRemote(msgspec.Struct, frozen=True):
    """Drop ours and what the base says about it, so that the next diff pulls."""

    keep_aside: bool = False
    """Ours is copied below `_control/conflicts/` first, and shown until somebody decides."""


class TakeLocal(msgspec.Struct, frozen=True):
    """Let the base say what the remote holds, so that the next diff pushes ours over it."""


class Move(msgspec.Struct, frozen=True):
    """Rename ours to another path, where the next diff pushes it. The remote's stays where it is.

    Where ours is what the base says, the rename is a deletion on purpose too: it leaves an intent row for the old path,
    so that a tombstone keeps the other replicas which hold the same thing from publishing it once more.
    """

    to: str


class Renumber(msgspec.Struct, frozen=True):
    """As `Move`, for a version folder; its metadata and every record that names its id change in the same commit."""

    to: int
    new_id: str | None = None
    """Where the two are forks of one stream, ours must not go on under its id."""


class Point(msgspec.Struct, frozen=True):
    """Let the `latest` marker name this version on both sides, or remove it from both; the base says the same.

    The one resolution that is an outcome: whether the version is there is only known within one commit. It takes back
    a tombstone of what it writes, and publishes one of what it removes.
    """

    to: int | None


class Rehome(msgspec.Struct, frozen=True):
    """Take the remote's definition, move our unpushed artifacts to its id, and record that both are one model."""

    given_up: str
    kept: str


Resolution: TypeAlias = TakeRemote | TakeLocal | Move | Renumber | Point | Rehome
