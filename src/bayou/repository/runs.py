"""Workflow runs: one record for each, written whole at each step of it (repository spec 3.2).

Inputs may hold secrets, and a record is synced: `draft` takes out the values of keys that are called like secrets, and
of those that the caller names (weakness 46). What a step may leave as its output is limited (weakness 45): see
`bayou.wire.runs.check_output`.
"""

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from bayou.domain.runs import Run, RunStatus, RunSummary, redacted
from bayou.domain.runsteps import interrupted, planned
from bayou.errors import BayouError, Conflict, ErrorKind, NotFound, UsageError
from bayou.layout.places import LOCAL, run_log, runs_index
from bayou.layout.records import RunRecord, read_run
from bayou.repository.machines import writer_is_dead
from bayou.repository.outputs import DEAD, Unreadable
from bayou.repository.walking import FileAt, walk
from bayou.tree import Tree
from bayou.wire import runs
from bayou.wire.times import to_milliseconds, to_text

FOLDER = "workflow-runs"


class FoundRun(NamedTuple):
    path: str
    run: RunSummary


@dataclass(frozen=True, slots=True)
class RunPage:
    runs: tuple[FoundRun, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    next: str | None = None
    """What continues after this page, if anything does."""


def draft(  # noqa: PLR0913 - what is known of a run at its beginning
    workflow_id: str,
    workflow_name: str,
    jobs: Mapping[str, Iterable[str]],
    *,
    inputs: Mapping[str, Any] | None = None,
    secret: Iterable[str] = (),
    tags: Mapping[str, str] | None = None,
    with_log: bool = True,
    **known: Any,  # noqa: ANN401 - further fields of `Run`
) -> Run:
    """A run that has not begun, with an id of its own."""
    record = RunRecord(workflow_id, str(uuid.uuid4()))
    return Run(
        id=record.run_id,
        workflow_id=workflow_id,
        workflow_name=workflow_name,
        status=RunStatus.PENDING,
        jobs=planned(jobs),
        tags=dict(tags or {}),
        inputs=redacted(inputs or {}, secret),
        log_file=run_log(record) if with_log else None,
        **known,
    )


def create(tree: Tree, run: Run) -> Run:
    path = RunRecord(run.workflow_id, run.id).path
    _check_outputs(None, run)
    with tree.change(path) as change:
        if not change.create(path, runs.encode(run)):
            raise Conflict(f"the run {run.id} is recorded already", kind=ErrorKind.ALREADY_EXISTS)
    forget_index(tree, run.workflow_id)
    return run


def advance(tree: Tree, workflow_id: str, run_id: str, step: Callable[[Run], Run]) -> Run:
    """Take the record one step further: `step` is one of those in `bayou.domain.runsteps`."""
    path = RunRecord(workflow_id, run_id).path
    with tree.lock(path):
        return _advance(tree, path, step)


def read(tree: Tree, workflow_id: str, run_id: str) -> Run:
    """All of a run, with its jobs."""
    return _read(tree, RunRecord(workflow_id, run_id).path)


def find(tree: Tree, prefix: str) -> Run:
    """The run with this id, or the only one whose id begins like this. No other record is read."""
    matches = []
    for file in walk(tree, FOLDER, ".yaml"):
        record = _record(file.path)
        if record and record.run_id == prefix:
            return _read(tree, file.path)
        if record and prefix and record.run_id.startswith(prefix):
            matches.append(file.path)
    if len(matches) == 1:
        return _read(tree, matches[0])
    if matches:
        raise UsageError(f"{len(matches)} runs have an id that begins with {prefix!r}")
    raise NotFound(f"no run has the id {prefix!r}", kind=ErrorKind.RECORD_MISSING)


def listing(  # noqa: PLR0913 - what one may ask for
    tree: Tree,
    *,
    workflow_id: str | None = None,
    statuses: Collection[RunStatus] = (),
    since_ms: int | None = None,
    limit: int | None = None,
    after: str | None = None,
) -> RunPage:
    """The runs, newest first, without their jobs. A run that has not begun counts from when its record was written."""
    found: list[tuple[str, FoundRun]] = []
    unreadable: list[Unreadable] = []
    for file in walk(tree, FOLDER if workflow_id is None else f"{FOLDER}/{workflow_id}", ".yaml"):
        status = file.status()
        # A record is written after its run began, so an older file tells of an older run.
        if status is None or (since_ms is not None and status.st_mtime_ns < since_ms * 1_000_000):
            continue
        read = _summary(file)
        if isinstance(read, Unreadable):
            unreadable.append(read)
            continue
        if read is None or (statuses and read.run.status not in statuses):
            continue
        began = to_milliseconds(read.run.started_at or "")
        if since_ms is not None and began is not None and began < since_ms:
            continue
        moment = to_text(status.st_mtime_ns if began is None else began * 1_000_000)
        found.append((f"{moment} {file.path}", read))
    found.sort(reverse=True)
    page = [(key, run) for key, run in found if after is None or key < after]
    shown = page if limit is None else page[:limit]
    rest = shown[-1][0] if shown and len(shown) < len(page) else None
    return RunPage(tuple(run for _, run in shown), tuple(sorted(unreadable)), rest)


def is_stale(tree: Tree, found: FoundRun, here: str) -> bool:
    """Whether it says that it runs, and does not: its process ran here and is gone. A suspended run only waits."""
    run = found.run
    return run.status is RunStatus.RUNNING and writer_is_dead(tree, found.path, run.machine, run.pid, here)


def reconcile(tree: Tree, here: str, at: str) -> list[Run]:
    """Interrupt those whose process died without saying so, and give them back."""
    ended = []
    for file in walk(tree, FOLDER, ".yaml"):
        read = _summary(file)
        if not isinstance(read, FoundRun) or not is_stale(tree, read, here):
            continue
        with tree.lock(file.path):
            again = _summary(file)
            if isinstance(again, FoundRun) and is_stale(tree, again, here):
                ended.append(_advance(tree, file.path, lambda run: interrupted(run, at, DEAD)))
    return ended


def remove(tree: Tree, workflow_id: str, run_id: str) -> None:
    """Remove the record of a run; it need not be there. Folders that are empty then go too."""
    path = RunRecord(workflow_id, run_id).path
    with tree.removal(path) as change:
        change.remove(path)
        change.prune(path.rpartition("/")[0])
    forget_index(tree, workflow_id)


def remove_workflow(tree: Tree, workflow_id: str) -> int:
    """Remove the records of all runs of a workflow, and say how many there were."""
    records = [_record(file.path) for file in walk(tree, f"{FOLDER}/{workflow_id}", ".yaml")]
    for record in records:
        if record:
            remove(tree, workflow_id, record.run_id)
    return len(records)


def _advance(tree: Tree, path: str, step: Callable[[Run], Run]) -> Run:
    before = _read(tree, path)
    run = step(before)
    _check_outputs(before, run)
    with tree.change(path) as change:
        change.replace(path, runs.encode(run))
    forget_index(tree, path.split("/")[1])
    return run


def _check_outputs(before: Run | None, run: Run) -> None:
    for job in run.jobs:
        for step in job.steps:
            if step.output is not None and (before is None or before.step(job.job_name, step.step_name) != step):
                runs.check_output(step.step_name, step.output)


def _read(tree: Tree, path: str) -> Run:
    content = tree.read(path)
    if content is None:
        raise NotFound(f"no record {path!r}", kind=ErrorKind.RECORD_MISSING)
    run = runs.decode(content, path)
    record = _record(path)
    # Old files may not say whose they are; the path does.
    return run if run.id or record is None else msgspec.structs.replace(run, id=record.run_id)


def _summary(file: FileAt) -> FoundRun | Unreadable | None:
    try:
        content = file.read()
        if content is None:
            return None
        run = runs.decode_summary(content, file.path)
    except BayouError as error:
        return Unreadable(file.path, str(error))
    record = _record(file.path)
    return FoundRun(file.path, run if run.id or not record else msgspec.structs.replace(run, id=record.run_id))


def _record(path: str) -> RunRecord | None:
    try:
        return read_run(path.split("/"))
    except UsageError:
        return None


def forget_index(tree: Tree, workflow_id: str) -> None:
    """Let the existing clients, who keep a summary of these records beside the repo, make theirs anew.

    They would go on believing it: only a changed number of records makes them look again.
    """
    with suppress(OSError):
        (tree.local / runs_index(workflow_id).removeprefix(f"{LOCAL}/")).unlink()
