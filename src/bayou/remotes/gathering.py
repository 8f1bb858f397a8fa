"""Gathering: the parts of a monolith that comes in pieces, with its entries in any order.

What each piece says of a part is put down in a temporary file of SQLite until all have come: no part is whole before.
"""

from collections.abc import Iterator
from typing import Any, Self

import apsw

from bayou.remotes.parts import Part, grouped, joined, part_of, shard, stored
from bayou.wire.index import Index, encode_shard


class Gathering:
    def __init__(self) -> None:
        self._connection = apsw.Connection("")
        for name, value in (("journal_mode", "off"), ("synchronous", "off"), ("locking_mode", "exclusive")):
            self._connection.pragma(name, value)
        self._connection.execute("CREATE TABLE fragment(number INTEGER PRIMARY KEY, name TEXT, body BLOB)")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close(True)

    def add(self, piece: Index) -> None:
        rows = ((name, encode_shard(part)) for name, part in grouped(piece).items())
        with self._connection:
            self._connection.executemany("INSERT INTO fragment(name, body) VALUES(?, ?)", rows)

    def parts(self) -> Iterator[tuple[str, Part]]:
        """All parts, in the order in which the monolith first speaks of them."""
        self._connection.execute("CREATE INDEX of_part ON fragment(name)")
        for (name,) in self._rows("SELECT name FROM fragment GROUP BY name ORDER BY min(number)"):
            said = self._rows("SELECT body FROM fragment WHERE name = ? ORDER BY number", name)
            first, *more = [body for (body,) in said]
            yield name, part_of(joined(shard(body, name) for body in (first, *more))) if more else stored(first)

    def _rows(self, select: str, *bindings: str) -> list[Any]:
        return self._connection.execute(select, bindings).fetchall()
