"""What both sides agree on after a sync: markers that moved, parts of the index that hold nothing new any more."""

from bayou.domain.content import ContentId
from bayou.domain.plan import Action
from bayou.domain.scopes import EVERYTHING
from bayou.remotes import Commit, Format, Head
from bayou.remotes.parts import part_name
from bayou.sync.agreed import OPEN, Agreed
from bayou.sync.base import Known
from bayou.sync.ends import Ends
from bayou.sync.mirror import Verified
from bayou.sync.planning import Planned, There, crosses, store_time
from bayou.sync.scan import Scan


def agree(ends: Ends, agreed: Agreed, planned: Planned, *, pulled: bool) -> None:
    """Record what agrees: files that are the same on both sides, and the parts of which nothing is left to do."""
    base = ends.journal.base
    same = [step for step in planned.plan.steps if step.action is Action.AGREE]
    base.forget(path for step in same for path in step.unit.members if path not in step.local)
    base.agree((item for step in same for item in step.local.items()), as_of=planned.scan.sequence)
    there = planned.there
    if planned.scope is not EVERYTHING:
        agreed.open(there.changed)
        return
    if there.snapshot is None:
        if pulled:
            ends.journal.read_again(store_time(ends, there.head))
        return
    still_open = _open_parts(ends, planned)
    parts = {name: OPEN if name in still_open else there.snapshot.parts.get(name) for name in there.changed}
    is_complete = not still_open and there.snapshot.format is not Format.NONE
    agreed.record(parts, head=there.token if is_complete else None)
    if is_complete and pulled:
        ends.journal.read_completely(store_time(ends, there.head), _verified(there.head))


def agree_after(ends: Ends, agreed: Agreed, planned: Planned, done: Commit) -> None:
    """The parts that a commit of ours changed: whoever knew one before knows it now, if the base says so too."""
    known = agreed.parts()
    says = ends.journal.base.get({path for change in done.committed for path in change.paths})
    differing = {
        part_name(path)
        for change in done.committed
        for path in change.paths
        if _content(says.get(path)) != (change.after[path].sha256 if path in change.after else None)
    }
    contested = {part_name(path) for contest in done.contested for path in contest.change.paths}
    was_agreed = agreed.head() == planned.there.token or _was_nothing(planned.there)
    parts = {
        name: after
        for name, (before, after) in done.parts.items()
        if known.get(name) == before and name not in differing and name not in contested
    }
    everything = len(parts) == len(done.parts) and done.alone and was_agreed
    # What turned out to be otherwise than agreed is compared with all of the base the next time.
    agreed.record(dict.fromkeys(done.parts, OPEN) | parts, head=done.token if everything else None)


def _was_nothing(there: There) -> bool:
    """Whether there was nothing in the bucket: then everybody agreed on it."""
    return there.snapshot is not None and there.snapshot.format is Format.NONE and not there.snapshot.parts


def is_done(scan: Scan, known: Known | None, path: str) -> bool:
    """Whether what a scan saw here is what both sides hold now."""
    content = None if known is None else known.content
    if path in scan.local.files:
        return content == scan.local.files[path]
    if path in scan.evidence.deleted:
        return content is None
    return content is None or (known is not None and known.is_here and path not in scan.local.missing)


def _verified(head: Head | None) -> Verified:
    """The head as existing clients know it."""
    if head is None:
        return Verified()
    if head.format is Format.SHARDED:
        return Verified(commit_seq=None if head.meta is None else head.meta.commit_seq)
    version = (head.monolith or "").strip('"')
    return Verified(generation=version) if version.isdecimal() else Verified(etag=version)


def _content(known: Known | None) -> ContentId | None:
    return None if known is None else known.content


def _open_parts(ends: Ends, planned: Planned) -> set[str]:
    """Parts that say something that the base does not."""
    there = planned.there
    known = ends.journal.base.get(there.paths)
    still_open = set()
    for path in there.paths:
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
