"""The stream: `spark.readStream.format("bayou")`. Its rows are the versions that are new or changed.

At least once: a batch that was cut off comes again as a whole, with what the same versions say then. A version is named
by `namespace`, `type`, `model_id`, `name`, `version`; what it said by `id` and `checksum` besides.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from bayou.errors import UsageError
from bayou.pipelines.batches import batch_of
from bayou.pipelines.following import Following, Fresh, batch
from bayou.pipelines.planning import Part, read_part
from bayou.pipelines.reach import absolute
from bayou.pipelines.selection import NO_SELECTION
from bayou.pipelines.slices import Slice, dealt, tasks_for
from bayou.pipelines.snapshots import BEGINNING, Snapshots, open_snapshots
from bayou.pipelines.tables import table_of
from bayou.storage.port import Store

if TYPE_CHECKING:
    from bayou.pipelines.source import Reading

T = TypeVar("T")

_STARTS = ("earliest", "latest")
_OFFSET = "snapshot"
_WHOSE = ("namespace", "type", "model_id", "name", "version")


@dataclass(frozen=True, slots=True)
class Stream:
    """What a stream was told besides what to read."""

    snapshots: str
    starts: str
    most: int | None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "Stream":
        told = {name.lower(): value for name, value in options.items()}
        if "snapshots" not in told:
            raise UsageError(
                "the option 'snapshots' is missing: where the stream keeps what the index said at its offsets",
                remedy='Give it the location of the checkpoint: .option("snapshots", CHECKPOINT).',
            )
        starts, most = told.get("startingoffsets", "earliest"), told.get("maxversionspertrigger")
        if starts not in _STARTS:
            raise UsageError(f"the option 'startingOffsets' is {starts!r}", remedy=f"Write {' or '.join(_STARTS)}.")
        if most is not None and (not most.isdecimal() or not int(most)):
            raise UsageError(f"the option 'maxVersionsPerTrigger' is not a number above 0: {most!r}")
        return cls(absolute(told["snapshots"]), starts, None if most is None else int(most))


@dataclass(frozen=True)
class News(InputPartition):
    """Entries to read, and the versions among them that are new."""

    part: Part
    fresh: Fresh


@dataclass
class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    reading: "Reading"
    wanted: StructType
    stream: Stream
    stops: bool = False
    _following: Following | None = field(default=None, repr=False)
    """Of the process that plans; what reads has none."""

    def __post_init__(self) -> None:
        table = table_of(self.reading.table)
        if not table.of_versions or "is_latest" not in table.columns:
            raise UsageError(
                f"the table {table.name!r} cannot be followed", remedy="Follow the table artifacts, or content."
            )

    def initialOffset(self) -> dict[str, str]:  # noqa: N802 - as Spark calls it
        if self.stream.starts == "earliest":
            return {_OFFSET: BEGINNING}
        return {_OFFSET: self._planned(lambda one, store, kept: one.advance(store, kept, BEGINNING))}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - as Spark calls it
        return ReadAllAvailable() if self.stream.most is None else ReadMaxRows(self.stream.most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - as Spark calls it
        self.stops = True

    def latestOffset(self, start: dict[str, str], limit: ReadLimit) -> dict[str, str]:  # noqa: N802 - as Spark calls it
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None

        def advance(following: Following, store: Store, kept: Snapshots) -> Awaitable[str]:
            return following.advance(store, kept, start[_OFFSET], most=most, stops=self.stops)

        return {_OFFSET: self._planned(advance)}

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> Sequence[InputPartition]:
        table = table_of(self.reading.table)
        found = self._kept(lambda kept: batch(kept, table, start[_OFFSET], end[_OFFSET]))
        fresh = {one: versions for _, one, versions in found}
        slices: list[tuple[float, Slice]] = [(cost, one) for cost, one, _ in found]
        tasks = self.reading.tasks or tasks_for(sum(cost for cost, _ in slices))
        return [News(Part(some), frozenset().union(*map(fresh.get, some))) for some in dealt(slices, tasks)]  # type: ignore[arg-type] # all are in it

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, News)  # noqa: S101 - it is ours
        schema = to_arrow_schema(self.wanted, timezone="UTC")
        columns = frozenset((*self.wanted.fieldNames(), *_WHOSE))
        for rows in read_part(self.reading, NO_SELECTION, columns, partition.part):
            new = [row for row in rows if _place(row) in partition.fresh]
            if new:
                yield batch_of(new, schema)

    def commit(self, end: dict[str, str]) -> None:
        self._kept(lambda kept: kept.prune(end[_OFFSET]))

    def _planned(self, work: Callable[[Following, Store, Snapshots], Awaitable[T]]) -> T:
        following = self._following = self._following or Following(self.reading.reach)

        async def opened() -> T:
            async with self.reading.reach.store() as store, open_snapshots(self.stream.snapshots) as kept:
                return await work(following, store, Snapshots(kept))

        return asyncio.run(opened())

    def _kept(self, work: Callable[[Snapshots], Awaitable[T]]) -> T:
        async def opened() -> T:
            async with open_snapshots(self.stream.snapshots) as kept:
                return await work(Snapshots(kept))

        return asyncio.run(opened())


def _place(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["namespace"], f"data/{row['type']}/{row['model_id']}/{row['name']}/{row['version']}"
