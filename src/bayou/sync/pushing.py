"""The half of a plan that changes the bucket, in two phases: `prepare` uploads, which nobody sees; `commit` lists.

Only the commit needs the global lock, and only for as long as it takes to merge a few parts of the index. What others
changed in between contests single changes, which are planned anew; the rest is committed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from bayou.domain.content import ContentId
from bayou.domain.entries import Entry
from bayou.domain.plan import Action, Step
from bayou.domain.units import Kind
from bayou.errors import BayouError, Conflict, Corrupt, ErrorKind, NotFound
from bayou.layout.artifacts import Part
from bayou.remotes import Change, Changeset, Commit
from bayou.remotes.objects import each
from bayou.storage.port import Version
from bayou.sync import markers
from bayou.sync.ends import Ends
from bayou.sync.installing import Expected, Installer, known_here
from bayou.sync.markers import Marker
from bayou.sync.objects import Arrived
from bayou.sync.planning import Planned
from bayou.sync.report import Report
from bayou.sync.uploading import Changing, Occupied, Uploaded, put, upload
from bayou.wire import metadata
from bayou.wire.times import to_text

PUSHING = frozenset({Action.PUSH, Action.READD, Action.DELETE_REMOTE, Action.BURY})


@dataclass(frozen=True, slots=True)
class Work:
    """What is listed together or not at all: the versions of a name with its marker, or any other unit by itself."""

    steps: tuple[Step, ...]
    change: Change
    marker: Marker | None = None
    versions: Mapping[str, Version] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything is uploaded; nothing is listed. It says where it belongs, so that it is committed nowhere else."""

    planned: Planned
    works: tuple[Work, ...]
    objects: Mapping[str, ContentId | None]
    """What lay in the bucket otherwise than planned: to plan with again."""
    changeset: Changeset


async def prepare(ends: Ends, planned: Planned, report: Report) -> Prepared:
    steps = [step for step in planned.plan.steps if step.action in PUSHING]
    pushes = [step for step in steps if step.action is Action.PUSH]
    known = ends.journal.base.versions({path for step in pushes for path in step.local if path in step.replaces})
    uploads = [(step, path) for step in pushes for path in step.local]
    report.expect(len(uploads), sum(_size(planned, path) for _, path in uploads))
    uploaded: dict[str, Uploaded] = {}
    objects: dict[str, ContentId | None] = {}
    broken = {step.unit.key for step in pushes if not _is_whole(ends, step, report)}

    async def send(one: tuple[Step, str]) -> None:
        step, path = one
        if step.unit.key in broken:
            return
        try:
            uploaded[path] = await upload(
                ends,
                path,
                step.local[path],
                replaces=step.replaces.get(path),
                known=known,
                seen=report.moved,
            )
            report.done()
        except Occupied as occupied:
            broken.add(step.unit.key)
            objects[occupied.path] = occupied.found
        except (Changing, FileNotFoundError):
            broken.add(step.unit.key)
            report.failed[path] = "it changed while it was pushed"
        except BayouError as error:
            broken.add(step.unit.key)
            report.failed[path] = str(error)

    await each(ends.pushes, uploads, send)
    ready = [step for step in steps if step.unit.key not in broken]
    works = await _works(ends, planned, ready, uploaded, report)
    side = ends.journal.side
    changeset = Changeset(
        ends.namespace,
        (*(work.change for work in works), *_learnt(planned, works)),
        on=planned.there.token,
        store=UUID(side.store) if side is not None and side.store else None,
    )
    return Prepared(planned, tuple(works), objects, changeset)


async def commit(ends: Ends, prepared: Prepared, report: Report) -> Commit | None:
    """Let the index list what was prepared, and the base say so. None: there was nothing to list."""
    if not prepared.changeset.changes:
        return None
    async with ends.locks.commit() as hold:
        if not await hold.still_held():
            raise Conflict("the lock was lost before the commit began", kind=ErrorKind.LOCK_LOST)
        done = await ends.remote.commit(prepared.changeset, lambda: hold.seems_held)
    committed = set(map(id, done.committed))
    works = [work for work in prepared.works if id(work.change) in committed]
    await _acknowledge(ends, prepared.planned, works, report)
    return done


# What is listed.


async def _works(
    ends: Ends, planned: Planned, ready: Sequence[Step], uploaded: dict[str, Uploaded], report: Report
) -> list[Work]:
    """Group what belongs to one name around its marker."""
    settling = {step.unit.key: step for step in markers.markers_of(planned)}
    names: dict[str, list[Step]] = {path: [] for path in settling}
    alone = []
    for step in ready:
        names[step.unit.marker].append(step) if step.unit.marker in names else alone.append(step)
    coming = [step.unit.key for step in ready if step.action in (Action.PUSH, Action.READD)]
    going = [step.unit.key for step in ready if step.action in (Action.DELETE_REMOTE, Action.BURY)]
    versions = markers.versions_of(ends, planned, settling.values(), coming, going)
    known = ends.journal.base.versions(settling)

    async def gather(path: str) -> Work | None:
        try:
            marker = await markers.settle(ends, settling[path], versions[path])
            if not names[path] and not marker.is_news_there:
                return None
            if marker.content is not None and marker.is_news_there:
                uploaded[path] = await _upload_marker(ends, planned, marker, known)
            return await _work(ends, planned, tuple(names[path]), marker, uploaded)
        except Occupied:
            report.failed[path] = "it changed there while it was pushed"
        except BayouError as error:
            report.failed[path] = str(error)
        return None

    works = [await _work(ends, planned, (step,), None, uploaded) for step in alone]
    return works + [work for work in await each(ends.pushes, settling, gather) if work is not None]


async def _work(
    ends: Ends, planned: Planned, steps: tuple[Step, ...], marker: Marker | None, uploaded: Mapping[str, Uploaded]
) -> Work:
    before: dict[str, ContentId | None] = {}
    after: dict[str, Entry] = {}
    buries: dict[str, ContentId] = {}
    revokes: dict[str, ContentId] = {}
    versions: dict[str, Version] = {}
    for step in steps:
        before |= {path: planned.expected(path) for path in step.unit.members if path in planned.listed}
        buries |= step.buries
        revokes |= step.revokes
        if step.action is Action.PUSH:
            after |= {path: uploaded[path].entry for path in step.local}
            versions |= {path: uploaded[path].version for path in step.local}
        elif step.action is Action.READD:
            after |= {path: await _entry_of(ends, path, content) for path, content in step.lists.items()}
    if marker is not None:
        if marker.path in planned.listed:
            before[marker.path] = planned.expected(marker.path)
        if marker.content is None:
            dead = marker.remote or marker.step.base.get(marker.path)
            buries |= {} if dead is None else {marker.path: dead}
        elif marker.is_news_there:
            after[marker.path] = uploaded[marker.path].entry
            versions[marker.path] = uploaded[marker.path].version
            revokes |= _taken_back(planned, marker)
        else:
            before.pop(marker.path, None)
    return Work(steps, Change(before, after, buries, revokes), marker, versions)


async def _upload_marker(
    ends: Ends, planned: Planned, marker: Marker, known: Mapping[str, tuple[ContentId, str]]
) -> Uploaded:
    """The marker as decided, which need not be what lies in the cache."""
    content = marker.sha256 or ""
    body = marker.content or b""
    replaces = planned.objects.get(marker.path, marker.remote)
    version = await put(ends, marker.path, content, body, replaces=replaces, known=known)
    now = to_text(ends.now())
    return Uploaded(Entry(marker.path, len(body), now, now, content), version)


def _taken_back(planned: Planned, marker: Marker) -> dict[str, ContentId]:
    content = marker.sha256
    is_buried = content is not None and content in planned.buried.graves.get(marker.path, ())
    return {marker.path: content} if content is not None and is_buried else {}


async def _entry_of(ends: Ends, path: str, content: ContentId) -> Entry:
    """An object as it lies there."""
    meta = await ends.store.head(ends.key(path))
    return Entry(path, meta.size, to_text(int(meta.modified.timestamp() * 1000) * 1_000_000), None, content)


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


def _is_whole(ends: Ends, step: Step, report: Report) -> bool:
    """A version is only pushed when its metadata is of this version, and is about these bytes."""
    if step.unit.kind not in (Kind.VERSION, Kind.STREAM):
        return True
    path, raw = f"{step.unit.key}/{Part.METADATA}", f"{step.unit.key}/{Part.RAW}"
    try:
        says = metadata.decode(ends.tree.read(path) or b"", path)
        size = ends.tree.size(raw)
    except (Corrupt, NotFound) as error:
        report.failed[path] = str(error)
        return False
    if not says.streaming and says.size not in (None, size):
        report.failed[raw] = f"it has {size} bytes, and its metadata says {says.size}: it is not pushed"
    elif not says.streaming and says.checksum not in (None, step.local.get(raw)):
        report.failed[raw] = "it does not have the checksum that its metadata says: it is not pushed"
    return raw not in report.failed


# What both sides hold then.


async def _acknowledge(ends: Ends, planned: Planned, works: Sequence[Work], report: Report) -> None:
    """All at once: each transaction costs as much as a hundred rows."""
    base = ends.journal.base
    agreed: dict[str, ContentId] = {}
    forgotten: list[str] = []
    for step in (step for work in works for step in work.steps):
        match step.action:
            case Action.PUSH:
                forgotten += (path for path in step.unit.members if path not in step.local)
                agreed |= step.local
                report.pushed += step.local
            case Action.READD:
                agreed |= step.local if step.lists == step.local else {}
                report.listed += step.lists
            case Action.DELETE_REMOTE:
                forgotten += step.unit.members
                report.deleted_there += [path for path in step.unit.members if path in planned.listed]
            case Action.BURY:
                await _bury(ends, planned, step, report)
    base.forget(forgotten)
    base.agree(agreed.items(), as_of=planned.scan.sequence)
    await _point(ends, planned, [work.marker for work in works if work.marker is not None], report)
    base.saw(item for work in works for item in work.versions.items())


async def _bury(ends: Ends, planned: Planned, step: Step, report: Report) -> None:
    report.deleted_there += [path for path in step.unit.members if path in planned.listed]
    known = known_here(ends, step.unit.members)
    with ends.installs.change(*step.unit.members) as change:
        installer = Installer(ends, change, planned.scan.sequence)
        expected = Expected(step.local, known, planned.scan.local.files, frozenset(planned.scan.local.missing))
        if await installer.remove(step.unit.members, expected):
            report.deleted_here += step.local
        else:
            report.failed[step.unit.key] = "it was deleted elsewhere, and changed here meanwhile"


async def _point(ends: Ends, planned: Planned, settled: Sequence[Marker], report: Report) -> None:
    """The cache and the base say what the markers say there now."""
    report.pushed += [marker.path for marker in settled if marker.content is not None and marker.is_news_there]
    behind, same = [], []
    for marker in settled:
        if marker.content is None:
            await _unpoint(ends, planned, marker, report)
        elif marker.is_news_here:
            behind.append(marker)
        else:
            same.append((marker.path, marker.sha256 or ""))
    ends.journal.base.agree(same, as_of=planned.scan.sequence)
    await point_here(ends, planned, behind, report)


async def _unpoint(ends: Ends, planned: Planned, marker: Marker, report: Report) -> None:
    path = marker.path
    if marker.step.remote:
        report.deleted_there.append(path)
    known = known_here(ends, [path])
    with ends.installs.change(path) as change:
        expected = Expected(marker.step.local, known, planned.scan.local.files, frozenset({path}))
        await Installer(ends, change, planned.scan.sequence).remove([path], expected)


async def point_here(ends: Ends, planned: Planned, behind: Sequence[Marker], report: Report) -> list[str]:
    """Let the markers in the cache say it; the paths of those that nobody moved meanwhile."""
    if not behind:
        return []
    paths = [marker.path for marker in behind]
    known, versions = known_here(ends, paths), ends.journal.base.versions(paths)
    missing = frozenset(planned.scan.local.missing)

    with ends.installs.change(*paths) as change:
        installer = Installer(ends, change, planned.scan.sequence)

        async def point(marker: Marker) -> bool:
            content = marker.content or b""
            expected = Expected(marker.step.local, known, planned.scan.local.files, missing)
            version = Version(versions.get(marker.path, ("", ""))[1])
            arrived = Arrived(marker.sha256 or "", len(content), version, content)
            try:
                return await installer.install({marker.path: arrived}, expected)
            except BayouError as error:
                report.failed[marker.path] = str(error)
                return False

        try:
            done = await each(ends.pulls, behind, point)
        finally:
            await installer.finish()
    return [path for path, is_done in zip(paths, done, strict=True) if is_done]


def _size(planned: Planned, path: str) -> int:
    stamp = planned.scan.stamps.get(path)
    return 0 if stamp is None else stamp.size
