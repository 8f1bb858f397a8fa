"""Pieces: a monolith on its way, cut into documents of some megabytes, each of which is a monolith itself.

So one of a million entries is read in the memory of a few thousand. Between two entries stands `},"`. It may stand in
an entry as well, but what is cut there is no JSON, since something in it stays open; then a later cut is tried. What
existing clients do not write, such as blanks between the entries, is not cut at all, and read whole.
"""

import re

from bayou.errors import Corrupt
from bayou.wire.index import Index, decode_monolith

SIZE = 4 << 20

_BEGIN = re.compile(rb'\{"version":1,(?:"lastPulled":"[^"\\]*",)?"entries":\{(?=")')
_BETWEEN = b'},"'


class Pieces:
    """Fed with the bytes as they come, it gives the entries as they are complete."""

    def __init__(self, where: str, size: int = SIZE) -> None:
        self._where = where
        self._size = self._due = size
        self._begin = b""
        self._rest = bytearray()

    def __len__(self) -> int:
        """How many bytes wait for the rest of their piece."""
        return len(self._rest)

    def feed(self, chunk: bytes) -> Index | None:
        """The next piece, if enough has come."""
        self._rest += chunk
        return self._cut() if len(self._rest) >= self._due else None

    def end(self) -> Index:
        """The last piece, which tells as well what there is beside the entries. Damage shows here at the latest."""
        return decode_monolith(self._begin + self._rest, self._where)

    def _cut(self) -> Index | None:
        begin = self._begin or _found(_BEGIN.match(self._rest))
        end = self._rest.rfind(_BETWEEN) + 1
        piece = self._piece(begin, end) if begin and end else None
        if piece is None:
            self._due *= 2  # so that all tries together cost no more than one that is twice as long
            return None
        self._begin, self._due = begin, self._size
        del self._rest[: end + 1]
        return piece

    def _piece(self, begin: bytes, end: int) -> Index | None:
        inside = self._rest[:end] if self._begin else self._rest[len(begin) : end]
        try:
            index = decode_monolith(begin + inside + b"}}", self._where)
        except Corrupt:
            return None
        return None if index.extra else index  # it was cut in what comes after the entries


def _found(match: re.Match[bytes] | None) -> bytes:
    return b"" if match is None else bytes(match[0])
