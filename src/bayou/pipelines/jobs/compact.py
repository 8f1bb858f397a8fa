"""`compact`: copy small contents into packs, so that whoever fetches many of them needs few requests (design/012).

Only what is in no pack yet is read. A pack of which much is listed no more is given up, and what is left of it taken
over into another; so are small packs when there are many. The objects themselves are never touched, and nobody needs
the packs: so all of this may be cut off, or happen twice at once.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from bayou.domain.scopes import EVERYTHING
from bayou.errors import Conflict, Unavailable
from bayou.pipelines.jobs.context import Context, settled
from bayou.pipelines.memory import Memory, forget, run_of
from bayou.pipelines.packing import FULL, MADE, WEIGHED, Lot, fill, weigh
from bayou.pipelines.reach import WIDTH, Reach, place_of
from bayou.pipelines.report import Cell, Listing, Report
from bayou.pipelines.slices import Cost, Slice, Wanted, slices_of
from bayou.pipelines.spreading import spread
from bayou.remotes import packs
from bayou.remotes.objects import each
from bayou.storage.port import ABSENT, Store
from bayou.wire import packs as form
from bayou.wire.packs import Catalogue, Pack, Retired
from bayou.wire.times import to_text

JOB = "compact"
KEPT = timedelta(days=1)
"""How long a pack outlives its place in the catalogue; and how long one waits for it."""

_ENTRIES = 20_000
"""Entries of a lot, about."""
_LIVE = 0.5
_SMALL = FULL // 4
_FEW_SMALL = 8
_WANTED = Wanted(lambda part: part.startswith("data--"), EVERYTHING, Cost(entry=1.0, part=0.0), by_bytes=False)
_TRIES = 8


@dataclass(frozen=True, slots=True)
class Plan:
    """What there is to do in one namespace."""

    lots: Sequence[Lot]
    """Those of which something is to be packed."""
    given_up: Sequence[Pack]
    contents: int
    size: int


def run(context: Context, *, now: datetime | None = None) -> Report:
    settled(context)
    moment = now or datetime.now(UTC)
    with context.step("comparing the packs with the index"):
        before = {name: context.on_driver(partial(_divided, context, name)) for name in context.reach.namespaces}
        lots = [lot for _, some in before.values() for lot in some]
        rows = spread(context.spark, weigh, lots, WEIGHED).collect() if lots else []
        plans = {
            name: _plan(known, some, [row for row in rows if row.namespace == name])
            for name, (known, some) in before.items()
        }
    todo = [lot for plan in plans.values() for lot in plan.lots]
    figures: dict[str, Cell] = {
        "contents": sum(plan.contents for plan in plans.values()),
        "bytes": sum(plan.size for plan in plans.values()),
        "givenUp": sum(len(plan.given_up) for plan in plans.values()),
    }
    context.say("{contents} contents of {bytes} bytes are packed, and {givenUp} packs given up".format_map(figures))
    if context.dry_run:
        return context.report(JOB, figures)
    with context.step("packing"):
        memory = Memory(context.reach, context.reach.namespaces[0], run_of(JOB))
        made = spread(context.spark, fill, todo, MADE, memory=memory).collect() if todo else []
    with context.step("committing"):
        after = {}
        for name, plan in plans.items():
            added = [_pack(row) for row in made if row.namespace == name and row.name]
            after[name] = context.on_driver(partial(_commit, name, added, plan.given_up, moment))
    context.on_driver(lambda store: forget(store, context.reach.namespaces, JOB))
    figures["packsMade"] = sum(row.name is not None for row in made)
    figures["unusable"] = sum(row.unusable for row in made)
    figures["packsRemoved"] = sum(removed for _, removed in after.values())
    listed = [
        (name, len(found.packs), sum(pack.count for pack in found.packs), sum(pack.size for pack in found.packs))
        for name, (found, _) in after.items()
    ]
    return context.report(JOB, figures, Listing("Packs", ("namespace", "packs", "contents", "bytes"), listed, "bytes"))


async def _divided(context: Context, namespace: str, store: Store) -> tuple[Sequence[Pack], list[Lot]]:
    """The packs that there are, and the index in lots, in the order of its parts: what is near each other comes into
    one pack.
    """
    place = place_of(store, namespace)
    known, _ = await packs.catalogue(place)
    slices = await slices_of(place, _WANTED, _ENTRIES)
    reach = Reach(context.reach.url, (namespace,))
    lots: list[list[Slice]] = []
    held = 0.0
    for cost, one in sorted(slices, key=lambda pair: (pair[1].part, pair[1].first)):
        if not lots or held + cost > _ENTRIES:
            lots.append([])
            held = 0
        lots[-1].append(one)
        held += cost
    return known.packs, [Lot(reach, namespace, number, tuple(some), known.packs) for number, some in enumerate(lots)]


def _plan(known: Sequence[Pack], lots: Sequence[Lot], rows: Sequence[Any]) -> Plan:
    """What is packed: what is in no pack, together with what is left of packs that are given up."""
    live: Counter[str] = Counter()
    for row in rows:
        if row.pack is not None:
            live[row.pack] += row.bytes
    given_up = _given_up(known, live)
    names = {pack.name for pack in given_up}
    todo = [row for row in rows if row.pack is None or row.pack in names]
    contents = sum(row.contents for row in todo)
    if not given_up and contents < packs.MANY:
        return Plan((), (), 0, 0)  # nobody asks for packs for so few
    sizes: Counter[int] = Counter()
    for row in todo:
        sizes[row.lot] += row.bytes
    kept = tuple(pack for pack in known if pack.name not in names)
    wanted = [replace(lot, packs=kept, given_up=given_up) for lot in lots if sizes[lot.number]]
    return Plan(_together(wanted, sizes), given_up, contents, sizes.total())


def _given_up(known: Sequence[Pack], live: Mapping[str, int]) -> tuple[Pack, ...]:
    """The packs of which most is listed no more; and the small ones, if there are many."""
    dead = {pack.name for pack in known if live.get(pack.name, 0) < _LIVE * (pack.size - form.head_size(pack.count))}
    small = {pack.name for pack in known if pack.size < _SMALL} - dead
    gone = dead | small if len(small) > _FEW_SMALL else dead
    return tuple(pack for pack in known if pack.name in gone)


def _together(lots: Sequence[Lot], sizes: Mapping[int, int]) -> list[Lot]:
    """Lots with little to pack, several in one."""
    found: list[Lot] = []
    held = 0
    for lot in lots:
        if found and held + sizes[lot.number] <= FULL:
            found[-1] = replace(found[-1], slices=found[-1].slices + lot.slices)
        else:
            found.append(lot)
            held = 0
        held += sizes[lot.number]
    return found


def _pack(row: Any) -> Pack:  # noqa: ANN401 - a row of Spark
    return Pack(row.name, row.first, row.last, row["count"], row["size"])  # a tuple's own `count` comes first


async def _commit(
    namespace: str, added: Sequence[Pack], given_up: Sequence[Pack], now: datetime, store: Store
) -> tuple[Catalogue, int]:
    """Let the catalogue name what was made; and how many packs were removed that it has not named for some time.

    By the clock of this machine: whoever loses a pack too early reads objects.
    """
    place = place_of(store, namespace)
    for _ in range(_TRIES):
        before, version = await packs.catalogue(place)
        gone = {pack.name for pack in given_up}
        kept = {pack.name: pack for pack in before.packs if pack.name not in gone} | {pack.name: pack for pack in added}
        old = _text(now - KEPT)
        retired = [one for one in before.retired if one.retired_at > old and one.name not in kept]
        retired += [Retired(pack.name, _text(now)) for pack in before.packs if pack.name not in kept]
        after = Catalogue(tuple(sorted(kept.values(), key=lambda pack: (pack.first, pack.name))), tuple(retired))
        with suppress(Conflict):
            if after != before:
                key = packs.catalogue_key(place.keys)
                await store.put(key, form.encode(after), when=ABSENT if version is None else version)
            return after, await _sweep(store, namespace, after, now)
    raise Unavailable("others keep changing the catalogue of packs", remedy="Run it again: nothing is lost.")


async def _sweep(store: Store, namespace: str, catalogue: Catalogue, now: datetime) -> int:
    """Remove what nobody names, and nobody has been about to name for long."""
    place = place_of(store, namespace)
    names = [*(pack.name for pack in catalogue.packs), *(one.name for one in catalogue.retired)]
    named = {packs.key_of(place.keys, name) for name in names}
    key = packs.catalogue_key(place.keys)
    metas = [meta async for page in store.list(key.rpartition("/")[0]) for meta in page]
    gone = [meta.key for meta in metas if meta.key not in named | {key} and now - meta.modified > KEPT]
    await each(WIDTH, gone, store.delete)
    return len(gone)


def _text(time: datetime) -> str:
    return to_text(int(time.timestamp() * 1000) * 1_000_000)
