"""Packs in the bucket: copies of small contents, many in one object, for whoever wants many of them (design/012).

They only spare requests. The objects stay where they are, so whatever is wrong with a pack or with the catalogue, or if
there is none, a content is not found here and its own object is read.
"""

import asyncio
import hashlib
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from bayou.domain.content import ContentId
from bayou.errors import BayouError, Corrupt
from bayou.layout.keys import Keyspace
from bayou.remotes.looking import Place
from bayou.remotes.objects import each, read
from bayou.storage.arriving import Arrived
from bayou.storage.port import Store, Version
from bayou.wire import packs as form
from bayou.wire.packs import Catalogue, Pack

FOLDER = "bayou/packs"
LARGEST = 32 << 10
"""Of a content that is packed. For a larger one a request of its own is little."""

MANY = 64
"""Contents from which on it is worth a request to ask whether there are packs."""

_FEW = 16
"""Contents for which no pack is asked what it holds: that takes longer than a few objects."""
_GAP = 64 << 10
_SPAN = 4 << 20
"""Bytes that are read at once, with the gaps in them."""
_WIDTH = 8


@dataclass(slots=True)
class Span:
    """Bytes of a pack that are read at once, when the first of its contents is wanted."""

    key: str
    start: int
    stop: int
    places: dict[ContentId, tuple[int, int]] = field(default_factory=dict)
    bodies: dict[ContentId, bytes] | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(slots=True)
class Packed:
    """What of some files is in packs. Asked for in the order of their paths it takes little memory."""

    store: Store
    spans: Mapping[ContentId, Span] = field(default_factory=dict)
    files: frozenset[str] = frozenset()
    """Those whose contents are in packs."""
    wanted: Counter[ContentId] = field(default_factory=Counter)
    """How often each is still to be asked for."""

    async def take(self, content: ContentId | None) -> bytes | None:
        """The content, verified; None where its own object has to be read."""
        span = None if content is None else self.spans.get(content)
        if span is None or content is None:
            return None
        async with span.turn:
            if span.bodies is None:
                span.bodies = await _bodies(self.store, span)
        self.wanted[content] -= 1
        return span.bodies.get(content) if self.wanted[content] > 0 else span.bodies.pop(content, None)


async def unpacked(packed: Packed, content: ContentId | None, seen: Callable[[int], None]) -> Arrived | None:
    """The content out of a pack; None where its own object has to be read. The store's name for that stays unknown."""
    body = await packed.take(content)
    if body is None or content is None:
        return None
    seen(len(body))
    return Arrived(content, len(body), Version(""), body)


def is_packable(path: str) -> bool:
    """Whether this is a file of a version: written once, and so the same wherever it is read from."""
    return path.startswith("data/") and path.endswith(("/raw", "/metadata.yaml"))


def key_of(keys: Keyspace, name: str) -> str:
    return keys.control(f"{FOLDER}/{name}.pack")


def catalogue_key(keys: Keyspace) -> str:
    return keys.control(f"{FOLDER}/catalogue.json")


async def catalogue(place: Place) -> tuple[Catalogue, Version | None]:
    """The catalogue as it is, to be changed on the condition that it still is. One that is damaged names no pack."""
    key = catalogue_key(place.keys)
    blob = await read(place.store, key)
    if blob is None:
        return Catalogue(), None
    try:
        return form.decode(blob.content, key), blob.version
    except Corrupt:
        return Catalogue(), blob.version


async def known(place: Place, wanted: int) -> Sequence[Pack]:
    """The packs that there are, for so many files: not worth asking for a few."""
    if wanted >= MANY:
        with suppress(BayouError):
            return (await catalogue(place))[0].packs
    return ()


async def of(place: Place, files: Mapping[str, ContentId | None]) -> Packed:
    """What of these files is in packs, where they are enough to ask for it."""
    packable = {path: content for path, content in files.items() if is_packable(path)}
    return await packed(place, await known(place, len(packable)), packable)


async def packed(place: Place, packs: Iterable[Pack], files: Mapping[str, ContentId | None]) -> Packed:
    """What of these files is in the packs."""
    paths = sorted(files)
    useful = [
        (pack, some)
        for pack in packs
        if len(some := paths[bisect_left(paths, pack.first) : bisect_right(paths, pack.last)]) >= _FEW
    ]
    found = await each(_WIDTH, useful, lambda one: _spans(place, one[0], {files[path] for path in one[1]}))
    spans = {content: span for some in found for span in some for content in span.places}
    held = {path: content for path, content in files.items() if content is not None and content in spans}
    return Packed(place.store, spans, frozenset(held), Counter(held.values()))


async def contents_of(place: Place, pack: Pack) -> dict[ContentId, tuple[int, int]]:
    """Where each content of a pack begins and ends."""
    key = key_of(place.keys, pack.name)
    head = await (await place.store.get(key, stop=form.head_size(pack.count))).bytes()
    return {content: (start, stop) for content, start, stop in form.places(head, key)}


async def _spans(place: Place, pack: Pack, wanted: set[ContentId | None]) -> list[Span]:
    try:
        places = await contents_of(place, pack)
    except BayouError:
        return []
    spans: list[Span] = []
    for content, (start, stop) in places.items():
        if content not in wanted or not 0 < stop - start <= LARGEST:
            continue
        if not spans or start - spans[-1].stop > _GAP or stop - spans[-1].start > _SPAN:
            spans.append(Span(key_of(place.keys, pack.name), start, stop))
        spans[-1].places[content] = (start, stop)
        spans[-1].stop = stop
    return spans


async def _bodies(store: Store, span: Span) -> dict[ContentId, bytes]:
    """Those of its contents that are what they should be."""
    try:
        came = await (await store.get(span.key, start=span.start, stop=span.stop)).bytes()
    except BayouError:
        return {}
    bodies = {content: came[start - span.start : stop - span.start] for content, (start, stop) in span.places.items()}
    return {content: body for content, body in bodies.items() if hashlib.sha256(body).hexdigest() == content}
