"""The wire format of protocol buffers: as much of it as a checked CEL expression needs.

The engine hands out its checked syntax tree as a serialized message, and no package offers that message to Python. A
message is a sequence of numbered fields; a field is a number, eight bytes, or a text of so many bytes.
"""

import struct
from collections.abc import Iterable, Iterator

from bayou.errors import Corrupt

Field = tuple[int, int | bytes]
"""A number, and what is there: a varint as an int, everything else as its bytes."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10
_WHERE = "a serialized expression"


def fields(message: bytes) -> Iterator[Field]:
    """The fields of a message in the order in which they come."""
    at, end = 0, len(message)
    while at < end:
        key, at = _varint(message, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            length, at = _varint(message, at)
        elif kind in (_FIXED64, _FIXED32):
            length = 8 if kind == _FIXED64 else 4
        else:
            raise Corrupt(_WHERE, expected="a kind of field", found=f"{kind} at byte {at}")
        if at + length > end:
            raise Corrupt(_WHERE, expected=f"{length} bytes at {at}", found=f"{end - at}")
        yield key >> 3, message[at : at + length]
        at += length


def signed(value: int) -> int:
    """A varint as an int64."""
    return value - (1 << 64) if value >= 1 << 63 else value


def double(eight: bytes) -> float:
    (value,) = struct.unpack("<d", eight)
    return float(value)


def message(parts: Iterable[Field]) -> bytes:
    """The message of these fields. A float goes through `eight`."""
    return b"".join(_encoded(number, value) for number, value in parts)


def eight(number: int, value: float) -> bytes:
    """A field that is a double."""
    return _encoded_varint(number << 3 | _FIXED64) + struct.pack("<d", value)


def _encoded(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _encoded_varint(number << 3 | _VARINT) + _encoded_varint(value & 0xFFFF_FFFF_FFFF_FFFF)
    return _encoded_varint(number << 3 | _BYTES) + _encoded_varint(len(value)) + value


def _encoded_varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for index, byte in enumerate(message[at : at + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at + index + 1
    raise Corrupt(_WHERE, expected=f"a number at byte {at}", found="no end of it")
