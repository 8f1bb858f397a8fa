"""Following: which versions are new or changed since an offset of a stream, and what to read of them.

Only parts of the index that changed are read, of the bucket as well as of the snapshots: a look at an index that did
not change is one conditional request. Plain functions of stores and values; `stream` is what Spark calls.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bayou.domain.entries import Entry
from bayou.domain.scopes import EVERYTHING
from bayou.errors import Unavailable
from bayou.layout.artifacts import Part as File
from bayou.layout.artifacts import VersionFile, version_folder
from bayou.layout.keys import Keyspace
from bayou.layout.meanings import meaning
from bayou.pipelines.reach import WIDTH, Reach
from bayou.pipelines.slices import Slice, carried, missing
from bayou.pipelines.snapshots import Seen, Snapshot, Snapshots
from bayou.pipelines.tables import Table
from bayou.remotes.cache import Cache
from bayou.remotes.loading import load
from bayou.remotes.looking import Format, Place, look
from bayou.remotes.objects import each
from bayou.remotes.parts import Part, part_of
from bayou.remotes.snapshot import Snapshot as Listed
from bayou.storage.port import Store
from bayou.wire.index import Index

Fresh = frozenset[tuple[str, str]]
"""Versions, by their namespace and folder."""

_OF_VERSIONS = "data--"


@dataclass(slots=True)
class Following:
    """One stream, as the process sees it that plans its batches."""

    reach: Reach
    caches: dict[str, Cache] = field(default_factory=dict)
    target: Snapshot | None = None
    """What there is to reach, for a stream that stops there."""

    async def advance(
        self, store: Store, snapshots: Snapshots, start: str, *, most: int | None = None, stops: bool = False
    ) -> str:
        """The offset of what there is now, or of at most so many of the next versions; the same if nothing changed."""
        since = await snapshots.load(start)
        now = self.target if stops and self.target is not None else await self._look(store, snapshots, since)
        self.target = now if stops else None
        changed = now.changed(since)
        if now == since or (not changed and not _are_gone(since, now)):
            return start
        new = {seen.digest: self._part(ns, seen.digest) for ns, name in changed if (seen := now.part(ns, name))}
        if most is not None:
            now, new = await _limited(snapshots, since, now, new, most)
        known = since.digests()
        return await snapshots.save(start, now, [part for digest, part in new.items() if digest not in known])

    async def _look(self, store: Store, snapshots: Snapshots, since: Snapshot) -> Snapshot:
        found = {}
        for namespace in (await self.reach.settled(store)).namespaces:
            known = since.parts.get(namespace, {})
            if namespace not in self.caches:
                self.caches[namespace] = Cache()
                versions = {name: (seen.digest, seen.version) for name, seen in known.items() if seen.version}
                self.caches[namespace].saw_shards(namespace, versions)
            place = Place(store, Keyspace(namespace), self.caches[namespace], WIDTH)
            try:
                listed = await _listed(place)
            except Unavailable:
                # A shard turned out to be as it was, and this process never saw it: not every writer says so.
                for part in await each(WIDTH, known.values(), lambda seen: snapshots.part(seen.digest)):
                    place.cache.keep(part)
                listed = await _listed(place)
            shards = place.cache.shards(namespace)
            found[namespace] = {
                name: Seen(digest, shards[name].version if name in shards and shards[name].digest == digest else None)
                for name, digest in listed.items()
                if name.startswith(_OF_VERSIONS)
            }
        return Snapshot({namespace: parts for namespace, parts in found.items() if parts})

    def _part(self, namespace: str, digest: str) -> Part:
        return self.caches[namespace].part(digest)


async def _listed(place: Place) -> Mapping[str, str]:
    """The digests of the parts. What lies in a bucket without an index may be a push under way: it is not there yet."""
    head = await look(place)
    listed: Listed = await load(place, EVERYTHING, head)
    if listed.missing:
        raise missing(place, listed.missing[0])
    return {} if listed.format is Format.NONE else listed.parts


async def _limited(
    snapshots: Snapshots, since: Snapshot, now: Snapshot, new: Mapping[str, Part], most: int
) -> tuple[Snapshot, dict[str, Part]]:
    """A snapshot with so many new versions and no more: parts one after the other, the last one in part."""
    parts = {namespace: dict(some) for namespace, some in since.parts.items()}
    taken: dict[str, Part] = {}
    for namespace, name in now.changed(since):
        seen = now.part(namespace, name)
        assert seen is not None  # noqa: S101 - it changed
        before = await snapshots.entries(since.part(namespace, name))
        after = new[seen.digest].index(name).entries
        folders = sorted(
            fresh(before, after), key=lambda folder: (folder.rpartition("/")[0], int(folder.rpartition("/")[2]))
        )
        if len(folders) > most:
            some = set(folders[:most])
            chosen = {path: entry for path, entry in after.items() if path.rpartition("/")[0] in some}
            part = part_of(Index({**before, **chosen}))
            parts.setdefault(namespace, {})[name] = Seen(part.digest)
            return Snapshot(parts), {**taken, part.digest: part}
        parts.setdefault(namespace, {})[name] = seen
        taken[seen.digest] = new[seen.digest]
        most -= len(folders)
    return now, dict(new)


async def batch(snapshots: Snapshots, table: Table, start: str, end: str) -> list[tuple[float, Slice, Fresh]]:
    """What to read of the versions that are new between two offsets: slices that carry their entries, with costs."""
    since, until = await snapshots.load(start), await snapshots.load(end)
    found = []
    for namespace, name in until.changed(since):
        before = await snapshots.entries(since.part(namespace, name))
        after = await snapshots.entries(until.part(namespace, name))
        folders = fresh(before, after)
        entries = _to_read(folders, after)
        for cost, one in carried(Slice(namespace, name), entries, table.cost, table.target):
            mine = frozenset((namespace, folder) for folder in folders if one.covers(f"{folder}/{File.METADATA}"))
            found.append((cost, one, mine))
    return found


def fresh(before: Mapping[str, Entry], after: Mapping[str, Entry]) -> set[str]:
    """The folders of versions of which a file is new or another one."""
    changed = {
        path.rpartition("/")[0]
        for path, entry in after.items()
        if path not in before or before[path].sha256 != entry.sha256
    }
    return {folder for folder in changed if isinstance(meaning(f"{folder}/{File.METADATA}"), VersionFile)} & {
        path.rpartition("/")[0] for path in after if path.endswith(f"/{File.METADATA}")
    }


def _to_read(folders: set[str], entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """With each version those above it: whether it is the latest depends on them."""
    lowest: dict[str, int] = {}
    for folder in folders:
        name, _, number = folder.rpartition("/")
        lowest[name] = min(int(number), lowest.get(name, int(number)))
    found = {}
    for path, entry in entries.items():
        what = meaning(path)
        if isinstance(what, VersionFile):
            name = version_folder(what.model, what.name, what.version).rpartition("/")[0]
            if what.version >= lowest.get(name, what.version + 1):
                found[path] = entry
    return found


def _are_gone(since: Snapshot, now: Snapshot) -> bool:
    """Whether there are parts that are listed no more."""
    return any(now.part(namespace, name) is None for namespace, parts in since.parts.items() for name in parts)
