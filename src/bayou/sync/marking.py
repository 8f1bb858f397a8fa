"""Marks: which paths may have changed since they were last shipped. The transactions that are about them.

The rules, each of which answers an interleaving (design/008):
- A change is marked before it is made (`begin`) and touched again when it is done (`end`), so that a scan in between
  cannot end its mark. In between it is open; an open mark outlives its process.
- A scan ends the marks that nobody touched since its snapshot, that were not open, and whose changes were shipped.
- Whoever marks and never says when it is done has five minutes.
"""

import os
import secrets
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

import apsw

from bayou.sync.facts import fact, row, rows, set_fact
from bayou.sync.machine import Machine, read_owner
from bayou.sync.schema import EVERYTHING

SETTLING = 5 * 60 * 1_000_000_000
"""Nanoseconds that a caller who never closes has between its mark and the end of its writes."""


class Kind(IntEnum):
    CHANGE = 0
    REMOVAL = 1
    INSTALL = 2
    """What sync itself brings: no news for the other side, unless it stops in the middle."""


class Mark(NamedTuple):
    path: str
    sequence: int
    since: int
    bare: bool
    """Its maker never says when it is done, nor why a file is gone."""
    can_end: bool
    """Whether a scan that begins now sees all of what it is about."""
    lingering: bool


class OpenMark(NamedTuple):
    id: int
    path: str
    kind: Kind


def below(path: str) -> tuple[str, str]:
    """The range of what is in a folder, in the order of SQLite; `0` is what follows `/`."""
    return (f"{path}/", f"{path}0") if path else ("", "\U0010ffff")


def at_or_below(path: str) -> list[tuple[str, str]]:
    """The ranges of a path and of what is in it. The two are apart: `a-b` is between `a` and `a/b`."""
    return [(path, f"{path}\0"), below(path)] if path else [below(path)]


def is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/") or folder == EVERYTHING


def next_sequence(connection: apsw.Connection) -> int:
    (updated,) = rows(connection, "UPDATE fact SET value = value + 1 WHERE name = 'sequence' RETURNING value")
    return int(updated[0])


def touch(  # noqa: PLR0913 - what a mark says
    connection: apsw.Connection,
    path: str,
    *,
    since: int,
    settles: int = 0,
    bare: bool = False,
    is_removal: bool = False,
) -> int:
    """Mark a path, or say that its mark is about more than before."""
    number = next_sequence(connection)
    connection.execute(
        "INSERT INTO dirty VALUES(?1, ?2, ?3, ?4, ?5, ?6, 0) ON CONFLICT(path) DO UPDATE SET sequence = ?2,"
        " since = CASE WHEN lingering THEN ?3 ELSE min(since, ?3) END, settles = max(settles, ?4),"
        " bare = CASE WHEN lingering THEN ?5 ELSE max(bare, ?5) END, removed = max(removed, ?6), lingering = 0",
        (path, number, since, settles, bare, number if is_removal else 0),
    )
    return number


def begin(connection: apsw.Connection, marks: Sequence[OpenMark], machine: Machine) -> None:
    owner, now = str(machine.process()), machine.monotonic_ns()
    for mark in marks:
        connection.execute(
            "INSERT OR REPLACE INTO open VALUES(?, ?, ?, ?, ?)", (mark.id, mark.path, owner, now, mark.kind)
        )
        if mark.kind is not Kind.INSTALL:
            touch(connection, mark.path, since=machine.time_ns(), is_removal=mark.kind is Kind.REMOVAL)
        if mark.kind is Kind.REMOVAL:
            _intend(connection, mark.path)


def end(connection: apsw.Connection, marks: Sequence[OpenMark], machine: Machine, cache: Path) -> None:
    for mark in marks:
        connection.execute("DELETE FROM open WHERE id = ?", (mark.id,))
        if mark.kind is not Kind.INSTALL:
            touch(connection, mark.path, since=machine.time_ns(), is_removal=mark.kind is Kind.REMOVAL)
        if mark.kind is Kind.REMOVAL:
            _resolve(connection, mark.path, cache)


def reap(connection: apsw.Connection, machine: Machine, cache: Path) -> None:
    """End the open marks of processes that are gone, whatever they had done by then."""
    found = rows(connection, "SELECT id, path, owner, since, kind FROM open")
    fate = {owner: machine.lives(read_owner(owner)) for owner in {each[2] for each in found}}
    patience = machine.monotonic_ns() - SETTLING
    for number, path, owner, since, kind in found:
        if fate[owner] is False or (fate[owner] is None and since < patience):
            mark = OpenMark(number, path, Kind(kind))
            end(connection, [mark], machine, cache)
            if mark.kind is Kind.INSTALL:
                touch(connection, path, since=machine.time_ns())


def restart(connection: apsw.Connection, machine: Machine) -> None:
    """The machine was started again: every process is gone, and the last marks may never have reached the disk."""
    touch(connection, EVERYTHING, since=machine.time_ns())
    connection.execute("UPDATE dirty SET settles = 0")
    set_fact(connection, "boot", machine.process().boot)


def snapshot(connection: apsw.Connection, machine: Machine) -> tuple[Mark, ...]:
    now = machine.monotonic_ns()
    found = rows(
        connection,
        # A time beyond the longest wait is of another run of the clock.
        "SELECT path, sequence, since, bare, (settles <= ?1 OR settles > ?2)"
        " AND NOT EXISTS (SELECT 1 FROM open WHERE open.path = dirty.path), lingering FROM dirty ORDER BY path",
        (now, now + SETTLING),
    )
    return tuple(
        Mark(path, sequence, since, bool(bare), bool(can_end), bool(lingering))
        for path, sequence, since, bare, can_end, lingering in found
    )


class Unshipped:
    """Paths that were not shipped, by what they are in."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = sorted(set(paths))

    def within(self, folder: str) -> Iterator[str]:
        first, end_ = below(folder)
        index = bisect_left(self._paths, folder)
        if index < len(self._paths) and self._paths[index] == folder:
            yield folder
        for path in self._paths[bisect_left(self._paths, first) :]:
            if path >= end_:
                return
            if path != folder:
                yield path


def acknowledge(
    connection: apsw.Connection, marks: Iterable[Mark], unshipped: Unshipped, machine: Machine, *, linger: bool
) -> None:
    """End what can be ended. What is left of a mark are the paths in it that were not shipped, each by itself."""
    for mark in marks:
        rest = list(unshipped.within(mark.path))
        if not mark.can_end or mark.path in rest or not _is_untouched(connection, mark):
            continue
        if linger and not mark.lingering:
            settles = machine.monotonic_ns() + SETTLING
            connection.execute(
                "UPDATE dirty SET lingering = 1, bare = 0, removed = 0, sequence = ?, settles = ? WHERE path = ?",
                (next_sequence(connection), settles, mark.path),
            )
        else:
            connection.execute("DELETE FROM dirty WHERE path = ?", (mark.path,))
        _forget_intents(connection, mark.path, set(rest))
        for path in rest:
            touch(connection, path, since=mark.since)
        if mark.path == EVERYTHING:
            set_fact(connection, "bootstrapped", 1)


def linger(connection: apsw.Connection, path: str, machine: Machine) -> None:
    """Look once more at what others may have taken for marked, when they can have written it."""
    connection.execute(
        "INSERT INTO dirty VALUES(?, ?, ?, ?, 0, 0, 1) ON CONFLICT(path) DO NOTHING",
        (path, next_sequence(connection), machine.time_ns(), machine.monotonic_ns() + SETTLING),
    )


def new_marks(paths: Iterable[str], kind: Kind) -> list[OpenMark]:
    # By chance, not counted: a journal that replaced this one must not take them for its own.
    return [OpenMark(secrets.randbits(62), path, kind) for path in paths]


def is_bootstrapped(connection: apsw.Connection) -> bool:
    return bool(fact(connection, "bootstrapped"))


def _is_untouched(connection: apsw.Connection, mark: Mark) -> bool:
    found = row(
        connection,
        "SELECT 1 FROM dirty WHERE path = ?1 AND sequence = ?2 AND NOT EXISTS (SELECT 1 FROM open WHERE path = ?1)",
        (mark.path, mark.sequence),
    )
    return found is not None


def _intend(connection: apsw.Connection, path: str) -> None:
    """Write down what of the base is about to be removed here, on purpose: path and content."""
    for span in at_or_below(path):
        connection.execute(
            "INSERT OR REPLACE INTO intent SELECT side, path, content FROM bound CROSS JOIN base USING(side)"
            " WHERE path >= ? AND path < ? AND content IS NOT NULL",
            span,
        )


def _resolve(connection: apsw.Connection, path: str, cache: Path) -> None:
    """Take back the intents of a removal that did not happen, or not wholly.

    Where nothing is left at its path it happened. Else what is there was not removed, and of what is not here anyway
    nobody can tell.
    """
    if not os.path.lexists(cache / path):
        return
    for span in at_or_below(path):
        found = rows(
            connection,
            "SELECT side, path, here FROM bound CROSS JOIN intent USING(side) LEFT JOIN base USING(side, path)"
            " WHERE path >= ? AND path < ?",
            span,
        )
        for side, intended, here in found:
            if not here or os.path.lexists(cache / intended):
                connection.execute("DELETE FROM intent WHERE side = ? AND path = ?", (side, intended))


def _forget_intents(connection: apsw.Connection, path: str, kept: set[str]) -> None:
    for span in at_or_below(path):
        found = rows(
            connection,
            "SELECT side, path FROM bound CROSS JOIN intent USING(side) WHERE path >= ? AND path < ?",
            span,
        )
        connection.executemany(
            "DELETE FROM intent WHERE side = ? AND path = ?", [each for each in found if each[1] not in kept]
        )
