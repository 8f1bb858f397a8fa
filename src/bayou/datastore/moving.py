"""Moving a repo out of a bucket: most of its data while everybody works, the rest while nobody can, then the switch.

Under the structural lock of the old place nobody commits there, so the last look finds all there is. What an existing
client forces in later, or a machine that does not know of the move, is what `late` is for.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from bayou.config import Folder, Settings
from bayou.config.urls import displayed
from bayou.datastore import abilities
from bayou.datastore.coordination import Notice, open_locks
from bayou.datastore.datastore import Datastore
from bayou.datastore.remote import bucket
from bayou.errors import Conflict, Corrupt, ErrorKind, Unavailable
from bayou.migration.carrying import Fault, Parcel, carry
from bayou.migration.ends import End
from bayou.migration.migrate import Outcome, migrate
from bayou.migration.planning import Plan
from bayou.migration.verifying import read_back, to_read
from bayou.remotes import ObjectRemote
from bayou.remotes.changes import StillHeld
from bayou.storage import Ability
from bayou.sync.report import Progress, Report

_Result = TypeVar("_Result")

_SOME = 3
_AGAIN = "Run the same command again: it goes on where it stopped. Until it is through, this repo works as before."


class Moved(NamedTuple):
    files: int
    size: int
    faults: tuple[Fault, ...]
    """What was left behind, as it is not what the index says."""
    folders: tuple[str, ...]


@dataclass(slots=True)
class Moving:
    """`content` reads all back that was carried; `accepts_damaged` leaves behind what cannot be carried."""

    before: Settings
    after: Settings
    notice: Notice
    progress: Progress | None = None
    seconds: float = math.inf
    content: bool = False
    accepts_damaged: bool = False

    def __post_init__(self) -> None:
        self.seconds += time.monotonic()

    def move(self, old: Datastore, switch: Callable[[], None]) -> Moved:
        """Bring all that is in the old place to the new one, and switch."""
        self._push(old)
        first = self._run(self._pass)
        several = self._run(self._several_writers)
        with (
            open_locks(self.before, self.notice, several_writers=several) as locks,
            locks.structure() as hold,
        ):
            # What was written on this machine meanwhile has its base here, and nowhere else.
            self._push(old)
            last = self._run(self._pass)
            self._check(last)
            hold.confirm()
            switch()
        return _moved(first, last)

    def late(self) -> Moved:
        """Bring what was written to the old place since."""
        outcome = self._run(self._pass)
        self._check(outcome)
        return _moved(outcome)

    def _push(self, old: Datastore) -> None:
        done = old.syncing.push(seconds=max(0.0, self.seconds - time.monotonic()))
        if not done.is_complete:
            failed = sorted(done.report.failed)
            raise Conflict(
                f"not everything could be pushed to {displayed(self.before.location)}: {', '.join(failed[:_SOME])}",
                remedy="Run `bayou sync` until it is complete, then this again.",
            )

    async def _pass(self) -> Outcome:
        async with self._ends() as (source, target):
            return await self._carry_all(source, target)

    async def _carry_all(self, source: End, target: End) -> Outcome:
        report = Report() if self.progress is None else Report(progress=self.progress)

        def tell(plan: Plan) -> None:
            report.expect(len(plan.copies), plan.size)

        def arrived(size: int) -> None:
            report.moved(size)
            report.done()

        async def wave(parcels: Sequence[Parcel]) -> list[Fault]:
            return [fault for parcel in parcels for fault in await carry(source, target, parcel, arrived)]

        outcome = await migrate(source, target, wave, self._lock, tell)
        if self.content and outcome.last is not None:
            for parcel in to_read(outcome.last.plan, outcome.last.source, target.namespace):
                outcome.faults.update({fault.path: fault for fault in await read_back(target, parcel)})
        return outcome

    def _check(self, outcome: Outcome) -> None:
        """Refuse to switch to a place where something is missing."""
        place = displayed(self.after.location)
        if outcome.differing:
            raise Conflict(
                f"{place} holds something else at {_some(outcome.differing)}",
                kind=ErrorKind.ALREADY_EXISTS,
                remedy="Nothing was switched. Decide which is right, remove the other one, and run it again.",
            )
        if outcome.left:
            raise Unavailable(f"{_some(outcome.left)} changed faster than it could be carried", remedy=_AGAIN)
        if outcome.faults and not self.accepts_damaged:
            one = outcome.faults[min(outcome.faults)]
            raise Corrupt(
                f"{displayed(self.before.location)}: {_some(outcome.faults)}",
                expected=one.expected,
                found=one.found or "nothing",
                kind=ErrorKind.HASH_MISMATCH,
                remedy="Everything else is there, and nothing was switched. Repair it: bayou doctor --repair, or"
                " bayou pipeline run scrub --from a replica; or leave it behind with --accept-damaged.",
            )

    @asynccontextmanager
    async def _ends(self) -> AsyncIterator[tuple[End, End]]:
        async with AsyncExitStack() as stack:
            ends = []
            for settings in (self.before, self.after):
                store = await stack.enter_async_context(bucket(settings))
                conditional = (await self._ability(settings)) is not Ability.NO
                remote = ObjectRemote(
                    store, settings.namespace, conditional=conditional, width=settings.push_concurrency
                )
                stack.enter_context(remote)
                ends.append(End(remote, displayed(settings.location), is_folder=isinstance(settings.location, Folder)))
            yield ends[0], ends[1]

    @asynccontextmanager
    async def _lock(self) -> AsyncIterator[StillHeld]:
        several = await self._ability(self.after)
        with open_locks(self.after, self.notice, several_writers=several) as locks:
            async with locks.commit() as hold:
                yield lambda: hold.seems_held

    async def _several_writers(self) -> Ability:
        return await self._ability(self.before)

    async def _ability(self, settings: Settings) -> Ability:
        if isinstance(settings.location, Folder):
            return Ability.YES
        async with bucket(settings) as store:
            return await abilities.several_writers(settings, store)

    def _run(self, work: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
        async def in_time() -> _Result:
            try:
                async with asyncio.timeout(None if self.seconds == math.inf else self.seconds - time.monotonic()):
                    return await work()
            except TimeoutError:
                message = f"{displayed(self.after.location)} did not have everything in the time that was given"
                raise Unavailable(message, kind=ErrorKind.DEADLINE_EXCEEDED, remedy=_AGAIN) from None

        return asyncio.run(in_time())


def _moved(*outcomes: Outcome) -> Moved:
    last = outcomes[-1].last
    paths = () if last is None else tuple(last.source.entries)
    return Moved(
        sum(one.copied for one in outcomes),
        sum(one.size for one in outcomes),
        tuple(outcomes[-1].faults.values()),
        tuple(sorted({path.partition("/")[0] for path in paths if not path.startswith("_control/")})),
    )


def _some(paths: Collection[str]) -> str:
    more = "" if len(paths) <= _SOME else f", and {len(paths) - _SOME} more"
    return ", ".join(sorted(paths)[:_SOME]) + more
