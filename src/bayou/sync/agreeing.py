"""What both sides agree on after a sync: markers that moved, parts of the index that hold nothing new any more."""

from bayou.domain.plan import Action, Step
from bayou.domain.scopes import EVERYTHING
from bayou.errors import BayouError
from bayou.remotes import Commit, Format
from bayou.remotes.objects import each
from bayou.remotes.parts import part_name
from bayou.sync import markers
from bayou.sync.agreed import Agreed
from bayou.sync.base import Known
from bayou.sync.ends import Ends
from bayou.sync.markers import Marker
from bayou.sync.mirror import Verified
from bayou.sync.planning import Planned, crosses, store_time
from bayou.sync.pushing import point_here
from bayou.sync.report import Report
from bayou.sync.scan import Scan


def agree(ends: Ends, agreed: Agreed, planned: Planned, *, pulled: bool) -> None:
    """Record what agrees: files that are the same on both sides, and the parts of which nothing is left to do."""
    base = ends.journal.base
    same = [step for step in planned.plan.steps if step.action is Action.AGREE]
    base.forget(path for step in same for path in step.unit.members if path not in step.local)
    base.agree((item for step in same for item in step.local.items()), as_of=planned.scan.sequence)
    there = planned.there
    if there.snapshot is None or planned.scope is not EVERYTHING:
        return
    still_open = _open_parts(ends, planned)
    parts = {name: None if name in still_open else there.snapshot.parts.get(name) for name in there.changed}
    is_complete = not still_open and there.snapshot.format is not Format.NONE
    agreed.record(parts, head=there.token if is_complete else None)
    if is_complete and pulled:
        head = there.head
        verified = Verified(
            etag=(head.monolith if head and head.format is Format.DUAL else "") or "",
            commit_seq=head.meta.commit_seq if head and head.meta and head.format is Format.SHARDED else None,
        )
        ends.journal.read_completely(store_time(ends, head), verified)


def agree_after(agreed: Agreed, planned: Planned, done: Commit) -> None:
    """The parts that a commit of ours changed: whoever knew one before knows it now."""
    known = agreed.parts()
    was_agreed = agreed.head() == planned.there.token
    parts = {name: after for name, (before, after) in done.parts.items() if known.get(name) == before}
    everything = len(parts) == len(done.parts)
    agreed.record(parts, head=done.token if done.alone and was_agreed and everything else None)


async def settle_markers(ends: Ends, planned: Planned, report: Report) -> None:
    """Move the markers of this cache that are behind; those that are ahead are for a push to tell of."""
    steps = markers.markers_of(planned)
    # Also what only a push will list: a marker never goes back behind a version that is on its way.
    coming = [step.unit.key for step in planned.plan.steps if step.action in (Action.PUSH, Action.READD)]
    going = [step.unit.key for step in planned.plan.steps if step.action in (Action.DELETE_REMOTE, Action.BURY)]
    versions = markers.versions_of(ends, planned, steps, coming, going)

    async def settle(step: Step) -> Marker | None:
        try:
            return await markers.settle(ends, step, versions[step.unit.key])
        except BayouError as error:
            report.failed[step.unit.key] = str(error)
            return None

    settled = [marker for marker in await each(ends.pulls, steps, settle) if marker is not None]
    theirs = [marker for marker in settled if marker.content is not None and not marker.is_news_there]
    same = [(marker.path, marker.sha256 or "") for marker in theirs if not marker.is_news_here]
    ends.journal.base.agree(same, as_of=planned.scan.sequence)
    report.pulled += await point_here(ends, planned, [marker for marker in theirs if marker.is_news_here], report)


def is_done(scan: Scan, known: Known | None, path: str) -> bool:
    """Whether what a scan saw here is what both sides hold now."""
    content = None if known is None else known.content
    if path in scan.local.files:
        return content == scan.local.files[path]
    if path in scan.evidence.deleted:
        return content is None
    return content is None or (known is not None and known.is_here and path not in scan.local.missing)


def _open_parts(ends: Ends, planned: Planned) -> set[str]:
    """Parts that say something that the base does not."""
    there = planned.there
    paths = there.paths
    if paths is None:
        listed = {path for part in there.changed for path in there.entries(part)}
        paths = frozenset(listed | {path for path in planned.base if part_name(path) in there.changed})
    known = ends.journal.base.get(paths)
    still_open = set()
    for path in paths:
        entry = there.entry(path)
        row = known.get(path)
        content = None if row is None else row.content
        if entry is None or not crosses(ends.tree.tiers, path):
            is_same = entry is not None or content is None
        else:
            is_same = content is not None and content == (entry.sha256 or planned.hashed.get(path, content))
        if not is_same:
            still_open.add(part_name(path))
    return still_open
