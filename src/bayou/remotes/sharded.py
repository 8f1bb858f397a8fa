"""A commit to a sharded index: touched shards, then the meta, which makes new shards count."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from bayou.domain.entries import Entry
from bayou.errors import NotFound
from bayou.remotes import frozen
from bayou.remotes.attempts import Attempt
from bayou.remotes.changes import Change, Changeset, Commit, decide
from bayou.remotes.discovery import leftovers, list_shards
from bayou.remotes.loading import MISSING, UNVOUCHED, Seen, shard_now
from bayou.remotes.looking import Head, Place
from bayou.remotes.objects import each
from bayou.remotes.parts import EMPTY, UNPARTITIONED, part_name, part_of
from bayou.remotes.recording import amended, put_meta, record, vouching, write_shard
from bayou.wire.index import Index
from bayou.wire.meta import Fingerprints, Meta


@dataclass(slots=True)
class _Listing:
    """The shards that the new meta will list, and the version of each as far as it is known."""

    names: set[str]
    vouched: dict[str, str]
    repaired: list[str] = field(default_factory=list)


async def commit(attempt: Attempt, changeset: Changeset, head: Head) -> Commit:
    place = attempt.place
    meta = head.meta
    assert meta is not None  # noqa: S101 - there is no sharded index without one
    old_monolith = await frozen.look_at(place, head, follows_ours=attempt.follows_ours)
    listing = _Listing(set(meta.partitions), {n: v for n, v in head.vouched.items() if n in meta.partitions})
    if not head.is_vouched or place.cache.note(place.namespace, MISSING):
        await _repair(attempt, listing, head)
        place.cache.write_note(place.namespace, MISSING, [])

    imports = _beside(old_monolith.imports, changeset.changes)
    unvouched = set(place.cache.note(place.namespace, UNVOUCHED) or ()) & listing.names
    changed = {part_name(path) for change in (*changeset.changes, *imports) for path in change.paths}
    touched = sorted(changed | unvouched)
    was_listed = frozenset(listing.names)
    there = await leftovers(place, set(touched) - listing.names) | listing.names
    found = await each(place.width, touched, lambda n: _current(attempt, listing, n, there))
    seen = {name: shard for name, (shard, _) in zip(touched, found, strict=True)}
    before = {name: index for name, (_, index) in zip(touched, found, strict=True)}
    decision = decide((*changeset.changes, *imports), _entries(before))
    await record(attempt, decision.committed, head)

    after = before | amended(before, decision.applied)
    parts = {name: part_of(index) if index != before[name] else seen[name].part for name, index in after.items()}
    written = [name for name in touched if parts[name].digest != seen[name].part.digest]
    if written:
        attempt.require_lock()
    versions = await each(place.width, written, lambda n: write_shard(attempt, n, parts[n], seen[n].version))
    now_there = {name: shard.version for name, shard in seen.items()} | dict(zip(written, versions, strict=True))
    _relist(listing, after, now_there)

    recorded = await frozen.settle(attempt, old_monolith)
    new = replace_meta(meta, listing.names, await vouching(attempt, head, recorded, listing.vouched))
    if new is not meta:
        head = await put_meta(attempt, head, new)
    place.cache.write_note(place.namespace, UNVOUCHED, [])
    ours = set(map(id, changeset.changes))
    return Commit(
        token=head.token,
        committed=tuple(change for change in decision.committed if id(change) in ours),
        contested=tuple(contest for contest in decision.contested if id(contest.change) in ours),
        imported=tuple(change for change in decision.applied if id(change) not in ours),
        left_out=tuple(contest for contest in decision.contested if id(contest.change) not in ours),
        repaired=tuple(listing.repaired),
        parts={n: (seen[n].part.digest if n in was_listed else None, parts[n].digest) for n in touched},
    )


def replace_meta(meta: Meta, names: set[str], fingerprints: Fingerprints) -> Meta:
    """The next meta; the same one if it would say nothing new."""
    if names == set(meta.partitions) and fingerprints == meta.fingerprints:
        return meta
    return Meta(2, tuple(names), (meta.commit_seq or 0) + 1, meta.last_compacted, fingerprints)


async def _repair(attempt: Attempt, listing: _Listing, head: Head) -> None:
    """See what there is, after a writer that says nothing of versions (sync spec L4, W-12, W-38)."""
    place = attempt.place
    there = await list_shards(place, head.meta_version)
    if UNPARTITIONED in there and UNPARTITIONED not in listing.names:
        listing.names.add(UNPARTITIONED)
        listing.repaired.append(UNPARTITIONED)
    missing = sorted(listing.names - there.keys())
    if missing:
        attempt.require_lock()
        versions = await each(place.width, missing, lambda n: write_shard(attempt, n, EMPTY, None))
        listing.vouched.update(zip(missing, versions, strict=True))
        listing.repaired += missing
    listing.vouched.update(
        {name: version for name in listing.names & there.keys() if (version := there[name].version) is not None}
    )


async def _current(attempt: Attempt, listing: _Listing, name: str, there: AbstractSet[str]) -> tuple[Seen, Index]:
    """A shard, and what of it counts."""
    place = attempt.place
    if name not in there:
        return Seen(EMPTY, None), EMPTY.index(name)
    trusted = attempt.may_trust(place.keys.shard(name))
    trusted = trusted and name not in (place.cache.note(place.namespace, UNVOUCHED) or ())
    seen = await shard_now(place, name, known_good=listing.vouched.get(name) if trusted else None)
    index = seen.part.index(name)
    if name in listing.names or not index.entries:
        return seen, index
    # It was not listed: left over, or a commit that was cut off. Only what still has its object counts.
    answers = await each(place.width, index.entries.values(), lambda entry: _is_there(place, entry))
    gone = [path for path, is_there in zip(index.entries, answers, strict=True) if not is_there]
    return seen, index.amended({}, gone)


async def _is_there(place: Place, entry: Entry) -> bool:
    try:
        return (await place.store.head(place.keys.data(entry.key))).size == entry.size
    except NotFound:
        return False


def _relist(listing: _Listing, after: Mapping[str, Index], versions: Mapping[str, str | None]) -> None:
    """List the touched shards that hold something, each as it is now.

    An empty one is listed no more, but stays: whoever still has the old list reads it (sync spec W-12).
    """
    for name, index in after.items():
        version = versions[name]
        if version is not None and (index.entries or index.skipped):
            listing.names.add(name)
            listing.vouched[name] = version
        else:
            listing.names.discard(name)
            listing.vouched.pop(name, None)


def _beside(imports: tuple[Change, ...], changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """Those imports that nobody decides about in this very commit."""
    decided = {path for change in changes for path in change.paths}
    return tuple(change for change in imports if not decided & change.paths)


def _entries(parts: Mapping[str, Index]) -> dict[str, Entry]:
    return {path: entry for index in parts.values() for path, entry in index.entries.items()}
