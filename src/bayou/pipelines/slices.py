"""Slices: an index cut into parts of work, and those dealt out to tasks that take about the same time.

Of a sharded index a slice names a shard, which its task reads; so a planner of 20,000 shards reads none of them. A dual
index is one object, which the planner has read; its slices carry their entries along.
"""

import heapq
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from bayou.domain.entries import Entry
from bayou.domain.scopes import Scope
from bayou.errors import Corrupt, NotFound
from bayou.layout.artifacts import VersionFile
from bayou.layout.meanings import meaning
from bayou.remotes.discovery import list_shards
from bayou.remotes.loading import load, shard_now
from bayou.remotes.looking import REBUILD, Format, Head, Place, look
from bayou.remotes.objects import each
from bayou.remotes.parts import UNPARTITIONED, part_of, shard
from bayou.remotes.snapshot import Snapshot
from bayou.wire.index import Index

_BYTES_OF_ENTRY = 300
_FEW = 8
"""Shards whose sizes are asked for one by one, instead of by a listing."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What work takes, about, in seconds of one task."""

    entry: float
    byte: float = 0.0
    part: float = 3e-4

    def of(self, entries: float, size: float = 0) -> float:
        return self.part + entries * self.entry + size * self.byte


@dataclass(frozen=True, slots=True)
class Slice:
    """Entries of one part of an index: those at `first` or behind it, and before `end`."""

    namespace: str
    part: str
    first: str = ""
    end: str | None = None
    body: bytes | None = None
    """The part itself, compressed; None where the task reads it."""
    digest: str = ""
    """That of the part as the planner saw it, if it did."""
    may_lack: bool = False
    """Whether it is fine if there is no such shard."""

    def covers(self, path: str) -> bool:
        return self.first <= path and (self.end is None or path < self.end)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of an index a job is about."""

    part: Callable[[str], bool]
    scope: Scope
    cost: Cost
    by_bytes: bool
    """Whether sizes of objects matter, so that the planner has to know the entries."""


async def slices_of(place: Place, wanted: Wanted, target: float) -> list[tuple[float, Slice]]:
    """The slices of a namespace, each with its cost, which is not far above the target where it can be cut."""
    head = await look(place)
    if head.format is Format.SHARDED and not wanted.by_bytes:
        return await _of_shards(place, head, wanted, target)
    snapshot = await load(place, wanted.scope, head)
    if snapshot.missing:
        raise missing(place, snapshot.missing[0])
    return [
        one for part in snapshot.parts if wanted.part(part) for one in _cut(place, snapshot, part, wanted.cost, target)
    ]


def dealt(slices: Sequence[tuple[float, Slice]], tasks: int) -> list[tuple[Slice, ...]]:
    """The slices in so many tasks, the longest first to whoever has the least to do."""
    bins: list[tuple[float, int]] = [(0.0, number) for number in range(tasks)]
    held: list[list[Slice]] = [[] for _ in range(tasks)]
    for cost, one in sorted(slices, key=lambda pair: (-pair[0], pair[1].namespace, pair[1].part, pair[1].first)):
        load_, number = heapq.heappop(bins)
        held[number].append(one)
        heapq.heappush(bins, (load_ + cost, number))
    return [tuple(some) for some in held if some]


def tasks_for(cost: float) -> int:
    """How many tasks: each some seconds, and enough that none of a few is waited for."""
    return max(1, ceil(cost / 0.5) if cost < 20 else 40 + ceil((cost - 20) / 2))


async def entries_of(place: Place, one: Slice) -> Mapping[str, Entry]:
    """What a slice lists, in the order of the paths."""
    if one.body is not None:
        index = shard(zlib.decompress(one.body), one.part)
    else:
        seen = await shard_now(place, one.part)
        if seen.version is None and not one.may_lack:
            raise missing(place, one.part)
        index = seen.part.index(one.part)
    return {path: index.entries[path] for path in sorted(index.entries) if one.covers(path)}


def missing(place: Place, part: str) -> Corrupt:
    return Corrupt(place.keys.shard(part), expected="a shard, as the meta lists it", found="none", remedy=REBUILD)


async def _of_shards(place: Place, head: Head, wanted: Wanted, target: float) -> list[tuple[float, Slice]]:
    assert head.meta is not None  # noqa: S101 - there is no sharded index without one
    listed = [name for name in head.meta.partitions if wanted.part(name)]
    extra = [] if head.is_vouched or UNPARTITIONED in listed or not wanted.part(UNPARTITIONED) else [UNPARTITIONED]
    sizes = await _sizes(place, listed)
    slices = []
    for name in listed:
        cost = wanted.cost.of(sizes.get(name, 0) / _BYTES_OF_ENTRY)
        one = Slice(place.namespace, name)
        if cost <= 2 * target:
            slices.append((cost, one))
        else:
            entries = await entries_of(place, one)
            slices += _pieces(one, entries, wanted.cost, target)
    return [*slices, *((wanted.cost.part, Slice(place.namespace, name, may_lack=True)) for name in extra)]


async def _sizes(place: Place, names: Sequence[str]) -> dict[str, int]:
    if len(names) > _FEW:
        return {name: listed.size for name, listed in (await list_shards(place, None)).items()}
    return dict(zip(names, await each(place.width, names, lambda name: _size(place, name)), strict=True))


async def _size(place: Place, name: str) -> int:
    try:
        return (await place.store.head(place.keys.shard(name))).size
    except NotFound:
        return 0  # whoever reads it says so


def _cut(place: Place, snapshot: Snapshot, part: str, cost: Cost, target: float) -> list[tuple[float, Slice]]:
    entries, digest = snapshot.entries(part), snapshot.parts[part]
    if snapshot.format is Format.SHARDED:
        return _pieces(Slice(place.namespace, part, digest=digest), entries, cost, target)
    return carried(Slice(place.namespace, part, digest=digest), entries, cost, target)


def carried(whole: Slice, entries: Mapping[str, Entry], cost: Cost, target: float) -> list[tuple[float, Slice]]:
    """The slice in pieces of about the target that carry their entries along."""
    pieces = _pieces(whole, entries, cost, target)
    return [(spent, replace(one, body=body_of(_covered(one, entries)))) for spent, one in pieces]


def _covered(one: Slice, entries: Mapping[str, Entry]) -> Mapping[str, Entry]:
    return {path: entry for path, entry in entries.items() if one.covers(path)}


def body_of(entries: Mapping[str, Entry]) -> bytes:
    """Entries in the form in which a slice carries them."""
    return zlib.compress(part_of(Index(entries)).body, 1)


def _pieces(one: Slice, entries: Mapping[str, Entry], cost: Cost, target: float) -> list[tuple[float, Slice]]:
    """The slice in pieces of about the target. The versions of a name stay together."""
    found = []
    first, before, spent = "", "", cost.of(0)
    for path in sorted(entries):
        if spent >= target and _name_of(path) != _name_of(before):
            found.append((spent, replace(one, first=first, end=path)))
            first, spent = path, cost.of(0)
        spent += cost.entry + entries[path].size * cost.byte
        before = path
    return [*found, (spent, replace(one, first=first))]


def _name_of(path: str) -> str:
    found = meaning(path)
    return path.rsplit("/", 2)[0] if isinstance(found, VersionFile) else path


def total(slices: Iterable[tuple[float, Slice]]) -> float:
    return sum(cost for cost, _ in slices)
