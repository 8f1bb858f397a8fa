"""The base: what this machine last knew both sides to agree on, and what of it is here (design 4.2, sync spec BB1).

Paths are relative to the namespace, contents are hashes. Millions of rows: they are read as a stream and written in
small transactions, since each row is true by itself and others want to mark in between.
"""

import json
import os
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

import apsw

from bayou.domain.content import ContentId
from bayou.sync.database import Database
from bayou.sync.facts import Row, row, rows
from bayou.sync.marking import at_or_below, is_within

_Item = TypeVar("_Item")

_CHUNK = 1000
_PAUSE = 0.001  # seconds between chunks, longer than whoever wants to mark sleeps between two tries


_ROWS = (
    "SELECT path, content, here, wanted FROM bound CROSS JOIN base USING(side)"
    " WHERE namespace = ? AND path >= ? AND path < ? ORDER BY path"
)
_ABSENT = (
    "SELECT path, content, here, wanted FROM bound CROSS JOIN base USING(side)"
    " WHERE namespace = ? AND here = 0 AND path >= ? AND path < ? ORDER BY path"
)
_WANTED = _ABSENT.replace("here = 0", "here = 0 AND wanted")
_UNLIKE_BASE = (
    "SELECT listed.path FROM listed LEFT JOIN (bound CROSS JOIN base USING(side))"
    " ON namespace = ? AND base.path = listed.path WHERE base.content IS NULL OR base.content IS NOT listed.content"
)
_UNLISTED = (
    "SELECT path FROM bound CROSS JOIN base USING(side)"
    " WHERE namespace = ? AND content IS NOT NULL AND NOT EXISTS(SELECT 1 FROM listed WHERE listed.path = base.path)"
)


class Known(NamedTuple):
    path: str
    content: ContentId | None
    """None: wanted, but not known to both sides yet."""
    is_here: bool
    is_wanted: bool


Write = Callable[[Callable[[apsw.Connection], None]], None]


class BaseRows:
    """The base of the side that the namespace is bound to. Without a side it is empty, and takes nothing."""

    def __init__(
        self,
        database: Database,
        write: Write,
        number: Callable[[apsw.Connection], int],
        cache: Path,
        namespace: str,
    ) -> None:
        self._database = database
        self._write = write
        self._number = number
        self._cache = cache
        self._namespace = namespace
        self._prefix = f"{namespace}/" if namespace else ""

    def agree(self, files: Iterable[tuple[str, ContentId]], *, as_of: int) -> None:
        """Both sides hold this now, and it is here. `as_of`: the sequence of the scan that it was found by.

        What was removed here since that scan, on purpose, is to be deleted there as well: now it is known what.
        """

        def agree(connection: apsw.Connection, chunk: Sequence[tuple[str, ContentId]]) -> None:
            side = self._number(connection)
            removals = rows(connection, "SELECT path FROM dirty WHERE removed > ?", (as_of,))
            self._put(connection, side, chunk, here=True)
            for path, content in chunk if removals else ():
                inside = self._prefix + path
                is_removed = any(is_within(inside, folder) for (folder,) in removals)
                if is_removed and not os.path.lexists(self._cache / inside):
                    connection.execute("INSERT INTO intent VALUES(?, ?, ?)", (side, inside, bytes.fromhex(content)))

        self._in_chunks(files, agree)

    def know(self, files: Iterable[tuple[str, ContentId]]) -> None:
        """Both sides agree on this, and the content is not here: metadata-only pulls, and what only the base learns."""

        def know(connection: apsw.Connection, chunk: Sequence[tuple[str, ContentId]]) -> None:
            self._put(connection, self._number(connection), chunk, here=False)

        self._in_chunks(files, know)

    def forget(self, paths: Iterable[str]) -> None:
        """Neither side holds this any more."""

        def forget(connection: apsw.Connection, chunk: Sequence[str]) -> None:
            side = self._number(connection)
            keys = [(side, self._prefix + path) for path in chunk]
            connection.executemany("DELETE FROM base WHERE side = ? AND path = ?", keys)
            connection.executemany("DELETE FROM intent WHERE side = ? AND path = ?", keys)

        self._in_chunks(paths, forget)

    def want(self, paths: Iterable[str], *, wanted: bool = True) -> None:
        """These are to be here: a pull that finds nothing new still has them to fetch (sync spec W-24)."""

        def want(connection: apsw.Connection, chunk: Sequence[str]) -> None:
            side = self._number(connection)
            for path in chunk:
                connection.execute(
                    "INSERT INTO base VALUES(?1, ?2, NULL, 0, ?3, NULL)"
                    " ON CONFLICT(side, path) DO UPDATE SET wanted = ?3",
                    (side, self._prefix + path, wanted),
                )
            connection.execute(
                "DELETE FROM base WHERE side = ? AND here = 0 AND content IS NULL AND NOT wanted", (side,)
            )

        self._in_chunks(paths, want)

    def set_here(self, paths: Iterable[str], *, is_here: bool) -> None:
        """The content is in the cache now, or is about to leave it: before the file is removed, so that a crash in
        between never looks like a file that vanished, and existing clients are told in time.
        """

        def set_here(connection: apsw.Connection, chunk: Sequence[str]) -> None:
            side = self._number(connection)
            connection.executemany(
                "UPDATE base SET here = ? WHERE side = ? AND path = ?",
                [(is_here, side, self._prefix + path) for path in chunk],
            )

        self._in_chunks(paths, set_here)

    def get(self, paths: Iterable[str]) -> dict[str, Known]:
        """What is known of these paths; nothing for those that are unknown."""
        select = (
            "SELECT base.path, content, here, wanted FROM bound CROSS JOIN json_each(?) AS asked CROSS JOIN base"
            " ON base.side = bound.side AND base.path = asked.value WHERE namespace = ?"
        )
        asked = json.dumps([self._prefix + path for path in paths])
        found = self._database.read(lambda connection: rows(connection, select, (asked, self._namespace)))
        return {known.path: known for known in map(self._known, found)}

    def saw(self, versions: Iterable[tuple[str, str]]) -> None:
        """The store calls what the base holds at these paths so: what replaces it can be put on that condition."""

        def saw(connection: apsw.Connection, chunk: Sequence[tuple[str, str]]) -> None:
            side = self._number(connection)
            connection.executemany(
                "UPDATE base SET version = ? WHERE side = ? AND path = ?",
                [(version, side, self._prefix + path) for path, version in chunk],
            )

        self._in_chunks(versions, saw)

    def versions(self, paths: Iterable[str]) -> dict[str, tuple[ContentId, str]]:
        """What the base holds at these paths, and what the store calls that; nothing where nobody knows."""
        select = (
            "SELECT base.path, content, version FROM bound CROSS JOIN json_each(?) AS asked CROSS JOIN base"
            " ON base.side = bound.side AND base.path = asked.value"
            " WHERE namespace = ? AND content IS NOT NULL AND version IS NOT NULL"
        )
        asked = json.dumps([self._prefix + path for path in paths])
        found = self._database.read(lambda connection: rows(connection, select, (asked, self._namespace)))
        return {path[len(self._prefix) :]: (content.hex(), version) for path, content, version in found}

    def count(self) -> int:
        """How many files both sides hold."""
        select = "SELECT count(*) FROM bound CROSS JOIN base USING(side) WHERE namespace = ? AND content IS NOT NULL"
        ((found,),) = self._database.read(lambda connection: rows(connection, select, (self._namespace,)))
        return int(found)

    def absent_count(self) -> int:
        """Of how many of them the content is not here."""
        select = (
            "SELECT count(*) FROM bound CROSS JOIN base USING(side)"
            " WHERE namespace = ? AND here = 0 AND content IS NOT NULL"
        )
        ((found,),) = self._database.read(lambda connection: rows(connection, select, (self._namespace,)))
        return int(found)

    def files(self, within: str = "") -> Iterator[tuple[str, ContentId]]:
        """Paths and contents, in the order of the paths; of all, or of a file or a folder."""
        return ((known.path, known.content) for known in self.rows(within) if known.content is not None)

    def rows(self, within: str = "", *, after: str = "") -> Generator[Known]:
        return self._rows(_ROWS, [within], after)

    def absent(self, within: str = "", *, wanted: bool = False) -> Generator[Known]:
        """What is not here; `wanted`: as far as somebody wants it. Costs nothing where all is here."""
        return self._rows(_WANTED if wanted else _ABSENT, [within])

    def files_in(self, folders: Collection[str]) -> list[tuple[str, ContentId]]:
        """Paths and contents of many folders, all of one moment."""
        if not folders:
            return []
        return [(known.path, known.content) for known in self._rows(_ROWS, folders) if known.content is not None]

    def has_absent(self) -> bool:
        """Whether anything that both sides know is not here (sync spec 4.9): one look, however much there is."""
        with closing(self.absent()) as rows:
            return any(known.content is not None for known in rows)

    def differing(self, listed: Iterable[tuple[str, ContentId | None]], is_about: Callable[[str], bool]) -> set[str]:
        """The paths at which it says something else than what is listed; of what is not listed those that this is
        about. What is listed comes as a stream and is put down beside the base, so millions agree in little memory.
        """
        rows = ((self._prefix + path, content and bytes.fromhex(content)) for path, content in listed)
        with self._database.stream() as connection:
            connection.execute("CREATE TEMP TABLE listed(path PRIMARY KEY, content) WITHOUT ROWID")
            connection.executemany("INSERT OR REPLACE INTO listed VALUES(?, ?)", rows)
            found = {self._outside(row) for row in connection.execute(_UNLIKE_BASE, (self._namespace,))}
            unlisted = (self._outside(row) for row in connection.execute(_UNLISTED, (self._namespace,)))
            return found.union(filter(is_about, unlisted))

    def knows(self, path: str) -> bool:
        """Whether it knows a file of this path, or one in a folder of this path."""

        def knows(connection: apsw.Connection) -> bool:
            inside = self._prefix + path
            return any(
                row(
                    connection,
                    "SELECT 1 FROM bound CROSS JOIN base USING(side)"
                    " WHERE namespace = ? AND path >= ? AND path < ? AND content IS NOT NULL LIMIT 1",
                    (self._namespace, first, end),
                )
                for first, end in at_or_below(inside)
            )

        return self._database.read(knows)

    def intents(self) -> dict[str, ContentId]:
        """What was removed here on purpose since the base learned of it."""

        def intents(connection: apsw.Connection) -> dict[str, ContentId]:
            found = rows(
                connection,
                "SELECT path, content FROM bound CROSS JOIN intent USING(side) WHERE namespace = ?",
                (self._namespace,),
            )
            return {path[len(self._prefix) :]: content.hex() for path, content in found}

        return self._database.read(intents)

    def _rows(self, select: str, folders: Iterable[str], after: str = "") -> Generator[Known]:
        with self._database.stream() as connection:
            for within in folders:
                for first, end in at_or_below(self._prefix + within if within else self._namespace):
                    begin = max(first, f"{self._prefix}{after}\0") if after else first
                    for each in connection.execute(select, (self._namespace, begin, end)):
                        yield self._known(each)

    def _outside(self, found: Row) -> str:
        path: str = found[0]
        return path[len(self._prefix) :]

    def _known(self, found: Row) -> Known:
        path, content, here, wanted = found
        return Known(path[len(self._prefix) :], None if content is None else content.hex(), bool(here), bool(wanted))

    def _put(
        self, connection: apsw.Connection, side: int, files: Sequence[tuple[str, ContentId]], *, here: bool
    ) -> None:
        connection.executemany(
            "INSERT INTO base VALUES(?1, ?2, ?3, ?4, ?4, NULL) ON CONFLICT(side, path) DO UPDATE"
            " SET version = CASE WHEN content = ?3 THEN version END, content = ?3, here = ?4, wanted = max(wanted, ?4)",
            [(side, self._prefix + path, bytes.fromhex(content), here) for path, content in files],
        )
        connection.executemany(
            "DELETE FROM intent WHERE side = ? AND path = ?", [(side, self._prefix + path) for path, _ in files]
        )

    def _in_chunks(self, items: Iterable[_Item], work: Callable[[apsw.Connection, Sequence[_Item]], None]) -> None:
        remaining = iter(items)
        chunk = tuple(islice(remaining, _CHUNK))
        while chunk:
            following = tuple(islice(remaining, _CHUNK))
            self._write(lambda connection, chunk=chunk: work(connection, chunk))  # type: ignore[misc]
            if following:
                time.sleep(_PAUSE)
            chunk = following
