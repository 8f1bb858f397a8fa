"""The half of a plan that changes the bucket, in two phases: `prepare` uploads, which nobody sees; `commit` lists.

Only the commit needs the global lock, and only for as long as it takes to merge a few parts of the index. What others
changed in between contests single changes, which are planned anew; the rest is committed.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import msgspec

from bayou.domain.content import ContentId
from bayou.domain.entries import Entry
from bayou.domain.plan import Action, Step
from bayou.errors import Conflict, ErrorKind, NotFound
from bayou.remotes import Change, Changeset, Commit, Contest
from bayou.remotes.objects import each
from bayou.storage.port import Version
from bayou.sync import attempted
from bayou.sync.ends import Ends
from bayou.sync.installing import Installer
from bayou.sync.planning import Planned
from bayou.sync.pointing import point
from bayou.sync.preparing import Work, gives_way, upload_all
from bayou.sync.pulling import removal
from bayou.sync.report import Report

Fence = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything is uploaded; nothing is listed. It says where it belongs, so that it is committed nowhere else."""

    planned: Planned
    works: tuple[Work, ...]
    objects: Mapping[str, ContentId | None]
    """What lay in the bucket otherwise than planned: to plan with again."""
    changeset: Changeset

    @property
    def gives_way(self) -> bool:
        """Whether something is listed that lay in the way of ours, which is to be planned again after that."""
        return any(map(gives_way, self.planned.plan.steps))


async def prepare(ends: Ends, planned: Planned, report: Report) -> Prepared:
    works, objects = await upload_all(ends, planned, report)
    side = ends.journal.side
    changeset = Changeset(
        ends.namespace,
        (*(work.change for work in works), *_learnt(planned, works)),
        on=planned.there.token,
        store=UUID(side.store) if side is not None and side.store else None,
    )
    return Prepared(planned, tuple(works), objects, changeset)


async def commit(ends: Ends, prepared: Prepared, report: Report, fence: Fence | None = None) -> Commit | None:
    """Let the index list what was prepared, and the base say so. None: there was nothing to list."""
    if not prepared.changeset.changes and not ends.remote.owes:
        return None
    async with ends.locks.commit() as hold:
        if not await hold.still_held():
            raise Conflict("the lock was lost before the commit began", kind=ErrorKind.LOCK_LOST)
        if fence is not None:
            await fence()
        gone = await _swept(ends, prepared.works)
        changes = tuple(change for change in prepared.changeset.changes if id(change) not in gone)
        changeset = msgspec.structs.replace(prepared.changeset, changes=changes)
        done = await ends.remote.commit(changeset, lambda: hold.seems_held, follows_ours=hold.follows_ours)
    done = replace(done, contested=(*done.contested, *(Contest(change, {}) for change in gone.values())))
    committed = set(map(id, done.committed))
    works = [work for work in prepared.works if id(work.change) in committed]
    await _acknowledge(ends, prepared.planned, works, report)
    return done


async def _swept(ends: Ends, works: Iterable[Work]) -> dict[int, Change]:
    """The changes that rely on something that lay there before, unlisted, and that is gone by now. What was deleted is
    swept under the global lock, which we hold: what is still there stays.
    """

    async def is_there(path: str, version: Version) -> bool:
        try:
            found = (await ends.store.head(ends.key(path))).version
        except NotFound:
            return False
        return found in (None, version) or not version

    relied_on = [
        (work.change, path, placed.version)
        for work in works
        for path, placed in work.placed.items()
        if placed.lay_there and path not in work.change.before
    ]
    there = await each(ends.pushes, relied_on, lambda one: is_there(*one[1:]))
    return {id(change): change for (change, *_), stays in zip(relied_on, there, strict=True) if not stays}


def _learnt(planned: Planned, works: Iterable[Work]) -> list[Change]:
    """Entries without a hash get the one that had to be found out, so that nobody has to again."""
    changed = {path for work in works for path in work.change.paths}
    found = []
    for path, content in planned.hashed.items():
        entry = planned.there.entry(path)
        if entry is not None and entry.sha256 is None and path not in changed:
            after = Entry(entry.key, entry.size, entry.last_modified, entry.local_mtime, content)
            found.append(Change({path: None}, {path: after}))
    return found


# What both sides hold then.


async def _acknowledge(ends: Ends, planned: Planned, works: Sequence[Work], report: Report) -> None:
    base, sequence = ends.journal.base, planned.scan.sequence
    agreed: dict[str, ContentId] = {}
    forgotten: list[str] = []
    burials: list[Step] = []
    for step in (step for work in works for step in work.steps):
        match step.action:
            case Action.PUSH:
                forgotten += [path for path in step.unit.members if path not in step.local]
                agreed |= step.local
                report.pushed += step.local
            case Action.READD:
                agreed |= step.local if step.lists == step.local else {}
                report.listed += step.lists
            case Action.DELETE_REMOTE:
                forgotten += step.unit.members
                report.deleted_there += [path for path in step.unit.members if path in planned.listed]
            case Action.BURY:
                burials.append(step)
    base.forget(forgotten)
    base.agree(agreed.items(), as_of=sequence)
    await _bury(ends, planned, burials, report)
    decided = [work.marker for work in works if work.marker is not None]
    moved = await point(ends, planned, decided, report)
    report.pulled += [marker.path for marker in moved if marker.content is not None and not marker.is_news_there]
    report.pushed += [marker.path for marker in decided if marker.content is not None and marker.is_news_there]
    report.deleted_there += [marker.path for marker in decided if marker.content is None and marker.remote]
    base.saw((path, placed.version) for work in works for path, placed in work.placed.items() if placed.version)
    attempted.settle(ends.journal.reports, [path for work in works for path in work.change.after])


async def _bury(ends: Ends, planned: Planned, steps: Sequence[Step], report: Report) -> None:
    if not steps:
        return
    with ends.installs.change(*(path for step in steps for path in step.unit.members)) as change:
        installer = Installer(ends, change, planned.scan.sequence)
        for step in steps:
            report.deleted_there += [path for path in step.unit.members if path in planned.listed]
            await installer.deliver(removal(planned, step, report))
        await installer.finish()
