"""What this machine remembers of an index: its parts, and the version of each object that delivered them.

One SQLite file below `_control/` of the cache, shared by all processes. Parts are kept by their digest, so that one
change of an index of a million entries writes one part, and a part that came with the monolith is known again when its
shard names it. All of it is derived and may be lost at any time: a file that is damaged is begun anew, and one that
cannot be used, as on a full disk, is done without.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec

from bayou.errors import BayouError, Unavailable
from bayou.remotes.parts import Part
from bayou.storage.sqliteerrors import DAMAGED, UNUSABLE, translate

_KEPT = 24 * 3600  # seconds that a part outlives its last use: a process may still be reading it
_PATIENCE = 60_000  # milliseconds
_LAYOUT = 1

_TABLES = """
CREATE TABLE body(digest TEXT PRIMARY KEY, content BLOB NOT NULL, unused_since INTEGER) WITHOUT ROWID;
CREATE TABLE shard(namespace TEXT, name TEXT, version TEXT NOT NULL, digest TEXT NOT NULL, seen TEXT NOT NULL,
  PRIMARY KEY(namespace, name)) WITHOUT ROWID;
CREATE TABLE piece(namespace TEXT, name TEXT, digest TEXT NOT NULL, PRIMARY KEY(namespace, name)) WITHOUT ROWID;
CREATE TABLE note(namespace TEXT, name TEXT, value BLOB NOT NULL, PRIMARY KEY(namespace, name)) WITHOUT ROWID;
"""


class Shard(NamedTuple):
    """A shard as it was last seen."""

    version: str
    digest: str
    seen: str
    """The version of the meta under which it was looked at."""


class Cache:
    """The memory of one cache folder; without a path, of this process only."""

    def __init__(self, path: Path | None = None) -> None:
        self._connection = _open(path)

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write several things in one transaction."""
        if self._is_writing():
            yield  # part of what is going on already
            return
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._is_writing():
                self._connection.execute("ROLLBACK")
            raise

    # Parts, by digest.

    def keep(self, part: Part) -> None:
        self._connection.execute(
            "INSERT INTO body VALUES (?, ?, NULL) ON CONFLICT DO UPDATE SET unused_since = NULL",
            (part.digest, part.body),
        )

    def part(self, digest: str) -> Part:
        found = self.find(digest)
        if found is None:
            raise Unavailable(
                "a part of the index that was read is no longer in the cache",
                remedy="Somebody cleared the cache meanwhile: run the command again.",
            )
        return found

    def find(self, digest: str) -> Part | None:
        """A part that may have been forgotten since."""
        row = self._connection.execute("SELECT content FROM body WHERE digest = ?", (digest,)).fetchone()
        return None if row is None else Part(row[0], digest)

    # Shards: what objects of their own were seen to hold.

    def shards(self, namespace: str) -> dict[str, Shard]:
        rows = self._connection.execute(
            "SELECT name, version, digest, seen FROM shard WHERE namespace = ?", (namespace,)
        )
        return {name: Shard(*rest) for name, *rest in rows}

    def shard(self, namespace: str, name: str) -> Shard | None:
        row = self._connection.execute(
            "SELECT version, digest, seen FROM shard WHERE namespace = ? AND name = ?", (namespace, name)
        ).fetchone()
        return None if row is None else Shard(*row)

    def saw_shard(self, namespace: str, name: str, part: Part, version: str, seen: str) -> None:
        with self.together():
            before = self.shard(namespace, name)
            self.keep(part)
            self._connection.execute(
                "INSERT INTO shard VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version,"
                " digest = excluded.digest, seen = excluded.seen",
                (namespace, name, version, part.digest, seen),
            )
            if before is not None:
                self._release([before.digest])

    def saw_shards(self, namespace: str, shards: Mapping[str, tuple[str, str]]) -> None:
        """These have, by digest, the content of parts that are known, and these versions."""
        known = self.shards(namespace)
        new = [
            (name, digest, version)
            for name, (digest, version) in shards.items()
            if name not in known or (known[name].digest, known[name].version) != (digest, version)
        ]
        with self.together():
            self._connection.executemany(
                "INSERT OR REPLACE INTO shard VALUES (?, ?, ?, ?, '')",
                ((namespace, name, version, digest) for name, digest, version in new),
            )
            self._release(known[name].digest for name, *_ in new if name in known)

    def carry_over(self, namespace: str, before: str, seen: str) -> None:
        """Whatever was looked at under one meta is the same under the next."""
        self._connection.execute(
            "UPDATE shard SET seen = ? WHERE namespace = ? AND seen = ?", (seen, namespace, before)
        )

    def saw_again(self, namespace: str, names: Iterable[str], seen: str) -> None:
        """These are, under another meta, as they were."""
        with self.together():
            self._connection.executemany(
                "UPDATE shard SET seen = ? WHERE namespace = ? AND name = ?", ((seen, namespace, n) for n in names)
            )

    # Pieces: the parts of the monolith.

    def pieces(self, namespace: str) -> dict[str, str]:
        """The digest of each part of the monolith, by name."""
        return dict(self._rows("SELECT name, digest FROM piece WHERE namespace = ?", (namespace,)))

    def saw_pieces(self, namespace: str, parts: Iterable[tuple[str, Part | str]]) -> dict[str, str]:
        """The monolith consists of these and no others; a digest stands for a part that is known. Gives all digests."""
        with self.together():
            before, digests = self.pieces(namespace), {}
            for name, part in parts:
                if isinstance(part, Part):
                    self.keep(part)
                digests[name] = part.digest if isinstance(part, Part) else part
            self._connection.executemany(
                "INSERT OR REPLACE INTO piece VALUES (?, ?, ?)",
                ((namespace, name, digest) for name, digest in digests.items() if before.get(name) != digest),
            )
            self._connection.executemany(
                "DELETE FROM piece WHERE namespace = ? AND name = ?",
                ((namespace, name) for name in before.keys() - digests.keys()),
            )
            self._release(digest for name, digest in before.items() if digests.get(name) != digest)
        return digests

    # Notes: anything else, as JSON.

    def note(self, namespace: str, name: str) -> Any:  # noqa: ANN401 - whoever wrote it knows
        row = self._connection.execute(
            "SELECT value FROM note WHERE namespace = ? AND name = ?", (namespace, name)
        ).fetchone()
        return None if row is None else msgspec.json.decode(row[0])

    def write_note(self, namespace: str, name: str, value: object) -> None:
        self._connection.execute(
            "INSERT OR REPLACE INTO note VALUES (?, ?, ?)", (namespace, name, msgspec.json.encode(value))
        )

    def forget(self, namespace: str) -> None:
        """All that was remembered of an index: it is another one now."""
        with self.together():
            for table in ("shard", "piece", "note"):
                self._connection.execute(f"DELETE FROM {table} WHERE namespace = ?", (namespace,))  # noqa: S608 - ours

    def forget_all(self) -> None:
        with self.together():
            for table in ("shard", "piece", "note"):
                self._connection.execute(f"DELETE FROM {table}")  # noqa: S608 - ours

    def _is_writing(self) -> bool:
        return self._connection.in_transaction

    def _release(self, digests: Iterable[str]) -> None:
        self._connection.executemany(
            "UPDATE body SET unused_since = ? WHERE digest = ?", ((int(time.time()), digest) for digest in digests)
        )

    def _rows(self, sql: str, bindings: tuple[object, ...]) -> list[tuple[str, str]]:
        return [(name, digest) for name, digest in self._connection.execute(sql, bindings)]


def _open(path: Path | None) -> apsw.Connection:
    if path is None:
        return _prepared(apsw.Connection(":memory:"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return _prepared(_File(str(path)))
        except DAMAGED:
            for suffix in ("", "-wal", "-shm"):
                with suppress(FileNotFoundError):
                    path.with_name(path.name + suffix).unlink()
            return _prepared(_File(str(path)))
    except (*UNUSABLE, OSError, BayouError):
        return _open(None)


class _File(apsw.Connection):
    """A disk may become full, or fail, at any statement."""

    def execute(self, *arguments: Any, **more: Any) -> apsw.Cursor:  # noqa: ANN401 - those of the base
        with self._translated():
            return super().execute(*arguments, **more)

    def executemany(self, *arguments: Any, **more: Any) -> apsw.Cursor:  # noqa: ANN401 - as above
        with self._translated():
            return super().executemany(*arguments, **more)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except UNUSABLE as error:
            raise translate(error, f"the cache of the index {self.filename}") from error


def _prepared(connection: apsw.Connection) -> apsw.Connection:
    try:
        connection.set_busy_timeout(_PATIENCE)
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "normal")
        connection.execute("BEGIN IMMEDIATE")
        if connection.pragma("user_version") != _LAYOUT:
            for (table,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
                connection.execute(f'DROP TABLE "{table}"')
            connection.execute(_TABLES)
            connection.pragma("user_version", _LAYOUT)
        connection.execute(
            "DELETE FROM body WHERE unused_since < ? AND digest NOT IN (SELECT digest FROM shard UNION ALL"
            " SELECT digest FROM piece)",
            (int(time.time()) - _KEPT,),
        )
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection
