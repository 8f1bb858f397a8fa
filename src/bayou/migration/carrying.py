"""Carrying: parcels of work, each with a part of what is to be copied, and what becomes of each.

A parcel is a value, so it can be carried here or on another machine; whoever carries it twice changes nothing by it.
What was copied is in the manifest when a parcel is through, or was cut off by anything but a kill.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bayou.domain.content import ContentId
from bayou.layout.artifacts import LATEST, Part, VersionFile
from bayou.layout.bundles import Bundle
from bayou.layout.meanings import meaning
from bayou.migration.copying import Failed, Trouble, Wanted, fetch, put
from bayou.migration.ends import End
from bayou.migration.planning import Plan
from bayou.remotes.objects import each
from bayou.storage.arriving import Arrived
from bayou.wire.migration import Carried

_FILES = 500
_BYTES = 64 << 20
"""What a parcel holds on this machine while it is carried, unless a single file is larger."""


@dataclass(frozen=True, slots=True)
class Item:
    path: str
    size: int
    sha256: ContentId | None
    modified: str
    replaces: tuple[ContentId, ...]
    """What may lie where it goes."""


@dataclass(frozen=True, slots=True)
class Parcel:
    namespace: str
    at: str
    """When the run began."""
    items: tuple[Item, ...]


class Fault(NamedTuple):
    """What could not be carried, and why."""

    path: str
    trouble: Trouble
    expected: str
    found: str | None


def parcels(plan: Plan, namespace: str, at: str, *, in_order: bool) -> Iterator[list[Parcel]]:
    """In waves where whoever looks sees what arrives: content, then what makes it a version, then markers."""
    waves: dict[int, list[Item]] = {0: [], 1: [], 2: []}
    for path, entry in sorted(plan.copies.items()):
        item = Item(path, entry.size, entry.sha256, entry.last_modified, tuple(sorted(plan.replaces[path])))
        waves[_turn(path) if in_order else 0].append(item)
    for items in waves.values():
        if items:
            yield [Parcel(namespace, at, some) for some in dealt(items)]


async def carry(source: End, target: End, parcel: Parcel, seen: Callable[[int], None] = lambda _: None) -> list[Fault]:
    """Fetch all of it, write down what is about to be put, put it, write down what was. So whatever a kill leaves at
    the target is known for ours, also where the source has something else by then. `seen` is told of what arrived.
    """
    place = target.remote.place
    faults: list[Fault] = []
    carried: list[Carried] = []

    def failed(item: Item, why: Failed) -> None:
        is_mutable = not isinstance(meaning(item.path), VersionFile | Bundle)
        trouble = Trouble.IN_FLIGHT if why.trouble is Trouble.CORRUPT and is_mutable else why.trouble
        faults.append(Fault(item.path, trouble, item.sha256 or f"{item.size} bytes", why.found))

    def wanted(item: Item) -> Wanted:
        return Wanted(source.key(item.path), target.key(item.path), item.size, item.sha256, item.replaces)

    with tempfile.TemporaryDirectory(prefix="bayou-") as folder:
        fetched: dict[Item, Arrived] = {}

        async def get(numbered: tuple[int, Item]) -> None:
            number, item = numbered
            found = await fetch(source.store, wanted(item), Path(folder) / str(number))
            if isinstance(found, Failed):
                failed(item, found)
            else:
                fetched[item] = found

        async def put_one(item: Item) -> None:
            done = await put(target.store, wanted(item), fetched[item], conditional=place.conditional)
            if isinstance(done, Failed):
                failed(item, done)
            else:
                carried.append(Carried(item.path, done.size, done.sha256, item.modified, done.version, parcel.at))
                seen(done.size)

        await each(place.width, enumerate(parcel.items), get)
        begun = await target.pages.begun(
            [Carried(i.path, i.size, one.content, i.modified, "", parcel.at) for i, one in fetched.items()]
        )
        try:
            await each(place.width, fetched, put_one)
        finally:
            await target.pages.add(carried)
        await target.pages.end(begun)
    return faults


def _turn(path: str) -> int:
    name = path.rpartition("/")[2]
    return 2 if name == LATEST else 1 if name == Part.METADATA else 0


def dealt(items: Iterable[Item]) -> Iterator[tuple[Item, ...]]:
    """In groups that take about the same time, and none too long to lose."""
    some: list[Item] = []
    held = 0
    for item in items:
        if some and (len(some) >= _FILES or held + item.size > _BYTES):
            yield tuple(some)
            some, held = [], 0
        some.append(item)
        held += item.size
    if some:
        yield tuple(some)
