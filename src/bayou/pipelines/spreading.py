"""Spreading: a function on many items, each in a task of its own on some executor, with rows as the answer.

It is a data source too, so it needs neither pandas nor RDDs and works through Connect. A task may run twice, at once or
one after the other: whatever the function writes has to have a name that follows from its item.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from bayou.pipelines.batches import batch_of
from bayou.pipelines.memory import Memory
from bayou.pipelines.reading import Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Work = Callable[[Any], Iterator[list[Row]]]


def spread(
    spark: "SparkSession",
    work: Work,
    items: Sequence[object],
    columns: Mapping[str, str],
    *,
    memory: Memory | None = None,
) -> "DataFrame":
    """`work` is a function of a module; an item is a value whose `repr` says all of it, and can be pickled."""
    told = {"work": staticmethod(work), "items": tuple(items), "columns": dict(columns), "memory": memory}
    source = type("Spread", (_Spread,), told)
    spark.dataSource.register(source)
    return spark.read.format(_Spread.name()).load()


@dataclass(frozen=True)
class _Item(InputPartition):
    item: object


class _Spread(DataSource):
    work: ClassVar[Work]
    items: ClassVar[tuple[object, ...]]
    columns: ClassVar[Mapping[str, str]]
    memory: ClassVar[Memory | None]

    @classmethod
    def name(cls) -> str:
        return "bayou-spread"

    def schema(self) -> str:
        return ", ".join(f"{name} {kind}" for name, kind in self.columns.items())

    def reader(self, schema: StructType) -> DataSourceReader:
        return _Reader(type(self).work, self.items, schema, self.memory)


@dataclass
class _Reader(DataSourceReader):
    work: Work
    items: tuple[object, ...]
    wanted: StructType
    memory: Memory | None

    def partitions(self) -> Sequence[InputPartition]:
        return [_Item(item) for item in self.items] or [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, _Item):
            return
        schema, item = to_arrow_schema(self.wanted, timezone="UTC"), partition.item

        def fresh() -> Iterator[pa.RecordBatch]:
            return (batch_of(rows, schema) for rows in self.work(item) if rows)

        yield from fresh() if self.memory is None else self.memory.recalled(repr(item), schema, fresh)
