"""Tombstones in the bucket: which contents were deleted on purpose, one list for each partition that had deletions.

A commit publishes and takes back before it changes what is listed. So whoever sees an entry gone sees why, and whoever
sees one come back sees that as well. Between the two, a tombstone of what is still listed says what is about to happen.

The meta names the version of each list. Who relies on its shards relies on that, too, and asks for no list that is not
there, or that he has read before; for a part that is newer than its meta the lists are asked for by their names.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from bayou.domain.content import ContentId, Graves
from bayou.domain.partitions import by_partition
from bayou.errors import Conflict, Unavailable
from bayou.layout.keys import Role
from bayou.remotes.discovery import spelled
from bayou.remotes.loading import UNVOUCHED
from bayou.remotes.looking import Head, Place
from bayou.remotes.objects import each, read
from bayou.remotes.parts import UNPARTITIONED
from bayou.storage.port import ABSENT, Version
from bayou.wire import tombstones as form
from bayou.wire.times import to_text
from bayou.wire.tombstones import Tombstone

KEPT = timedelta(days=180)
MOST = 20_000
"""Tombstones in one list. When it is full the oldest go, and with them what can be said of their time."""

FEW = 2
"""Lists that are asked for by their names."""

_TRIES = 8

_PUBLISHED = "published"
"""The note of lists that this machine wrote and that no meta tells of yet."""

_READ = "graves/"
"""Notes: each list as it was read last, with its version."""


@dataclass(frozen=True, slots=True)
class Buried:
    graves: Graves
    since: str
    """Deletions before this time may have no tombstone any more."""


async def load(place: Place, partitions: Collection[str | None], *, now: datetime, head: Head | None = None) -> Buried:
    """The tombstones of these partitions; None is that of what has no partition. With the head of what was loaded only
    those lists are read that are news.
    """
    told = _told_of(place, head, partitions)
    asked = await _existing(place, partitions) if told is None else [p for p in partitions if _name(p) in told]
    says = told or {}
    lists = await each(place.width, asked, lambda partition: _known(place, partition, says.get(_name(partition), "")))
    graves: dict[str, set[ContentId]] = {}
    since = _text(now - KEPT)
    for found in lists:
        for tombstone in found:
            graves.setdefault(tombstone.path, set()).add(tombstone.sha256)
        if len(found) >= MOST:
            since = max(since, min(tombstone.deleted_at for tombstone in found))
    return Buried(graves, since)


def _told_of(place: Place, head: Head | None, partitions: Iterable[str | None]) -> Mapping[str, str] | None:
    """What the meta tells, where it can be relied on: what is newer than its meta is gone before the meta tells why."""
    ahead = place.cache.note(place.namespace, UNVOUCHED) or ()
    is_ahead = any(_name(partition) in ahead for partition in partitions)
    is_relied_on = head is not None and (head.is_vouched or head.is_listed) and not is_ahead
    return told(head) if head is not None and is_relied_on else None


async def load_all(place: Place, *, now: datetime) -> Buried:
    """All tombstones of the namespace."""
    located = [place.keys.locate(key) for key in await _keys(place)]
    return await load(place, [one.name or None for one in located if one.role is Role.TOMBSTONES], now=now)


async def take_over(place: Place, graves: Graves, *, now: datetime) -> None:
    """Publish what was deleted elsewhere, where it is not said yet."""
    known = (await load(place, by_partition(graves), now=now)).graves
    left = [(path, content) for path, contents in graves.items() for content in contents - known.get(path, set())]
    while left:
        once = dict(left)  # a path may have been deleted more than once
        await publish(place, once, {}, now=now)
        left = [(path, content) for path, content in left if once[path] != content]


async def _existing(place: Place, partitions: Iterable[str | None]) -> list[str | None]:
    """Those that may have a list. Most have none, so one listing says more than many questions."""
    asked = list(partitions)
    if len(asked) <= FEW:
        return asked
    there = await _keys(place)
    return [partition for partition in asked if place.keys.tombstones(partition) in there]


async def _keys(place: Place) -> set[str]:
    folder = place.keys.tombstones(None).rpartition("/")[0]
    return {meta.key async for page in place.store.list(folder) for meta in page}


def told(head: Head) -> Mapping[str, str] | None:
    """The versions of the lists, as the meta tells them, or a listing in which there were none. None: nothing does."""
    if head.is_listed:
        return {}
    fields = None if head.meta is None else head.meta.fingerprints
    return None if fields is None else fields.tombstones


async def to_tell(place: Place, head: Head, published: Mapping[str, str]) -> dict[str, str]:
    """What the next meta is to tell: what this one told, and what this commit published."""
    known = told(head)
    if known is None:
        known = await _listed(place, head.meta_version)
    # Of a list that was not published by this very commit nobody knows the version: who needs it asks.
    return {**known, **dict.fromkeys(_unsaid(place), ""), **published}


def are_told(place: Place) -> None:
    """A meta tells of all that was published here."""
    if _unsaid(place):
        place.cache.write_note(place.namespace, _PUBLISHED, [])


async def publish(
    place: Place, buries: Mapping[str, ContentId], revokes: Mapping[str, ContentId], *, now: datetime
) -> dict[str, str]:
    """Bury and take back. The answer is for the next meta, and noted, as whoever publishes may be gone before he
    commits.
    """
    groups = by_partition(dict.fromkeys([*buries, *revokes]))
    unsaid = {*_unsaid(place), *map(_name, groups)}
    place.cache.write_note(place.namespace, _PUBLISHED, sorted(unsaid))

    async def publish_one(partition: str | None) -> Version | None:
        paths = groups[partition]
        dead = {path: buries[path] for path in paths if path in buries}
        alive = {(path, revokes[path]) for path in paths if path in revokes}
        return await _publish(place, partition, dead, alive, now)

    versions = await each(place.width, groups, publish_one)
    return {_name(partition): version for partition, version in zip(groups, versions, strict=True) if version}


async def _publish(
    place: Place,
    partition: str | None,
    buries: Mapping[str, ContentId],
    revokes: set[tuple[str, ContentId]],
    now: datetime,
) -> Version | None:
    """None: there was nothing to take back, and no list."""
    for _ in range(_TRIES):
        found, version = await _read(place, partition)
        after = _changed(found, buries, revokes, now)
        if after == found:
            return version
        try:
            return await place.store.put(
                place.keys.tombstones(partition), form.encode(after), when=ABSENT if version is None else version
            )
        except Conflict:
            continue
    raise Unavailable("others keep changing the same list of tombstones")


def _changed(
    found: tuple[Tombstone, ...],
    buries: Mapping[str, ContentId],
    revokes: set[tuple[str, ContentId]],
    now: datetime,
) -> tuple[Tombstone, ...]:
    held = {(tombstone.path, tombstone.sha256) for tombstone in found}
    new = [Tombstone(path, content, _text(now)) for path, content in buries.items() if (path, content) not in held]
    kept = [tombstone for tombstone in found if (tombstone.path, tombstone.sha256) not in revokes]
    if len(kept) + len(new) == len(found) == len(kept):
        return found
    # Old ones go when the list is written anyway.
    recent = [tombstone for tombstone in kept if tombstone.deleted_at >= _text(now - KEPT)]
    return tuple([*recent, *new][-MOST:])


async def _listed(place: Place, like: str | None) -> dict[str, str]:
    """The lists that there are, with their versions as far as the store lists those."""
    folder = place.keys.tombstones(None).rpartition("/")[0]
    located = [(place.keys.locate(meta.key), meta) async for page in place.store.list(folder) for meta in page]
    return {
        _name(found.name or None): spelled(meta.version, like) or ""
        for found, meta in located
        if found.role is Role.TOMBSTONES
    }


def _unsaid(place: Place) -> list[str]:
    return list(place.cache.note(place.namespace, _PUBLISHED) or ())


def _name(partition: str | None) -> str:
    return partition or UNPARTITIONED


async def _known(place: Place, partition: str | None, version: str) -> tuple[Tombstone, ...]:
    """A list, which need not be read again while it has this version."""
    name = f"{_READ}{_name(partition)}"
    note = place.cache.note(place.namespace, name)
    if note is not None and version and note["version"] == version:
        return form.decode(note["list"].encode(), place.keys.tombstones(partition))
    found, seen = await _read(place, partition)
    if version:
        place.cache.write_note(place.namespace, name, {"version": seen, "list": form.encode(found).decode()})
    return found


async def _read(place: Place, partition: str | None) -> tuple[tuple[Tombstone, ...], Version | None]:
    key = place.keys.tombstones(partition)
    blob = await read(place.store, key)
    return ((), None) if blob is None else (form.decode(blob.content, key), blob.version)


def _text(time: datetime) -> str:
    return to_text(int(time.timestamp() * 1000) * 1_000_000)
