"""The monolith of a sharded index: nobody needs it, and yet it must not be forgotten.

It is written once more when the index becomes a sharded one, marked, so that readers who know it by its fingerprint
look again (sync spec W-01) and a lost meta is not taken for an old format. Writers who know no shards still write it.
What they add is taken over by the next commit that looks, by comparison with a copy of what was known of it last
(W-45). What they remove stays: that something is not listed is no evidence.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bayou.domain.content import ContentId
from bayou.domain.entries import Entry
from bayou.layout.artifacts import VersionFile
from bayou.layout.meanings import meaning
from bayou.remotes import monolith as monoliths
from bayou.remotes.attempts import Attempt, LostRaceError
from bayou.remotes.changes import Change
from bayou.remotes.looking import Format, Head, Place
from bayou.remotes.monolith import MARK, Monolith
from bayou.remotes.objects import Unchanged, read
from bayou.wire.index import decode_monolith, encode_monolith

LOOK = 600_000_000_000
"""Nanoseconds between two looks at a monolith that somebody may have written."""

LOOK_ANYWAY = 24 * 3600_000_000_000
"""The same where the lock says that nobody was there but us: whoever writes the monolith takes it, and leaves no body
of ours behind. Should one not take it, he is noticed all the same."""

NONE = ""
"""What the meta records of a monolith that is not there."""

_LOOKED = "frozen-looked"
_OWED = "frozen-owed"
_SETTLED = "settled"


@dataclass(frozen=True, slots=True)
class Frozen:
    """What a look at it found. `version` is for the meta to record, once `settle` has done the rest."""

    version: str | None
    changed: Monolith | None = None
    imports: tuple[Change, ...] = ()
    copy_version: str | None = None


async def look_at(place: Place, head: Head, *, follows_ours: bool = False) -> Frozen:
    """`follows_ours`: nobody else had the global lock since the last commit of ours."""
    fields = None if head.meta is None else head.meta.fingerprints
    recorded = None if fields is None else fields.monolith
    looked = place.cache.note(place.namespace, _LOOKED)
    if looked is None and follows_ours:
        looked = place.now()  # a cache that is new has missed nothing
        place.cache.write_note(place.namespace, _LOOKED, looked)
    since = place.now() - (looked or 0)
    is_owed = bool(place.cache.note(place.namespace, _OWED))
    if recorded is not None and 0 <= since < (LOOK_ANYWAY if follows_ours and not is_owed else LOOK):
        if not follows_ours and not is_owed:
            place.cache.write_note(place.namespace, _OWED, True)
        return Frozen(recorded)
    known = recorded or place.cache.note(place.namespace, _SETTLED)
    answer = await monoliths.unless(place, known)
    place.cache.write_note(place.namespace, _LOOKED, place.now())
    place.cache.write_note(place.namespace, _OWED, False)
    if answer is None:
        return Frozen(NONE)
    if isinstance(answer, Unchanged):
        return Frozen(known)
    copy = await read(place.store, copy_key(place))
    if copy is None:
        return Frozen(None, answer)
    before = decode_monolith(copy.content, copy_key(place)).entries
    after = monoliths.assemble(place, answer).entries
    return Frozen(None, answer, additions(before, after), copy.version)


async def settle(attempt: Attempt, frozen: Frozen) -> str | None:
    """Mark and copy a monolith that changed. None: it changed again meanwhile, so the next commit looks again."""
    place = attempt.place
    if frozen.changed is None:
        return frozen.version
    version = frozen.changed.version
    marked = replace(frozen.changed, extra={**frozen.changed.extra, MARK: {"format": Format.SHARDED.value}})
    body = encode_monolith(monoliths.assemble(place, marked))
    if not frozen.changed.is_marked:
        try:
            version = await attempt.replace(place.keys.monolith, body, version)
        except LostRaceError:
            return None
        monoliths.keep(place, version, marked.digests.items(), marked.extra, marked.last_pulled)
    await attempt.replace(copy_key(place), body, frozen.copy_version)
    place.cache.write_note(place.namespace, _SETTLED, version)
    place.cache.write_note(place.namespace, _LOOKED, place.now())
    return version


def copy_key(place: Place) -> str:
    return place.keys.control("bayou/monolith.json")


def additions(before: Mapping[str, Entry], after: Mapping[str, Entry]) -> tuple[Change, ...]:
    """What somebody added or replaced, with the files of a version together."""
    changes: dict[str, tuple[dict[str, ContentId | None], dict[str, Entry]]] = {}
    for path, entry in after.items():
        old = before.get(path)
        if old is not None and (old.sha256, old.size) == (entry.sha256, entry.size):
            continue
        unit = path.rpartition("/")[0] if isinstance(meaning(path), VersionFile) else path
        expected, entries = changes.setdefault(unit, ({}, {}))
        entries[path] = entry
        if old is not None:
            expected[path] = old.sha256
    return tuple(Change(expected, entries) for expected, entries in changes.values())
