"""Packing: what of a lot of entries is in packs, and the packs that are made of what is not. Plain functions, no Spark.

A pack is named by its bytes, which follow from what is packed: a task that runs twice writes the same object again.
"""

import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from bayou.domain.content import ContentId
from bayou.domain.entries import Entry
from bayou.errors import Corrupt, NotFound
from bayou.pipelines.reach import WIDTH, Reach, place_of, run_all
from bayou.pipelines.reading import Row, grouped, whole
from bayou.pipelines.slices import Slice, entries_of
from bayou.remotes import packs
from bayou.remotes.looking import Place
from bayou.remotes.objects import each
from bayou.remotes.packs import Packed
from bayou.wire import packs as form
from bayou.wire.packs import Pack

FULL = 16 << 20
"""Bytes of contents in a pack, at most."""

WEIGHED = {"namespace": "string", "lot": "bigint", "pack": "string", "contents": "bigint", "bytes": "bigint"}
MADE = {
    "namespace": "string",
    "name": "string",
    "first": "string",
    "last": "string",
    "count": "bigint",
    "size": "bigint",
    "unusable": "bigint",
}


@dataclass(frozen=True, slots=True)
class Lot:
    """Entries that lie side by side, and the packs that may hold what they list."""

    reach: Reach
    namespace: str
    number: int
    slices: tuple[Slice, ...]
    packs: tuple[Pack, ...]
    given_up: tuple[Pack, ...] = ()
    """Packs out of which contents are taken over into new ones."""


def weigh(lot: Lot) -> Iterator[list[Row]]:
    """How much of the lot is in no pack (`pack` is null), and how much of each pack the lot still lists."""
    return run_all(_weighed(lot))


def fill(lot: Lot) -> Iterator[list[Row]]:
    """Write packs of what is in none. A row for each; what cannot be read as it is listed is in the first."""
    return run_all(_filled(lot))


async def _weighed(lot: Lot) -> AsyncIterator[list[Row]]:
    async with lot.reach.store() as store:
        place = place_of(store, lot.namespace)
        missing, held = await _compared(place, lot)
    row: Row = {"namespace": lot.namespace, "lot": lot.number}
    rows = [row | {"pack": name, "contents": len(found), "bytes": sum(found.values())} for name, found in held.items()]
    sizes = {entry.sha256: entry.size for entry in missing.values()}
    yield [*rows, row | {"pack": None, "contents": len(sizes), "bytes": sum(sizes.values())}]


async def _filled(lot: Lot) -> AsyncIterator[list[Row]]:
    async with lot.reach.store() as store:
        place = place_of(store, lot.namespace)
        missing, _ = await _compared(place, lot)
        packed = await packs.packed(place, lot.given_up, {path: entry.sha256 for path, entry in missing.items()})
        first = {entry.sha256: path for path, entry in sorted(missing.items(), reverse=True)}
        paths = [(path, missing[path].size) for path in sorted(first.values())]
        for group in grouped(paths, FULL, items=len(paths)):
            read = await each(WIDTH, [missing[path] for path in group], partial(_body, place, packed))
            there = [(path, body) for path, body in zip(group, read, strict=True) if body is not None]
            row: Row = {"namespace": lot.namespace, "unusable": len(group) - len(there)}
            yield [row | (await _put(place, lot, dict(there)) if there else {})]


async def _put(place: Place, lot: Lot, bodies: Mapping[str, bytes]) -> Row:
    """Write a pack, unless it is there. One that is given up may have lost what it should hold, and is made again."""
    packed = form.pack_of({hashlib.sha256(body).hexdigest(): body for body in bodies.values()})
    name, paths = hashlib.sha256(packed).hexdigest(), sorted(bodies)
    key = packs.key_of(place.keys, name)
    there = None
    with suppress(NotFound):
        there = (await place.store.head(key)).size
    if there != len(packed) or name in {pack.name for pack in lot.given_up}:
        await place.store.put(key, packed)
    return {"name": name, "first": paths[0], "last": paths[-1], "count": len(bodies), "size": len(packed)}


async def _body(place: Place, packed: Packed, entry: Entry) -> bytes | None:
    body = await packed.take(entry.sha256)
    if body is not None:
        return body
    with suppress(Corrupt):  # `scrub` tells of it
        return await whole(place, entry)
    return None


async def _compared(place: Place, lot: Lot) -> tuple[dict[str, Entry], dict[str, dict[ContentId, int]]]:
    """What of the lot is in no pack; and of each pack that may hold some of it, what it does hold, with the sizes.

    A pack that cannot be read holds nothing.
    """
    listed: dict[str, Entry] = {}
    for found in await each(WIDTH, lot.slices, partial(entries_of, place)):
        listed |= {path: entry for path, entry in found.items() if _is_small(entry)}
    if not listed:
        return {}, {}
    first, last = min(listed), max(listed)
    near = [pack for pack in lot.packs if pack.first <= last and first <= pack.last]
    places = await each(WIDTH, near, partial(_contents, place))
    missing = dict(listed)
    held: dict[str, dict[ContentId, int]] = {}
    for pack, contents in zip(near, places, strict=True):
        here = {path: entry for path, entry in listed.items() if entry.sha256 in contents and pack.may_hold(path)}
        held[pack.name] = {entry.sha256: entry.size for entry in here.values() if entry.sha256}
        for path in here:
            missing.pop(path, None)
    return missing, held


async def _contents(place: Place, pack: Pack) -> Mapping[ContentId, object]:
    try:
        return await packs.contents_of(place, pack)
    except (NotFound, Corrupt):
        return {}


def _is_small(entry: Entry) -> bool:
    return packs.is_packable(entry.key) and entry.sha256 is not None and 0 < entry.size <= packs.LARGEST
