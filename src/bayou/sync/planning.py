"""Planning: from what was marked here and what changed there to a plan without open questions. It changes nothing.

Only what differs is looked at: here the files that a scan found to be other than the base says, there the parts of the
index that changed since they were agreed on, and of these the entries that did.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from types import MappingProxyType

from bayou.domain.content import ContentId
from bayou.domain.diff import diff
from bayou.domain.entries import Entry
from bayou.domain.evidence import Evidence
from bayou.domain.partitions import by_partition
from bayou.domain.plan import Ask, Plan
from bayou.domain.scopes import Scope
from bayou.domain.sides import Base, Local, Remote
from bayou.domain.units import Classify
from bayou.errors import Corrupt
from bayou.layout.artifacts import Part, VersionFile
from bayou.layout.directories import DEFAULT
from bayou.layout.internal import never_crosses
from bayou.layout.safety import fault
from bayou.layout.scoping import covers
from bayou.layout.units import classifier
from bayou.remotes import Format, Head, Snapshot
from bayou.remotes.objects import each
from bayou.remotes.parts import part_name
from bayou.remotes.tombstones import Buried
from bayou.storage.arriving import content_of
from bayou.sync.agreed import Agreed, changed_paths
from bayou.sync.ends import Ends
from bayou.sync.here import look as look_here
from bayou.sync.scan import Scan
from bayou.sync.walk import Check
from bayou.tree.tiers import Tiers
from bayou.wire import metadata
from bayou.wire.times import to_text

_CURSOR = "looked"
_LOOKS = 2000
"""Files that ought to be here and are looked for at each pull."""
_NOTHING_BURIED = Buried({}, "")
EMPTY: Mapping[str, ContentId | None] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class There:
    """What the index says, as far as it was looked at. Without a snapshot it is taken to say what the base says."""

    token: str = ""
    """Of the head that it is about."""
    head: Head | None = None
    snapshot: Snapshot | None = None
    changed: frozenset[str] = frozenset()
    """The parts that may say something else than the base."""
    paths: frozenset[str] = frozenset()
    """Where they do."""
    _entries: dict[str, Mapping[str, Entry]] = field(default_factory=dict, repr=False)

    @property
    def loaded(self) -> Head | None:
        """The head, where what was loaded is of this very one."""
        return self.head if self.head is not None and self.head.token == self.token else None

    def entries(self, part: str) -> Mapping[str, Entry]:
        if part not in self._entries and self.snapshot is not None:
            self._entries[part] = self.snapshot.entries(part)
        return self._entries.get(part, {})

    def entry(self, path: str) -> Entry | None:
        return self.entries(part_name(path)).get(path)


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, and all that it was made of: whoever executes it has nothing to look up."""

    plan: Plan
    scan: Scan
    local: Local
    """What is here of all that this is about."""
    there: There
    base: Mapping[str, ContentId]
    listed: Mapping[str, ContentId | None]
    buried: Buried
    objects: Mapping[str, ContentId | None]
    hashed: Mapping[str, ContentId]
    """The content of what is listed without a hash, where somebody had to know it."""
    scope: Scope
    classify: Classify

    def expected(self, path: str) -> ContentId | None:
        """What the index says of a path that it lists, to the letter: None where it gives no hash."""
        entry = self.there.entry(path)
        return entry.sha256 if entry is not None else self.listed[path]


async def look(ends: Ends, agreed: Agreed, scope: Scope, *, head: Head | None = None) -> There:
    """Say what changed in the index: one request when nothing did."""
    head = head or await ends.remote.head()
    if head.token == agreed.head():
        return There(head.token, head)
    snapshot = await ends.remote.load(scope, head)
    parts = agreed.parts()
    if scope.models is not None:
        parts = {name: digest for name, digest in parts.items() if name in snapshot.parts}
    changed = snapshot.changed(parts)
    paths = changed_paths(ends.journal.base, snapshot, parts, changed)
    return There(snapshot.token, head, snapshot, frozenset(changed), frozenset(paths))


async def plan(  # noqa: PLR0913 - what to compare, and what is known of it already
    ends: Ends,
    scan: Scan,
    there: There,
    scope: Scope,
    *,
    absent: AbstractSet[str] = frozenset(),
    objects: Mapping[str, ContentId | None] = EMPTY,
) -> Planned:
    """Answer the diff's questions until it has none. `absent` is what is to be brought here whether it changed or not;
    `objects` is what looks into the bucket have found.
    """
    view = _View(ends, scan, there, scope, scan.local.missing | absent, _classifier(ends))
    about = view.about()
    base, listed = view.sides(about)
    local = view.here(about, base, listed)
    objects = dict(objects)
    buried = await view.buried({*base, *listed}, base, objects)
    size = ends.journal.base.count()
    side = str(ends.journal.side or "")
    hashed: dict[str, ContentId] = {}
    as_of = ends.journal.as_of
    while True:
        found = diff(
            Base(side, base, as_of),
            local,
            Remote(side, None if _is_vanished(there, listed) else listed, buried.graves, buried.since),
            Evidence(scan.evidence.deleted, scan.evidence.written, objects),
            view.classify,
            size=size,
        )
        if not found.questions:
            return Planned(found, scan, local, there, base, listed, buried, objects, hashed, scope, view.classify)
        asked = sorted({question.path for question in found.questions} - objects.keys())
        answers = await each(ends.pulls, asked, lambda path: content_of(ends.store, ends.key(path)))
        objects |= dict(zip(asked, answers, strict=True))
        for question in found.questions:
            if question.ask is Ask.REMOTE_HASH:
                content = objects[question.path]
                if content is None:
                    del listed[question.path]
                else:
                    listed[question.path] = hashed[question.path] = content


def contradictions(planned: Planned) -> dict[str, str]:
    """Entries that do not say what lies in the bucket, and of which the plan makes nothing: on their way, or damage."""
    settled = {member for step in planned.plan.steps for member in step.unit.members}
    return {
        path: f"its object does not hold what the index says (sha256 {planned.listed[path]} expected, {found} found)"
        if found is not None
        else "the index lists it, and there is no such object"
        for path, found in planned.objects.items()
        if path not in settled and planned.listed.get(path) not in (None, found)
    }


def left(planned: Planned) -> dict[str, str]:
    """What no plan can push: files that change while they are looked at, and versions whose content is on neither side.
    It comes before what is said of it, so nobody is just about to write it.
    """
    scan = planned.scan
    why = dict.fromkeys(scan.unsettled, "it changes at this moment")
    for path in scan.stamps:
        raw = f"{path.removesuffix(Part.METADATA)}{Part.RAW}"
        somewhere = (raw in side for side in (planned.base, planned.listed, scan.local.files, scan.unsettled))
        if raw in planned.classify(path).members and not any(somewhere):
            why[path] = "its content is neither here nor there: sync a machine that has it, or delete this version"
    return why


def absent(ends: Ends, scope: Scope, *, lazy: bool, check: Check = lambda: None) -> frozenset[str]:
    """What both sides hold and this machine does not, as far as it is to: content that was left there (sync spec W-24),
    and what is gone from the cache without a word (W-52). For the latter the folders of some thousand files are listed,
    at each pull the next ones: all of a small cache, and of a large one sooner or later.
    """
    journal = ends.journal
    rows = journal.base.absent(wanted=lazy)
    left = {row.path for row in rows if row.content is not None and covers(scope, row.path)}
    cursor = (journal.reports.note(_CURSOR) or b"").decode()
    missing, end = journal.missing(scope=scope, check=check, after=cursor, most=_LOOKS)
    if end != cursor:
        journal.reports.set_note(_CURSOR, end.encode())
    return frozenset(left | missing)


@dataclass(frozen=True, slots=True)
class _View:
    """The three sides, of whatever may differ anywhere."""

    ends: Ends
    scan: Scan
    there: There
    scope: Scope
    missing: AbstractSet[str]
    classify: Classify

    def about(self) -> AbstractSet[str]:
        """The paths of all that may differ."""
        scan, there = self.scan, self.there
        touched = {*scan.stamps, *scan.arrived, *self.missing, *scan.evidence.deleted, *there.paths}
        return {member for path in touched if covers(self.scope, path) for member in _family(self.classify, path)}

    def sides(self, about: AbstractSet[str]) -> tuple[dict[str, ContentId], dict[str, ContentId | None]]:
        """Base and index. What is in a part that did not change is as the base says."""
        rows, there, tiers = self.ends.journal.base, self.there, self.ends.tree.tiers
        base = {path: row.content for path, row in rows.get(about).items() if row.content is not None}
        changed = (path for path in about if part_name(path) in there.changed)
        entries = {path: entry for path in changed if (entry := there.entry(path)) is not None}
        listed: dict[str, ContentId | None]
        listed = {path: content for path, content in base.items() if part_name(path) not in there.changed}
        listed |= {path: entry.sha256 for path, entry in entries.items() if crosses(tiers, path)}
        return base, listed

    def here(
        self, about: AbstractSet[str], base: Mapping[str, ContentId], listed: Mapping[str, ContentId | None]
    ) -> Local:
        """What the scan saw, and what it did not look at in units that somebody else changed."""
        scan, journal = self.scan, self.ends.journal
        changed = {path for path, _ in base.items() ^ listed.items()}
        members = {member for path in changed for member in self.classify(path).members}
        unseen = members - scan.local.files.keys() - scan.evidence.deleted.keys() - scan.unsettled
        known = journal.base.get(unseen)
        seen = scan.local.files
        files = {path: seen[path] for path in about & seen.keys()}
        gone = set(self.missing)
        for path, content in look_here(self.ends.tree.root, journal.stats, unseen).items():
            row = known.get(path)
            if content is not None:
                files[path] = content
                gone.discard(path)
            elif row is not None and row.is_here:
                gone.add(path)
        return Local(files, gone)

    async def buried(
        self, paths: AbstractSet[str], base: Mapping[str, ContentId], objects: Mapping[str, ContentId | None]
    ) -> Buried:
        """The tombstones that may matter: of what changed there, of what is here and may be a forgotten copy, and of
        what lies unlisted in the bucket.
        """
        scan = self.scan
        unheard_of = {path for path in scan.stamps if path not in base and path not in scan.evidence.written}
        asked = {path for path in paths if part_name(path) in self.there.changed} | unheard_of | objects.keys()
        return await self.ends.remote.buried(by_partition(asked), self.there.loaded) if asked else _NOTHING_BURIED


def _family(classify: Classify, path: str) -> Iterable[str]:
    unit = classify(path)
    return (*unit.members, path) if unit.marker is None else (*unit.members, path, unit.marker)


def crosses(tiers: Tiers, path: str) -> bool:
    """Whether this cache takes a listed path. What existing clients put there by mistake is left alone."""
    if never_crosses(path) or fault(path):
        return False
    return tiers.is_shared(path) or path.partition("/")[0] not in DEFAULT


def _is_vanished(there: There, listed: Mapping[str, ContentId | None]) -> bool:
    return there.head is not None and there.head.format is Format.NONE and not listed


def _classifier(ends: Ends) -> Classify:
    """A stream is told from a finished version by our own metadata: only what both sides know differs by it."""

    def is_stream(file: VersionFile) -> bool:
        path = VersionFile(file.model, file.name, file.version, Part.METADATA).path
        try:
            # Not through the tree, which looks for links on the way: what is learnt of a file stays in here.
            content = ends.file(path).read_bytes()
            return b"streaming: true" in content and metadata.decode(content, path).streaming
        except (Corrupt, OSError):
            return False

    return cache(classifier(is_stream))


def store_time(ends: Ends, head: Head | None) -> str:
    """Now by our clock, but never before what the store's has shown."""
    here = datetime.fromtimestamp(ends.now() / 1e9, UTC)
    shown = None if head is None else head.meta_modified
    moment = here if shown is None else max(here, shown)
    return to_text(int(moment.timestamp() * 1000) * 1_000_000)
