"""The data source: `spark.read.format("bayou").option("url", URL).option("table", NAME).load()`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from bayou.errors import UsageError
from bayou.pipelines.batches import batch_of
from bayou.pipelines.memory import Memory
from bayou.pipelines.planning import Part, parts_of, read_part
from bayou.pipelines.reach import Reach, reach_of
from bayou.pipelines.reading import moment
from bayou.pipelines.selection import NO_SELECTION, Selection, selection_of
from bayou.pipelines.sink import begin
from bayou.pipelines.stream import Stream, StreamReader
from bayou.pipelines.tables import Table, table_of

_LARGEST = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader was told, as a value that travels to executors."""

    reach: Reach
    table: str
    tasks: int | None
    largest: int
    now: datetime
    run: str | None = None
    """The run whose memory is used, if any."""

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "Reading":
        return cls(
            reach_of(options),
            table_of(options.get("table", "artifacts")).name,
            _number(options, "partitions"),
            _number(options, "maxContentBytes") or _LARGEST,
            moment(options.get("now")) or datetime.now(UTC),
            options.get("run"),
        )


class BayouSource(DataSource):
    """Options: `url`; `namespace` or `namespaces` (`a,b`, or `*`); `table`, `artifacts` unless said; `partitions`,
    how many tasks; `maxContentBytes`, above which `content` gives null. Of a write: `job`, by which its record goes.
    Of a stream: `snapshots`, `startingOffsets`, `maxVersionsPerTrigger`.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = dict(options)
        self._reading = Reading.of(options)

    @classmethod
    def name(cls) -> str:
        return "bayou"

    def schema(self) -> str:
        return ", ".join(f"{name} {kind}" for name, kind in self._table.columns.items())

    def reader(self, schema: StructType) -> DataSourceReader:
        return Reader(self._reading, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001 - as Spark calls it
        return begin(self.options, schema, overwrite=overwrite)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - as Spark calls it
        return StreamReader(self._reading, schema, Stream.of(self.options))

    @property
    def _table(self) -> Table:
        return table_of(self._reading.table)


@dataclass(frozen=True)
class Planned(InputPartition):
    part: Part


@dataclass
class _Push:
    """Takes filters where Spark offers them. To a session that offers none it looks like a reader that takes none:
    otherwise such a session would refuse to read at all.
    """

    reader: "Reader"
    __func__ = staticmethod(DataSourceReader.pushFilters)

    def __call__(self, filters: list[Any]) -> list[Any]:
        self.reader.selection = selection_of(filters)
        return filters  # Spark looks again: what is left out here is only what cannot match


@dataclass
class Reader(DataSourceReader):
    reading: Reading
    wanted: StructType
    selection: Selection = field(default=NO_SELECTION)

    def __post_init__(self) -> None:
        known = table_of(self.reading.table).columns
        for one in self.wanted.fields:
            if known.get(one.name) != one.dataType.simpleString():
                raise UsageError(
                    f"the table {self.reading.table!r} has no column {one.name} {one.dataType.simpleString()}",
                    remedy=f"Its columns are: {', '.join(known)}.",
                )
        self.pushFilters = _Push(self)  # type: ignore[method-assign] # see there

    def partitions(self) -> Sequence[InputPartition]:
        return [Planned(part) for part in parts_of(self.reading, self.selection)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Planned)  # noqa: S101 - it is ours
        schema, part = to_arrow_schema(self.wanted, timezone="UTC"), partition.part
        columns = frozenset(self.wanted.fieldNames()) | self.selection.columns

        def fresh() -> Iterator[pa.RecordBatch]:
            for rows in read_part(self.reading, self.selection, columns, part):
                if rows:
                    yield batch_of(rows, schema)

        if self.reading.run is None or not part.slices:
            yield from fresh()
            return
        memory = Memory(self.reading.reach, part.slices[0].namespace, self.reading.run)
        asked = repr((self.reading.table, self.selection, self.wanted.json(), part))
        yield from memory.recalled(asked, schema, fresh)


def _number(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name)
    if text is None:
        return None
    if not text.isdigit() or not int(text):
        raise UsageError(f"the option {name!r} is not a number above 0: {text!r}")
    return int(text)
