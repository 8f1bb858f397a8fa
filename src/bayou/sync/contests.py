"""Versions that two machines gave one number: what each says about itself, and what becomes of ours.

The remote keeps the number; ours moves to one that nobody knows, with its metadata and every record that names it. All
of it is an edit of this cache: the next plan finds only things to push and to pull.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import msgspec

from bayou.domain.content import ContentId
from bayou.domain.merges.references import renumbered_metadata, renumbered_record
from bayou.domain.merges.resolution import Renumber, TakeLocal, TakeRemote
from bayou.domain.merges.versions import Contest, Growth, Version, Versions, merge_versions
from bayou.domain.plan import Reason, Step
from bayou.errors import Corrupt, NotFound
from bayou.layout.artifacts import LATEST, Part, version_of
from bayou.remotes.objects import each, read
from bayou.sync.asides import give_up
from bayou.sync.ends import Ends
from bayou.sync.planning import Planned
from bayou.sync.pulling import temporary
from bayou.sync.report import Renumbered, Report
from bayou.sync.views import listed_within
from bayou.tree.writing import sync_file
from bayou.wire import metadata, yamlmapping

_NOUN = "the metadata of a version"
_RECORD = "a record"


async def settle(ends: Ends, planned: Planned, marker: str, steps: Iterable[Step], report: Report) -> None:
    """Settle all contested versions of one name."""
    family = marker.removesuffix(f"/{LATEST}")
    contests = {_number(step.unit.key): step for step in steps}
    listed = listed_within(ends, planned, family)
    if await _finish_moves(ends, planned, family, _numbers(family, listed)):
        return
    local = _local_ids(ends, family)
    contested = {number: await _contest(ends, step) for number, step in contests.items()}
    versions = Versions(
        contested,
        local,
        await _remote_ids(ends, family, listed, local),
        _numbers(family, (path for path, _ in ends.journal.base.files(family))) | _unfinished(ends, family, local),
        _numbers(family, [*planned.buried.graves, *planned.objects]),
    )
    resolutions = merge_versions(versions)
    while taken := await _lying(ends, family, [r.to for r in resolutions.values() if isinstance(r, Renumber)]):
        versions = msgspec.structs.replace(versions, buried=versions.buried | taken)
        resolutions = merge_versions(versions)
    uploaded = await _lying(ends, family, resolutions.keys() - contests.keys())
    # Highest first: a number is free before another version moves to it.
    for number in sorted(resolutions, reverse=True):
        match resolutions[number]:
            case Renumber() as renumber:
                disown = partial(_disown, ends, planned) if number in uploaded else None
                _renumber(ends, family, number, renumber, report, disown=disown)
            case TakeRemote(keep_aside):
                moved = [n for n, version_id in local.items() if n != number and version_id == local.get(number)]
                if moved:  # by a sync that did not live to move the marker, too
                    _repoint(ends, family, number, max(moved))
                give_up(ends, planned, contests[number], report, keep_aside=keep_aside)
            case TakeLocal():
                remote = {path: content for path, content in contests[number].remote.items() if content is not None}
                ends.journal.base.agree(remote.items(), as_of=planned.scan.sequence)


async def _lying(ends: Ends, family: str, numbers: Iterable[int]) -> set[int]:
    """Those of these numbers, which nobody lists, under which something lies: of a push that did not get to its commit,
    of somebody else or of ours.
    """

    async def look(number: int) -> int | None:
        try:
            await ends.store.head(ends.key(f"{family}/{number}/{Part.RAW}"))
        except NotFound:
            return None
        return number

    return set(filter(None, await each(ends.pulls, numbers, look)))


def _disown(ends: Ends, planned: Planned, folder: str) -> None:
    """Ours was uploaded under a number that it is about to give up. If it is removed here as what both sides agreed on,
    it gets a tombstone there, and whoever finds it in his way does not take it for a version.
    """
    contents = {path: planned.local.files.get(path) for path in (f"{folder}/{part}" for part in Part)}
    known = [(path, content) for path, content in contents.items() if content is not None]
    ends.journal.base.agree(known, as_of=planned.scan.sequence)


async def _contest(ends: Ends, step: Step) -> Contest:
    ours = _version(ends, step.unit.key, step.local)
    path = f"{step.unit.key}/{Part.METADATA}"
    if step.reason is Reason.OCCUPIED:
        return Contest(ours, None, written_here=True)
    blob = await read(ends.store, ends.key(path))
    if blob is None:
        return Contest(ours, None, written_here=True)
    try:
        artifact = metadata.decode(blob.content, path)
        theirs = Version(artifact.id, step.remote.get(f"{step.unit.key}/{Part.RAW}") or "", artifact.streaming)
    except Corrupt:
        return Contest(ours, None, written_here=True)
    growth = Growth.FORKED
    if ours.id == theirs.id and (ours.streaming or theirs.streaming):
        growth = await _growth(ends, f"{step.unit.key}/{Part.RAW}")
    return Contest(ours, theirs, written_here=step.local != step.base, growth=growth)


async def _growth(ends: Ends, raw: str) -> Growth:
    """Compare two states of a stream piece by piece: a prefix is the past."""
    try:
        fetched = await ends.store.get(ends.key(raw))
    except NotFound:
        return Growth.OURS_GOES_ON
    with ends.tree.open(raw) as file:
        if file is None:
            return Growth.THEIRS_GOES_ON
        async for chunk in fetched.chunks():
            ours = file.read(len(chunk))
            if ours != chunk:
                return Growth.THEIRS_GOES_ON if not file.read(1) and chunk.startswith(ours) else Growth.FORKED
        return Growth.OURS_GOES_ON if file.read(1) else Growth.THEIRS_GOES_ON


def _renumber(  # noqa: PLR0913 - what to move, where, and what has to be said of it
    ends: Ends, family: str, number: int, renumber: Renumber, report: Report, *, disown: Callable[[str], None] | None
) -> None:
    old, new = f"{family}/{number}", f"{family}/{renumber.to}"
    tree = ends.tree
    content = tree.read(f"{old}/{Part.METADATA}")
    if content is None:
        return  # somebody removed it meanwhile
    says = yamlmapping.decode(content, old, _NOUN)
    data_id = says.get("id")
    if renumber.new_id is None and isinstance(data_id, str):
        # First: once the version has moved, nobody would know any more that its records are still to follow.
        _rewrite_records(ends, {data_id: renumber.to})
    with ExitStack() as held:
        held.enter_context(tree.lock(family))
        change = held.enter_context(tree.change(new, f"{family}/{LATEST}"))
        if ends.file(new).exists():
            return  # somebody writes a version of that number at this moment
        change.adopt(new, str(_copy(ends, old, yamlmapping.encode(renumbered_metadata(says, renumber), _NOUN))))
        marker = tree.read(f"{family}/{LATEST}")
        if marker is not None and marker.strip() == str(number).encode():
            change.point(f"{family}/{LATEST}", str(renumber.to).encode())
        if disown is not None:
            # Not before it is somewhere else: whoever dies in between would leave it to be listed where it is.
            disown(old)
        removal = held.enter_context(tree.removal(old))
        removal.remove_folder(old)
    report.renumbered.append(Renumbered(old, new))
    ends.journal.changes.record([f"{old}/{Part.METADATA}", f"{new}/{Part.METADATA}"])


def _copy(ends: Ends, folder: str, described: bytes) -> Path:
    """A version with other metadata, out of everybody's sight: it comes into place as a whole."""
    copy = temporary(ends)
    copy.mkdir(parents=True)
    try:
        shutil.copyfile(ends.file(f"{folder}/{Part.RAW}"), copy / Part.RAW)
    except FileNotFoundError as error:
        raise NotFound(f"the content of {folder!r} is not here, so it cannot get another number") from error
    (copy / Part.METADATA).write_bytes(described)
    if ends.tree.durable:
        for part in Part:
            sync_file(str(copy / part))
    return copy


async def _finish_moves(ends: Ends, planned: Planned, family: str, listed: AbstractSet[int]) -> bool:
    """Remove what a sync moved to a higher number and did not live to remove; say whether there was anything."""
    numbers: dict[str, list[int]] = {}
    for number, version_id in _local_ids(ends, family).items():
        numbers.setdefault(version_id, []).append(number)
    moved = {old: max(same) for same in numbers.values() for old in same if old != max(same) and old not in listed}
    uploaded = await _lying(ends, family, moved)
    for old, new in moved.items():
        _repoint(ends, family, old, new)
        if old in uploaded:
            _disown(ends, planned, f"{family}/{old}")
        with ends.tree.lock(family), ends.tree.removal(f"{family}/{old}") as removal:
            removal.remove_folder(f"{family}/{old}")
    return bool(moved)


def _repoint(ends: Ends, family: str, number: int, new: int) -> None:
    """Let the marker here follow a version that moved, if it names it."""
    marker = f"{family}/{LATEST}"
    with ends.tree.lock(family):
        if (ends.tree.read(marker) or b"").strip() == str(number).encode():
            with ends.tree.change(marker) as change:
                change.point(marker, str(new).encode())


def _rewrite_records(ends: Ends, numbers: Mapping[str, int]) -> None:
    """Let the records that name a version by its number name the new one."""
    needles = [data_id.encode() for data_id in numbers]
    for folder in ("outputs", "workflow-runs"):
        for parent, _, names in os.walk(ends.file(folder)):
            for name in names:
                path = f"{parent}/{name}"[len(ends.journal.place.root) + 1 :]
                content = ends.tree.read(path) if name.endswith(".yaml") else None
                if content is not None and any(needle in content for needle in needles):
                    _rewrite_record(ends, path, numbers)


def _rewrite_record(ends: Ends, path: str, numbers: Mapping[str, int]) -> None:
    with ends.tree.lock(path):
        content = ends.tree.read(path)
        if content is None:
            return
        try:
            record = renumbered_record(yamlmapping.decode(content, path, _RECORD, most=yamlmapping.MANY), numbers)
        except Corrupt:
            return
        if record is not None:
            with ends.tree.change(path) as change:
                change.replace(path, yamlmapping.encode(record, _RECORD))
            ends.journal.changes.record([path])


def _version(ends: Ends, folder: str, contents: Mapping[str, ContentId]) -> Version:
    """Ours. Where its metadata cannot be read it is nobody's, and keeps its bytes under another number."""
    path = f"{folder}/{Part.METADATA}"
    try:
        artifact = metadata.decode(ends.tree.read(path) or b"", path)
    except Corrupt:
        return Version(contents.get(path, ""), contents.get(f"{folder}/{Part.RAW}", ""))
    return Version(artifact.id, contents.get(f"{folder}/{Part.RAW}", ""), artifact.streaming)


def _local_ids(ends: Ends, family: str) -> dict[int, str]:
    found = {}
    for number in filter(None, map(version_of, ends.tree.names(family))):
        content = ends.tree.read(f"{family}/{number}/{Part.METADATA}")
        if content is not None:
            found[number] = _id(content, f"{family}/{number}")
    return found


def _unfinished(ends: Ends, family: str, finished: Mapping[int, str]) -> set[int]:
    """Numbers that somebody claimed here and has not written to the end, or never will."""
    return {number for number in map(version_of, ends.tree.names(family)) if number is not None} - finished.keys()


async def _remote_ids(
    ends: Ends, family: str, listed: Mapping[str, ContentId | None], local: Mapping[int, str]
) -> dict[int, str]:
    """The ids of the versions that are listed; those that we hold as they are listed are known."""
    found = {}
    base = dict(ends.journal.base.files(family))
    for number in _numbers(family, listed):
        path = f"{family}/{number}/{Part.METADATA}"
        if number in local and listed.get(path) == base.get(path):
            found[number] = local[number]
        elif path in listed:
            blob = await read(ends.store, ends.key(path))
            if blob is not None:
                found[number] = _id(blob.content, path)
    return found


def _id(content: bytes, where: str) -> str:
    try:
        return metadata.decode(content, where).id
    except Corrupt:
        return f"unreadable:{where}"


def _numbers(family: str, paths: Iterable[str]) -> set[int]:
    cut = len(family) + 1
    folders = {path[cut:].partition("/")[0] for path in paths if path.startswith(f"{family}/")}
    return {number for folder in folders if (number := version_of(folder)) is not None}


def _number(folder: str) -> int:
    return version_of(folder.rpartition("/")[2]) or 0
