"""Conflicts: ours is kept aside, below `_control/conflicts`, when theirs takes its place, until somebody decides."""

from bayou.domain.plan import Step
from bayou.errors import ErrorKind, NotFound
from bayou.layout.places import conflict
from bayou.storage.files import write_body
from bayou.sync.ends import Ends
from bayou.sync.installing import lock_name
from bayou.sync.report import Report
from bayou.sync.reports import Kept
from bayou.wire.times import to_text


def give_up(ends: Ends, step: Step, report: Report, *, keep_aside: bool) -> None:
    """Drop ours, and what the base says about it, so that the next plan pulls theirs."""
    here = [path for path in step.unit.members if path in step.local]
    with ends.tree.lock(lock_name(step.unit.members[0])), ends.installs.change(*step.unit.members) as change:
        if keep_aside:
            for path in here:
                _keep(ends, step, path)
                report.conflicts.append(path)
        ends.journal.base.forget(step.unit.members)
        ends.journal.stats.forget(step.unit.members)
        for path in sorted(here):  # metadata before raw
            change.remove(path)
    ends.journal.changes.record(step.unit.members)


def take_theirs(ends: Ends, path: str) -> None:
    """What is there stays; ours is dropped for good."""
    _known(ends, path)
    (ends.journal.place.cache / conflict(_inside(ends, path))).unlink(missing_ok=True)
    ends.journal.reports.end_conflict(path)


def take_mine(ends: Ends, path: str) -> None:
    """Ours takes the place of theirs again, as a change that the next push delivers."""
    _known(ends, path)
    kept = ends.journal.place.cache / conflict(_inside(ends, path))
    with ends.tree.lock(lock_name(path)), ends.tree.change(path) as change:
        change.replace(path, kept.read_bytes())
    ends.journal.changes.record([path])
    take_theirs(ends, path)


def _keep(ends: Ends, step: Step, path: str) -> None:
    target = ends.journal.place.cache / conflict(_inside(ends, path))
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb", buffering=0) as file:
        write_body(ends.file(path), file)
    ends.journal.reports.set_conflict(
        Kept(path, step.local[path], step.remote.get(path) or "", to_text(ends.now()), step.reason.value)
    )


def _known(ends: Ends, path: str) -> None:
    if path not in {kept.path for kept in ends.journal.reports.conflicts()}:
        raise NotFound(
            f"there is no conflict over {path!r}",
            kind=ErrorKind.DATA_MISSING,
            remedy="List them: bayou conflicts list.",
        )


def _inside(ends: Ends, path: str) -> str:
    return f"{ends.namespace}/{path}" if ends.namespace else path
