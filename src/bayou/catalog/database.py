"""The file: connections that several threads and processes can use at once.

One connection writes, and the threads take turns on it; each reader has one of its own, so that whoever goes through
results slowly, and writes in between, neither waits nor sees half of it.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from bayou.catalog.schema import is_as_made, is_current, upgrade

PATIENCE = 60_000
"""Milliseconds. Transactions are short, so whoever waits that long waits for a stopped process."""

_IDLE = 4  # readers that are kept for the next question

Define = Callable[[apsw.Connection], None]


class Database:
    def __init__(self, path: Path, *, on_close: Callable[[], None] = lambda: None) -> None:
        self.path = path
        self._on_close = on_close
        self._turn = threading.RLock()
        self._definitions: dict[str, Define] = {}
        self._pid = os.getpid()
        self._idle: list[apsw.Connection] = []
        self._closed = False
        self._writer = self._connect()
        try:
            self._prepare()
            self._inode = path.stat().st_ino
        except BaseException:
            self._writer.close()
            raise

    def close(self) -> None:
        self._forget_parents()
        with self._turn:
            if self._closed:
                return
            self._closed = True
            while self._idle:
                self._idle.pop().close()
            self._writer.close()
            self._on_close()

    def is_at_its_path(self) -> bool:
        """Whether the file that is open is still the one of that name."""
        try:
            return self.path.stat().st_ino == self._inode
        except FileNotFoundError:
            return False

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """One transaction, which has the file for itself from the start: nothing read in it is out of date."""
        self._forget_parents()
        with self._turn:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                with _told_apart(self._writer):
                    yield self._writer
                    self._writer.execute("COMMIT")
            except BaseException:
                # A full disk may have rolled it back already.
                if self._writer.in_transaction:
                    with suppress(apsw.Error):
                        self._writer.execute("ROLLBACK")
                raise

    @contextmanager
    def alone(self) -> Iterator[apsw.Connection]:
        """The writing connection outside of transactions, for commands that want none."""
        self._forget_parents()
        with self._turn:
            yield self._writer

    @contextmanager
    def beside(self, name: str, content: bytes) -> Iterator[None]:
        """Let transactions of this thread find another database, in memory, by this name."""
        with self.alone() as connection:
            if name in connection.db_names():
                connection.execute(f"DETACH {name}")
            connection.execute(f"ATTACH ':memory:' AS {name}")
            try:
                connection.deserialize(name, content)
                yield
            finally:
                # One that was found to be damaged is closed. Where a statement was interrupted, the next one does it.
                with suppress(apsw.ConnectionClosedError, apsw.SQLError):
                    connection.execute(f"DETACH {name}")

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """A connection of one's own; what one statement reads is all of one moment."""
        self._forget_parents()
        connection = self._idle.pop() if self._idle else self._reader()
        try:
            with _told_apart(connection):
                yield connection
        except BaseException:
            connection.close(True)
            raise
        if self._closed or len(self._idle) >= _IDLE:
            connection.close(True)
        else:
            self._idle.append(connection)

    def define(self, name: str, definition: Define) -> None:
        """Give every reader something that SQLite does not have, such as a function."""
        with self._turn:
            if self._definitions.get(name) is not definition:
                self._definitions[name] = definition
                while self._idle:
                    self._idle.pop().close()

    def _reader(self) -> apsw.Connection:
        connection = self._connect()
        connection.pragma("query_only", True)
        for definition in self._definitions.values():
            definition(connection)
        return connection

    def _connect(self) -> apsw.Connection:
        connection = apsw.Connection(str(self.path))
        connection.set_busy_timeout(PATIENCE)
        # Whoever closes last would sync, and a command would wait for that. The log stays for the next to read.
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        # No mmap: a file that another process truncates would be a fault of the whole process. In WAL mode NORMAL never
        # syncs for a commit. A power failure may cost the last commits, never the whole; the files are the truth, and
        # their times show what is missing.
        connection.execute("PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16000; PRAGMA temp_store = MEMORY")
        return connection

    def _prepare(self) -> None:
        writer = self._writer
        if is_current(writer):
            return
        writer.pragma("synchronous", 0)  # there is nothing to lose yet
        if writer.pragma("journal_mode") != "wal":
            writer.pragma("journal_mode", "wal")
        with self.writing():
            if not is_current(writer):
                upgrade(writer)
        writer.pragma("synchronous", 1)

    def _forget_parents(self) -> None:
        """A process that was forked must leave its parent's connections alone, and not even close them."""
        if self._pid != os.getpid():
            _PARENTS.append((self._writer, self._idle))
            self._pid = os.getpid()
            self._turn = threading.RLock()
            self._idle = []
            self._writer = self._connect()


@contextmanager
def _told_apart(connection: apsw.Connection) -> Iterator[None]:
    """Say that the file is damaged where a statement cannot be right because the tables are not those that we made."""
    try:
        yield
    except (apsw.SQLError, apsw.ConstraintError) as error:
        if is_as_made(connection):
            raise
        raise apsw.CorruptError(str(error)) from error


_PARENTS: list[object] = []
