"""The stat cache: the hash of each file as long as it looks as it did when it was hashed (sync spec W-66).

A file can be changed so soon after it was read that its time stays the same. So nothing is remembered of a file that
changed within one tick of the disk's clock before it was read.
"""

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import apsw

from bayou.domain.content import ContentId
from bayou.sync.database import Database
from bayou.sync.facts import rows

TICK_NS = 12_000_000
"""More than the tick of any kernel whose disk keeps nanoseconds."""
_COARSE_TICK_NS = 2_000_000_000
_FINEST_OF_COARSE_NS = 1_000_000


class Stamp(NamedTuple):
    """How a file looks from outside. It changes with every change of content, since nobody sets a ctime."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    def tick_ns(self) -> int:
        """How far apart two changes must be to be told apart by it."""
        return TICK_NS if self.ctime_ns % _FINEST_OF_COARSE_NS else _COARSE_TICK_NS

    def is_racy(self, read_ns: int) -> bool:
        """Whether it may stay as it is if the file changes after it was read, at that time of the disk's clock."""
        return self.ctime_ns + self.tick_ns() > read_ns


class StatCache:
    def __init__(self, database: Database, namespace: str) -> None:
        self._database = database
        self._prefix = f"{namespace}/" if namespace else ""

    def known(self, found: Sequence[tuple[str, Stamp]]) -> dict[str, ContentId]:
        """The hashes of those that look as they did."""
        if not found:
            return {}
        paths = json.dumps([self._prefix + path for path, _ in found])
        found_rows = self._database.read(
            lambda connection: rows(
                connection,
                "SELECT stat.path, size, mtime_ns, ctime_ns, inode, content"
                " FROM json_each(?) AS asked CROSS JOIN stat ON stat.path = asked.value",
                (paths,),
            )
        )
        cut = len(self._prefix)
        known = {path[cut:]: (Stamp(*stamp), content) for path, *stamp, content in found_rows}
        return {
            path: known[path][1].hex() for path, stamp in found if path in known and known[path][0] == _storable(stamp)
        }

    def learn(self, files: Iterable[tuple[str, Stamp, ContentId]]) -> None:
        """Remember these. Whoever calls this has made sure that no stamp is racy: see `Stamp.is_racy`."""
        values = [(self._prefix + path, *_storable(stamp), bytes.fromhex(content)) for path, stamp, content in files]
        if values:
            self._database.write(lambda connection: _insert(connection, values))

    def forget(self, paths: Iterable[str]) -> None:
        values = [(self._prefix + path,) for path in paths]
        self._database.write(
            lambda connection: connection.executemany("DELETE FROM stat WHERE path = ?", values).fetchall()
        )


def _insert(connection: apsw.Connection, values: Sequence[tuple[object, ...]]) -> None:
    connection.executemany("INSERT OR REPLACE INTO stat VALUES(?, ?, ?, ?, ?, ?)", values)


def _storable(stamp: Stamp) -> Stamp:
    """Some disks number their inodes beyond what SQLite holds."""
    return stamp._replace(inode=stamp.inode & (2**63 - 1))
