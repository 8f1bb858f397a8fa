"""Planning: from what was marked here and what changed there to a plan without open questions. It changes nothing.

Only what differs is looked at: here the files that a scan found to be other than the base says, there the parts of the
index that changed since they were agreed on, and of these the entries that did.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache

from bayou.domain.content import ContentId
from bayou.domain.diff import diff
from bayou.domain.entries import Entry
from bayou.domain.evidence import Evidence
from bayou.domain.partitions import by_partition
from bayou.domain.plan import Ask, Plan
from bayou.domain.scopes import EVERYTHING, Scope
from bayou.domain.sides import Base, Local, Remote
from bayou.domain.units import Classify
from bayou.errors import Corrupt
from bayou.layout.artifacts import Part, VersionFile, version_folder
from bayou.layout.directories import DEFAULT
from bayou.layout.internal import never_crosses
from bayou.layout.safety import fault
from bayou.layout.scoping import covers
from bayou.layout.units import classifier
from bayou.remotes import Format, Head, Snapshot
from bayou.remotes.objects import each
from bayou.remotes.parts import part_name
from bayou.remotes.tombstones import Buried
from bayou.sync.agreed import Agreed, changed_paths
from bayou.sync.ends import Ends
from bayou.sync.objects import content_of
from bayou.sync.scan import Scan
from bayou.tree.tiers import Tiers
from bayou.wire import metadata
from bayou.wire.times import to_text

_NOTHING_BURIED = Buried({}, "")


@dataclass(frozen=True, slots=True)
class There:
    """What the index says, as far as it was looked at. Without a snapshot it is taken to say what the base says."""

    token: str = ""
    """Of the head that it is about."""
    head: Head | None = None
    snapshot: Snapshot | None = None
    changed: frozenset[str] = frozenset()
    """The parts that may say something else than the base."""
    paths: frozenset[str] | None = frozenset()
    """Where they do; None: not known, so everywhere."""
    _entries: dict[str, Mapping[str, Entry]] = field(default_factory=dict, repr=False)

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
        return None if path in self.hashed else self.listed[path]


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
    paths = changed_paths(snapshot, parts, changed)
    return There(snapshot.token, head, snapshot, frozenset(changed), None if paths is None else frozenset(paths))


async def plan(ends: Ends, scan: Scan, there: There, scope: Scope, objects: dict[str, ContentId | None]) -> Planned:
    """Answer the diff's questions until it has none. `objects` is what looks into the bucket found; more is added."""
    classify = _classifier(ends)
    base, listed = _sides(ends, scan, there, scope, classify)
    buried = await _buried(ends, scan, there, base, listed)
    size = ends.journal.base.count()
    side = str(ends.journal.side or "")
    hashed: dict[str, ContentId] = {}
    as_of = ends.journal.as_of
    # A scan may have looked at more than may differ: at all that is in a folder that was marked.
    about = base.keys() | listed.keys() | scan.stamps.keys()
    here = {path: content for path, content in _only(scan.local.files, scope).items() if path in about}
    while True:
        found = diff(
            Base(side, base, as_of),
            Local(here, scan.local.missing),
            Remote(side, None if _is_vanished(there, listed) else listed, buried.graves, buried.since),
            Evidence(scan.evidence.deleted, scan.evidence.written, objects),
            classify,
            size=size,
        )
        if not found.questions:
            return Planned(found, scan, there, base, listed, buried, objects, hashed, scope, classify)
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


def _sides(
    ends: Ends, scan: Scan, there: There, scope: Scope, classify: Classify
) -> tuple[dict[str, ContentId], dict[str, ContentId | None]]:
    """Base and index, of whatever may differ anywhere."""
    rows = ends.journal.base
    listed: dict[str, ContentId | None]
    tiers = ends.tree.tiers
    if there.paths is None:
        base = {path: content for path, content in rows.files() if covers(scope, path)}
        listed = {**base} if there.snapshot is None else {}
        for part in there.changed:
            listed.update(_crossing(tiers, there.entries(part)))
        # What is in a part that did not change is as the base says.
        listed.update({path: content for path, content in base.items() if part_name(path) not in there.changed})
        return base, listed
    touched = {*scan.stamps, *scan.arrived, *scan.local.missing, *scan.evidence.deleted, *there.paths}
    paths = {member for path in touched if covers(scope, path) for member in _family(classify, path)}
    known = rows.get(paths)
    base = {path: row.content for path, row in known.items() if row.content is not None}
    listed = {path: content for path, content in base.items() if part_name(path) not in there.changed}
    for path in paths:
        if part_name(path) in there.changed:
            entry = there.entry(path)
            if entry is not None and crosses(tiers, path):
                listed[path] = entry.sha256
    return base, listed


def _family(classify: Classify, path: str) -> Iterable[str]:
    unit = classify(path)
    return (*unit.members, path) if unit.marker is None else (*unit.members, path, unit.marker)


def crosses(tiers: Tiers, path: str) -> bool:
    """Whether this cache takes a listed path. What existing clients put there by mistake is left alone."""
    if never_crosses(path) or fault(path):
        return False
    return tiers.is_shared(path) or path.partition("/")[0] not in DEFAULT


def _crossing(tiers: Tiers, entries: Mapping[str, Entry]) -> dict[str, ContentId | None]:
    return {path: entry.sha256 for path, entry in entries.items() if crosses(tiers, path)}


def _only(files: Mapping[str, ContentId | None], scope: Scope) -> Mapping[str, ContentId | None]:
    return files if scope is EVERYTHING else {path: content for path, content in files.items() if covers(scope, path)}


async def _buried(
    ends: Ends, scan: Scan, there: There, base: Mapping[str, ContentId], listed: Mapping[str, ContentId | None]
) -> Buried:
    """The tombstones that may matter: of what changed there, and of what is here and may be a forgotten copy."""
    unheard_of = {path for path in scan.stamps if path not in base and path not in scan.evidence.written}
    paths = {path for path in (*listed, *base) if part_name(path) in there.changed} | unheard_of
    return await ends.remote.buried(by_partition(paths)) if paths else _NOTHING_BURIED


def _is_vanished(there: There, listed: Mapping[str, ContentId | None]) -> bool:
    return there.head is not None and there.head.format is Format.NONE and not listed


def _classifier(ends: Ends) -> Classify:
    """A stream is told from a finished version by our own metadata: only what both sides know differs by it."""

    @cache
    def says_so(path: str) -> bool:
        content = ends.tree.read(path)
        try:
            return content is not None and b"streaming: true" in content and metadata.decode(content, path).streaming
        except Corrupt:
            return False

    def is_stream(file: VersionFile) -> bool:
        return says_so(f"{version_folder(file.model, file.name, file.version)}/{Part.METADATA}")

    return cache(classifier(is_stream))


def store_time(ends: Ends, head: Head | None) -> str:
    """Now by our clock, but never before what the store's has shown."""
    here = datetime.fromtimestamp(ends.now() / 1e9, UTC)
    shown = None if head is None else head.meta_modified
    moment = here if shown is None else max(here, shown)
    return to_text(int(moment.timestamp() * 1000) * 1_000_000)
