"""Migrating, from top to bottom: look at both ends, plan, carry, list; and again, until there is nothing left to do.

That the last plan is empty is the proof that all is there: every file of the source is listed at the target with the
same hash, and lies there with the same size. What is written at the source meanwhile is in the next round; whoever
wants to miss nothing holds the source's global lock during the last one.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from bayou.domain.entries import Entry
from bayou.migration.beginning import begin, check
from bayou.migration.carrying import Fault, Parcel, parcels
from bayou.migration.ends import End, classify, held, holdings
from bayou.migration.listing import list_all
from bayou.migration.planning import Manifest, Plan, Source, Target, plan
from bayou.remotes.changes import StillHeld
from bayou.wire.times import to_text

Wave = Callable[[Sequence[Parcel]], Awaitable[list[Fault]]]
"""Carry these, in whatever order, and say what went wrong."""
Lock = Callable[[], AbstractAsyncContextManager[StillHeld]]
"""The global lock of the target, and whether it still is ours."""

ROUNDS = 4
_MILLISECOND = 1_000_000


class Look(NamedTuple):
    source: Source
    target: Target
    manifest: Manifest
    plan: Plan


@dataclass(slots=True)
class Outcome:
    copied: int = 0
    size: int = 0
    listed: int = 0
    removed: int = 0
    faults: dict[str, Fault] = field(default_factory=dict)
    """What could not be carried, by path."""
    last: Look | None = None
    """How both ends were when it ended."""

    @property
    def left(self) -> set[str]:
        """What is still to be done, besides what cannot be: somebody writes faster, or it was cut off."""
        if self.last is None:
            return set()
        now = self.last.plan
        spoilt = {classify(path).key for path in (*self.faults, *now.differing, *now.theirs)}
        waiting = {path for path in now.ready if classify(path).key not in spoilt}
        rest = now.gone.keys() | now.strays | now.unsaid | now.forgotten
        return (now.copies.keys() - self.faults.keys()) | waiting | rest

    @property
    def differing(self) -> frozenset[str]:
        return frozenset() if self.last is None else self.last.plan.differing

    @property
    def is_complete(self) -> bool:
        """Whether all of the source is there, verified."""
        return self.last is not None and not (self.faults or self.differing or self.left)


async def look(source: End, target: End) -> Look:
    """How both ends are now, and so what is to be done."""
    there = await holdings(source)
    manifest = await target.pages.load()
    here = await held(target, manifest)
    return Look(there, here, manifest, plan(there, here, manifest))


async def preview(source: End, target: End) -> Look:
    """What `migrate` would do now. Nothing is changed."""
    await check(source, target)
    return await look(source, target)


async def migrate(source: End, target: End, carry: Wave, lock: Lock, tell: Callable[[Plan], None]) -> Outcome:
    """Bring all of the source to the target. `tell` hears what each round is about to do."""
    began = target.remote.place.now()
    async with lock() as still_held:
        await begin(source, target, still_held=still_held)
    outcome = Outcome()
    tried: dict[str, Entry] = {}
    for number in range(ROUNDS):
        # What a later round carries is newer, however short the rounds are.
        at = to_text(began + number * _MILLISECOND)
        now = outcome.last = await look(source, target)
        # What was spoilt and is listed as before is not tried again.
        outcome.faults = {
            path: one for path, one in outcome.faults.items() if now.source.entries.get(path) == tried[path]
        }
        if not outcome.left:
            break
        rest = replace(now.plan, copies={p: e for p, e in now.plan.copies.items() if p not in outcome.faults})
        tell(rest)
        for wave in parcels(rest, target.namespace, at, in_order=target.is_folder):
            for fault in await carry(wave):
                outcome.faults[fault.path], tried[fault.path] = fault, rest.copies[fault.path]
        rest = replace(rest, copies={p: e for p, e in rest.copies.items() if p not in outcome.faults})
        outcome.copied += len(rest.copies)
        outcome.size += rest.size
        async with lock() as still_held:
            done = await list_all(target, rest, now.source, now.target, at, still_held=still_held)
        outcome.listed += done.files
        outcome.removed += done.removed
    else:
        outcome.last = await look(source, target)
    return outcome
