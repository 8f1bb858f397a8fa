"""The journal of a cache: what changed here and was not shipped, what both sides last agreed on, and what sync did.

One file for all processes of a machine (`bayou.sync.database`). Its rules are in `bayou.sync.marking`; design/008 has
the interleavings that they answer.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePath
from typing import Self, TypeVar
from uuid import uuid4

import apsw
import msgspec

from bayou.domain.content import ContentId
from bayou.domain.namespaces import SOLO, check_namespace
from bayou.domain.scopes import EVERYTHING as EVERY_MODEL
from bayou.domain.scopes import Scope
from bayou.errors import UsageError
from bayou.layout.places import JOURNAL
from bayou.layout.relative import in_cache
from bayou.layout.safety import fault
from bayou.sync import marking
from bayou.sync.base import BaseRows
from bayou.sync.changes import ChangeLog
from bayou.sync.database import Database, Notice
from bayou.sync.facts import fact, row, rows, set_fact
from bayou.sync.machine import THIS_MACHINE, Machine
from bayou.sync.marking import SETTLING, Kind, Mark, Unshipped
from bayou.sync.mirror import Mirror, Verified
from bayou.sync.reports import Reports
from bayou.sync.scan import Place, Scan, missing, scan
from bayou.sync.schema import EVERYTHING
from bayou.sync.stats import StatCache
from bayou.sync.walk import Check
from bayou.tree.marks import Close
from bayou.tree.tiers import Tiers

_Result = TypeVar("_Result")

_CHUNK = 500
_DAY = len("2026-11-02")
_REMEMBERED_NS = 7 * 24 * 3600 * 1_000_000_000
"""How long after its last write an existing client may still be about to trust what the sidecar said."""


class Side(msgspec.Struct, frozen=True):
    """The other side of a base: another store, prefix or namespace says nothing about this one."""

    store: str
    prefix: str = ""
    namespace: str = SOLO

    def __str__(self) -> str:
        return f"{self.store}/{self.prefix}/{self.namespace}"


@dataclass(frozen=True, slots=True)
class Status:
    dirty: int
    """How many paths are marked: files, or folders in which something may have changed."""
    paths: tuple[str, ...]
    """Some of them."""
    walks: bool
    """Whether the next push looks at everything."""
    is_bootstrapped: bool


class Journal:
    """Bound to one cache and namespace. It listens to the tree (`bayou.tree.Marks`). Paths are relative to the
    namespace, except those of `mark_dirty`.
    """

    def __init__(
        self,
        cache: Path,
        namespace: str = SOLO,
        *,
        tiers: Tiers = Tiers(),  # noqa: B008 - a frozen value
        machine: Machine = THIS_MACHINE,
        notice: Notice = lambda _: None,
    ) -> None:
        self.namespace = check_namespace(namespace)
        self._cache = cache
        self._machine = machine
        self._prefix = f"{namespace}/" if namespace else ""
        full_sync = not machine.process().boot
        self._database = Database(cache / JOURNAL, self._create, notice=notice, full_sync=full_sync)
        self._mirror = Mirror(cache, machine)
        self._bound: Side | None = None
        self.base = BaseRows(self._database, self._write, self._side_number, cache, namespace)
        self.stats = StatCache(self._database, namespace)
        self.changes = ChangeLog(self._database, namespace)
        self.reports = Reports(self._database, namespace)
        self._place = Place(cache, namespace, self.base, self.stats, tiers)
        if self._database.read(lambda connection: fact(connection, "boot")) != machine.process().boot:
            self._database.write(lambda connection: marking.restart(connection, machine))

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Marks.

    def changing(self, paths: Sequence[str]) -> Close:
        return self._begin(paths, Kind.CHANGE)

    def removing(self, paths: Sequence[str]) -> Close:
        return self._begin(paths, Kind.REMOVAL)

    def installing(self, paths: Sequence[str]) -> Close:
        """For sync's own writes: no change to ship, but one to look at if this process dies before it is recorded."""
        return self._begin(paths, Kind.INSTALL)

    def mark_dirty(self, rel_path: str | PurePath | None = None) -> None:
        """Say that this file or folder is about to change, or with no path that anything may (sync spec 3).

        The path is relative to the cache, or absolute below it. Cheap, and safe to call again and again. Call it before
        the write, and end the write within five minutes; `changing` knows no such limit. If the file is gone at the
        next push, it was deleted on purpose.
        """
        path = self._marked(rel_path)
        settles = self._machine.monotonic_ns() + SETTLING

        def mark(connection: apsw.Connection) -> None:
            since = self._machine.time_ns()
            marking.touch(connection, path, since=since, settles=settles, bare=path != EVERYTHING)
            self._mirror.keep(connection, added=[path])

        self._do(mark)

    def snapshot(self) -> tuple[int, tuple[Mark, ...]]:
        """What is marked now, by whomever, and the number to tell later marks by."""

        def snapshot(connection: apsw.Connection) -> tuple[int, tuple[Mark, ...]]:
            self._mirror.keep(connection)
            marking.reap(connection, self._machine, self._cache)
            self._mirror.keep(connection)
            return int(fact(connection, "sequence")), marking.snapshot(connection, self._machine)

        return self._do(snapshot)

    def scan(self, *, everything: bool = False, scope: Scope = EVERY_MODEL, check: Check = lambda: None) -> Scan:
        """Look at what is marked now, or at everything because somebody wants it."""
        if everything:
            self.mark_everything()
        sequence, marks = self.snapshot()
        return scan(self._place, marks, sequence, scope=scope, check=check, pause=self._machine.pause)

    def mark_everything(self) -> None:
        """Let the next push walk. Unlike `mark_dirty` it says nothing of writes to come."""

        def mark(connection: apsw.Connection) -> None:
            marking.touch(connection, EVERYTHING, since=self._machine.time_ns())
            self._mirror.keep(connection, added=[EVERYTHING])

        self._do(mark)

    def acknowledge(self, scan: Scan, unshipped: Collection[str] = ()) -> None:
        """End the marks of a scan whose changes both sides hold now, except for these paths.

        The base must already say so: after a crash in between, everything is looked at once more and found to agree.
        """
        paths = [self._prefix + path for path in (*unshipped, *scan.failed, *scan.unsettled)]
        rest = Unshipped(paths)
        marks = iter(scan.marks)
        while chunk := tuple(islice(marks, _CHUNK)):
            self._do(lambda connection, chunk=chunk: self._acknowledge(connection, chunk, rest))  # type: ignore[misc]

    def status(self, some: int = 20) -> Status:
        def status(connection: apsw.Connection) -> Status:
            self._mirror.keep(connection)
            found = rows(connection, "SELECT path FROM dirty WHERE NOT lingering ORDER BY path")
            paths = [path for (path,) in found]
            walks = row(connection, "SELECT 1 FROM dirty WHERE path = ?", (EVERYTHING,)) is not None
            shown = tuple(path for path in paths if path)[:some]
            return Status(len(paths), shown, walks, marking.is_bootstrapped(connection))

        return self._do(status)

    # The other side.

    def bind(self, side: Side) -> None:
        """Say what the base is about from now on. The base of any other store, prefix or namespace stays unread.

        A store that took another's place (same prefix and namespace, another id) ends what was known of that one.
        """
        if side.namespace != self.namespace:
            raise UsageError(f"the journal is bound to namespace {self.namespace!r}, not {side.namespace!r}")
        self._bound = side
        self._do(self._bind)

    @property
    def side(self) -> Side | None:
        """What the base is about, as far as anybody has said."""
        select = "SELECT store, prefix FROM bound JOIN side ON id = side WHERE bound.namespace = ?"
        found = self._database.read(lambda connection: row(connection, select, (self.namespace,)))
        return Side(found[0], found[1], self.namespace) if found else None

    def begin_base(self, as_of: str) -> None:
        """A base that is still empty knows all tombstones there are for what is in it."""
        self._database.write(
            lambda connection: connection.execute(
                "UPDATE side SET as_of = ? WHERE as_of = '' AND id = (SELECT side FROM bound WHERE namespace = ?)"
                " AND NOT EXISTS (SELECT 1 FROM base WHERE base.side = side.id AND content IS NOT NULL)",
                (as_of, self.namespace),
            ).fetchall()
        )

    @property
    def as_of(self) -> str:
        """Since when the base knows all tombstones (`bayou.domain.sides.Base`)."""
        select = "SELECT as_of FROM bound JOIN side ON id = side WHERE bound.namespace = ?"
        found = self._database.read(lambda connection: row(connection, select, (self.namespace,)))
        return found[0] if found else ""

    def read_completely(self, as_of: str, verified: Verified) -> None:
        """A sync of everything read the remote at this time by the store's clock, and recorded all of it."""

        def read(connection: apsw.Connection) -> None:
            connection.execute(
                "UPDATE side SET as_of = ? WHERE id = (SELECT side FROM bound WHERE namespace = ?)",
                (as_of, self.namespace),
            )
            self._mirror.keep(connection, verified=verified)

        self._do(read)

    def read_again(self, as_of: str) -> None:
        """The same, and nothing had changed there since. Written down once a day."""
        if self.as_of[:_DAY] < as_of[:_DAY]:
            self._database.write(
                lambda connection: connection.execute(
                    "UPDATE side SET as_of = ? WHERE id = (SELECT side FROM bound WHERE namespace = ?)",
                    (as_of, self.namespace),
                ).fetchall()
            )

    def installed(self, files: Mapping[str, ContentId], *, as_of: int) -> None:
        """Sync put these files into the cache. In this order, so that a crash in between is only found out again."""
        self.changes.record(files)
        self.base.agree(files.items(), as_of=as_of)

    def removed(self, paths: Collection[str]) -> None:
        """Sync removed these files from the cache, since they were deleted elsewhere."""
        self.changes.record(paths)
        self.stats.forget(paths)
        self.base.forget(paths)

    def missing(
        self, *, scope: Scope = EVERY_MODEL, check: Check = lambda: None, after: str = "", most: int | None = None
    ) -> tuple[set[str], str]:
        """What ought to be here and is not, found by listing folders (sync spec W-52)."""
        return missing(self._place, scope=scope, check=check, after=after, most=most)

    @property
    def place(self) -> Place:
        return self._place

    def absence_is_announced(self) -> bool:
        """Whether existing clients know by now that files which are not here were not deleted."""

        def is_announced(connection: apsw.Connection) -> bool:
            if not self._is_shared(connection):
                return True
            since = fact(connection, "lazy_since")
            # A time in the future is of another run of the clock.
            return since is not None and not 0 <= self._machine.monotonic_ns() - int(since) < SETTLING

        return self._database.read(is_announced)

    def announce_absence(self) -> None:
        """Tell existing clients that files may be missing here: some time before the first one is."""

        def announce(connection: apsw.Connection) -> None:
            set_fact(connection, "lazy_until_verified", 1)
            self._mirror.keep(connection)

        self._do(announce)

    # How it is done.

    def _create(self, connection: apsw.Connection, replaces: bool) -> None:  # noqa: FBT001 - one caller
        set_fact(connection, "journal", str(uuid4()))
        set_fact(connection, "boot", self._machine.process().boot)
        # Never a number of a journal before: somebody may still be about to acknowledge one of those.
        set_fact(connection, "sequence", self._machine.time_ns())
        set_fact(connection, "bootstrapped", 0)
        # Never compared with anything (W-28). Where a journal was lost, so were marks of changes still to come.
        settles = self._machine.monotonic_ns() + SETTLING if replaces else 0
        marking.touch(connection, EVERYTHING, since=self._machine.time_ns(), settles=settles)

    def _begin(self, paths: Sequence[str], kind: Kind) -> Close:
        inside = [self._prefix + path for path in paths]
        marks = marking.new_marks(inside, kind)
        added = [] if kind is Kind.INSTALL else inside

        def begin(connection: apsw.Connection) -> None:
            marking.begin(connection, marks, self._machine)
            self._mirror.keep(connection, added=added)

        def end(connection: apsw.Connection) -> None:
            marking.end(connection, marks, self._machine, self._cache)
            self._mirror.keep(connection, added=added)

        self._do(begin)
        return lambda: self._do(end)

    def _acknowledge(self, connection: apsw.Connection, marks: Sequence[Mark], rest: Unshipped) -> None:
        # First what others marked meanwhile.
        self._mirror.keep(connection)
        is_shared = self._is_shared(connection)
        said_anything = self._mirror.says_anything()
        marking.acknowledge(connection, marks, rest, self._machine, linger=is_shared)
        self._mirror.keep(connection)
        if is_shared and said_anything and not self._mirror.says_anything():
            marking.linger(connection, EVERYTHING, self._machine)

    def _is_shared(self, connection: apsw.Connection) -> bool:
        """Whether an existing client may have read the sidecar: what it found marked there it does not mark again."""
        seen = fact(connection, "client_seen")
        return seen is not None and self._machine.time_ns() - int(seen) < _REMEMBERED_NS

    def _marked(self, rel_path: str | PurePath | None) -> str:
        """What `mark_dirty` is about: the path relative to the cache, or everything where that is not clear."""
        if rel_path is None:
            return EVERYTHING
        try:
            path = in_cache(PurePath(self._cache), rel_path)
        except UsageError:
            return EVERYTHING
        return EVERYTHING if not path or fault(path) else path

    def _bind(self, connection: apsw.Connection) -> None:
        side = self._bound
        assert side is not None  # noqa: S101 - for the type checker
        where = (side.store, side.prefix, side.namespace)
        before = row(
            connection,
            "SELECT id, store, prefix FROM bound JOIN side ON id = side WHERE bound.namespace = ?",
            (self.namespace,),
        )
        if before is not None and before[1:] == (side.store, side.prefix):
            return
        connection.execute("INSERT OR IGNORE INTO side(store, prefix, namespace, as_of) VALUES(?, ?, ?, '')", where)
        connection.execute(
            "INSERT OR REPLACE INTO bound SELECT namespace, id FROM side"
            " WHERE store = ? AND prefix = ? AND namespace = ?",
            where,
        )
        if before is not None and before[1:] == ("", side.prefix):
            # The same store, which had no id when it was last asked for one.
            connection.execute("DELETE FROM side WHERE store = ? AND prefix = ? AND namespace = ?", where)
            connection.execute("UPDATE side SET store = ? WHERE id = ?", (side.store, before[0]))
            connection.execute("UPDATE bound SET side = ? WHERE namespace = ?", (before[0], self.namespace))
            return
        # Nothing is known to have been shipped there.
        marking.touch(connection, EVERYTHING, since=self._machine.time_ns())
        if before is not None and before[2] == side.prefix:
            for table in ("base", "intent", "note"):
                connection.execute(f"DELETE FROM {table} WHERE side = ?", before[:1])  # noqa: S608 - of these three
            connection.execute("DELETE FROM side WHERE id = ?", before[:1])
        self._mirror.keep(connection)

    def _side_number(self, connection: apsw.Connection) -> int:
        """The side that is bound: also in a journal that took this one's place while nobody looked."""
        for _ in range(2):
            found = row(connection, "SELECT side FROM bound WHERE namespace = ?", (self.namespace,))
            if found is not None:
                return int(found[0])
            if self._bound is not None:
                self._bind(connection)
        raise UsageError("the journal knows no other side yet", remedy="Bind it to the store first.")

    def _write(self, work: Callable[[apsw.Connection], None]) -> None:
        """A change of what is known of the other side, and so perhaps of what existing clients must be told."""

        def write(connection: apsw.Connection) -> None:
            work(connection)
            self._mirror.keep(connection)

        self._do(write)

    def _do(self, work: Callable[[apsw.Connection], _Result]) -> _Result:
        try:
            return self._database.write(work)
        except BaseException:
            self._mirror.forget()
            raise
