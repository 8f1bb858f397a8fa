"""A commit to a dual index: the monolith, which counts; then copies of what changed; then the meta, which vouches.

A crash in between, or a writer that leaves the copies alone, leaves a meta that speaks of another monolith. Then
readers take the monolith, and the next commit repairs the copies.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

from bayou.domain.entries import Entry
from bayou.layout.keys import META, MONOLITH
from bayou.remotes import monolith as monoliths
from bayou.remotes.attempts import Attempt, LostRaceError
from bayou.remotes.changes import Changeset, Commit, Decision, decide
from bayou.remotes.discovery import Listed, discover, leftovers, list_shards, remembered_found
from bayou.remotes.loading import shard_now
from bayou.remotes.looking import Format, Head, Place, damaged, look
from bayou.remotes.monolith import Monolith
from bayou.remotes.objects import each, is_md5_of, read
from bayou.remotes.parts import EMPTY, UNPARTITIONED, Part, part_name, part_of, regroup
from bayou.remotes.recording import amended, put_meta, record, vouching, write_shard
from bayou.wire.index import Index
from bayou.wire.meta import Meta
from bayou.wire.times import to_text


async def commit(attempt: Attempt, changeset: Changeset, head: Head) -> Commit:
    place = attempt.place
    touched = sorted({part_name(path) for change in changeset.changes for path in change.paths})
    uploaded = {path for change in changeset.changes for path in change.after.keys() - change.before.keys()}
    known = await known_monolith(attempt, head, look_again=False, uploaded=uploaded)
    before = {name: _index(place, known, name) for name in touched}
    decision = _decide(changeset, before)
    if not decision.applied and not head.verified:
        # No write will fail if this is no longer the monolith, so it has to be looked at.
        known = await known_monolith(attempt, head, look_again=True)
        before = {name: _index(place, known, name) for name in touched}
        decision = _decide(changeset, before)
    await record(attempt, decision.committed, head)

    new = {name: part_of(index) for name, index in amended(before, decision.applied).items()}
    written = known
    if new:
        written = await _write_monolith(attempt, known, new)
    repaired: tuple[str, ...] = ()
    if written.version:
        head, repaired = await _vouch(attempt, head, known, written, new)
    return Commit(
        token=replace(head, format=Format.DUAL if written.version else Format.NONE, monolith=written.version).token,
        committed=decision.committed,
        contested=decision.contested,
        repaired=repaired,
        parts={name: (known.digests.get(name), written.digests.get(name)) for name in touched},
    )


async def begin(attempt: Attempt) -> None:
    """Write the monolith of nothing, and its meta, where there is no index."""

    async def once() -> None:
        head = await look(attempt.place, closely=True)
        if head.format is Format.NONE:
            nothing = Monolith("", {}, {}, None)
            await _vouch(attempt, head, nothing, await _write_monolith(attempt, nothing, {}), {})

    await attempt.until_undisturbed(once)


async def known_monolith(
    attempt: Attempt, head: Head, *, look_again: bool, uploaded: AbstractSet[str] = frozenset()
) -> Monolith:
    """The monolith that a commit builds upon. Where there is no index: what lies in the bucket, without a version."""
    place = attempt.place
    if head.format is Format.NONE:
        return await _discovered(place, head, uploaded)
    known = monoliths.cached(place)
    if known is None or known.version != head.monolith or look_again or not attempt.may_trust(place.keys.monolith):
        known = await monoliths.current(place)
    if known is None or await monoliths.is_overtaken(place, known):
        raise LostRaceError(place.keys.meta)
    return known


async def _discovered(place: Place, head: Head, uploaded: AbstractSet[str]) -> Monolith:
    """What lies in the bucket, but for what the caller has just put there himself."""
    digests = remembered_found(place) if head.is_listed else None
    if digests is not None:
        return Monolith("", digests, {}, None)
    found = await discover(place)
    if head.meta is None and (MONOLITH in found.sizes or META in found.sizes):
        raise LostRaceError(place.keys.monolith)
    if found.shards and head.meta is None:
        raise damaged(place.keys.meta, "a partition meta beside the shards", "neither it nor a monolith")
    parts = regroup(Index({path: entry for path, entry in found.entries.items() if path not in uploaded}))
    for part in parts.values():
        place.cache.keep(part)
    return Monolith("", {name: part.digest for name, part in parts.items()}, {}, None)


def _index(place: Place, known: Monolith, name: str) -> Index:
    digest = known.digests.get(name)
    return EMPTY.index() if digest is None else place.cache.part(digest).index(name)


def _decide(changeset: Changeset, parts: Mapping[str, Index]) -> Decision:
    entries: dict[str, Entry] = {path: entry for index in parts.values() for path, entry in index.entries.items()}
    return decide(changeset.changes, entries)


async def _write_monolith(attempt: Attempt, known: Monolith, new: Mapping[str, Part]) -> Monolith:
    place = attempt.place
    digests = dict(known.digests) | {name: part.digest for name, part in new.items()}
    for part in new.values():
        place.cache.keep(part)
    digests = {name: digest for name, digest in digests.items() if digest != EMPTY.digest}
    pulled = to_text(place.now())
    body = monoliths.encoded(place, replace(known, digests=digests, last_pulled=pulled))
    attempt.require_lock()
    version = await attempt.replace(place.keys.monolith, body, known.version or None)
    return monoliths.keep(place, version, digests.items(), known.extra, pulled)


# The copies.


async def _vouch(
    attempt: Attempt, head: Head, known: Monolith, written: Monolith, new: Mapping[str, Part]
) -> tuple[Head, tuple[str, ...]]:
    """Bring the copies in step with the monolith that was written, and say so in the meta."""
    place = attempt.place
    as_found = replace(head, monolith=known.version)
    if as_found.is_vouched and not attempt.doubted and not new:
        return as_found, ()
    if as_found.is_vouched and not attempt.doubted:
        vouched = {n: v for n, v in as_found.vouched.items() if n in written.digests}
        there = await leftovers(place, new.keys() - as_found.vouched.keys())
        versions = await each(place.width, new.items(), lambda item: _write(attempt, *item, as_found.vouched, there))
        vouched |= {n: v for n, v in zip(new, versions, strict=True) if n in written.digests}
        repaired: tuple[str, ...] = ()
    else:
        # Where there was nothing at all, not even a meta, nobody wrote a copy (`_discovered`).
        listed = {} if head.is_new else await list_shards(place, written.version)
        vouched, repaired = await repair(attempt, written.digests, listed)
    names = tuple(name for name in written.digests if name != UNPARTITIONED)
    meta = Meta(1, names, fingerprints=await vouching(attempt, head, written.version, vouched))
    head = replace(as_found, format=Format.DUAL, monolith=written.version, verified=True)
    return await put_meta(attempt, head, meta), tuple(name for name in repaired if name not in new)


async def _write(attempt: Attempt, name: str, part: Part, vouched: Mapping[str, str], there: AbstractSet[str]) -> str:
    place = attempt.place
    version = vouched.get(name)
    if name in there:
        # New, or empty since some time and not listed: then it is still there.
        seen = await shard_now(place, name)
        if seen.version is not None and seen.part == part:
            return seen.version
        version = seen.version
    return await write_shard(attempt, name, part, version)


async def repair(
    attempt: Attempt, digests: Mapping[str, str], there: Mapping[str, Listed]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Make the shards say what these parts say, whoever wrote what before. Gives their versions, and which were wrong.

    What a listing proves is not read, and what is right is not written. A shard that should not be there is emptied:
    existing clients read it without asking any meta (sync spec W-21).
    """
    place = attempt.place
    left_over = [name for name, listed in there.items() if name not in digests and listed.size != len(EMPTY.body)]
    place.cache.keep(EMPTY)
    wanted = [*digests.items(), *((name, EMPTY.digest) for name in left_over)]
    results = await each(place.width, wanted, lambda item: _repair(attempt, *item, there.get(item[0])))
    versions = {name: version for (name, _), (version, _) in zip(wanted, results, strict=True) if name in digests}
    return versions, tuple(name for (name, _), (_, wrong) in zip(wanted, results, strict=True) if wrong)


async def _repair(attempt: Attempt, name: str, digest: str, listed: Listed | None) -> tuple[str, bool]:
    place = attempt.place
    part = place.cache.part(digest)
    if listed is None:
        return await write_shard(attempt, name, part, None), True
    known = place.cache.shard(place.namespace, name)
    if listed.version is not None:
        proven = known is not None and (known.version, known.digest) == (listed.version, part.digest)
        if proven or is_md5_of(listed.version, part.body):
            place.cache.saw_shard(place.namespace, name, part, listed.version, "")
            return listed.version, False
    found = await read(place.store, place.keys.shard(name))
    if listed.version is not None and (found is None or found.version != listed.version):
        raise LostRaceError(place.keys.shard(name))
    if found is not None and found.content == part.body:
        place.cache.saw_shard(place.namespace, name, part, found.version, "")
        return found.version, False
    return await write_shard(attempt, name, part, None if found is None else found.version), True
