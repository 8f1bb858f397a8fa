"""Loading: from a head to what is listed, with as few and as small reads as the format allows. It writes nothing."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from bayou.domain.scopes import Scope
from bayou.errors import Unavailable
from bayou.layout.scoping import CandidateKeys, candidate_keys
from bayou.remotes import discovery
from bayou.remotes import monolith as monoliths
from bayou.remotes.looking import Format, Head, Place, look
from bayou.remotes.monolith import Monolith
from bayou.remotes.objects import UNCHANGED, Unchanged, each, read, read_if_changed
from bayou.remotes.parts import EMPTY, UNPARTITIONED, Part, shard, stored
from bayou.remotes.snapshot import Snapshot

_FEW = 16
"""Shards that are read one by one instead of the monolith that holds them all."""

_ROUNDS = 4

MISSING = "missing"
"""The note of shards that a meta lists and that are not there."""

UNVOUCHED = "unvouched"
"""The note of shards that are newer than their meta says: whoever wrote them was cut off before it could. Who knows the
old ones goes on trusting them, until somebody says in the meta what there is now."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A shard as it is now, and the version of its object. Missing: neither."""

    part: Part
    version: str | None


async def load(place: Place, scope: Scope, head: Head) -> Snapshot:
    for _ in range(_ROUNDS):
        snapshot: Snapshot | None
        match head.format:
            case Format.SHARDED:
                snapshot = await _sharded(place, scope, head)
            case Format.DUAL:
                snapshot = await _dual(place, scope, head)
            case Format.NONE:
                snapshot = await _discovered(place, scope, head)
        if snapshot is not None:
            return snapshot
        head = await look(place, closely=True)
    raise Unavailable("the index changes faster than it can be read")


def wanted(names: Iterable[str], scope: Scope) -> list[str]:
    """Those parts that may hold something in scope."""
    if scope.models is None:
        return list(names)
    keys = [candidate_keys(model) for model in scope.models]
    # All in one: a scope may have as many models as an index has parts.
    return CandidateKeys(
        frozenset().union(*(each_.exact for each_ in keys)), frozenset().union(*(each_.prefixes for each_ in keys))
    ).among(names)


async def shard_now(place: Place, name: str, *, known_good: str | None = None) -> Seen:
    """A shard as it is, from the cache where that is proven: by a version that the caller vouches for, or by asking."""
    known = place.cache.shard(place.namespace, name)
    key = place.keys.shard(name)
    if known is None:
        blob = await read(place.store, key)
    elif known.version == known_good:
        return Seen(place.cache.part(known.digest), known.version)
    else:
        answer = await read_if_changed(place.store, key, known.version)
        if answer is UNCHANGED:
            return Seen(place.cache.part(known.digest), known.version)
        blob = answer
    if blob is None:
        return Seen(EMPTY, None)
    shard(blob.content, key)  # damage is named here, before anything relies on it
    part = stored(blob.content)
    place.cache.saw_shard(place.namespace, name, part, blob.version, "")
    return Seen(part, blob.version)


async def _kept(place: Place, name: str) -> tuple[str, str | None]:
    """The digest of a shard as it is, and its version: its bytes are in the cache, and in no memory."""
    seen = await shard_now(place, name)
    return seen.part.digest, seen.version


async def _discovered(place: Place, scope: Scope, head: Head) -> Snapshot:
    digests = discovery.remembered_found(place) if head.is_listed else None
    if digests is None:
        digests = discovery.remember_found(place, await discovery.discover(place))
    return Snapshot(Format.NONE, head.token, _among(digests, scope), place.cache, scope)


async def _sharded(place: Place, scope: Scope, head: Head) -> Snapshot | None:
    """None: a shard that the meta lists is missing, and by now there is another meta."""
    meta, vouched, seen_under = head.meta, head.vouched, head.meta_version or ""
    assert meta is not None  # noqa: S101 - there is no sharded index without one
    names = wanted(meta.partitions, scope)
    if not head.is_vouched and scope.models is None and UNPARTITIONED not in names:
        names.append(UNPARTITIONED)  # an existing client's push may just have dropped it from the list
    known = place.cache.shards(place.namespace)
    digests, missing, stale, fresh = {}, [], [], []
    for name in names:
        have = known.get(name)
        if have is not None and (have.seen == seen_under or have.version == vouched.get(name)):
            digests[name] = have.digest
            fresh += [name] if have.seen != seen_under else []
        else:
            stale.append(name)
    for name, (digest, version) in zip(stale, await each(place.width, stale, lambda n: _kept(place, n)), strict=True):
        if version is not None:
            digests[name] = digest
        elif name in meta.partitions:
            missing.append(name)
    _note_unvouched(place, head, [name for name in stale if name in digests])
    place.cache.saw_again(place.namespace, [*fresh, *(name for name in stale if name in digests)], seen_under)
    if missing:
        again = await look(place)
        if again != head:
            return None
        place.cache.write_note(place.namespace, MISSING, missing)  # the next commit from here puts it right
        place.cache.keep(EMPTY)
        digests |= dict.fromkeys(missing, EMPTY.digest)
    ordered = {name: digests[name] for name in names if name in digests}
    return Snapshot(Format.SHARDED, head.token, ordered, place.cache, scope, tuple(missing))


def _note_unvouched(place: Place, head: Head, read: Iterable[str]) -> None:
    if not head.is_vouched:
        return  # the next commit repairs everything
    known = place.cache.shards(place.namespace)
    newer = {name for name in read if known[name].version != head.vouched.get(name)}
    noted = set(place.cache.note(place.namespace, UNVOUCHED) or ())
    if newer - noted:
        place.cache.write_note(place.namespace, UNVOUCHED, sorted(newer | noted))


async def _dual(place: Place, scope: Scope, head: Head) -> Snapshot | None:
    """None: it is no dual index any more."""
    known = monoliths.cached(place)
    answer, digests = await _asked(place, scope, head, known)
    if answer is None:
        return None
    if not isinstance(answer, Unchanged):
        known, head = answer, replace(head, monolith=answer.version)
    elif digests is not None:
        return Snapshot(Format.DUAL, head.token, digests, place.cache, scope)
    if known is None or known.version != head.monolith:
        known = await monoliths.current(place)
        if known is None:
            return None
    if await monoliths.is_overtaken(place, known):
        return None
    if head.is_vouched and head.monolith == known.version:
        # The shards are known as well now: the next change costs those that differ, and not the monolith again.
        agreed = {name: (known.digests[name], v) for name, v in head.vouched.items() if name in known.digests}
        place.cache.saw_shards(place.namespace, agreed)
    return Snapshot(Format.DUAL, f"dual {known.version}", _among(known.digests, scope), place.cache, scope)


async def _asked(
    place: Place, scope: Scope, head: Head, known: Monolith | None
) -> tuple[Monolith | Unchanged | None, dict[str, str] | None]:
    """The monolith where it is not what the head says, and what the shards say where they are asked."""
    is_news = known is None or known.version != head.monolith
    if head.verified:
        return UNCHANGED, await _from_shards(place, scope, head) if is_news else None
    if known is None and scope.models is None:
        return await monoliths.unless(place, None), None  # all of it costs one request as a monolith
    if not is_news:
        return await monoliths.unless(place, head.monolith), None
    # Most often it is the one that the meta speaks of, so the shards are read meanwhile.
    return await asyncio.gather(monoliths.unless(place, head.monolith), _from_shards(place, scope, head))


async def _from_shards(place: Place, scope: Scope, head: Head) -> dict[str, str] | None:
    """What the shards say, if every one of them is what the meta vouches for, and the meta speaks of this monolith."""
    names = wanted(head.vouched, scope)
    known = place.cache.shards(place.namespace)
    have = {name: known[name].digest for name in names if name in known and known[name].version == head.vouched[name]}
    stale = [name for name in names if name not in have]
    if not head.is_vouched or (scope.models is None and len(stale) > _FEW):
        return None
    for name, (digest, version) in zip(stale, await each(place.width, stale, lambda n: _kept(place, n)), strict=True):
        if version != head.vouched[name]:
            return None  # a late or a failed write of somebody else, or a commit under way
        have[name] = digest
    return {name: have[name] for name in names}


def _among(digests: Mapping[str, str], scope: Scope) -> dict[str, str]:
    return {name: digests[name] for name in wanted(digests, scope)}
