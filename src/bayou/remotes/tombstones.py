"""Tombstones in the bucket: which contents were deleted on purpose, one list for each partition that had deletions.

A commit publishes and takes back before it changes what is listed. So whoever sees an entry gone sees why, and whoever
sees one come back sees that as well. Between the two, a tombstone of what is still listed says what is about to happen.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from bayou.domain.content import ContentId, Graves
from bayou.domain.partitions import by_partition
from bayou.errors import Conflict, Unavailable
from bayou.layout.keys import Role
from bayou.remotes.looking import Place
from bayou.remotes.objects import each, read
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


@dataclass(frozen=True, slots=True)
class Buried:
    graves: Graves
    since: str
    """Deletions before this time may have no tombstone any more."""


async def load(place: Place, partitions: Iterable[str | None], *, now: datetime) -> Buried:
    """The tombstones of these partitions; None is that of what has no partition."""
    lists = await each(place.width, await _existing(place, partitions), lambda partition: _read(place, partition))
    graves: dict[str, set[ContentId]] = {}
    since = _text(now - KEPT)
    for found, _ in lists:
        for tombstone in found:
            graves.setdefault(tombstone.path, set()).add(tombstone.sha256)
        if len(found) >= MOST:
            since = max(since, min(tombstone.deleted_at for tombstone in found))
    return Buried(graves, since)


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


async def publish(
    place: Place, buries: Mapping[str, ContentId], revokes: Mapping[str, ContentId], *, now: datetime
) -> None:
    groups = by_partition(dict.fromkeys([*buries, *revokes]))

    async def publish_one(partition: str | None) -> None:
        paths = groups[partition]
        dead = {path: buries[path] for path in paths if path in buries}
        alive = {(path, revokes[path]) for path in paths if path in revokes}
        await _publish(place, partition, dead, alive, now)

    await each(place.width, groups, publish_one)


async def _publish(
    place: Place,
    partition: str | None,
    buries: Mapping[str, ContentId],
    revokes: set[tuple[str, ContentId]],
    now: datetime,
) -> None:
    for _ in range(_TRIES):
        found, version = await _read(place, partition)
        after = _changed(found, buries, revokes, now)
        if after == found:
            return
        try:
            await place.store.put(
                place.keys.tombstones(partition), form.encode(after), when=ABSENT if version is None else version
            )
        except Conflict:
            continue
        return
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


async def _read(place: Place, partition: str | None) -> tuple[tuple[Tombstone, ...], Version | None]:
    key = place.keys.tombstones(partition)
    blob = await read(place.store, key)
    return ((), None) if blob is None else (form.decode(blob.content, key), blob.version)


def _text(time: datetime) -> str:
    return to_text(int(time.timestamp() * 1000) * 1_000_000)
