"""Rebuilding a damaged index from what is left: shards, monolith, and what lies in the bucket.

Nothing is downgraded. Where the meta is damaged and does not say which format it was, the index becomes a sharded one:
that reads both. What cannot be read is set aside first. An entry whose object is gone is dropped; an object that no
entry names is listed only where the shard that would have named it is lost.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from bayou.domain.entries import Entry
from bayou.errors import Corrupt
from bayou.remotes import dual
from bayou.remotes import monolith as monoliths
from bayou.remotes.attempts import Attempt
from bayou.remotes.discovery import Found, Listed, discover
from bayou.remotes.looking import Format, Head, Place, decode_meta, remembered
from bayou.remotes.monolith import Monolith
from bayou.remotes.objects import Blob, each, read
from bayou.remotes.parts import UNPARTITIONED, joined, part_name, regroup, shard, stored
from bayou.remotes.quarantine import set_aside
from bayou.remotes.recording import put_meta, vouching
from bayou.wire.index import Index, encode_monolith
from bayou.wire.meta import Meta

_VERSION = re.compile(rb'"version"\s*:\s*(\d+)')
_SEQUENCE = re.compile(rb'"commitSeq"\s*:\s*(\d{1,15})')


@dataclass(frozen=True, slots=True)
class Rebuilt:
    format: Format
    partitions: int = 0
    quarantined: tuple[str, ...] = ()
    """Where the damaged objects are now."""
    dropped: tuple[str, ...] = ()
    """Entries without an object."""
    recovered: tuple[str, ...] = ()
    """Listed again, or found in the bucket."""
    repaired: tuple[str, ...] = ()
    """Shards that were written."""


@dataclass(slots=True)
class _Remains:
    """What is left of an index."""

    meta_blob: Blob | None
    meta: Meta | None
    monolith: Monolith | None
    shards: dict[str, Index]
    lost: set[str]
    """Shards that are listed or lie there and cannot be read."""
    found: Found
    there: dict[str, Listed] = field(default_factory=dict)
    """The shards as they were when they were read. Only as such may they be written over."""
    monolith_version: str | None = None
    quarantined: list[str] = field(default_factory=list)


async def rebuild(attempt: Attempt) -> Rebuilt:
    return await attempt.until_undisturbed(lambda: _rebuild(attempt))


async def _rebuild(attempt: Attempt) -> Rebuilt:
    remains = await _gather(attempt.place)
    match _format(remains):
        case Format.NONE:
            return Rebuilt(Format.NONE, quarantined=tuple(remains.quarantined))
        case Format.DUAL:
            return await _dual(attempt, remains)
        case Format.SHARDED:
            return await _sharded(attempt, remains)


async def _gather(place: Place) -> _Remains:
    found = await discover(place)
    blob = await read(place.store, place.keys.meta)
    remains = _Remains(blob, None, None, {}, set(), found)
    if blob is not None:
        try:
            remains.meta = decode_meta(blob.content, place.keys.meta)
        except Corrupt:
            remains.quarantined.append(await set_aside(place, place.keys.meta, blob.content))
    try:
        remains.monolith = await monoliths.current(place)
    except Corrupt:
        bad = await read(place.store, place.keys.monolith)
        if bad is not None:
            remains.monolith_version = bad.version
            remains.quarantined.append(await set_aside(place, place.keys.monolith, bad.content))
    await each(place.width, found.shards, lambda name: _read_shard(place, remains, name))
    if remains.meta is not None and remains.meta.version == 2:
        remains.lost |= set(remains.meta.partitions) - remains.shards.keys()
    return remains


async def _read_shard(place: Place, remains: _Remains, name: str) -> None:
    key = place.keys.shard(name)
    blob = await read(place.store, key)
    if blob is None:
        return
    remains.there[name] = Listed(blob.version, len(blob.content))
    try:
        remains.shards[name] = shard(blob.content, key)
    except Corrupt:
        remains.lost.add(name)
        remains.quarantined.append(await set_aside(place, key, blob.content))
    else:
        place.cache.saw_shard(place.namespace, name, stored(blob.content), blob.version, "")


def _format(remains: _Remains) -> Format:
    if remains.meta is not None and remains.meta.version == 2:
        return Format.SHARDED
    if remains.monolith is not None and remains.monolith.is_marked:
        return Format.SHARDED
    has_monolith = remains.monolith is not None or remains.monolith_version is not None
    if remains.meta is None and remains.meta_blob is not None:
        said = _VERSION.search(remains.meta_blob.content)
        return Format.DUAL if said is not None and said[1] == b"1" and has_monolith else Format.SHARDED
    if has_monolith:
        return Format.DUAL
    if remains.shards or remains.lost:
        return Format.SHARDED
    return Format.DUAL if remains.found.entries else Format.NONE  # somebody filled the bucket by hand


async def _sharded(attempt: Attempt, remains: _Remains) -> Rebuilt:
    place, meta = attempt.place, remains.meta
    listed = set(remains.shards) if meta is None or meta.version != 2 else set(meta.partitions) & remains.shards.keys()
    seen = joined(remains.shards[name] for name in sorted(listed))
    entries = {path: entry for path, entry in seen.entries.items() if _is_there(remains, entry)}
    before = set(seen.entries)
    for name in sorted(remains.shards.keys() - listed):
        entries |= {
            path: entry
            for path, entry in remains.shards[name].entries.items()
            if path not in before and _is_there(remains, entry)
        }
    entries |= _of_lost(place, remains, entries)
    whole = replace(seen, entries=entries, entry_extra={p: x for p, x in seen.entry_extra.items() if p in entries})
    parts = regroup(whole)
    for part in parts.values():
        place.cache.keep(part)
    attempt.require_lock()
    digests = {name: part.digest for name, part in parts.items()}
    versions, repaired = await dual.repair(attempt, digests, remains.there)

    recorded = None if meta is None or meta.fingerprints is None else meta.fingerprints.monolith
    fingerprints = await vouching(attempt, _head(Format.SHARDED, remains), recorded, versions)
    if meta is None or set(meta.partitions) != versions.keys() or meta.fingerprints != fingerprints or repaired:
        new = Meta(2, tuple(versions), _sequence(place, remains), fingerprints=fingerprints)
        await put_meta(attempt, _head(Format.SHARDED, remains), new)
    return Rebuilt(
        Format.SHARDED,
        len(versions),
        tuple(remains.quarantined),
        dropped=tuple(sorted(before - entries.keys())),
        recovered=tuple(sorted(entries.keys() - before)),
        repaired=repaired,
    )


async def _dual(attempt: Attempt, remains: _Remains) -> Rebuilt:
    place, known = attempt.place, remains.monolith
    recovered: tuple[str, ...] = ()
    if known is None:
        seen = joined(index for _, index in sorted(remains.shards.items()))
        entries = {path: entry for path, entry in seen.entries.items() if _is_there(remains, entry)}
        entries = {**remains.found.entries, **entries}
        parts = regroup(replace(seen, entries=entries))
        attempt.require_lock()
        body = encode_monolith(replace(seen, entries=entries))
        version = await attempt.replace(place.keys.monolith, body, remains.monolith_version)
        known = monoliths.keep(place, version, parts.items(), {}, None)
        recovered = tuple(sorted(entries))
    attempt.require_lock()
    versions, repaired = await dual.repair(attempt, known.digests, remains.there)
    names = tuple(name for name in versions if name != UNPARTITIONED)
    head = replace(_head(Format.DUAL, remains), monolith=known.version)
    meta = Meta(1, names, fingerprints=await vouching(attempt, head, known.version, versions))
    if meta != remains.meta:
        await put_meta(attempt, head, meta)
    return Rebuilt(Format.DUAL, len(versions), tuple(remains.quarantined), recovered=recovered, repaired=repaired)


def _is_there(remains: _Remains, entry: Entry) -> bool:
    return remains.found.sizes.get(entry.key) == entry.size


def _of_lost(place: Place, remains: _Remains, entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """What the lost shards listed, as far as the bucket tells; with its hash where the monolith still knows it."""
    lost = set(remains.lost)
    if remains.meta is None or remains.meta.version != 2:
        # Which shards there were is not known. Whatever is listed anywhere has one, if only an empty one.
        lost |= {part_name(path) for path in remains.found.entries} - remains.shards.keys()
    if not lost:
        return {}
    known = {} if remains.monolith is None else monoliths.assemble(place, remains.monolith).entries
    return {
        path: known[path] if path in known and known[path].size == entry.size else entry
        for path, entry in remains.found.entries.items()
        if path not in entries and part_name(path) in lost
    }


def _sequence(place: Place, remains: _Remains) -> int:
    """Above every number that was ever seen, and above those that nobody here has seen (sync spec W-15)."""
    before, _ = remembered(place)
    metas = (remains.meta, None if before is None else before.meta)
    seen = [meta.commit_seq + 1 for meta in metas if meta is not None and meta.commit_seq is not None]
    seen.append(place.now() // 1_000_000)
    if remains.meta_blob is not None and (said := _SEQUENCE.search(remains.meta_blob.content)):
        seen.append(int(said[1]) + 1)
    return max(seen)


def _head(form: Format, remains: _Remains) -> Head:
    blob = remains.meta_blob
    return Head(form, remains.meta, None if blob is None else blob.version, None if blob is None else blob.modified)
