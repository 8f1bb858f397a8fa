"""The monolith: read piece by piece, and kept part by part."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any, Final

from bayou.remotes.gathering import Gathering
from bayou.remotes.looking import Format, Place, damaged, decode_meta
from bayou.remotes.objects import Unchanged, read, taken
from bayou.remotes.parts import Part, joined
from bayou.storage.port import Fetched
from bayou.wire import index as index_form
from bayou.wire.index import Index
from bayou.wire.pieces import Pieces

_PIECES = "pieces"

MARK: Final = "bayou"
"""An extra field of the monolith of a sharded index. Existing clients carry it along (sync spec L1). It keeps a meta
that is lost from being taken for an old format."""


@dataclass(frozen=True, slots=True)
class Monolith:
    """A monolith that is in the cache, part by part."""

    version: str
    digests: Mapping[str, str]
    extra: Mapping[str, Any]
    last_pulled: str | None

    @property
    def is_marked(self) -> bool:
        mark = self.extra.get(MARK)
        return isinstance(mark, dict) and mark.get("format") == Format.SHARDED.value


def cached(place: Place) -> Monolith | None:
    note = place.cache.note(place.namespace, _PIECES)
    if note is None:
        return None
    return Monolith(note["version"], place.cache.pieces(place.namespace), note["extra"], note["lastPulled"])


def keep(
    place: Place,
    version: str,
    parts: Iterable[tuple[str, Part | str]],
    extra: Mapping[str, object],
    last_pulled: str | None,
) -> Monolith:
    with place.cache.together():
        digests = place.cache.saw_pieces(place.namespace, parts)
        note = {"version": version, "extra": dict(extra), "lastPulled": last_pulled}
        place.cache.write_note(place.namespace, _PIECES, note)
    return Monolith(version, digests, extra, last_pulled)


async def current(place: Place) -> Monolith | None:
    """The monolith as it is now; None if it is missing."""
    known = cached(place)
    answer = await unless(place, None if known is None else known.version)
    return known if isinstance(answer, Unchanged) else answer


async def unless(place: Place, version: str | None) -> Monolith | Unchanged | None:
    """The monolith, unless it is still that version."""
    return await taken(place.store, place.keys.monolith, version, lambda fetched: _arriving(place, fetched))


async def _arriving(place: Place, fetched: Fetched) -> Monolith:
    pieces = Pieces(place.keys.monolith)
    with Gathering() as gathering:
        async for chunk in fetched.chunks():
            piece = pieces.feed(chunk)
            if piece is not None:
                gathering.add(piece)
        last = pieces.end()
        gathering.add(last)
        return keep(place, fetched.version, gathering.parts(), last.extra, last.last_pulled)


async def is_overtaken(place: Place, monolith: Monolith) -> bool:
    """Whether the index was migrated since its meta was read.

    A monolith that says "sharded" is never the truth. If no meta says so too, it was lost (promise 12).
    """
    if not monolith.is_marked:
        return False
    blob = await read(place.store, place.keys.meta)
    if blob is not None and decode_meta(blob.content, place.keys.meta).version == 2:
        return True
    raise damaged(place.keys.meta, "a partition meta of version 2, as the monolith says", "none of version 2")


def assemble(place: Place, monolith: Monolith) -> Index:
    """The whole of it as one value."""
    parts = (place.cache.part(digest).index(name) for name, digest in monolith.digests.items())
    return replace(joined(parts), last_pulled=monolith.last_pulled, extra=monolith.extra)


def encoded(place: Place, monolith: Monolith) -> bytes:
    """The same as the object says it. No part is decoded for that, however many there are."""
    bodies = (place.cache.part(digest).body for digest in monolith.digests.values())
    document = BytesIO()  # which gives its bytes away without a copy: they may be hundreds of megabytes
    if index_form.join_shards(bodies, document.write, extra=monolith.extra, last_pulled=monolith.last_pulled):
        return document.getvalue()
    return index_form.encode_monolith(assemble(place, monolith))
