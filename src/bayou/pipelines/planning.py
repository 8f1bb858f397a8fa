"""Planning a read: which slices of which namespaces there are to read, in how many tasks; and reading one of them."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from math import ceil
from typing import Protocol

from bayou.domain.scopes import EVERYTHING
from bayou.pipelines.objectrows import KeyRange, listing
from bayou.pipelines.reach import Reach, place_of, run_all
from bayou.pipelines.reading import Row, Task, chunks
from bayou.pipelines.selection import Selection
from bayou.pipelines.slices import Slice, Wanted, dealt, entries_of, slices_of, tasks_for
from bayou.pipelines.tables import Table, table_of
from bayou.remotes.loading import load
from bayou.remotes.looking import Place, look
from bayou.remotes.objects import each

_KEYS_AT_ONCE = 20_000
_SLICES_AT_ONCE = 200
"""Parts that are read side by side."""


class Reading(Protocol):
    @property
    def reach(self) -> Reach: ...
    @property
    def table(self) -> str: ...
    @property
    def tasks(self) -> int | None: ...
    @property
    def largest(self) -> int: ...
    @property
    def now(self) -> datetime: ...


@dataclass(frozen=True, slots=True)
class Part:
    """The work of one task."""

    slices: tuple[Slice, ...] = ()
    keys: tuple[KeyRange, ...] = ()


def parts_of(reading: Reading, selection: Selection) -> list[Part]:
    """At least one: of none Spark would make one of its own."""
    return asyncio.run(_parts_of(reading, selection)) or [Part()]


def read_part(reading: Reading, selection: Selection, columns: frozenset[str], part: Part) -> Iterator[list[Row]]:
    return run_all(_read_part(reading, selection, columns, part))


async def _parts_of(reading: Reading, selection: Selection) -> list[Part]:
    table = table_of(reading.table)
    async with reading.reach.store() as store:
        reach = await reading.reach.settled(store)
        places = [place_of(store, name) for name in reach.namespaces if selection.may_be("namespace", name)]
        if table.rows is None:
            ranges = [keys for place in places for keys in await _key_ranges(place)]
            return [Part(keys=(keys,)) for keys in ranges]
        wanted = _wanted(table, selection)
        slices = [one for place in places for one in await slices_of(place, wanted, table.target)]
    tasks = reading.tasks or min(tasks_for(sum(cost for cost, _ in slices)), max(len(slices), 1))
    return [Part(slices=some) for some in dealt(slices, tasks)]


def _wanted(table: Table, selection: Selection) -> Wanted:
    def holds(part: str) -> bool:
        return part.startswith(table.parts) and (not table.of_versions or selection.part(part))

    return Wanted(holds, selection.scope if table.of_versions else EVERYTHING, table.cost, table.by_bytes)


async def _key_ranges(place: Place) -> list[KeyRange]:
    """Ranges with about as many keys each, as far as the index knows them."""
    snapshot = await load(place, EVERYTHING, await look(place))
    keys = sorted((place.keys.data(path) for path in snapshot.all()), key=str.encode)
    step = max(1, ceil(len(keys) / max(1, ceil(len(keys) / _KEYS_AT_ONCE))))
    ends: list[str | None] = [*keys[step - 1 :: step][:-1], None] if keys else [None]
    return [KeyRange(place.namespace, after, last) for after, last in zip([None, *ends[:-1]], ends, strict=True)]


async def _read_part(
    reading: Reading, selection: Selection, columns: frozenset[str], part: Part
) -> AsyncIterator[list[Row]]:
    table = table_of(reading.table)
    async with reading.reach.store() as store:
        places: dict[str, Task] = {}

        def task_of(namespace: str) -> Task:
            if namespace not in places:
                places[namespace] = Task(place_of(store, namespace), selection, columns, reading.largest, reading.now)
            return places[namespace]

        for keys in part.keys:
            async for rows in listing(task_of(keys.namespace), keys):
                yield rows
        if table.rows is None:
            return
        for namespace in dict.fromkeys(one.namespace for one in part.slices):
            task = task_of(namespace)
            for some in chunks((one for one in part.slices if one.namespace == namespace), _SLICES_AT_ONCE):
                found = await each(task.place.width, some, partial(entries_of, task.place))
                entries = {path: entry for listed in found for path, entry in listed.items()}
                async for rows in table.rows(task, entries):
                    yield rows
