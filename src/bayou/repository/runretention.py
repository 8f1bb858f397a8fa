"""Retention of run records (repository spec 3.9): a plan, which a dry run shows and a real run carries out.

What has not come to its end is never removed, nor what cannot be read. A log leaves with its record. Those of existing
clients are called some milliseconds earlier than the record and were left behind (weakness 47): of these, each goes
that is old enough itself and that no record which stays can be about.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from bayou.errors import BayouError, UsageError
from bayou.layout.places import LOCAL, run_log
from bayou.layout.records import read_run, start_of
from bayou.repository import outputs, runs
from bayou.repository.outputs import Unreadable
from bayou.repository.walking import FileAt, walk, walk_local
from bayou.storage.oserrors import translated
from bayou.tree import Tree
from bayou.wire import outputs as outputs_wire
from bayou.wire import runs as runs_wire
from bayou.wire.times import to_milliseconds

DEFAULT_DAYS = 30
DAY_MS = 24 * 3600 * 1000

_SAME_START_MS = 60_000  # between the name of an existing client's log and that of its record


@dataclass(frozen=True, slots=True)
class Doomed:
    """A record that goes, with the logs that go with it; or a log whose record is gone already."""

    file: FileAt
    size: int
    mtime_ns: int
    logs: tuple["Doomed", ...] = ()

    @property
    def total(self) -> int:
        return self.size + sum(log.size for log in self.logs)


@dataclass(frozen=True, slots=True)
class RunGc:
    """What goes, or went."""

    runs: Sequence[Doomed] = ()
    outputs: Sequence[Doomed] = ()
    orphans: Sequence[Doomed] = ()
    """Logs of outputs that have no record any more."""
    failed: Sequence[Unreadable] = field(default=(), compare=False)
    """Records that could not be read, or not be removed, and why."""

    def report(self, *, dry_run: bool) -> dict[str, object]:
        """In the names and the order of the specification."""
        of_runs = sum(doomed.total for doomed in self.runs)
        of_outputs = sum(doomed.total for doomed in (*self.outputs, *self.orphans))
        return {
            "workflowRunsDeleted": len(self.runs),
            "workflowRunBytesReclaimed": of_runs,
            "outputsDeleted": len(self.outputs),
            "outputBytesReclaimed": of_outputs,
            "totalBytesReclaimed": of_runs + of_outputs,
            "dryRun": dry_run,
        }


def plan(tree: Tree, now_ms: int, older_than_ms: int = DEFAULT_DAYS * DAY_MS) -> RunGc:
    """Say what came to its end before the cutoff."""
    if older_than_ms < 0:
        raise UsageError("run records cannot be kept for less than no time")
    cutoff_ms = now_ms - older_than_ms
    failed: list[Unreadable] = []
    of_runs = [
        replace(doomed, logs=tuple(_run_logs(tree, doomed.file)))
        for doomed in _doomed(walk(tree, runs.FOLDER, ".yaml"), cutoff_ms, _run_end, failed)
    ]
    records = list(walk(tree, outputs.FOLDER, ".yaml"))
    of_outputs = list(_doomed(records, cutoff_ms, _output_end, failed))
    logs, orphans = _output_logs(tree, records, {doomed.file.path for doomed in of_outputs}, cutoff_ms)
    of_outputs = [replace(doomed, logs=tuple(logs[doomed.file.path])) for doomed in of_outputs]
    return RunGc(of_runs, of_outputs, orphans, sorted(failed))


def carry_out(tree: Tree, plan: RunGc) -> RunGc:
    """Remove what the plan names, except what changed since, and say what is gone. One failure stops no other."""
    failed = list(plan.failed)

    def removed(doomed: Sequence[Doomed]) -> list[Doomed]:
        gone = []
        for one in doomed:
            try:
                if _remove(tree, one):
                    gone.append(one)
            except BayouError as error:
                failed.append(Unreadable(one.file.path, str(error)))
        return gone

    done = RunGc(removed(plan.runs), removed(plan.outputs), removed(plan.orphans), failed)
    for workflow_id in {doomed.file.path.split("/")[1] for doomed in done.runs}:
        runs.forget_index(tree, workflow_id)
    return done


def _doomed(
    files: Iterable[FileAt],
    cutoff_ms: int,
    end_of: Callable[[bytes, str], tuple[bool, str | None]],
    failed: list[Unreadable],
) -> Iterator[Doomed]:
    for file in files:
        found = _found(file)
        if found is None or found.mtime_ns >= cutoff_ms * 1_000_000:
            continue
        try:
            content = file.read()
            if content is None:
                continue
            is_over, when = end_of(content, file.path)
        except BayouError as error:
            failed.append(Unreadable(file.path, str(error)))
            continue
        # A record without any time is as old as its file.
        ended_ms = to_milliseconds(when or "")
        if is_over and (ended_ms is None or ended_ms < cutoff_ms):
            yield found


def _run_end(content: bytes, path: str) -> tuple[bool, str | None]:
    run = runs_wire.decode_summary(content, path)
    return run.status.is_end, run.completed_at or run.started_at


def _output_end(content: bytes, path: str) -> tuple[bool, str | None]:
    output = outputs_wire.decode(content, path)
    return output.is_over, output.started_at


def _found(file: FileAt) -> Doomed | None:
    status = file.status()
    return Doomed(file, status.st_size, status.st_mtime_ns) if status else None


def _run_logs(tree: Tree, file: FileAt) -> Iterator[Doomed]:
    with suppress(UsageError):
        record = read_run(file.path.split("/"))
        if record:
            log = run_log(record).removeprefix(f"{LOCAL}/")
            found = _found(FileAt(log, str(tree.local / log)))
            if found:
                yield found


def _output_logs(
    tree: Tree, records: Iterable[FileAt], doomed: set[str], cutoff_ms: int
) -> tuple[dict[str, list[Doomed]], list[Doomed]]:
    """The logs that go with a record, by its path, and those that go alone.

    A log is about the record of its own name; else about the next one of the same execution's folder and model, if that
    began soon after.
    """
    begun: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for record in records:
        named = start_of(record.path)
        if named:
            begun[named[0]].append((named[1], record.path))
    logs: dict[str, list[Doomed]] = defaultdict(list)
    orphans: list[Doomed] = []
    for file in walk_local(tree, outputs.FOLDER, ".log"):
        named, found = start_of(file.path), _found(file)
        if named is None or found is None:
            continue
        whose, start = named
        owners = [owner for owner in begun[whose] if start <= owner[0] <= start + _SAME_START_MS]
        if owners:
            path = min(owners)[1]
            if path in doomed:
                logs[path].append(found)
        elif start < cutoff_ms and found.mtime_ns < cutoff_ms * 1_000_000:
            orphans.append(found)
    return logs, orphans


def _remove(tree: Tree, doomed: Doomed) -> bool:
    path = doomed.file.path
    with tree.lock(path):
        if _found(doomed.file) != replace(doomed, logs=()):
            return False
        for one in (*doomed.logs, doomed):  # the record last: what was left undone is then planned again
            _remove_file(tree, one.file)
    return True


def _remove_file(tree: Tree, file: FileAt) -> None:
    place = Path(file.place)
    if tree.locate(file.path) == place:
        with tree.removal(file.path) as change:
            change.remove(file.path)
            change.prune(file.path.rpartition("/")[0])
        return
    # A log beside the repo, which no datastore has.
    with translated(file.path), suppress(FileNotFoundError):
        place.unlink()
    with suppress(OSError):
        for folder in place.relative_to(tree.local).parents[:-2]:
            (tree.local / folder).rmdir()
