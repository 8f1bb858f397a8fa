"""The ledger: what bucket, index, base and cache say of each path, side by side.

It lies in a temporary file of SQLite, so that a datastore of a million files is compared within the same memory as one
of ten. Each side is written in the order in which it comes; lines are read in the order of their paths.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple, Self

import apsw

from bayou.domain.content import ContentId
from bayou.domain.entries import Entry
from bayou.storage.port import ObjectMeta
from bayou.sync.base import Known
from bayou.sync.stats import Stamp

_PAGE = 1000

_COLUMNS = (
    "path, listed_size, listed, object_size, object, version, modified_ns, base, is_here, file_size, file, is_buried,"
    " is_deleted"
)
_TABLE = f"CREATE TABLE line({_COLUMNS}, PRIMARY KEY(path)) WITHOUT ROWID"

# What to ask for.
LISTED = "listed_size IS NOT NULL"
DOUBTFUL = "listed_size IS NOT NULL AND object_size IS NOT listed_size"
ORPHANED = "listed_size IS NULL AND object_size IS NOT NULL"
STORED = "listed_size IS NOT NULL AND object_size IS NOT NULL"
OF_BUCKET = "listed_size IS NOT NULL OR object_size IS NOT NULL"


class Line(NamedTuple):
    """All that is known of one path. None: that side does not have it, or nobody looked."""

    path: str
    listed_size: int | None
    listed: ContentId | None
    """The hash in the index, where the entry has one."""
    object_size: int | None
    object: ContentId | None
    version: str | None
    modified_ns: int | None
    """When the object was written, by the store's clock."""
    base: ContentId | None
    is_here: bool
    """Whether the base says that it is in the cache."""
    file_size: int | None
    file: ContentId | None
    is_buried: bool
    """Whether there is a tombstone of this path."""
    is_deleted: bool
    """Whether it was deleted here on purpose, and nobody was told yet."""


class Ledger:
    def __init__(self) -> None:
        self._connection = apsw.Connection("")
        for name, value in (("journal_mode", "off"), ("synchronous", "off"), ("locking_mode", "exclusive")):
            self._connection.pragma(name, value)
        self._connection.execute(_TABLE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close(True)

    def list_entries(self, entries: Mapping[str, Entry]) -> None:
        rows = ((path, entry.size, entry.sha256) for path, entry in entries.items())
        self._put("listed_size, listed", rows)

    def list_objects(self, objects: Iterable[tuple[str, ObjectMeta]]) -> None:
        rows = ((path, meta.size, meta.version, nanoseconds(meta)) for path, meta in objects)
        self._put("object_size, version, modified_ns", rows)

    def forget_object(self, path: str) -> None:
        self._put("object_size, version, modified_ns", [(path, None, None, None)])

    def hash_objects(self, contents: Iterable[tuple[str, ContentId | None]]) -> None:
        self._put("object", contents)

    def list_base(self, rows: Iterable[Known]) -> None:
        self._put("base, is_here", ((known.path, known.content, known.is_here) for known in rows))

    def list_files(self, files: Iterable[tuple[str, Stamp, ContentId | None]]) -> None:
        self._put("file_size, file", ((path, stamp.size, content) for path, stamp, content in files))

    def bury(self, paths: Iterable[str]) -> None:
        """These have tombstones."""
        self._put("is_buried", ((path, True) for path in paths))

    def delete(self, paths: Iterable[str]) -> None:
        self._put("is_deleted", ((path, True) for path in paths))

    def leave_out(self, folder: str) -> None:
        """What lies in this folder belongs to somebody else, unless our index lists it."""
        bounds = (f"{folder}/", f"{folder}0")
        self._connection.execute("DELETE FROM line WHERE path >= ? AND path < ? AND listed_size IS NULL", bounds)

    def lines(self, where: str = "TRUE", *, within: str = "") -> Iterator[Line]:
        """Page by page, so that whoever reads may write what he finds out. `within` is a folder."""
        last: Any = f"{within}/" if within else ""
        end = f"{within}0" if within else "\U0010ffff"
        select = f"SELECT {_COLUMNS} FROM line WHERE path > ? AND path < ? AND ({where}) ORDER BY path LIMIT {_PAGE}"  # noqa: S608 - ours
        while page := self._connection.execute(select, (last, end)).fetchall():
            for row in page:
                yield _line(row)
            last = page[-1][0]

    def find(self, path: str) -> Line | None:
        row = self._connection.execute(f"SELECT {_COLUMNS} FROM line WHERE path = ?", (path,)).fetchone()  # noqa: S608 - ours
        return None if row is None else _line(row)

    def _put(self, columns: str, rows: Iterable[tuple[Any, ...]]) -> None:
        names = columns.split(", ")
        sets = ", ".join(f"{name} = excluded.{name}" for name in names)
        marks = ", ".join("?" * (len(names) + 1))
        insert = f"INSERT INTO line(path, {columns}) VALUES({marks}) ON CONFLICT(path) DO UPDATE SET {sets}"
        remaining = iter(rows)
        while page := list(islice(remaining, _PAGE)):
            with self._connection:
                self._connection.executemany(insert, page)


def nanoseconds(meta: ObjectMeta) -> int:
    return int(meta.modified.timestamp() * 1000) * 1_000_000


def _line(row: tuple[Any, ...]) -> Line:
    line = Line(*row)
    return line._replace(is_here=bool(line.is_here), is_buried=bool(line.is_buried), is_deleted=bool(line.is_deleted))
