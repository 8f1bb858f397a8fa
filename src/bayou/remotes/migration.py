"""Migration: from a dual index to a sharded one. Never back (promise 12).

Until the meta of version 2 is written, everything is as before and a migration that was cut off left nothing but shards
that say what the monolith says. After it, what remains is to mark the monolith, and any commit does that.
"""

from dataclasses import dataclass

from bayou.remotes import dual, sharded
from bayou.remotes.attempts import Attempt
from bayou.remotes.changes import Changeset
from bayou.remotes.discovery import list_shards
from bayou.remotes.frozen import NONE, Frozen, copy_key, settle
from bayou.remotes.looking import Format, Head, look
from bayou.remotes.objects import read
from bayou.remotes.parts import UNPARTITIONED
from bayou.remotes.recording import put_meta, vouching
from bayou.wire.meta import Meta


@dataclass(frozen=True, slots=True)
class Migrated:
    head: Head
    partitions: int
    entries: int
    was_sharded: bool = False
    """There was nothing to do, or only to finish or to repair."""
    repaired: tuple[str, ...] = ()


async def migrate(attempt: Attempt) -> Migrated:
    return await attempt.until_undisturbed(lambda: _migrate(attempt))


async def _migrate(attempt: Attempt) -> Migrated:
    place = attempt.place
    head = await look(place, closely=True)
    if head.format is Format.SHARDED:
        # Its monolith is old: to take the shards from there again would undo all since (sync spec W-14).
        done = await sharded.commit(attempt, Changeset(place.namespace, ()), head)
        head = await look(place, closely=True)
        assert head.meta is not None  # noqa: S101 - as it is sharded
        return Migrated(head, len(head.meta.partitions), 0, was_sharded=True, repaired=done.repaired)
    known = await dual.known_monolith(attempt, head, look_again=True)
    attempt.require_lock()
    versions, repaired = await dual.repair(attempt, known.digests, await list_shards(place, known.version or None))
    count = sum(len(place.cache.part(digest).index(name).entries) for name, digest in known.digests.items())

    sequence = place.now() // 1_000_000  # above whatever was counted in an earlier life (sync spec W-15)
    fingerprints = await vouching(attempt, head, None if known.version else NONE, versions)
    meta = Meta(2, tuple(versions), sequence, fingerprints=fingerprints)
    sharded_head = Head(Format.SHARDED, head.meta, head.meta_version, head.meta_modified)
    after = await put_meta(attempt, sharded_head, meta)
    if known.version:
        copy = await read(place.store, copy_key(place))
        recorded = await settle(attempt, Frozen(None, known, copy_version=None if copy is None else copy.version))
        fingerprints = await vouching(attempt, after, recorded, versions)
        after = await put_meta(attempt, after, sharded.replace_meta(meta, set(versions), fingerprints))
    repaired = tuple(name for name in repaired if name != UNPARTITIONED)
    return Migrated(after, len(versions), count, repaired=repaired)
