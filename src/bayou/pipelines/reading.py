"""Reading for rows: entries of an index become rows of a table, with many objects on their way at once.

Plain functions and no Spark: a row is a mapping from columns to values, and a batch a list of them. A row that cannot
be read as it should says why in its column `problem`, so that one damaged object neither hides nor ends anything.
"""

import hashlib
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, TypeVar

from bayou.domain.entries import Entry
from bayou.errors import Corrupt
from bayou.pipelines.selection import Selection
from bayou.remotes.looking import Place
from bayou.remotes.objects import read
from bayou.wire.times import to_milliseconds

T = TypeVar("T")
Row = dict[str, Any]
Batches = AsyncIterator[list[Row]]

AT_ONCE = 4_000
"""Rows of a batch."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST = datetime(1, 1, 3, tzinfo=UTC)
"""Of what is before, PySpark can collect no rows: Python looks a day back when it makes a local time."""


@dataclass(frozen=True, slots=True)
class Task:
    """What reading depends on: where, what is asked for, and which columns."""

    place: Place
    selection: Selection
    columns: frozenset[str]
    largest: int
    now: datetime | None = None
    """The moment at which ages are taken, the same in all tasks."""

    @property
    def namespace(self) -> str:
        return self.place.namespace

    def wants(self, *columns: str) -> bool:
        """Whether any of these is asked for, to be shown or to be compared."""
        return not self.columns.isdisjoint(columns)


async def whole(place: Place, entry: Entry) -> bytes:
    """An object that is as its entry says; `Corrupt` where it is not."""
    key = place.keys.data(entry.key)
    blob = await read(place.store, key)
    if blob is None:
        raise Corrupt(key, expected="an object, as the index lists it", found="none")
    if entry.sha256 is not None:
        found = hashlib.sha256(blob.content).hexdigest()
        if found != entry.sha256:
            raise Corrupt(key, expected=f"sha256 {entry.sha256}", found=found)
    return blob.content


def moment(text: str | None) -> datetime | None:
    """A time as Spark takes it; None where the text says none."""
    return None if text is None else moment_of(to_milliseconds(text))


def moment_of(milliseconds: int | None) -> datetime | None:
    """The same of milliseconds since 1970; None also for what is in no calendar, as a text with an offset may say, and
    for the first moments of the year 1, which some programs write for none at all.
    """
    try:
        found = None if milliseconds is None else _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None
    return None if found is None or found < _FIRST else found


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk


def grouped(sizes: Sequence[tuple[T, int]], most: int, *, items: int = AT_ONCE) -> Iterator[list[T]]:
    """The items in groups whose sizes sum up to no more than `most`, or of one item that is larger by itself."""
    group: list[T] = []
    held = 0
    for item, size in sizes:
        if group and (held + size > most or len(group) >= items):
            yield group
            group, held = [], 0
        group.append(item)
        held += size
    if group:
        yield group


def by_path(entries: Mapping[str, Entry], ending: str) -> list[Entry]:
    return [entry for path, entry in entries.items() if path.endswith(ending)]
