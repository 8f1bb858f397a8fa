"""Conflicts: ours is kept aside, below `_control/conflicts`, when theirs takes its place, until somebody decides."""

import hashlib
from contextlib import suppress
from pathlib import Path

from bayou.domain.content import ContentId
from bayou.domain.plan import Step
from bayou.storage.files import write_body
from bayou.sync.deciding import kept_at
from bayou.sync.ends import Ends
from bayou.sync.installing import Expected, lock_name
from bayou.sync.planning import Planned
from bayou.sync.report import Report
from bayou.sync.reports import Kept
from bayou.wire.times import to_text


def give_up(ends: Ends, planned: Planned, step: Step, report: Report, *, keep_aside: bool) -> None:
    """Drop ours, and what the base says about it, so that the next plan pulls theirs.

    Where it is not what was planned with any more, it stays: the next plan is about what it is now.
    """
    members = step.unit.members
    expected = Expected(step.local, planned.local.files)
    with ends.tree.lock(lock_name(members[0])), ends.installs.change(*members) as change:
        if not expected.holds(ends, members):
            return
        here = [path for path in members if path in step.local and ends.installs.size(path) is not None]
        if keep_aside:
            for path in here:
                _keep(ends, step, path)
                report.conflicts.append(path)
        ends.journal.base.forget(members)
        ends.journal.stats.forget(members)
        for path in sorted(here):  # metadata before raw
            change.remove(path)
    ends.journal.changes.record(members)


def _keep(ends: Ends, step: Step, path: str) -> None:
    target = kept_at(ends.journal, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    _make_room(target, step.local[path])
    with target.open("wb", buffering=0) as file:
        write_body(ends.file(path), file)
    ends.journal.reports.set_conflict(
        Kept(path, step.local[path], step.remote.get(path) or "", to_text(ends.now()), step.reason.value)
    )


def _make_room(target: Path, content: ContentId) -> None:
    """What an earlier conflict over the same path left there, and nobody decided about, stays beside it by its hash."""
    with suppress(FileNotFoundError), target.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != content:
            target.replace(target.with_name(f"{target.name[:50]}.{found[:16]}"))  # short enough for any disk
