"""What the commits of all formats share: tombstones first, then parts, and the meta last."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from bayou.domain.content import ContentId
from bayou.domain.entries import Entry
from bayou.domain.partitions import by_partition
from bayou.remotes import tombstones
from bayou.remotes.attempts import Attempt
from bayou.remotes.changes import Change
from bayou.remotes.looking import STORE, Head, Place, wrote
from bayou.remotes.parts import Part, part_name
from bayou.wire.index import Index
from bayou.wire.meta import Fingerprints, Meta
from bayou.wire.meta import encode as encode_meta


def amended(parts: Mapping[str, Index], changes: Iterable[Change]) -> dict[str, Index]:
    """The parts that these changes touch, as they are then."""
    uploaded: dict[str, dict[str, Entry]] = {}
    deleted: dict[str, list[str]] = {}
    for change in changes:
        for path, entry in change.after.items():
            uploaded.setdefault(part_name(path), {})[path] = entry
        for path in change.before.keys() - change.after.keys():
            deleted.setdefault(part_name(path), []).append(path)
    touched = dict.fromkeys([*uploaded, *deleted])
    return {name: parts[name].amended(uploaded.get(name, {}), deleted.get(name, ())) for name in touched}


async def record(attempt: Attempt, changes: Iterable[Change], head: Head) -> None:
    """Publish and take back tombstones, before anything else is written."""
    buries: dict[str, ContentId] = {}
    revokes: dict[str, ContentId] = {}
    for change in changes:
        buries.update(change.buries)
        revokes.update(change.revokes)
    attempt.published = {}
    now = store_time(attempt.place, head)
    if revokes:
        # Most of what is to live was never deleted, and then there is nothing to take back.
        relied_on = None if attempt.doubted else head
        graves = (await tombstones.load(attempt.place, by_partition(revokes), now=now, head=relied_on)).graves
        revokes = {path: content for path, content in revokes.items() if content in graves.get(path, ())}
    if buries or revokes:
        attempt.published = await tombstones.publish(attempt.place, buries, revokes, now=now)


def store_time(place: Place, head: Head) -> datetime:
    """Now, but never before what the store's clock has shown already."""
    here = datetime.fromtimestamp(place.now() / 1e9, UTC)
    return here if head.meta_modified is None else max(here, head.meta_modified)


async def write_shard(attempt: Attempt, name: str, part: Part, version: str | None) -> str:
    place = attempt.place
    written = await attempt.replace(place.keys.shard(name), part.body, version)
    place.cache.saw_shard(place.namespace, name, part, written, "")
    return written


async def vouching(attempt: Attempt, head: Head, monolith: str | None, shards: Mapping[str, str]) -> Fingerprints:
    """What the next meta says for readers to rely on, besides which shards there are."""
    told = await tombstones.to_tell(attempt.place, head, attempt.published)
    known = attempt.place.cache.note("", STORE)
    return Fingerprints(monolith, dict(shards), head.store if known is None else UUID(known), told)


async def put_meta(attempt: Attempt, head: Head, meta: Meta) -> Head:
    place = attempt.place
    attempt.require_lock()
    version = await attempt.replace(place.keys.meta, encode_meta(meta), head.meta_version)
    if head.meta_version is not None:
        place.cache.carry_over(place.namespace, head.meta_version, version)
    after = replace(head, meta=meta, meta_version=version)
    wrote(place, after)
    tombstones.are_told(place)
    return after
