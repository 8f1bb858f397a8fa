"""Merging: what both sides changed, settled by edits of this cache, after which the next plan is without a conflict."""

import os
import shutil

from bayou.domain.merges.definitions import alias_of, merge_definitions
from bayou.domain.merges.files import Stamp, merge_derived, merge_other
from bayou.domain.merges.records import merge_records
from bayou.domain.merges.resolution import Move, Rehome, Resolution, TakeLocal, TakeRemote
from bayou.domain.models import Model
from bayou.domain.plan import Action, Step
from bayou.domain.units import Kind
from bayou.errors import BayouError, Corrupt
from bayou.layout.artifacts import model_folder
from bayou.layout.definitions import AutoDefinition
from bayou.layout.meanings import meaning
from bayou.remotes.objects import read
from bayou.sync import contests, disk
from bayou.sync.asides import give_up
from bayou.sync.ends import Ends
from bayou.sync.planning import Planned
from bayou.sync.pulling import temporary
from bayou.sync.report import Renumbered, Report
from bayou.wire import yamlmapping
from bayou.wire.times import to_text

_RECORD = "a record"


async def merge(ends: Ends, planned: Planned, report: Report) -> set[str]:
    """Settle what is contested, but for markers: the units about which something now has to be planned again."""
    steps = [
        step
        for step in planned.plan.steps
        if step.action is Action.MERGE and step.unit.kind is not Kind.LATEST and step.unit.key not in report.failed
    ]
    for marker in sorted({step.unit.marker for step in steps if step.unit.marker is not None}):
        family = [step for step in steps if step.unit.marker == marker]
        try:
            await contests.settle(ends, planned, marker, family, report)
        except BayouError as error:
            report.failed.update({step.unit.key: str(error) for step in family})
    for step in steps:
        if step.unit.marker is None:
            try:
                _apply(ends, planned, step, await _resolution(ends, planned, step), report)
            except BayouError as error:
                report.failed[step.unit.key] = str(error)
    return {step.unit.key for step in steps} - report.failed.keys()


async def _resolution(ends: Ends, planned: Planned, step: Step) -> Resolution:
    path = step.unit.key
    written_here = step.local != step.base
    match step.unit.kind:
        case Kind.OUTPUT | Kind.RUN | Kind.DEFINITION:
            local, remote = await _both(ends, path)
            if local is None or remote is None:
                return merge_other()  # one of them is no record: the remote stays, ours is kept
            if step.unit.kind is Kind.DEFINITION:
                return merge_definitions(local, remote, written_here=written_here)
            contents = (step.local[path], step.remote[path] or "")
            return merge_records(path, local, remote, contents=contents, written_here=written_here)
        case Kind.DERIVED:
            entry = planned.there.entry(path)
            theirs = "" if entry is None else entry.local_mtime or entry.last_modified
            seen = disk.look(str(ends.file(path)))
            ours = to_text(0 if seen is None else seen.stamp.mtime_ns)
            return merge_derived(Stamp(ours, step.local[path]), Stamp(theirs, step.remote[path] or ""))
        case _:
            return merge_other()


async def _both(ends: Ends, path: str) -> tuple[dict[str, object] | None, dict[str, object] | None]:
    blob = await read(ends.store, ends.key(path))
    return _mapping(ends.tree.read(path), path), _mapping(None if blob is None else blob.content, path)


def _mapping(content: bytes | None, path: str) -> dict[str, object] | None:
    if content is None:
        return None
    try:
        return yamlmapping.decode(content, path, _RECORD, most=yamlmapping.MANY)
    except Corrupt:
        return None


def _apply(ends: Ends, planned: Planned, step: Step, resolution: Resolution, report: Report) -> None:
    path = step.unit.key
    match resolution:
        case TakeRemote(keep_aside):
            give_up(ends, planned, step, report, keep_aside=keep_aside)
        case TakeLocal():
            content = step.remote.get(path)
            if content is not None:
                ends.journal.base.agree([(path, content)], as_of=planned.scan.sequence)
        case Move(to):
            _move(ends, path, to)
            report.renumbered.append(Renumbered(path, to))
        case Rehome():
            _rehome(ends, path, resolution, report)
            give_up(ends, planned, step, report, keep_aside=step.local != step.base)


def _move(ends: Ends, path: str, to: str) -> None:
    copy = temporary(ends)
    with ends.tree.lock(*sorted({path, to})):
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copyfile(ends.file(path), copy)
        except FileNotFoundError:
            return  # somebody removed it meanwhile
        with ends.tree.change(to) as change:
            change.adopt(to, str(copy))
        with ends.tree.removal(path) as removal:
            removal.remove(path)
    ends.journal.changes.record([path, to])


def _rehome(ends: Ends, path: str, rehome: Rehome, report: Report) -> None:
    """Move what only this machine has of a model to the id that others know it by, and let the other id lead there."""
    found = meaning(path)
    ours = _mapping(ends.tree.read(path), path)
    if not isinstance(found, AutoDefinition) or ours is None:
        return
    alias = AutoDefinition(found.type, rehome.given_up).path
    with ends.tree.lock(alias), ends.tree.change(alias) as change:
        change.replace(alias, yamlmapping.encode(alias_of(ours, rehome.kept), _RECORD))
    ends.journal.changes.record([alias])
    old, new = (f"{model_folder(Model(found.type, model_id))}/" for model_id in (rehome.given_up, rehome.kept))
    known = {known_path for known_path, _ in ends.journal.base.files(old.rstrip("/"))}
    root = ends.journal.place.root
    for parent, _, names in os.walk(f"{root}/{old}"):
        for name in sorted(names, reverse=True):  # raw before metadata
            source = f"{parent}/{name}"[len(root) + 1 :]
            target = new + source[len(old) :]
            if source not in known and ends.tree.size(target) is None:
                _move(ends, source, target)
                report.renumbered.append(Renumbered(source, target))
