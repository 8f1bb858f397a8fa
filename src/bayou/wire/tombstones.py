"""Tombstones, `_control/bayou/tombstones/{partition}.json`: which contents were deleted on purpose (design 4.2).

Damage here is never skipped over: a tombstone that is not seen lets a deleted file come back. The paths need no check,
as they are compared with paths that passed theirs and are never followed.
"""

from collections.abc import Iterable
from typing import Literal

import msgspec

from bayou.domain.hashes import Sha256
from bayou.wire.documents import parse_object, require_version_1, shape
from bayou.wire.javascript import compact

_NOUN = "a list of tombstones"


class Tombstone(msgspec.Struct, frozen=True, rename="camel"):
    """One deleted content of one path. A path may die more than once."""

    path: str
    sha256: Sha256
    deleted_at: str


class _Document(msgspec.Struct, frozen=True):
    version: Literal[1]
    tombstones: tuple[Tombstone, ...]


def decode(data: bytes, where: str) -> tuple[Tombstone, ...]:
    document = parse_object(data, where, _NOUN)
    require_version_1(document.get("version"), where, _NOUN)
    return shape(document, _Document, where, _NOUN).tombstones


def encode(tombstones: Iterable[Tombstone]) -> bytes:
    return compact(_Document(1, tuple(tombstones)))
