"""Looking: in which format an index is, and whether it changed since the last look. One request when it did not.

A sharded index changes with its meta. In a dual one the monolith is the truth, and only the monolith tells of every
change: there are writers that never touch the meta, and others whose meta comes out with the same bytes again. But
existing clients migrate an index without touching the monolith. So a dual index is looked at by its monolith, and once
a minute by its meta as well.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from bayou.errors import Corrupt, NotFound
from bayou.layout.keys import STORE_ID, Keyspace
from bayou.remotes.cache import Cache
from bayou.remotes.objects import UNCHANGED, read, read_if_changed
from bayou.storage.port import Store, Version
from bayou.wire import meta as meta_form
from bayou.wire import store as store_form
from bayou.wire.documents import Void
from bayou.wire.meta import Meta

META_LOOK = 60_000_000_000
"""Nanoseconds between two looks at the meta of a dual index."""

REBUILD = "Run `bayou index rebuild`: it keeps what is damaged aside and makes the index whole again."

STORE = "store"
"""The note, of no namespace, of which store this is."""

_HEAD = "head"
_LOOKED = "looked"


class Format(StrEnum):
    NONE = "none"
    """No index at all: a new bucket, or one that somebody filled by hand."""
    DUAL = "dual"
    """The monolith is the truth; shards are copies, as good as their fingerprints (version 1)."""
    SHARDED = "sharded"
    """The shards are the truth (version 2)."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an index is, how to get there, and what we remember of it."""

    store: Store
    keys: Keyspace
    cache: Cache
    width: int = 25
    """How many shards are under way at a time."""
    conditional: bool = True
    """Whether the store honours conditional writes. If not, there is one writer, and nothing is written unread."""
    now: Callable[[], int] = time.time_ns

    @property
    def namespace(self) -> str:
        return self.keys.namespace


@dataclass(frozen=True, slots=True)
class Head:
    """The state of an index at a look. Equal tokens: the same state."""

    format: Format
    meta: Meta | None = None
    meta_version: str | None = None
    meta_modified: datetime | None = None
    monolith: str | None = None
    """The version of the monolith; of a sharded index nothing is known of it here."""
    verified: bool = True
    """False: that version is what the meta says, and nobody has looked."""
    is_listed: bool = False
    """There is nothing of an index, and what else lies in the bucket was listed (`discovery.remembered_found`)."""

    @property
    def is_new(self) -> bool:
        """Whether nobody has written an index here."""
        return self.format is Format.NONE and self.meta is None

    @property
    def token(self) -> str:
        match self.format:
            case Format.NONE:
                return "none"
            case Format.DUAL:
                return f"dual {self.monolith}"
            case Format.SHARDED:
                return f"sharded {self.meta_version}"

    @property
    def vouched(self) -> Mapping[str, str]:
        """The version of each shard that a reader may rely on."""
        fields = None if self.meta is None else self.meta.fingerprints
        if fields is None or (self.format is Format.DUAL and fields.monolith != self.monolith):
            return {}
        return fields.shards

    @property
    def store(self) -> UUID | None:
        """Which store it is, as far as the last commit said so."""
        fields = None if self.meta is None else self.meta.fingerprints
        return None if fields is None else fields.store

    @property
    def is_vouched(self) -> bool:
        """Whether the last commit was one that says what it left behind, and nobody was here since."""
        fields = None if self.meta is None else self.meta.fingerprints
        return fields is not None and (self.format is Format.SHARDED or fields.monolith == self.monolith)


async def look(place: Place, *, closely: bool = False) -> Head:
    """Say how it stands. `closely`, for a commit: with the meta of this very moment."""
    known, looked = remembered(place)
    if known is None or known.format is Format.NONE:
        head, known = await _first(place), None
        place.cache.write_note(place.namespace, _LOOKED, place.now())
    elif known.format is Format.SHARDED:
        head = await _sharded(place, known)
    else:
        due = closely or not 0 <= place.now() - looked < META_LOOK
        head = await _dual(place, known, due=due, closely=closely)
        if due:
            place.cache.write_note(place.namespace, _LOOKED, place.now())
    if head is not known:
        remember(place, head)
    return head


def remembered(place: Place) -> tuple[Head | None, int]:
    """The head of the last look, and when the meta was last looked at."""
    note = place.cache.note(place.namespace, _HEAD)
    if note is None:
        return None, 0
    meta = None
    if note["meta"] is not None:
        decoded = meta_form.decode(note["meta"].encode(), place.keys.meta)
        meta = None if isinstance(decoded, Void) else decoded
    modified = None if note["modified"] is None else datetime.fromisoformat(note["modified"])
    head = Head(Format(note["format"]), meta, note["version"], modified, note["monolith"])
    return head, place.cache.note(place.namespace, _LOOKED) or 0


def wrote(place: Place, head: Head) -> None:
    """This is how it stands, as we have just written it."""
    remember(place, head)
    place.cache.write_note(place.namespace, _LOOKED, place.now())


def remember(place: Place, head: Head) -> None:
    note = {
        "format": head.format.value,
        "meta": None if head.meta is None else meta_form.encode(head.meta).decode(),
        "version": head.meta_version,
        "modified": None if head.meta_modified is None else head.meta_modified.isoformat(),
        "monolith": head.monolith,
    }
    place.cache.write_note(place.namespace, _HEAD, note)


def damaged(where: str, expected: str, found: str) -> Corrupt:
    return Corrupt(where, expected=expected, found=found, remedy=REBUILD)


def decode_meta(content: bytes, where: str) -> Meta:
    """The meta. Existing clients overlook one without a version that they know, and would go on with an old format."""
    try:
        found = meta_form.decode(content, where)
    except Corrupt as error:
        raise damaged(where, error.expected, error.found) from error
    if isinstance(found, Void):
        raise damaged(where, "a partition meta", found.why)
    return found


async def _first(place: Place) -> Head:
    blob = await read(place.store, place.keys.meta)
    head = Head(Format.NONE)
    if blob is not None:
        meta = decode_meta(blob.content, place.keys.meta)
        head = Head(Format.SHARDED, meta, blob.version, blob.modified)
        if meta.version == 2:
            return head
        fields = meta.fingerprints
        if fields is not None and fields.monolith:
            return replace(head, format=Format.DUAL, monolith=fields.monolith, verified=False)
    return await _with_monolith(place, head)


async def _sharded(place: Place, known: Head) -> Head:
    head = await _with_meta(place, known)
    if head.meta is not None and head.meta.version == 2:
        return head
    if await _is_another_store(place):
        place.cache.forget(place.namespace)
        return await _first(place)
    found = "nothing" if head.meta is None else "one of version 1"
    raise damaged(place.keys.meta, "a partition meta of version 2, as before", found)


async def _dual(place: Place, known: Head, *, due: bool, closely: bool) -> Head:
    if due:
        head = await _with_meta(place, known)
        fields = None if head.meta is None else head.meta.fingerprints
        if head.meta is not None and head.meta.version == 2:
            return replace(head, format=Format.SHARDED, monolith=None)
        if closely and place.conditional and fields is not None and fields.monolith:
            # Whoever writes the monolith does it on the condition that this is so.
            return replace(head, monolith=fields.monolith, verified=False)
        return await _with_monolith(place, head)
    head = await _with_monolith(place, known)
    if head.monolith == known.monolith:
        return known
    head = await _with_meta(place, head)
    if head.meta is not None and head.meta.version == 2:
        return replace(head, format=Format.SHARDED, monolith=None)
    return head


async def _with_meta(place: Place, known: Head) -> Head:
    if known.meta is None or known.meta_version is None:
        blob = await read(place.store, place.keys.meta)
    else:
        answer = await read_if_changed(place.store, place.keys.meta, known.meta_version)
        if answer is UNCHANGED:
            return known
        blob = answer
    if blob is None:
        return replace(known, meta=None, meta_version=None, meta_modified=None)
    meta = decode_meta(blob.content, place.keys.meta)
    return replace(known, meta=meta, meta_version=blob.version, meta_modified=blob.modified)


async def _with_monolith(place: Place, head: Head) -> Head:
    version = await monolith_version(place)
    if version is None:
        return replace(head, format=Format.NONE, monolith=None)
    return replace(head, format=Format.DUAL, monolith=version)


async def monolith_version(place: Place) -> Version | None:
    try:
        meta = await place.store.head(place.keys.monolith)
    except NotFound:
        return None
    if meta.version is not None:
        return meta.version
    blob = await read(place.store, place.keys.monolith)
    return None if blob is None else blob.version


async def _is_another_store(place: Place) -> bool:
    """Whether the bucket that was remembered is gone, and there is another one in its place."""
    known = place.cache.note("", STORE)
    blob = await read(place.store, STORE_ID)
    return known is not None and (blob is None or str(store_form.decode(blob.content, STORE_ID).store_id) != known)
