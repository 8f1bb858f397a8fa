"""The file of the journal: transactions of many threads and processes, and what happens when the file is damaged.

It is the truth about this machine only. Losing it costs a walk and deletes nothing, so a damaged one is set aside and a
new one begun, whoever notices first; the others notice that theirs is no longer the file of that name, and do again
what they did to the old one.
"""

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import apsw

from bayou.errors import ErrorKind, Unavailable, Unsupported
from bayou.storage.sqliteerrors import DAMAGED, translated
from bayou.sync import schema
from bayou.sync.facts import rows

Create = Callable[[apsw.Connection, bool], None]
"""Fills new tables; it hears whether there was a file before."""
Notice = Callable[[str], None]

_Result = TypeVar("_Result")

_PATIENCE = 30.0  # seconds; transactions are short, so whoever waits that long waits for a stopped process
_PAUSE = 0.0003
_PAGES_IN_LOG = 4000  # 16 MiB: so few marks pay for a checkpoint, which syncs to the disk
_PARENTS: list[apsw.Connection] = []


class _NotOursError(Exception):
    """A database, but not one that this module made."""


class Database:
    def __init__(self, path: Path, create: Create, *, notice: Notice, full_sync: bool) -> None:
        self._path = path
        self._create = create
        self._notice = notice
        self._full_sync = full_sync
        self._turn = threading.RLock()
        self._pid = os.getpid()
        self._connection: apsw.Connection | None = None
        self._inode = -1

    def close(self) -> None:
        """It opens again when it is used again."""
        self._forget_parent()
        with self._turn:
            if self._connection is not None:
                self._connection.close(True)
            self._connection = None

    def write(self, work: Callable[[apsw.Connection], _Result]) -> _Result:
        """Do the work in one transaction. It is done again where the file was replaced under it; it must bear that."""
        return self._do(work, "BEGIN IMMEDIATE")

    def read(self, work: Callable[[apsw.Connection], _Result]) -> _Result:
        """One look, all of one moment."""
        return self._do(work, "BEGIN")

    @contextmanager
    def stream(self) -> Iterator[apsw.Connection]:
        """A connection of one's own, for whoever goes through millions of rows while others write."""
        self.read(lambda connection: connection.execute("SELECT count(*) FROM fact").fetchall())
        with translated(f"the journal {self._path}"):
            connection = self._connect()
            try:
                connection.execute("BEGIN")
                yield connection
            except DAMAGED as error:
                self._replace(str(error))
                message = f"the journal {self._path} was damaged and set aside"
                raise Unavailable(message, remedy="Run the command again: it walks the cache once.") from error
            finally:
                connection.close(True)

    def _do(self, work: Callable[[apsw.Connection], _Result], begin: str) -> _Result:
        self._forget_parent()
        with self._turn, translated(f"the journal {self._path}"):
            while True:
                connection = self._opened()
                try:
                    result = _transact(connection, work, begin)
                except DAMAGED as error:
                    self._replace(str(error))
                    continue
                # After the commit, not before: what was written to a file that is no longer the journal is done again.
                if self._is_at_its_path():
                    return result
                self.close()

    def _opened(self) -> apsw.Connection:
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._one_at_a_time():
                self._connection = self._open()
        return self._connection

    def _forget_parent(self) -> None:
        """A process that was forked must leave its parent's connection alone, and not even close it."""
        if self._pid != os.getpid():
            if self._connection is not None:
                _PARENTS.append(self._connection)
            self._connection, self._pid, self._turn = None, os.getpid(), threading.RLock()

    def _open(self) -> apsw.Connection:
        try:
            connection = self._prepared()
        except (*DAMAGED, _NotOursError) as error:
            self._set_aside(str(error))
            connection = self._prepared(replaces=True)
        self._inode = self._path.stat().st_ino
        return connection

    def _prepared(self, *, replaces: bool = False) -> apsw.Connection:
        replaces = replaces or self._path.exists()
        connection = self._connect()
        try:
            if not self._has_tables(connection):
                connection.pragma("journal_mode", "wal")
                _transact(connection, lambda new: self._begin(new, replaces=replaces), "BEGIN IMMEDIATE")
        except BaseException:
            connection.close(True)
            raise
        return connection

    def _has_tables(self, connection: apsw.Connection) -> bool:
        version = connection.pragma("user_version")
        ((tables,),) = rows(connection, "SELECT count(*) FROM sqlite_schema WHERE type = 'table'")
        if not version and not tables:
            return False
        if connection.pragma("application_id") != schema.APPLICATION:
            raise _NotOursError("it is no journal")
        if version > schema.VERSION:
            raise Unsupported(
                f"the journal {self._path} is of a newer release of Bayou",
                kind=ErrorKind.UNKNOWN_FORMAT,
                remedy="Use that release with this cache.",
            )
        if tables != schema.COUNT:
            raise _NotOursError("tables are missing")
        return True

    def _begin(self, connection: apsw.Connection, *, replaces: bool) -> None:
        connection.execute(schema.TABLES)
        self._create(connection, replaces)
        connection.pragma("application_id", schema.APPLICATION)
        connection.pragma("user_version", schema.VERSION)

    def _connect(self) -> apsw.Connection:
        connection = apsw.Connection(str(self._path))
        connection.set_busy_handler(_wait)
        # In WAL mode NORMAL never syncs for a commit. A power failure may cost the last marks, and so the first push
        # after a boot walks; where nobody can tell one boot from another, each commit is synced.
        connection.pragma("synchronous", "full" if self._full_sync else "normal")
        connection.pragma("wal_autocheckpoint", _PAGES_IN_LOG)
        connection.pragma("cache_size", -16000)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # it would sync at the end of every command
        return connection

    def _is_at_its_path(self) -> bool:
        try:
            return self._path.stat().st_ino == self._inode
        except FileNotFoundError:
            return False

    def _replace(self, why: str) -> None:
        """Set the file that is open aside, unless somebody else already did."""
        with self._one_at_a_time():
            if self._is_at_its_path():
                self._set_aside(why)
        self.close()

    def _set_aside(self, why: str) -> None:
        aside = f"{self._path.name}.damaged-{time.time_ns()}"
        # The log first: without its file it is nothing, and a new file must never meet it.
        for suffix in ("-wal", "-shm", ""):
            with suppress(FileNotFoundError):
                self._path.with_name(self._path.name + suffix).rename(self._path.with_name(aside + suffix))
        self._notice(f"the journal {self._path} was damaged ({why}); it is kept as {aside}, and the next push walks")

    @contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        """Among processes: who makes the file, or replaces it."""
        fd = os.open(self._path.with_name(f"{self._path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)


def _transact(connection: apsw.Connection, work: Callable[[apsw.Connection], _Result], begin: str) -> _Result:
    connection.execute(begin)
    try:
        result = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        # A full disk may have rolled it back already.
        if connection.in_transaction:
            with suppress(apsw.Error):
                connection.execute("ROLLBACK")
        raise
    return result


def _wait(tries: int) -> bool:
    """SQLite's own waits grow to 100 ms, which is long for a mark; whoever writes much pauses for less than this."""
    time.sleep(_PAUSE)
    return tries * _PAUSE < _PATIENCE
