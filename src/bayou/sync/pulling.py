"""The half of a plan that changes this machine: fetch what was written there, remove what was deleted there."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from bayou.domain.content import ContentId
from bayou.domain.plan import Action, Step
from bayou.errors import BayouError
from bayou.layout.internal import lazily_skippable
from bayou.layout.places import TEMPORARY
from bayou.remotes.objects import each
from bayou.sync.base import Known
from bayou.sync.ends import Ends
from bayou.sync.installing import Expected, Installer, known_here
from bayou.sync.objects import Arrived, bring
from bayou.sync.planning import Planned
from bayou.sync.report import Report

PULLING = frozenset({Action.PULL, Action.RESTORE})


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to arrive of one unit, with the content that the index says; None where it says none."""

    step: Step
    files: Mapping[str, ContentId | None]
    later: Mapping[str, ContentId]
    """What stays there until somebody asks for it."""
    gone: tuple[str, ...]


async def pull(ends: Ends, planned: Planned, report: Report, *, lazy: bool) -> dict[str, ContentId | None]:
    """Fetch and remove what the plan says. What it found to lie in the bucket otherwise than listed is the answer."""
    steps = [step for step in planned.plan.steps if step.action in PULLING]
    removals = [step for step in planned.plan.steps if step.action is Action.DELETE_LOCAL]
    if not steps and not removals:
        return {}
    paths = [path for step in (*steps, *removals) for path in step.unit.members]
    known = known_here(ends, paths)
    wanted = [_wanted(planned, step, known, lazy=lazy) for step in steps]
    report.expect(sum(len(one.files) for one in wanted), sum(_size(planned, path) for w in wanted for path in w.files))
    found: dict[str, ContentId | None] = {}
    with ends.installs.change(*paths) as change:
        installer = Installer(ends, change, planned.scan.sequence)

        async def fetch(one: Wanted) -> None:
            found.update(await _fetch(planned, installer, one, known, report))

        try:
            for step in removals:
                await _remove(planned, installer, step, known, report)
            await each(ends.pulls, wanted, fetch)
        finally:
            await installer.finish()
    return found


def _wanted(planned: Planned, step: Step, known: Mapping[str, Known], *, lazy: bool) -> Wanted:
    """A restore fetches what is missing; a pull what is listed, but content only where it is wanted here."""
    listed = {path: planned.listed[path] for path in step.unit.members if path in planned.listed}
    if step.action is Action.RESTORE:
        missing = planned.scan.local.missing
        return Wanted(step, {path: content for path, content in listed.items() if path in missing}, {}, ())
    later = {
        path: content
        for path, content in listed.items()
        if lazy and content is not None and lazily_skippable(path) and not _is_wanted(known.get(path))
    }
    same = {path for path, content in listed.items() if content == step.local.get(path) and _is_here(known.get(path))}
    files = {path: content for path, content in listed.items() if path not in later and path not in same}
    return Wanted(step, files, later, tuple(path for path in step.local if path not in listed))


async def _fetch(
    planned: Planned, installer: Installer, one: Wanted, known: Mapping[str, Known], report: Report
) -> dict[str, ContentId | None]:
    """Bring one unit; what lies there otherwise than listed is the answer."""
    ends = installer.ends
    arrived: dict[str, Arrived] = {}
    try:
        for path, content in one.files.items():
            came = await bring(ends.store, ends.key(path), lambda: temporary(ends), report.moved)
            found = None if came is None else came.content
            if came is None or content not in (None, found):
                _not_as_listed(path, content, found, report)
                return {path: found}
            arrived[path] = came
        if arrived or one.gone:
            expected = _expected(planned, one.step, known)
            if not await installer.install(arrived, expected, one.gone):
                report.failed[one.step.unit.key] = "it changed here while it was fetched"
                return {}
        if one.gone:
            ends.journal.removed(one.gone)
        if one.later:
            await installer.finish()
            _give_up_copies(ends, one)
            ends.journal.base.know(one.later.items())
            ends.journal.changes.record(one.later)
            report.known += len(one.later)
        report.pulled += arrived
        report.done(len(arrived))
    except BayouError as error:
        report.failed[one.step.unit.key] = str(error)
    finally:
        for came in arrived.values():
            if isinstance(came.body, Path):
                came.body.unlink(missing_ok=True)
    return {}


def _give_up_copies(ends: Ends, one: Wanted) -> None:
    """Content that is listed under other bytes now, and is not wanted here: what is left of the old goes."""
    old = [path for path in one.later if path in one.step.local and ends.file(path).exists()]
    if old:
        with ends.installs.change(*old) as change:
            for path in old:
                change.remove(path)


async def _remove(
    planned: Planned, installer: Installer, step: Step, known: Mapping[str, Known], report: Report
) -> None:
    try:
        if await installer.remove(step.unit.members, _expected(planned, step, known)):
            report.deleted_here += step.local
        else:
            report.failed[step.unit.key] = "it was deleted elsewhere, and changed here meanwhile"
    except BayouError as error:
        report.failed[step.unit.key] = str(error)


def _expected(planned: Planned, step: Step, known: Mapping[str, Known]) -> Expected:
    return Expected(step.local, known, planned.scan.local.files, frozenset(planned.scan.local.missing))


def _not_as_listed(path: str, content: ContentId | None, found: ContentId | None, report: Report) -> None:
    if found is None:
        report.failed[path] = "the index lists it, and there is no such object"
    else:
        report.failed[path] = f"its object does not hold what the index says (sha256 {content} expected, {found} found)"


def temporary(ends: Ends) -> Path:
    return ends.journal.place.cache / TEMPORARY / f".{uuid4()}.tmp"


def _is_here(row: Known | None) -> bool:
    return row is not None and row.is_here


def _is_wanted(row: Known | None) -> bool:
    return row is not None and (row.is_here or row.is_wanted)


def _size(planned: Planned, path: str) -> int:
    entry = planned.there.entry(path)
    return 0 if entry is None else entry.size


def units(steps: Iterable[Step]) -> Iterator[str]:
    for step in steps:
        yield from step.unit.members
