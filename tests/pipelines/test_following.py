"""Following: each version that is new or changed comes, and of the index only what changed is read."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

from bayou.errors import Corrupt, UsageError
from bayou.layout.keys import Keyspace
from bayou.pipelines import reach
from bayou.pipelines.source import Reading
from bayou.pipelines.stream import Stream, StreamReader
from bayou.remotes import Format
from bayou.storage import Record, Tally
from bayou.storage.filesystem import FilesystemStore
from bayou.testing.lakes import fill, lake, latest, model, version
from bayou.testing.legacy import LegacyWriter
from bayou.testing.machines import Machine, legacy_entry
from bayou.testing.memory import MemoryStore

FORMATS = [Format.DUAL, Format.SHARDED]
ALL = ReadAllAvailable()
WANTED = StructType(
    [
        StructField("model_id", StringType()),
        StructField("name", StringType()),
        StructField("version", LongType()),
        StructField("is_latest", BooleanType()),
        StructField("problem", StringType()),
    ]
)


class Bucket:
    """A bucket in memory that streams find, with a machine that writes to it, and a count of what streams ask."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path, format_: Format) -> None:
        self.store, self.tally, self.folder, self.format = MemoryStore(), Tally(log=[]), folder, format_
        monkeypatch.setattr(reach, "connect", lambda *_, **__: Record(self.store, self.tally))
        self.machine = asyncio.run(fill(self.store, lake(models=20, versions=1), format_))

    def reader(self, **options: str) -> StreamReader:
        """As a process has it that was just started."""
        told = {"url": "s3://bucket", "snapshots": str(self.folder / "checkpoint"), **options}
        return StreamReader(Reading.of(told), WANTED, Stream.of(told))

    def push(self, files: Mapping[str, bytes], deleted: Iterable[str] = ()) -> None:
        asyncio.run(self.machine.push(files, deleted))

    def asked(self) -> list[str]:
        assert self.tally.log is not None
        log = [f"{request.verb} {request.key}" for request in self.tally.log]
        self.tally.log.clear()
        return log

    def kept(self) -> list[str]:
        return sorted(file.name for file in (self.folder / "checkpoint/bayou/snapshots").iterdir())


@pytest.fixture(params=FORMATS)
def bucket(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bucket:
    return Bucket(monkeypatch, tmp_path, request.param)


def second_of(number: int) -> dict[str, bytes]:
    """A second version for a model of the lake."""
    return version(model(number), "state-0", 2, {"n": 2}) | latest(model(number), "state-0", 2)


def rows(reader: StreamReader, start: dict[str, str], end: dict[str, str]) -> list[tuple[Any, ...]]:
    found = [row for part in reader.partitions(start, end) for batch in reader.read(part) for row in batch.to_pylist()]
    assert {row["problem"] for row in found} <= {None}
    return sorted((row["model_id"], row["name"], row["version"], row["is_latest"]) for row in found)


def test_what_is_new_comes_once_and_costs_what_changed(bucket: Bucket) -> None:
    reader = bucket.reader()
    start = reader.initialOffset()
    first = reader.latestOffset(start, ALL)
    assert len(rows(reader, start, first)) == 20
    bucket.asked()
    assert reader.latestOffset(first, ALL) == first
    assert len(bucket.asked()) == 1
    bucket.push(second_of(3))
    second = reader.latestOffset(first, ALL)
    shards = [key for key in bucket.asked() if "_index/" in key and "_meta" not in key]
    assert len(shards) == 2  # of the model, and of the markers of its type
    assert rows(reader, first, second) == [("id-3", "state-0", 2, True)]
    assert reader.partitions(second, second) == []


def test_a_stream_that_is_started_again_goes_on_where_it_was(bucket: Bucket) -> None:
    reader = bucket.reader()
    first = reader.latestOffset(reader.initialOffset(), ALL)
    bucket.push(second_of(3))
    again = bucket.reader()
    bucket.asked()
    second = again.latestOffset(first, ALL)
    if bucket.format is Format.SHARDED:
        assert Counter(key.partition("--")[0] for key in bucket.asked()) == {
            "get _index/_meta.json": 1,
            "get _index/data": 2,  # the shards of the model, and of the markers of its type
        }
    else:
        assert len(bucket.asked()) == 2  # the meta, and the whole of the index
    assert rows(again, first, second) == [("id-3", "state-0", 2, True)]
    # What was cut off between a batch and its commit comes again, from the snapshots alone.
    assert rows(bucket.reader(), first, second) == [("id-3", "state-0", 2, True)]
    bucket.reader().commit(second)
    assert bucket.reader().latestOffset(second, ALL) == second


def test_deletions_bring_no_rows_and_changes_in_place_do(bucket: Bucket) -> None:
    reader = bucket.reader()
    first = reader.latestOffset(reader.initialOffset(), ALL)
    gone = [*version(model(3), "state-0", 1, {}), *latest(model(3), "state-0", 1)]
    bucket.push(version(model(4), "state-0", 1, {"model": 4, "version": 1}, keep=3), deleted=gone)
    second = reader.latestOffset(first, ALL)
    assert second != first
    assert rows(reader, first, second) == [("id-4", "state-0", 1, True)]
    bucket.push(second_of(3))
    third = reader.latestOffset(second, ALL)
    assert rows(reader, second, third) == [("id-3", "state-0", 2, True)]


def test_what_an_existing_client_commits_comes_too(bucket: Bucket) -> None:
    reader = bucket.reader()
    first = reader.latestOffset(reader.initialOffset(), ALL)
    files = second_of(7)

    async def commit() -> None:
        for path, body in files.items():
            await bucket.store.put(path, body)
        await LegacyWriter(bucket.store, Keyspace()).commit({p: legacy_entry(p, b) for p, b in files.items()})

    asyncio.run(commit())
    for reading in (reader, bucket.reader()):
        second = reading.latestOffset(first, ALL)
        assert rows(reading, first, second) == [("id-7", "state-0", 2, True)]


def test_no_batch_is_larger_than_it_may_be_and_nothing_is_left_out(bucket: Bucket) -> None:
    reader = bucket.reader(maxVersionsPerTrigger="7")
    bucket.push({path: body for n in range(1, 20) for path, body in version(model(5), "many", n, {}).items()})
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMaxRows(7)
    offset, batches = reader.initialOffset(), []
    while (after := reader.latestOffset(offset, limit)) != offset:
        batches.append(rows(reader, offset, after))
        reader.commit(after)
        offset = after
    assert [len(batch) for batch in batches] == [7, 7, 7, 7, 7, 4]
    every = Counter(row[:3] for batch in batches for row in batch)
    assert (len(every), set(every.values())) == (39, {1})
    assert bucket.reader().latestOffset(offset, ALL) == offset


def test_available_now_stops_at_what_was_there(bucket: Bucket) -> None:
    reader = bucket.reader()
    reader.prepareForTriggerAvailableNow()
    limit = ReadMaxRows(12)
    start = reader.initialOffset()
    first = reader.latestOffset(start, limit)
    bucket.push(version(model(3), "late", 1, {}))
    second = reader.latestOffset(first, limit)
    assert len(rows(reader, start, first) + rows(reader, first, second)) == 20
    assert reader.latestOffset(second, limit) == second
    assert rows(reader, second, bucket.reader().latestOffset(second, ALL)) == [("id-3", "late", 1, True)]


def test_snapshots_that_nobody_needs_any_more_go(bucket: Bucket) -> None:
    reader = bucket.reader()
    offset = reader.latestOffset(reader.initialOffset(), ALL)
    parts = bucket.folder / "checkpoint/bayou/parts"
    for number in range(2, 6):
        bucket.push(version(model(3), "state-0", number, {}))
        after = reader.latestOffset(offset, ALL)
        bucket.reader().commit(offset)
        offset = after
    assert len(bucket.kept()) == 2
    before = len(list(parts.iterdir()))
    bucket.reader().commit(offset)
    assert bucket.kept() == [offset["snapshot"]]
    assert len(list(parts.iterdir())) == before - 1 == 21
    assert bucket.reader().latestOffset(offset, ALL) == offset
    with pytest.raises(Corrupt, match="expected the snapshot"):
        bucket.reader().latestOffset({"snapshot": "000000000001-x"}, ALL)


def test_a_stream_may_begin_with_what_comes_next(bucket: Bucket) -> None:
    reader = bucket.reader(startingOffsets="latest")
    start = reader.initialOffset()
    assert reader.latestOffset(start, ALL) == start
    bucket.push(second_of(3))
    assert rows(reader, start, reader.latestOffset(start, ALL)) == [("id-3", "state-0", 2, True)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "'snapshots' is missing"),
        ({"snapshots": "x", "startingOffsets": "now"}, "'startingOffsets' is 'now'"),
        ({"snapshots": "x", "maxVersionsPerTrigger": "0"}, "not a number above 0"),
        ({"snapshots": "x", "table": "objects"}, "cannot be followed"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, str], message: str) -> None:
    told = {"url": "s3://bucket", **options}
    with pytest.raises(UsageError, match=message):
        StreamReader(Reading.of(told), WANTED, Stream.of(told))


def test_a_query_goes_on_from_its_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    data, checkpoint, sink = (str(tmp_path / name) for name in ("data", "checkpoint", "sink"))
    Path(data).mkdir()

    async def push(files: Mapping[str, bytes]) -> None:
        async with FilesystemStore(Path(data)) as store:
            await Machine(store).push(files)

    def follow() -> list[tuple[Any, ...]]:
        stream = spark.readStream.format("bayou").options(url=data, table="content", snapshots=checkpoint).load()
        written = stream.writeStream.format("parquet").option("checkpointLocation", checkpoint)
        query = written.trigger(availableNow=True).start(sink)
        query.awaitTermination()
        found = spark.read.parquet(sink).select("model_id", "version", "is_latest", "attributes", "problem").collect()
        return sorted(tuple(row) for row in found)

    asyncio.run(push(lake(models=2, versions=1)))
    first = follow()
    assert [row[:3] for row in first] == [("id-0", 1, True), ("id-1", 1, True)]
    asyncio.run(push(second_of(1)))
    assert follow() == sorted([*first, ("id-1", 2, True, '{"n":2}', None)])
    assert follow() == sorted([*first, ("id-1", 2, True, '{"n":2}', None)])
