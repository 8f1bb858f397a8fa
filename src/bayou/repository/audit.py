"""Audit: which commands were run, and what was done with secrets; a file for each UTC day and machine.

They go through the datastore as everything else does (weakness 49), unless the settings keep them here. Several
processes append to one file. Each line of ours names the one before it (weakness 50); that takes a look at the end of
the file, so it is done under the file's lock; where there is no lock to be had the line is written all the same,
without a link.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Generic, TypeVar

import msgspec

from bayou.errors import BayouError, UsageError
from bayou.layout.audit import AuditKind, AuditLog, read_audit
from bayou.repository.walking import FileAt, walk, walk_local
from bayou.tree import Tree
from bayou.wire import auditlines
from bayou.wire.auditlines import FIRST, CommandEntry, Entry, VaultEntry
from bayou.wire.times import to_milliseconds, to_text

FOLDER = "audit"

_DAY_MS = 24 * 3600 * 1000
_CHUNK = 4096
_VAULT_KINDS = frozenset({AuditKind.VAULT, AuditKind.VAULT_READS})

E = TypeVar("E", CommandEntry, VaultEntry)


@dataclass(frozen=True, slots=True)
class Entries(Generic[E]):
    entries: Sequence[E]
    """In the order of their times."""
    skipped: int = 0
    """Lines that are no entries."""


def record(tree: Tree, machine: str, entry: Entry) -> str | None:
    """Append an entry to the log of its day. It never fails its caller: what went wrong comes back as text."""
    try:
        _append(tree, machine, entry)
    except BayouError as error:
        return f"not recorded in the audit log: {error}"
    return None


def commands(tree: Tree, since_ms: int, until_ms: int | None = None) -> Entries[CommandEntry]:
    """The commands of a window of time, from the logs of all machines and clients."""
    files = _files(tree, {AuditKind.COMMANDS}, since_ms, until_ms)
    return _entries(files, auditlines.decode_command, since_ms, until_ms)


def vault_accesses(  # noqa: PLR0913 - what one may ask for
    tree: Tree,
    since_ms: int,
    until_ms: int | None = None,
    *,
    vault: str | None = None,
    key: str | None = None,
    action: str | None = None,
    limit: int | None = None,
) -> Entries[VaultEntry]:
    """What was done with secrets in a window of time; with a limit, the last of it."""
    found = _entries(_files(tree, _VAULT_KINDS, since_ms, until_ms), auditlines.decode_vault, since_ms, until_ms)
    wanted = [
        entry
        for entry in found.entries
        if vault in {None, entry.vault_name} and key in {None, entry.secret_key} and action in {None, entry.action}
    ]
    return Entries(wanted if limit is None else wanted[max(len(wanted) - limit, 0) :], found.skipped)


def is_recorded(action: str, *, audit_reads: bool) -> bool:
    """Whether an access to a vault belongs into its log: reading only where the vault wants it."""
    return action != "get" or audit_reads


def expired(tree: Tree, today: date, keep_days: int, kinds: Iterable[AuditKind] = (AuditKind.COMMANDS,)) -> list[str]:
    """The logs that are older than so many days, by the date in their names."""
    wanted, first = frozenset(kinds), today - timedelta(days=keep_days)
    logs = ((file.path, _log(file)) for file in walk(tree, FOLDER, ".jsonl"))
    return sorted(path for path, log in logs if log and log.kind in wanted and log.day < first)


def drop(tree: Tree, paths: Iterable[str]) -> None:
    """Remove these logs, as `expired` names them."""
    for path in paths:
        with tree.removal(path) as change:
            change.remove(path)


@dataclass(frozen=True, slots=True)
class Verified:
    """What the links between the lines of a log tell."""

    path: str
    lines: int
    unlinked: int
    """Lines without a link, as other clients write them: nothing can be said about these."""
    breaks: Sequence[int] = ()
    """Numbers of lines, from 1, that do not follow the line before them."""


def verify(tree: Tree) -> list[Verified]:
    """Check every log that has a link in it. A log whose last lines were cut off, or that is gone, does not show."""
    return sorted(
        (found for file in walk(tree, FOLDER, ".jsonl") if (found := _verified(file))), key=lambda found: found.path
    )


def _append(tree: Tree, machine: str, entry: Entry) -> None:
    moment = to_milliseconds(entry.timestamp)
    if moment is None:
        raise UsageError(f"{entry.timestamp!r} is no time")
    kind = AuditKind.COMMANDS if isinstance(entry, CommandEntry) else AuditKind.VAULT
    path = AuditLog(kind, _day(moment), machine).path
    with ExitStack() as held:
        content = auditlines.encode(entry)
        with suppress(BayouError):
            held.enter_context(tree.lock(path))
            last, is_whole = _last_line(tree, path)
            content = auditlines.encode(entry, FIRST if last is None else auditlines.link(last))
            if not is_whole:
                content = b"\n" + content  # what a dead process began to write must not swallow our line
        with tree.change(path) as change:
            change.append(path, content)


def _last_line(tree: Tree, path: str) -> tuple[bytes | None, bool]:
    """The last line of a log, without its end, and whether it has one."""
    with tree.open(path) as file:
        if file is None:
            return None, True
        size = end = file.seek(0, os.SEEK_END)
        tail = b""
        while end > 0:
            start = max(end - _CHUNK, 0)
            file.seek(start)
            tail = file.read(end - start) + tail
            end = start
            if b"\n" in tail[:-1]:
                break
    whole = tail.endswith(b"\n")
    lines = tail.removesuffix(b"\n").split(b"\n")
    return (lines[-1], whole) if size else (None, True)


def _files(tree: Tree, kinds: Iterable[AuditKind], since_ms: int, until_ms: int | None) -> Iterator[FileAt]:
    """The logs of these days, also those that older clients left beside the repo."""
    wanted = frozenset(kinds)
    # A day more at each end: whoever wrote them may have meant days of its own time zone.
    first = _day(since_ms - _DAY_MS)
    last = date.max if until_ms is None else _day(until_ms + _DAY_MS)
    met = set()
    for files in (walk(tree, FOLDER, ".jsonl"), walk_local(tree, FOLDER, ".jsonl")):
        for file in files:
            log = _log(file)
            if file.place not in met and log and log.kind in wanted and first <= log.day <= last:
                met.add(file.place)
                yield file


def _entries(
    files: Iterable[FileAt], decode: Callable[[bytes], E | None], since_ms: int, until_ms: int | None
) -> Entries[E]:
    found: list[tuple[int, E]] = []
    skipped = 0
    for file in files:
        for line in (file.read() or b"").split(b"\n"):
            if not line.strip():
                continue
            entry = decode(line)
            moment = to_milliseconds(entry.timestamp) if entry else None
            if entry is None or moment is None:
                skipped += 1
            elif since_ms <= moment and (until_ms is None or moment < until_ms):
                found.append((moment, entry))
    found.sort(key=lambda timed: timed[0])
    return Entries([entry for _, entry in found], skipped)


def _verified(file: FileAt) -> Verified | None:
    lines = (file.read() or b"").removesuffix(b"\n").split(b"\n")
    before, breaks, unlinked, links = FIRST, [], 0, 0
    for number, line in enumerate(lines, start=1):
        prev = _link_of(line)
        if prev is None:
            unlinked += 1
        else:
            links += 1
            if prev != before:
                breaks.append(number)
        before = auditlines.link(line)
    return Verified(file.path, len(lines), unlinked, breaks) if links else None


def _link_of(line: bytes) -> str | None:
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found.get("prev") if isinstance(found, dict) else None


def _log(file: FileAt) -> AuditLog | None:
    return read_audit(file.path.split("/"))


def _day(milliseconds: int) -> date:
    return datetime.fromisoformat(to_text(milliseconds * 1_000_000)).astimezone(UTC).date()
