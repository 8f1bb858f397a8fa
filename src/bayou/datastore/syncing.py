"""Syncing a datastore whose place is a bucket: its cache, which everything works on, and the bucket come to agree.

The engine is asynchronous; each call in here is one event loop, and connects for as long as it takes. Nothing else of a
datastore needs the network.
"""

import asyncio
import math
import time
from collections.abc import Callable, Collection, Coroutine, Iterable
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeVar

from bayou.config.settings import Hydration, Source
from bayou.datastore.coordination import Exchange
from bayou.datastore.federation import offer
from bayou.datastore.publishing import exchange
from bayou.datastore.remote import HASTE, Joined, Local, in_a_loop, joined
from bayou.datastore.synced import Preview, Standing, Synced
from bayou.domain.artifacts import ArtifactKey
from bayou.domain.models import Model, derived_id, parse_model
from bayou.domain.scopes import EVERYTHING, Scope, scope_of
from bayou.errors import BayouError, ErrorKind, NotFound, Unavailable, UsageError
from bayou.layout.artifacts import Part
from bayou.repository.versions import path_of
from bayou.storage import Patience
from bayou.sync import deciding, evicting, hydrating
from bayou.sync.ends import installing
from bayou.sync.evicting import Evicted, Size
from bayou.sync.journal import Journal
from bayou.sync.report import Progress, Report
from bayou.sync.reports import Kept, Outcome
from bayou.sync.syncing import Job, Sync
from bayou.wire.times import to_text

if TYPE_CHECKING:
    from bayou.datastore.datastore import Datastore

_Result = TypeVar("_Result")

CAPABILITIES = {
    "scopedSync": True,
    "namespacedSync": True,
    "lazyHydration": True,
    "twoPhaseSync": True,
    "controlPlane": True,
}


_Work = Callable[[Joined], Coroutine[Any, Any, _Result]]


class Syncing:
    def __init__(self, datastore: "Datastore", journal: Journal) -> None:
        self._datastore = datastore
        self._journal = journal
        self._local = Local(datastore.settings, journal, datastore.tree, datastore.notice)

    def capabilities(self) -> dict[str, bool]:
        """What it can do, in the names of the specification (sync spec 4.1)."""
        return dict(CAPABILITIES)

    def mark_dirty(self, rel_path: str | PurePath | None = None) -> None:
        """Say that this file or folder of the cache is about to change; without a path, that anything may."""
        self._journal.mark_dirty(rel_path)

    # With the other side.

    def sync(  # noqa: PLR0913 - what a sync can be told
        self,
        *,
        models: Iterable[str] = (),
        pushes: bool = True,
        pulls: bool = True,
        lazy: bool | None = None,
        hydrate: bool = False,
        everything: bool = False,
        accept_deletions: bool = False,
        seconds: float | None = None,
        progress: Progress | None = None,
    ) -> Synced:
        """Let both sides agree, about some models (`TYPE/NAME`) or all.

        `lazy` leaves content there until it is asked for (else as it is configured), `hydrate` fetches all that is not
        here yet, `everything` looks at all files whether they are marked or not. A sync that takes longer than
        `seconds` ends where it is: what was done is done, and the next one goes on from there.
        """
        if pushes:
            self._datastore.check_writable()
        references = tuple(models)
        scope = self._scope(references)
        given = Job(pushes, pulls, scope, self._is_lazy(lazy) and not hydrate, everything, accept_deletions)
        seconds = self._seconds(given) if seconds is None else seconds
        report = Report() if progress is None else Report(progress=progress)
        began = time.monotonic()
        offers, is_first = pushes and not references, self._journal.side is None
        if offers and not is_first:  # a clone that was never synced would offer an empty catalog
            offer(self._datastore, self._journal)

        async def work(found: Joined) -> int:
            job = given
            for _ in range(2):
                await Sync(found.ends).run(_within(job, began, seconds), report)
                if pulls and report.stop is None:
                    lacking = hydrating.absent(self._journal, job.scope, wanted=job.lazy)
                    await _in_time(hydrating.hydrate(found.ends, lacking, report), job, began, seconds)
                # With what came, our catalog may say more than what was offered: others must not lose sight of it.
                is_news = offers and (is_first or bool(report.pulled)) and report.stop is None
                offers_more = is_news and offer(self._datastore, self._journal)
                now = self._scope(references)
                if not offers_more and (not pulls or now == job.scope):
                    break
                job = replace(job, scope=now)  # the definitions that came tell of another id
            return found.tally.total

        try:
            requests = self._run(work, writes=pushes)
        except BayouError as error:
            self._remember(given, report, error)
            raise
        finally:
            self._datastore.catalog.catch_up(self._datastore.progress)
        return Synced(given.name, report, requests, time.monotonic() - began, self._journal.base.absent_count())

    def push(self, **wishes: Any) -> Synced:  # noqa: ANN401 - those of `sync`
        return self.sync(pulls=False, **wishes)

    def pull(self, **wishes: Any) -> Synced:  # noqa: ANN401 - those of `sync`
        return self.sync(pushes=False, **wishes)

    def plan(  # noqa: PLR0913 - as above
        self,
        *,
        models: Iterable[str] = (),
        pushes: bool = True,
        pulls: bool = True,
        lazy: bool | None = None,
        hydrate: bool = False,
        everything: bool = False,
    ) -> Preview:
        """What `sync` would do now. Nothing is changed."""
        is_lazy = self._is_lazy(lazy) and not hydrate
        job = Job(pushes, pulls, self._scope(tuple(models)), is_lazy, everything)

        async def work(found: Joined) -> Preview:
            plan = await Sync(found.ends).plan(job)
            lacking = hydrating.absent(self._journal, job.scope, wanted=is_lazy) if pulls else ()
            return Preview(job.name, plan, len(lacking))

        return self._run(work, writes=False)

    def hydrate(self, versions: Collection[tuple[ArtifactKey, int]]) -> bool:
        """Fetch the content of these versions; whether all of it is on this machine now.

        Where a store cannot be reached it is an error, as nobody can tell then what it would have said.
        """
        return not self._fetch([path_of(key, version, Part.RAW) for key, version in versions]).failed

    def hydrate_one(self, key: ArtifactKey, version: int) -> bool:
        """The same for one that somebody waits for: he is told what is wrong with it."""
        path = path_of(key, version, Part.RAW)
        why = self._fetch([path]).failed.get(path)
        if why is not None:
            raise NotFound(
                f"the content of version {version} of {key} is not on this machine, and did not come: {why}",
                kind=ErrorKind.CONTENT_MISSING,
                remedy="Run `bayou sync`; `bayou verify` says what is wrong there.",
            )
        return True

    def exchange(self) -> Exchange:
        """What runs and structural commands do before and after, while they hold their locks."""
        return exchange(self._datastore, self._local, lazy=self._is_lazy(None))

    # Without it.

    def standing(self) -> Standing:
        """How things stand, offline: what waits to be pushed, what is not here, what is to be decided."""
        status = self._journal.status()
        return Standing(
            cache=str(self._journal.place.cache),
            hydration=str(Hydration.LAZY if self._is_lazy(None) else Hydration.FULL),
            dirty=status.dirty,
            paths=tuple(path for path in status.paths if path),
            walks=status.walks,
            absent=self._journal.base.absent_count(),
            conflicts=tuple(self.conflicts()),
            outcomes=self._journal.reports.outcomes(),
        )

    def conflicts(self) -> list[Kept]:
        """What both sides changed, where theirs stayed and ours was kept aside."""
        return self._journal.reports.conflicts()

    def take_mine(self, path: str) -> None:
        """Let our side of a conflict stand after all; the next push delivers it."""
        self._datastore.check_writable()
        deciding.take_mine(self._journal, self._datastore.tree, path)

    def take_theirs(self, path: str) -> None:
        """Let theirs stand, and drop ours for good."""
        deciding.take_theirs(self._journal, path)

    def kept_at(self, path: str) -> str:
        return str(deciding.kept_at(self._journal, path))

    def evict(self, keep: int) -> Evicted:
        """Remove content that can be fetched again, least recently used first, until `keep` bytes of it are left."""
        evicted = evicting.evict(self._journal, installing(self._datastore.tree, self._journal), keep)
        if evicted.files and not self._is_lazy(None):
            self._datastore.notice("the next sync fetches it again, unless hydrationStrategy is lazy")
        self._datastore.catalog.catch_up()
        return evicted

    def size(self) -> Size:
        return evicting.size(self._journal)

    # How.

    def _fetch(self, paths: list[str]) -> Report:
        report = Report()

        async def work(found: Joined) -> None:
            await hydrating.hydrate(found.ends, paths, report)

        self._run(work, writes=False, patience=HASTE)
        return report

    def _run(self, work: _Work[_Result], *, writes: bool, patience: Patience | None = None) -> _Result:
        async def run() -> _Result:
            async with joined(self._local, writes=writes, patience=patience) as found:
                return await work(found)

        try:
            return in_a_loop(run)
        except Unavailable as error:
            if error.kind in {ErrorKind.DEADLINE_EXCEEDED, ErrorKind.STORE_FULL}:
                raise
            waiting = self._journal.status().dirty
            waits = f" {waiting} changes wait here for the next sync." if waiting else ""
            raise Unavailable(
                error.message,
                kind=error.kind,
                remedy=f"Everything but a sync works without it.{waits} {error.remedy}",
                retry_after=error.retry_after,
            ) from error

    def _remember(self, job: Job, report: Report, error: BayouError) -> None:
        """How it ended, also where nobody answered before it began."""
        outcome = Outcome(
            to_text(time.time_ns()), pulled=len(report.pulled), pushed=len(report.pushed), error=error.message
        )
        self._journal.reports.set_outcome(job.name, outcome)

    def _is_lazy(self, wish: bool | None) -> bool:  # noqa: FBT001 - None: as configured
        settings = self._datastore.settings
        if wish is not None:
            return wish
        # Who only looks into a bucket need not have all that is in it.
        is_said = settings.origins["hydration"].source is not Source.DEFAULT
        return settings.hydration is Hydration.LAZY or not (is_said or settings.is_of_repo)

    def _seconds(self, job: Job) -> float:
        """The limit of a sync is one for each direction."""
        return self._datastore.settings.sync_timeout_ms / 1000 * (job.pushes + job.pulls)

    def _scope(self, references: tuple[str, ...]) -> Scope:
        return scope_of(map(self._model, references)) if references else EVERYTHING

    def _model(self, reference: str) -> Model:
        """The model that is meant. One that nobody here has heard of has the id that it has on every machine."""
        try:
            return self._datastore.find_model(reference)
        except NotFound:
            try:
                model_type, name = parse_model(reference)
            except UsageError:
                raise UsageError(
                    f"no model {reference!r} is known on this machine",
                    remedy="Write TYPE/NAME: then it is looked for on the other side.",
                ) from None
            return Model(model_type, derived_id(self._datastore.namespace, model_type, name), name)


def _within(job: Job, began: float, seconds: float) -> Job:
    return replace(job, seconds=_left(began, seconds), allowed=seconds)


def _left(began: float, seconds: float) -> float | None:
    return None if seconds == math.inf else max(0.0, began + seconds - time.monotonic())


async def _in_time(work: Coroutine[Any, Any, None], job: Job, began: float, seconds: float) -> None:
    try:
        async with asyncio.timeout(_left(began, seconds)):
            await work
    except TimeoutError:
        raise Unavailable(
            f"the {job.name} was not done within {seconds:g} seconds",
            kind=ErrorKind.DEADLINE_EXCEEDED,
            remedy="Run it again: it goes on where it stopped. Or allow more time (SWAMP_DATASTORE_SYNC_TIMEOUT_MS).",
        ) from None
