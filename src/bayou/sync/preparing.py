"""Preparing: the first phase of a push on its way. Everything is uploaded, and grouped into what is listed together.

The units of a name go up side by side, and with the last of them its marker. No name waits for another.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from bayou.domain.content import ContentId
from bayou.domain.entries import Entry
from bayou.domain.plan import Action, Step
from bayou.domain.units import Kind
from bayou.errors import BayouError, Corrupt
from bayou.layout.artifacts import Part, version_of
from bayou.remotes import Change
from bayou.remotes.objects import each
from bayou.storage.port import Version
from bayou.sync import attempted, markers
from bayou.sync.ends import Ends
from bayou.sync.markers import COMING, GOING, NONE, Marker
from bayou.sync.planning import Planned
from bayou.sync.report import Report
from bayou.sync.uploading import Changing, Occupants, Occupied, Placed, Ready, Uploaded, put, ready, upload
from bayou.wire import metadata
from bayou.wire.times import to_text

PUSHING = COMING | GOING
_VERSIONS = frozenset({Kind.VERSION, Kind.STREAM})


@dataclass(frozen=True, slots=True)
class Work:
    """What is listed together or not at all: the versions of a name with its marker, or any other unit by itself."""

    steps: tuple[Step, ...]
    change: Change
    marker: Marker | None = None
    placed: Mapping[str, Placed] = field(default_factory=dict)


async def upload_all(ends: Ends, planned: Planned, report: Report) -> tuple[list[Work], Mapping[str, ContentId | None]]:
    """What is to be listed now, and what lay in the bucket otherwise than planned: to plan with again."""
    steps = [step for step in planned.plan.steps if step.action in PUSHING]
    pushes = [step for step in steps if step.action is Action.PUSH]
    settling = markers.markers_of(planned)
    changing = [*(step for step in pushes if step.unit.kind is not Kind.VERSION), *settling]
    attempted.attempt(ends.journal.reports, {path: step.local[path] for step in changing for path in step.local})
    report.expect(sum(len(step.local) for step in pushes), sum(_size(planned, p) for s in pushes for p in s.local))
    phase = _Phase(
        ends,
        planned,
        report,
        _occupants(ends, planned),
        listed=markers.versions_of(ends, planned, settling),
        coming=markers.moving(steps, COMING),
        moving=_first_moving(steps),
    )
    tasks = [(group, step) for group in _groups(planned, steps) for step in group.pushes or (None,)]
    works = [work for done in await each(ends.pushes, tasks, phase.go_on_with) for work in done]
    return works, phase.objects


@dataclass(frozen=True, slots=True)
class _Phase:
    """The first phase on its way."""

    ends: Ends
    planned: Planned
    report: Report
    occupants: Occupants
    listed: Mapping[str, AbstractSet[int]]
    """The versions of each name that are listed now, by the name's marker."""
    coming: Mapping[str, AbstractSet[int]]
    """Those that are to be."""
    moving: dict[str | None, int]
    """By marker, the first of our versions that has something else in its way: it is going to get another number."""
    uploaded: dict[str, Uploaded] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    """Units that are not to be listed."""
    objects: dict[str, ContentId | None] = field(default_factory=dict)
    """What lies in the bucket otherwise than planned."""

    async def go_on_with(self, task: tuple["_Group", Step | None]) -> list[Work]:
        """Upload one unit of a group. With the last of them, the group is ready to be listed."""
        group, step = task
        if step is not None:
            await self._send(step)
            group.left -= 1
        return [] if group.left else await self._finish(group)

    async def _send(self, step: Step) -> None:
        path = step.unit.key
        try:
            # Of a version the raw goes first: whose raw lies there owns the number.
            files = [await ready(self.ends, path, step.local[path]) for path in sorted(step.local, key=_metadata_last)]
            if step.unit.kind in _VERSIONS:
                _check_whole(self.ends, step, files)
            for file in files:
                path = file.path
                self.uploaded[path] = await upload(self.ends, file, self.occupants)
                self.report.moved(file.stamp.size)
                self.report.done()
        except Occupied as occupied:
            self.broken.add(step.unit.key)
            self.objects[occupied.path] = occupied.found
            marker, number = step.unit.marker, _number(step)
            self.moving[marker] = min(number, self.moving.get(marker, number))
        except (Changing, FileNotFoundError):
            self.broken.add(step.unit.key)
            self.report.failed[path] = "it changed while it was pushed"
        except BayouError as error:
            self.broken.add(step.unit.key)
            self.report.failed[path] = str(error)

    def is_held_back(self, step: Step) -> bool:
        """Later ones of ours move with the version that has to. Listed before, they would end below it."""
        first = self.moving.get(step.unit.marker) if step.action is Action.PUSH else None
        is_behind = step.unit.marker is not None and first is not None and _number(step) > first
        return is_behind or step.unit.key in self.broken

    async def _finish(self, group: "_Group") -> list[Work]:
        """What is to be listed of it: with its marker together or not at all."""
        ready = [step for step in group.steps if not self.is_held_back(step)]
        together = [ready] if group.marker is not None else [[step] for step in ready]
        return [work for steps in together if (work := await self._try(steps, group.marker)) is not None]

    async def _try(self, steps: Sequence[Step], moved: Step | None) -> Work | None:
        try:
            return await self._work(steps, moved)
        except Occupied as occupied:
            self.objects[occupied.path] = occupied.found
        except BayouError as error:
            self.report.failed[moved.unit.key if moved is not None else steps[0].unit.key] = str(error)
        return None

    async def _work(self, steps: Sequence[Step], moved: Step | None) -> Work | None:
        """None where nothing is to be listed otherwise."""
        planned, uploaded = self.planned, self.uploaded
        before: dict[str, ContentId | None] = {}
        after: dict[str, Uploaded] = {}
        buries: dict[str, ContentId] = {}
        revokes: dict[str, ContentId] = {}
        for step in steps:
            before |= {path: planned.expected(path) for path in step.unit.members if path in planned.listed}
            buries |= step.buries
            revokes |= step.revokes
            if step.action is Action.PUSH:
                after |= {path: uploaded[path] for path in step.local}
            elif step.action is Action.READD:
                after |= {path: await self._as_it_lies(path, content) for path, content in step.lists.items()}
        marker = None if moved is None else await self._settle(steps, moved)
        if marker is not None and (marker.is_news_there or marker.content is None):
            if marker.path in planned.listed:
                before[marker.path] = planned.expected(marker.path)
            dead = marker.remote or marker.step.base.get(marker.path)
            if marker.content is not None:
                after[marker.path] = await self._put(marker, marker.content)
                revokes |= _taken_back(planned, marker)
            elif dead is not None:
                buries[marker.path] = dead
        entries = {path: put.entry for path, put in after.items()}
        change = Change(before, entries, buries, revokes)
        placed = {path: put.placed for path, put in after.items()}
        return Work(tuple(steps), change, marker, placed) if change != Change() else None

    async def _settle(self, steps: Sequence[Step], moved: Step) -> Marker:
        coming, going = (markers.moving(steps, actions) for actions in (COMING, GOING))
        path = moved.unit.key
        versions = (self.listed[path] | coming.get(path, NONE)) - going.get(path, NONE)
        marker = await markers.settle(self.ends, moved, versions)
        all_coming = self.coming.get(path, NONE)
        is_ahead = moved.local != moved.base and bool(all_coming - coming.get(path, NONE))
        return replace(marker, is_ahead_here=is_ahead)

    async def _put(self, marker: Marker, body: bytes) -> Uploaded:
        """The marker as decided, which need not be what lies in the cache."""
        path, content = marker.path, marker.sha256 or ""
        if marker.is_news_here:
            attempted.attempt(self.ends.journal.reports, {path: content})
        placed = await put(self.ends, path, content, body, self.occupants)
        now = to_text(self.ends.now())
        return Uploaded(Entry(path, len(body), now, now, content), placed)

    async def _as_it_lies(self, path: str, content: ContentId) -> Uploaded:
        meta = await self.ends.store.head(self.ends.key(path))
        modified = to_text(int(meta.modified.timestamp() * 1000) * 1_000_000)
        return Uploaded(Entry(path, meta.size, modified, None, content), Placed(Version(""), lay_there=True))


@dataclass(slots=True)
class _Group:
    """The units of one name, with its marker where that is to be settled; or any other unit by itself."""

    marker: Step | None = None
    steps: list[Step] = field(default_factory=list)
    left: int = 0
    """How many are still to be uploaded."""

    @property
    def pushes(self) -> list[Step]:
        return [step for step in self.steps if step.action is Action.PUSH]


def _groups(planned: Planned, steps: Iterable[Step]) -> list[_Group]:
    groups = {step.unit.key: _Group(step) for step in markers.markers_of(planned)}
    for step in steps:
        groups.setdefault(step.unit.marker or step.unit.key, _Group()).steps.append(step)
    for group in groups.values():
        group.left = len(group.pushes)
    return list(groups.values())


def _occupants(ends: Ends, planned: Planned) -> Occupants:
    expected = {path: content for step in planned.plan.steps for path, content in step.replaces.items()}
    for step in markers.markers_of(planned):
        content = planned.objects.get(step.unit.key, step.remote.get(step.unit.key))
        expected |= {} if content is None else {step.unit.key: content}
    return Occupants(expected, ends.journal.base.versions(expected), attempted.attempted(ends.journal.reports))


def _first_moving(steps: Iterable[Step]) -> dict[str | None, int]:
    """Of those of which it is known already what lies in their way: that is listed as it lies, and ours moves then."""
    first: dict[str | None, int] = {}
    for step in steps:
        if gives_way(step) and step.unit.kind in _VERSIONS:
            first[step.unit.marker] = min(_number(step), first.get(step.unit.marker, _number(step)))
    return first


def gives_way(step: Step) -> bool:
    return step.action is Action.READD and bool(step.local) and step.local != step.lists


def _taken_back(planned: Planned, marker: Marker) -> dict[str, ContentId]:
    content = marker.sha256
    is_buried = content is not None and content in planned.buried.graves.get(marker.path, ())
    return {marker.path: content} if content is not None and is_buried else {}


def _check_whole(ends: Ends, step: Step, files: Iterable[Ready]) -> None:
    """A version is only pushed when its metadata can be read, and is about these bytes."""
    path, raw = f"{step.unit.key}/{Part.METADATA}", f"{step.unit.key}/{Part.RAW}"
    here = {file.path: file for file in files}
    described = here[path].body if path in here else None
    says = metadata.decode(described if isinstance(described, bytes) else ends.tree.read(path) or b"", path)
    if says.streaming:
        return
    size = here[raw].stamp.size if raw in here else ends.tree.size(raw)
    if says.size not in (None, size):
        raise Corrupt(raw, expected=f"{says.size} bytes, as its metadata says", found=f"{size}")
    if says.checksum not in (None, step.local.get(raw)):
        raise Corrupt(raw, expected="the checksum that its metadata says", found="another")


def _number(step: Step) -> int:
    return version_of(step.unit.key.rpartition("/")[2]) or 0


def _metadata_last(path: str) -> tuple[bool, str]:
    return path.endswith(f"/{Part.METADATA}"), path


def _size(planned: Planned, path: str) -> int:
    stamp = planned.scan.stamps.get(path)
    return 0 if stamp is None else stamp.size
