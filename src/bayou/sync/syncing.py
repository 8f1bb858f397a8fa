"""Sync: bring a cache and a namespace of a bucket to agree. Read `_passes` from top to bottom: that is all of it.

Scan what was marked here, look what changed there, plan; upload and fetch; commit; let the base say what both sides
hold now, and end the marks of what was shipped. Where somebody interfered, plan again.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from bayou.domain.content import ContentId
from bayou.domain.plan import Action, Plan, Stop
from bayou.domain.scopes import EVERYTHING, Scope
from bayou.errors import Conflict, ErrorKind, Unavailable
from bayou.remotes import Contest, Format, Head
from bayou.sync import planning, pushing
from bayou.sync.agreed import Agreed
from bayou.sync.agreeing import agree, agree_after, is_done
from bayou.sync.ends import Ends
from bayou.sync.journal import Side
from bayou.sync.merging import merge
from bayou.sync.planning import Planned, There, store_time
from bayou.sync.pointing import settle_here
from bayou.sync.pulling import pull
from bayou.sync.pushing import Fence
from bayou.sync.report import Report
from bayou.sync.reports import Outcome
from bayou.sync.scan import Scan
from bayou.sync.seeding import seed
from bayou.wire.times import to_text

PASSES = 6
"""So often it plans again where others interfere. What is left then is left to the next sync."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a sync is to do."""

    pushes: bool = True
    pulls: bool = True
    scope: Scope = EVERYTHING
    lazy: bool = False
    """Leave the content of artifacts there until somebody asks for it."""
    everything: bool = False
    """Look at all files here, marked or not."""
    accept_deletions: bool = False
    seconds: float | None = None
    allowed: float | None = None
    """Of which `seconds` are left, where this is a part of something longer."""
    fence: Fence | None = None
    """Raises where what is pushed was written under locks that are somebody else's by now."""

    @property
    def name(self) -> str:
        if self.pushes and self.pulls:
            return "sync"
        return "push" if self.pushes else "pull"


@dataclass(slots=True)
class _Run:
    """What one sync has come to know on its way."""

    job: Job
    report: Report
    check: Callable[[], None] = lambda: None
    objects: dict[str, ContentId | None] = field(default_factory=dict)
    """What lies in the bucket, where that is not what was planned with."""
    settled: set[str] = field(default_factory=set)
    """Units that were contested."""
    head: Head | None = None
    """As the first plan takes it, where the index was looked at when the store was met."""
    is_known: bool = True
    """Whether the store was known before this sync, and so may be another one by now."""
    is_interfered: bool = False
    """Whether others changed something since the last look."""


@dataclass(slots=True)
class Sync:
    """Bound to the two ends. Each call is one sync, and may be cancelled: what was done is done."""

    ends: Ends
    agreed: Agreed = field(init=False)

    def __post_init__(self) -> None:
        self.agreed = Agreed(self.ends.journal.reports)

    async def run(self, job: Job, report: Report | None = None) -> Report:
        report = report if report is not None else Report()
        began = time.monotonic()
        try:
            async with asyncio.timeout(job.seconds):
                await self._passes(_Run(job, report, _deadline(job.seconds)))
        except TimeoutError:
            error = _late(job)
            self._remember(job, report, began, error=str(error))
            raise error from None
        except BaseException as error:
            self._remember(job, report, began, error=str(error) or type(error).__name__)
            raise
        self._remember(job, report, began)
        return report

    async def plan(self, job: Job) -> Plan:
        """What `run` would do now. Nothing is changed."""
        run = _Run(job, Report())
        await self._attach(run, pushes=False)
        scan = self.ends.journal.scan(everything=job.everything, scope=job.scope)
        there = await planning.look(self.ends, self.agreed, job.scope, head=run.head)
        absent = planning.absent(self.ends, job.scope, lazy=job.lazy) if job.pulls else frozenset()
        return (await planning.plan(self.ends, scan, there, job.scope, absent=absent)).plan

    async def prepare(self, scope: Scope = EVERYTHING, report: Report | None = None) -> pushing.Prepared:
        """The first phase of a push: everything is uploaded, nothing is listed."""
        run = _Run(Job(pulls=False, scope=scope), report or Report())
        await self._attach(run, pushes=True)
        planned = await self._plan(run)
        if planned is None:
            raise Conflict(
                f"nothing was prepared: {run.report.stop}",
                kind=ErrorKind.PRECONDITION_FAILED,
                remedy="Look with `bayou sync --dry-run` at what it would do; `bayou sync --accept-deletions` does it.",
            )
        return await pushing.prepare(self.ends, planned, run.report)

    async def commit(self, prepared: pushing.Prepared, report: Report | None = None) -> Report:
        """The second phase: under the global lock the index lists what was prepared; what is contested stays dirty."""
        report = report if report is not None else Report()
        agree(self.ends, self.agreed, prepared.planned, pulled=False)
        done = await pushing.commit(self.ends, prepared, report)
        if done is not None:
            agree_after(self.ends, self.agreed, prepared.planned, done)
            report.failed.update(_contested(done.contested))
        self._acknowledge(prepared.planned)
        return report

    async def _passes(self, run: "_Run") -> None:
        await self._attach(run, pushes=run.job.pushes)
        if run.job.everything:
            self.ends.journal.mark_everything()
        planned = None
        for _ in range(PASSES):
            planned = await self._plan(run)
            if planned is None:
                return
            await self._execute(run, planned)
            if not run.is_interfered:
                break
        if planned is not None:
            self._acknowledge(planned)

    async def _plan(self, run: "_Run") -> Planned | None:
        """A plan in which nothing is contested but markers: contests are settled on the way, by edits of this cache.
        None: what it says must not be done.
        """
        ends, job, report = self.ends, run.job, run.report
        planned, settled = None, set[str]()
        for _ in range(PASSES):
            report.failed.clear()
            scan = ends.journal.scan(scope=job.scope, check=run.check)
            seed(ends, self.agreed, scan)
            _mention(report, scan)
            there = await self._look(run, scan)
            absent = planning.absent(ends, job.scope, lazy=job.lazy, check=run.check) if job.pulls else frozenset()
            planned = await planning.plan(ends, scan, there, job.scope, absent=absent, objects=run.objects)
            report.failed.update(planning.contradictions(planned))
            report.failed.update(planning.left(planned) if job.pushes else {})
            if run.is_known and await self._is_another_store(planned, pushes=job.pushes):
                run.is_interfered = True
                continue
            if planned.plan.is_stopped(accept_deletions=job.accept_deletions):
                _stop(report, planned.plan)
                return None
            settled = await merge(ends, planned, report)
            if not settled:
                return planned
            run.settled |= settled
            run.is_interfered, run.objects = True, {}
        report.failed.update(dict.fromkeys(settled, "others keep changing it"))
        return planned

    async def _execute(self, run: "_Run", planned: Planned) -> None:
        """Both halves of a plan. It is learnt whether somebody interfered, and what lay otherwise than planned."""
        ends, job, report = self.ends, run.job, run.report
        prepared = await pushing.prepare(ends, planned, report) if job.pushes else None
        run.objects = dict(prepared.objects) if prepared is not None else {}
        # A push alone brings what its merges gave way to, and nothing else.
        run.objects |= await pull(ends, planned, report, lazy=job.lazy, only=None if job.pulls else run.settled)
        if job.pulls:
            await settle_here(ends, planned, report)
        agree(ends, self.agreed, planned, pulled=job.pulls)
        done = await pushing.commit(ends, prepared, report, job.fence) if prepared is not None else None
        contested = done.contested if done is not None else ()
        if done is not None:
            agree_after(ends, self.agreed, planned, done)
            report.failed.update(_contested(contested))
        gives_way = prepared is not None and prepared.gives_way
        run.is_interfered = gives_way or bool(contested) or bool(run.objects.keys() - planned.objects.keys())

    async def _look(self, run: "_Run", scan: Scan) -> There:
        """A push that has something to tell does not ask first: its uploads and its commit are conditional."""
        known = self.agreed.head()
        if run.job.pulls or run.is_interfered or known is None or not _has_news(scan):
            met, run.head = run.head, None
            return await planning.look(self.ends, self.agreed, run.job.scope, head=met)
        return There(known)

    async def _attach(self, run: "_Run", *, pushes: bool) -> None:
        """Know which store it is: asked once for each place, as the base of another one says nothing about this one."""
        ends, prefix = self.ends, self.ends.prefix
        journal, side = ends.journal, ends.journal.side
        is_place = side is not None and side.prefix == prefix and journal.reports.url() == ends.url
        run.is_known = side is not None and is_place and bool(side.store or not pushes)
        if side is None or not run.is_known:
            is_empty = not any(ends.tree.names(folder) for folder in ends.tree.tiers.directories)
            found, run.head = await ends.remote.meet(pushes=pushes, is_empty_here=is_empty)
            side = Side("" if found is None else str(found), prefix, journal.namespace)
        journal.bind(side)
        if not run.is_known:
            journal.reports.set_url(ends.url)
        journal.begin_base(store_time(ends, None))

    async def _is_another_store(self, planned: Planned, *, pushes: bool) -> bool:
        """Before anything is believed to be gone: whether this is the store that the base is about."""
        head, side = planned.there.head, self.ends.journal.side
        doubtful = planned.plan.stop is not None or any(step.action in _GONE for step in planned.plan.steps)
        if side is None or head is None or not (doubtful or head.format is Format.NONE):
            return False
        found = await self.ends.remote.identity()
        if ("" if found is None else str(found)) == side.store:
            return False
        if found is None and pushes:
            found = await self.ends.remote.establish()
        self.ends.journal.bind(Side("" if found is None else str(found), side.prefix, side.namespace))
        self.ends.journal.begin_base(store_time(self.ends, head))
        return True

    def _acknowledge(self, planned: Planned) -> None:
        """End the marks of what both sides hold now."""
        scan, base = planned.scan, self.ends.journal.base
        base.set_here(scan.arrived, is_here=True)
        paths = {*scan.stamps, *scan.evidence.deleted, *scan.local.missing}
        known = base.get(paths)
        self.ends.journal.acknowledge(scan, [path for path in paths if not is_done(scan, known.get(path), path)])

    def _remember(self, job: Job, report: Report, began: float, *, error: str = "") -> None:
        outcome = Outcome(
            finished_at=to_text(self.ends.now()),
            pulled=len(report.pulled),
            pushed=len(report.pushed),
            deleted=len(report.deleted_here) + len(report.deleted_there),
            conflicts=len(report.conflicts),
            failed=dict(sorted(report.failed.items())[:100]),
            seconds=round(time.monotonic() - began, 3),
            error=error,
        )
        self.ends.journal.reports.set_outcome(job.name, outcome)


_GONE = frozenset({Action.DELETE_LOCAL, Action.READD})


def _has_news(scan: Scan) -> bool:
    return bool(scan.stamps or scan.evidence.deleted)


def _contested(contests: Iterable[Contest]) -> dict[str, str]:
    why = "somebody else changed it first: it stays here, and the next sync plans anew"
    return {path: why for contest in contests for path in contest.change.paths}


def _mention(report: Report, scan: Scan) -> None:
    report.failed.update({path: str(error) for path, error in scan.failed.items()})
    report.skipped.update(scan.skipped)
    report.collisions = list(scan.collisions)


def _stop(report: Report, plan: Plan) -> None:
    report.stop = plan.stop
    if plan.stop is Stop.TOO_MANY_DELETIONS:
        report.deletions = sum(len(s.local) for s in plan.steps if s.action in (Action.DELETE_LOCAL, Action.BURY))


def _deadline(seconds: float | None) -> Callable[[], None]:
    """What a look at many files asks again and again: the loop cannot end it."""
    until = None if seconds is None else time.monotonic() + seconds

    def check() -> None:
        if until is not None and time.monotonic() > until:
            raise TimeoutError

    return check


def _late(job: Job) -> Unavailable:
    return Unavailable(
        f"the {job.name} was not done within {job.allowed or job.seconds:g} seconds",
        kind=ErrorKind.DEADLINE_EXCEEDED,
        remedy="Run it again: it goes on where it stopped. Or allow more time (SWAMP_DATASTORE_SYNC_TIMEOUT_MS).",
    )
