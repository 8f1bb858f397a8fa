"""Packs: copies of many small contents in one object, and the catalogue that says which packs there are (design/012).

A pack is named by the sha256 of its bytes: a magic word and a count, for each content its sha256 and its length, and
then the contents themselves, in the same order. Nothing in it is believed: whoever takes a content out of it hashes it.
"""

import struct
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import msgspec

from bayou.domain.content import ContentId
from bayou.domain.hashes import Sha256
from bayou.errors import Corrupt
from bayou.wire.documents import parse_object, require_version_1, shape
from bayou.wire.javascript import compact

_MAGIC = b"bayoupk1"
_START = struct.Struct("<8sI")
_PLACE = struct.Struct("<32sI")
_NOUN = "a catalogue of packs"

_Count = Annotated[int, msgspec.Meta(ge=1, le=2**32 - 1)]


class Pack(msgspec.Struct, frozen=True, rename="camel"):
    """What the catalogue says of a pack. Its contents are of paths from `first` to `last`, in the order of paths."""

    name: Sha256
    first: str
    last: str
    count: _Count
    size: _Count

    def may_hold(self, path: str) -> bool:
        return self.first <= path <= self.last


class Retired(msgspec.Struct, frozen=True, rename="camel"):
    """A pack that is listed no more, and may still be read by whoever knows an earlier catalogue."""

    name: Sha256
    retired_at: str


class Catalogue(msgspec.Struct, frozen=True):
    packs: tuple[Pack, ...] = ()
    retired: tuple[Retired, ...] = ()
    version: Literal[1] = 1


def decode(data: bytes, where: str) -> Catalogue:
    document = parse_object(data, where, _NOUN)
    require_version_1(document.get("version"), where, _NOUN)
    return shape(document, Catalogue, where, _NOUN)


def encode(catalogue: Catalogue) -> bytes:
    return compact(catalogue)


def head_size(count: int) -> int:
    """How many bytes of a pack come before the contents."""
    return _START.size + count * _PLACE.size


def pack_of(contents: Mapping[ContentId, bytes]) -> bytes:
    """The bytes of a pack."""
    places = [_PLACE.pack(bytes.fromhex(content), len(body)) for content, body in contents.items()]
    return b"".join([_START.pack(_MAGIC, len(contents)), *places, *contents.values()])


def places(head: bytes, where: str) -> Iterator[tuple[ContentId, int, int]]:
    """Each content of a pack, with where it begins and ends, by the bytes that come before the contents."""
    if len(head) < _START.size:
        raise Corrupt(where, expected="a pack", found=f"{len(head)} bytes")
    magic, count = _START.unpack_from(head)
    end = head_size(count)
    if magic != _MAGIC or len(head) < end:
        raise Corrupt(where, expected="a pack", found="bytes of another shape")
    at = end
    for content, size in _PLACE.iter_unpack(head[_START.size : end]):
        yield content.hex(), at, at + size
        at += size
