"""The half of a plan that changes this machine: fetch what was written there, remove what was deleted there."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from bayou.domain.content import ContentId
from bayou.domain.plan import Action, Step
from bayou.errors import BayouError
from bayou.layout.internal import lazily_skippable
from bayou.layout.places import TEMPORARY
from bayou.remotes import packs
from bayou.remotes.objects import each
from bayou.remotes.packs import Packed, unpacked
from bayou.storage.arriving import Arrived, bring
from bayou.sync.base import Known
from bayou.sync.ends import Ends
from bayou.sync.installing import CHANGED, Delivery, Expected, Installer
from bayou.sync.planning import Planned
from bayou.sync.report import Report

PULLING = frozenset({Action.PULL, Action.RESTORE})


@dataclass(slots=True, eq=False)
class Incoming:
    """One unit on its way here."""

    step: Step
    files: Mapping[str, ContentId | None]
    """What is to be fetched, with the content that the index says; None where it says none."""
    later: Mapping[str, ContentId]
    """What stays there until somebody asks for it."""
    gone: tuple[str, ...]
    arrived: dict[str, Arrived] = field(default_factory=dict)
    is_given_up: bool = False

    def is_complete_with(self, path: str, came: Arrived) -> bool:
        if self.is_given_up:
            came.discard()
            return False
        self.arrived[path] = came
        return len(self.arrived) == len(self.files)

    def give_up(self) -> None:
        """Nothing of it is installed, as not all of it can be."""
        self.is_given_up = True
        for came in self.arrived.values():
            came.discard()
        self.arrived = {}


async def pull(
    ends: Ends, planned: Planned, report: Report, *, lazy: bool, only: Container[str] | None = None
) -> dict[str, ContentId | None]:
    """Fetch and remove what the plan says, of all units or of some. What it found to lie in the bucket otherwise than
    listed is the answer.
    """
    steps = [step for step in planned.plan.steps if only is None or step.unit.key in only]
    removals = [step for step in steps if step.action is Action.DELETE_LOCAL]
    steps = [step for step in steps if step.action in PULLING]
    if not steps and not removals:
        return {}
    paths = [path for step in (*steps, *removals) for path in step.unit.members]
    known = ends.journal.base.get(paths)
    units = [_incoming(planned, step, known, lazy=lazy) for step in steps]
    files = sorted(((unit, path) for unit in units for path in unit.files), key=lambda item: item[1])
    report.expect(len(files), sum(_size(planned, path) for _, path in files))
    packed = await packs.of(ends.remote.place, {path: unit.files[path] for unit, path in files})
    with ends.installs.change(*paths) as change:
        pulling = _Pulling(planned, Installer(ends, change, planned.scan.sequence), packed, report)
        try:
            for step in removals:
                await pulling.installer.deliver(removal(planned, step, report))
            for unit in units:
                if not unit.files:
                    await pulling.deliver(unit)
            await each(ends.pulls, files, pulling.fetch)
        finally:
            await pulling.installer.finish()
            for unit in units:
                unit.give_up()  # what is left of those that did not come to their end
            ends.journal.base.know(pulling.later.items())
            ends.journal.changes.record(pulling.later)
    report.known += len(pulling.later)
    return pulling.found


def removal(planned: Planned, step: Step, report: Report) -> Delivery:
    """Of a unit that was deleted elsewhere."""

    def settled(why: str | None) -> None:
        if why is None:
            report.deleted_here += step.local
        else:
            report.failed[step.unit.key] = (
                "it was deleted elsewhere, and changed here meanwhile" if why == CHANGED else why
            )

    return Delivery({}, Expected(step.local, planned.local.files), step.unit.members, settled)


def _incoming(planned: Planned, step: Step, known: Mapping[str, Known], *, lazy: bool) -> Incoming:
    """A restore fetches what is missing; a pull what is listed, but content only where it is wanted here."""
    listed = {path: planned.listed[path] for path in step.unit.members if path in planned.listed}
    if step.action is Action.RESTORE:
        missing = planned.local.missing
        return Incoming(step, {path: content for path, content in listed.items() if path in missing}, {}, ())
    later = {
        path: content
        for path, content in listed.items()
        if lazy and content is not None and lazily_skippable(path) and not _is_wanted(known.get(path))
    }
    same = {path for path, content in listed.items() if content == step.local.get(path) and _is_here(known.get(path))}
    files = {path: content for path, content in listed.items() if path not in later and path not in same}
    gone = [path for path in step.local if path not in listed or (path in later and path in planned.local.files)]
    return Incoming(step, files, later, tuple(gone))


@dataclass(slots=True)
class _Pulling:
    """Files arrive in any order, as many at a time as may be; a unit is delivered with the last of its files."""

    planned: Planned
    installer: Installer
    packed: Packed
    report: Report
    found: dict[str, ContentId | None] = field(default_factory=dict)
    """What lies in the bucket otherwise than listed."""
    later: dict[str, ContentId] = field(default_factory=dict)

    async def fetch(self, item: tuple[Incoming, str]) -> None:
        (unit, path), ends = item, self.installer.ends
        if unit.is_given_up:
            return
        try:
            came = await unpacked(self.packed, unit.files[path], self.report.moved)
            came = came or await bring(ends.store, ends.key(path), lambda: temporary(ends), self.report.moved)
        except BayouError as error:
            unit.give_up()
            self.report.failed[unit.step.unit.key] = str(error)
            return
        if came is None or unit.files[path] not in (None, came.content):
            self.found[path] = None if came is None else came.content
            unit.give_up()
            if came is not None:
                came.discard()
        elif unit.is_complete_with(path, came):
            await self.deliver(unit)

    async def deliver(self, unit: Incoming) -> None:
        files, unit.arrived = unit.arrived, {}

        def settled(why: str | None) -> None:
            if why is not None:
                self.report.failed[unit.step.unit.key] = why
                return
            self.later.update(unit.later)
            self.report.pulled += files
            self.report.done(len(files))

        if files or unit.gone:
            expected = Expected(unit.step.local, self.planned.local.files)
            await self.installer.deliver(Delivery(files, expected, unit.gone, settled))
        else:
            settled(None)


def temporary(ends: Ends) -> Path:
    return ends.journal.place.cache / TEMPORARY / f".{uuid4()}.tmp"


def _is_here(row: Known | None) -> bool:
    return row is not None and row.is_here


def _is_wanted(row: Known | None) -> bool:
    return row is not None and (row.is_here or row.is_wanted)


def _size(planned: Planned, path: str) -> int:
    entry = planned.there.entry(path)
    return 0 if entry is None else entry.size
