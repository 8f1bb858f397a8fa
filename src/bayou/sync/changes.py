"""The change log: what sync changed in the cache, from which each clone's catalog catches up (design 4.7)."""

from collections.abc import Iterable
from typing import NamedTuple

import apsw

from bayou.sync.database import Database
from bayou.sync.facts import fact, rows, set_fact
from bayou.sync.marking import next_sequence

MOST = 200_000
"""Whoever lags behind by more is quicker with a sweep."""


class Position(NamedTuple):
    """How far somebody has read. The numbers of another journal mean nothing."""

    journal: str
    sequence: int


class ChangeLog:
    """Each path once, at its last change."""

    def __init__(self, database: Database, namespace: str, *, most: int = MOST) -> None:
        self._database = database
        self._prefix = f"{namespace}/" if namespace else ""
        self._most = most

    def record(self, paths: Iterable[str]) -> None:
        inside = [self._prefix + path for path in paths]

        def record(connection: apsw.Connection) -> None:
            number = next_sequence(connection)
            connection.executemany("INSERT OR REPLACE INTO change VALUES(?, ?)", [(path, number) for path in inside])
            self._shorten(connection)

        if inside:
            self._database.write(record)

    @property
    def position(self) -> Position:
        """Where the log ends now. Take it before you look at the files."""
        return self._database.read(_position)

    def since(self, position: Position | None) -> tuple[Position, list[str] | None]:
        """What changed since then, and where the log ends now. None: nobody knows any more, look at everything."""

        def since(connection: apsw.Connection) -> tuple[Position, list[str] | None]:
            end = _position(connection)
            floor = int(fact(connection, "change_floor") or 0)
            if position is None or position.journal != end.journal or not floor <= position.sequence <= end.sequence:
                return end, None
            select = "SELECT path FROM change WHERE sequence > ? ORDER BY sequence, path"
            found = rows(connection, select, (position.sequence,))
            cut = len(self._prefix)
            return end, [path[cut:] for (path,) in found if path.startswith(self._prefix)]

        return self._database.read(since)

    def _shorten(self, connection: apsw.Connection) -> None:
        ((count,),) = rows(connection, "SELECT count(*) FROM change")
        if count <= self._most:
            return
        select = "SELECT sequence FROM change ORDER BY sequence LIMIT 1 OFFSET ?"
        ((floor,),) = rows(connection, select, (count - self._most // 2,))
        connection.execute("DELETE FROM change WHERE sequence <= ?", (floor,))
        set_fact(connection, "change_floor", floor)


def _position(connection: apsw.Connection) -> Position:
    return Position(str(fact(connection, "journal")), int(fact(connection, "sequence")))
