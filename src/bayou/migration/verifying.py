"""Verifying by content: read back what was carried, and hash it again. Without it the proof is that each file was
hashed on its way, is listed with that hash, and lies there with its size.
"""

from collections.abc import Iterator

from bayou.migration.carrying import Fault, Item, Parcel, dealt
from bayou.migration.copying import Trouble
from bayou.migration.ends import End
from bayou.migration.planning import Plan, Source
from bayou.remotes.objects import each
from bayou.storage.arriving import content_of


def to_read(plan: Plan, source: Source, namespace: str) -> Iterator[Parcel]:
    """What is done, as parcels to be read back."""
    items = [
        Item(path, source.entries[path].size, content, source.entries[path].last_modified, ())
        for path, content in sorted(plan.done.items())
    ]
    for some in dealt(items):
        yield Parcel(namespace, "", some)


async def read_back(target: End, parcel: Parcel) -> list[Fault]:
    """What turned out to be something else than was carried."""

    async def one(item: Item) -> Fault | None:
        found = await content_of(target.store, target.key(item.path))
        if found is None:
            return Fault(item.path, Trouble.MISSING, item.sha256 or "", None)
        return None if found == item.sha256 else Fault(item.path, Trouble.CORRUPT, item.sha256 or "", found)

    found = await each(target.remote.place.width, parcel.items, one)
    return [fault for fault in found if fault is not None]
