"""The half of a plan that changes this machine: fetch what was written there, remove what was deleted there."""

from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from bayou.domain.content import ContentId
from bayou.domain.plan import Action, Step
from bayou.errors import BayouError
from bayou.layout.internal import lazily_skippable
from bayou.layout.places import TEMPORARY
from bayou.remotes import packs
from bayou.remotes.objects import each
from bayou.remotes.packs import Packed
from bayou.sync.base import Known
from bayou.sync.ends import Ends
from bayou.sync.installing import UNPACKED, Expected, Installer, by_name
from bayou.sync.objects import Arrived, bring, unpacked
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
    wanted = [_wanted(planned, step, known, lazy=lazy) for step in steps]
    report.expect(sum(len(one.files) for one in wanted), sum(_size(planned, path) for w in wanted for path in w.files))
    packed = await _packed(ends, wanted)
    found: dict[str, ContentId | None] = {}
    later: dict[str, ContentId] = {}
    here: set[str] = set()
    with ends.installs.change(*paths) as change:
        installer = Installer(ends, change, planned.scan.sequence)

        async def unpack(some: Sequence[Wanted]) -> None:
            with suppress(BayouError):  # whatever it is, it meets each of them by itself, and is reported there
                for one in await _unpack(planned, installer, some, packed, report):
                    here.add(one.step.unit.key)
                    later.update(one.later)

        async def fetch(one: Wanted) -> None:
            try:
                facts = await _fetch(planned, installer, one, report)
                found.update(facts or {})
                later.update(one.later if facts is None else {})
            except BayouError as error:
                report.failed[one.step.unit.key] = str(error)

        try:
            for step in removals:
                await _remove(planned, installer, step, report)
            whole = [one for one in wanted if not one.gone and one.files and one.files.keys() <= packed.files]
            await each(UNPACKED, by_name(whole, lambda one: min(one.files)), unpack)
            await each(ends.pulls, [one for one in wanted if one.step.unit.key not in here], fetch)
        finally:
            await installer.finish()
            ends.journal.base.know(later.items())
            ends.journal.changes.record(later)
    report.known += len(later)
    return found


def _wanted(planned: Planned, step: Step, known: Mapping[str, Known], *, lazy: bool) -> Wanted:
    """A restore fetches what is missing; a pull what is listed, but content only where it is wanted here."""
    listed = {path: planned.listed[path] for path in step.unit.members if path in planned.listed}
    if step.action is Action.RESTORE:
        missing = planned.local.missing
        return Wanted(step, {path: content for path, content in listed.items() if path in missing}, {}, ())
    later = {
        path: content
        for path, content in listed.items()
        if lazy and content is not None and lazily_skippable(path) and not _is_wanted(known.get(path))
    }
    same = {path for path, content in listed.items() if content == step.local.get(path) and _is_here(known.get(path))}
    files = {path: content for path, content in listed.items() if path not in later and path not in same}
    gone = [path for path in step.local if path not in listed or (path in later and path in planned.local.files)]
    return Wanted(step, files, later, tuple(gone))


async def _packed(ends: Ends, wanted: Sequence[Wanted]) -> Packed:
    """What of all this is in packs, where it is enough to ask for them."""
    files = {path: content for one in wanted for path, content in one.files.items() if packs.is_packable(path)}
    return await packs.packed(ends.remote.place, await packs.known(ends.remote.place, len(files)), files)


async def _unpack(
    planned: Planned, installer: Installer, some: Sequence[Wanted], packed: Packed, report: Report
) -> Sequence[Wanted]:
    """Install what comes out of packs whole, all of it at once, as these are units of one name. What does not come, or
    meets something that was changed here, is left to be fetched by itself.
    """
    done: list[Wanted] = []
    arrived: dict[str, Arrived] = {}
    for one in some:
        came = {path: await unpacked(packed, content, report.moved) for path, content in one.files.items()}
        there = {path: body for path, body in came.items() if body is not None}
        if there.keys() == one.files.keys():
            arrived |= there
            done.append(one)
    local = {path: content for one in done for path, content in one.step.local.items()}
    if not done or not await installer.install(arrived, Expected(local, planned.local.files)):
        return ()
    report.pulled += arrived
    report.done(len(arrived))
    return done


async def _fetch(
    planned: Planned, installer: Installer, one: Wanted, report: Report
) -> dict[str, ContentId | None] | None:
    """Bring one unit. None: it is here; else nothing of it, and the answer is what lies there otherwise than listed."""
    ends = installer.ends
    arrived: dict[str, Arrived] = {}
    try:
        for path, content in one.files.items():
            came = await bring(ends.store, ends.key(path), lambda: temporary(ends), report.moved)
            found = None if came is None else came.content
            if came is None or content not in (None, found):
                return {path: found}
            arrived[path] = came
        if arrived or one.gone:
            expected = Expected(one.step.local, planned.local.files)
            if not await installer.install(arrived, expected, one.gone):
                report.failed[one.step.unit.key] = "it changed here while it was fetched"
                return {}
        if one.gone:
            ends.journal.removed(one.gone)
        report.pulled += arrived
        report.done(len(arrived))
        return None
    finally:
        for came in arrived.values():
            if isinstance(came.body, Path):
                came.body.unlink(missing_ok=True)


async def _remove(planned: Planned, installer: Installer, step: Step, report: Report) -> None:
    try:
        if await installer.remove(step.unit.members, Expected(step.local, planned.local.files)):
            report.deleted_here += step.local
        else:
            report.failed[step.unit.key] = "it was deleted elsewhere, and changed here meanwhile"
    except BayouError as error:
        report.failed[step.unit.key] = str(error)


def temporary(ends: Ends) -> Path:
    return ends.journal.place.cache / TEMPORARY / f".{uuid4()}.tmp"


def _is_here(row: Known | None) -> bool:
    return row is not None and row.is_here


def _is_wanted(row: Known | None) -> bool:
    return row is not None and (row.is_here or row.is_wanted)


def _size(planned: Planned, path: str) -> int:
    entry = planned.there.entry(path)
    return 0 if entry is None else entry.size
