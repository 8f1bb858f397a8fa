"""The manifest of a migration, below `_control/bayou/migration/` of its target: where all comes from, and what was
carried over, file by file with its hash. It is written in pieces, none of which is ever changed.
"""

from collections.abc import Iterable
from typing import Literal
from uuid import UUID

import msgspec

from bayou.domain.entries import Count
from bayou.domain.hashes import Sha256
from bayou.wire.documents import parse_object, require_version_1, shape
from bayou.wire.javascript import compact, pretty

_NOUN = "the source of a migration"
_PIECE = "a piece of the manifest of a migration"


class Origin(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Where all of it comes from. The id is that of the store, where it has one."""

    version: Literal[1] = 1
    store_id: UUID | None
    url: str
    namespace: str
    started_at: str


class Carried(msgspec.Struct, frozen=True, rename="camel"):
    """One file: as it was read at the source, and what the target calls it since."""

    path: str
    size: Count
    sha256: Sha256
    modified: str
    """What the source said of its time: all that tells a file without a hash from a later one of its size."""
    version: str
    at: str
    """When the run began that carried it, by the clock of whoever planned it."""


class _Piece(msgspec.Struct, frozen=True):
    version: Literal[1]
    carried: tuple[Carried, ...]


def decode_origin(data: bytes, where: str) -> Origin:
    document = parse_object(data, where, _NOUN)
    require_version_1(document.get("version"), where, _NOUN)
    return shape(document, Origin, where, _NOUN)


def encode_origin(origin: Origin) -> bytes:
    return pretty(origin)


def decode_piece(data: bytes, where: str) -> tuple[Carried, ...]:
    document = parse_object(data, where, _PIECE)
    require_version_1(document.get("version"), where, _PIECE)
    return shape(document, _Piece, where, _PIECE).carried


def encode_piece(carried: Iterable[Carried]) -> bytes:
    return compact(_Piece(1, tuple(carried)))
