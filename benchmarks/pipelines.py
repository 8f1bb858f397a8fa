"""What is about all of a datastore: on Spark, in a pool of processes, and in one process.

    python benchmarks/pipelines.py [--only scrub|index|gc]… [--objects N]… [--size BYTES] [--on folder|rclone|ministack]
                                   [--rounds N] [--cores N] [--json]

`scrub` reads every object and compares it with the index, `index` hashes what a listing found: all ways call the same
plain functions, on the same parts of work. `gc` decides which versions may go, of rows that are at hand in Parquet;
beside Spark's windows stand the same windows in SQLite. The session is warm: what it takes to start one is shown by
itself. Each round asks all ways in a random order; a ratio is that of the medians. The load of the machine is shown, as
others may be at work on it.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import apsw
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from bayou.config import urls
from bayou.domain.durations import parse_duration
from bayou.pipelines.jobs.index import Batch, Lying, hash_batch
from bayou.pipelines.planning import Part, parts_of, read_part
from bayou.pipelines.reach import Reach
from bayou.pipelines.reading import grouped
from bayou.pipelines.retention import decided
from bayou.pipelines.selection import NO_SELECTION
from bayou.pipelines.sessions import session
from bayou.pipelines.source import Reading
from bayou.pipelines.spreading import spread
from bayou.remotes import Changeset
from bayou.remotes.objects import each
from bayou.storage import connect
from bayou.testing.lakes import model
from bayou.testing.machines import Machine, change
from bayou.testing.servers import SERVERS

COLUMNS = frozenset({"path", "verdict"})
HASHES = {"path": "string", "sha256": "string"}
PROCESSES = 2
NOW = datetime(2026, 11, 2, tzinfo=UTC)
OF_NAME = 10

Ways = Mapping[str, Callable[[], int]]


def main() -> None:
    arguments = _arguments()
    results: list[dict[str, Any]] = []
    started = time.perf_counter()
    spark = session(f"local[{arguments.cores}]", log=Path(tempfile.gettempdir()) / "bayou-bench-java.log")
    spark.range(1).count()
    start = time.perf_counter() - started
    for work in arguments.only or ["scrub", "index", "gc"]:
        for objects in arguments.objects or [1_000, 10_000]:
            with prepared(work, spark, objects, arguments) as ways:
                results.append({"work": work, "objects": objects} | measure(ways, arguments.rounds))
    spark.stop()
    if arguments.json:
        print(json.dumps({"start": start, "results": results}))
        return
    print(f"start of a session, to its first job: {start:.1f} s")
    for one in results:
        times = ", ".join(f"{way} {seconds:.2f} s" for way, seconds in one["seconds"].items())
        spark_ = one["seconds"]["spark"]
        ratios = ", ".join(f"{s / spark_:.2f}x as fast as {way}" for way, s in one["seconds"].items() if way != "spark")
        print(f"{one['work']:>6} {one['objects']:>9,}: {times}; Spark is {ratios}; load {one['load']:.0f}")


def measure(ways: Ways, rounds: int) -> dict[str, Any]:
    taken: dict[str, list[float]] = {way: [] for way in ways}
    answers = set()
    for number in range(rounds + 1):
        for way in random.sample(list(ways), len(ways)):
            began = time.perf_counter()
            answers.add(ways[way]())
            if number:  # the first is to warm up
                taken[way].append(time.perf_counter() - began)
    assert len(answers) == 1, answers
    return {"seconds": {way: statistics.median(times) for way, times in taken.items()}, "load": os.getloadavg()[0]}


@contextmanager
def prepared(work: str, spark: SparkSession, objects: int, arguments: argparse.Namespace) -> Iterator[Ways]:
    if work == "gc":
        with tempfile.TemporaryDirectory(prefix="bayou-bench-") as folder:
            yield gc_ways(spark, Path(folder), objects)
        return
    with (
        place(arguments.on) as new_url,
        ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool,
    ):
        url = new_url(f"n{objects}")
        asyncio.run(fill(url, objects, arguments.size))
        yield (scrub_ways if work == "scrub" else index_ways)(spark, pool, url, objects, arguments.size)


def scrub_ways(spark: SparkSession, pool: ProcessPoolExecutor, url: str, objects: int, _: int) -> Ways:
    reading = Reading.of({"url": url, "table": "checks"})

    def in_spark() -> int:
        reader = spark.read.format("bayou").options(url=url, table="checks")
        return reader.schema("path string, verdict string").load().filter("verdict = 'ok'").count()

    ways = {
        "asyncio": lambda: sum(count(reading, part) for part in parts_of(reading, NO_SELECTION)),
        "pool": lambda: sum(pool.map(partial(count, reading), parts_of(reading, NO_SELECTION))),
        "spark": in_spark,
    }
    assert ways["asyncio"]() == objects
    return ways


def count(reading: Reading, part: Part) -> int:
    return sum(row["verdict"] == "ok" for rows in read_part(reading, NO_SELECTION, COLUMNS, part) for row in rows)


def index_ways(spark: SparkSession, pool: ProcessPoolExecutor, url: str, objects: int, size: int) -> Ways:
    wanted = [Lying("", path, size, "") for path in (path_of(number) for number in range(objects))]
    at_once = max(1, objects // 8) * size
    batches = [Batch(Reach(url), tuple(some)) for some in grouped([(one, size) for one in wanted], at_once)]
    return {
        "asyncio": lambda: sum(map(hashes, batches)),
        "pool": lambda: sum(pool.map(hashes, batches)),
        "spark": lambda: spread(spark, hash_batch, batches, HASHES).filter("sha256 IS NOT NULL").count(),
    }


def hashes(batch: Batch) -> int:
    return sum(row["sha256"] is not None for rows in hash_batch(batch) for row in rows)


def gc_ways(spark: SparkSession, folder: Path, versions: int) -> Ways:
    """Names with ten versions each; most keep ten, others five, or what is younger than 30 days; few have expired."""
    old, over = (parse_duration(text).over_until(NOW) for text in ("30d", "40d"))
    now, day = int(NOW.timestamp() * 1_000), 86_400_000
    rows = spark.range(versions).selectExpr(
        "'' AS namespace",
        "'aws/vpc' AS type",
        f"concat('id-', id DIV {20 * OF_NAME}) AS model_id",
        f"concat('name-', id DIV {OF_NAME}) AS name",
        f"id % {OF_NAME} + 1 AS version",
        f"id % {OF_NAME} = {OF_NAME - 1} AS is_latest",
        f"{now} - ({OF_NAME} - id % {OF_NAME}) * 5 * {day} AS created_ms",
        "2048L AS bytes",
        f"CASE id DIV {OF_NAME} % 8 WHEN 0 THEN 5L WHEN 1 THEN NULL ELSE 10L END AS keep",
        f"IF(id DIV {OF_NAME} % 8 = 1, {old}L, NULL) AS keep_until",
        f"IF(id DIV {OF_NAME} % 50 = 7, {now}L - 1, {over}L) AS live_until",
        "CAST(NULL AS string) AS ended",
    )
    rows.write.parquet(str(folder / "rows"))
    table = folder / "rows.db"
    with closing(apsw.Connection(str(table))) as connection:
        names = rows.columns
        connection.execute(f"CREATE TABLE versions ({', '.join(names)})")
        marks = ", ".join("?" * len(names))
        with connection:
            for file in sorted((folder / "rows").glob("*.parquet")):
                for batch in pq.ParquetFile(file).iter_batches(50_000):
                    values = zip(*(column.to_pylist() for column in batch.columns), strict=True)
                    connection.executemany(f"INSERT INTO versions VALUES ({marks})", values)  # noqa: S608 - ours

    def in_spark() -> int:
        found = decided(spark.read.parquet(str(folder / "rows")), NOW)
        row = found.selectExpr("sum(size(versions)) * 1000 + sum(IF(whole, 1, 0))").first()
        return 0 if row is None else row[0]

    def in_sqlite() -> int:
        with closing(apsw.Connection(str(table))) as connection:
            connection.pragma("cache_size", -(256 << 10))
            ((versions, whole),) = connection.execute(_SQLITE, {"future": now + day})
        return int(versions) * 1000 + int(whole)

    return {"spark": in_spark, "SQLite": in_sqlite}


# What `pipelines.retention` says, in what SQLite knows.
_SQLITE = """
WITH told AS (
  SELECT *,
    row_number() OVER (name ORDER BY version DESC) AS rank,
    max(created_ms) OVER name > :future AS skewed,
    max(CASE WHEN is_latest THEN version END) OVER name AS head,
    count(*) OVER name AS count,
    sum(version) OVER name AS total
  FROM versions WINDOW name AS (PARTITION BY namespace, type, model_id, name)
), headed AS (
  SELECT *,
    max(CASE WHEN version = head THEN rank END) OVER name AS head_rank,
    max(CASE WHEN version = head THEN keep END) OVER name AS head_keep,
    max(CASE WHEN version = head THEN keep_until END) OVER name AS head_keep_until,
    max(CASE WHEN version = head THEN live_until END) OVER name AS head_live_until,
    max(CASE WHEN version = head THEN created_ms END) OVER name AS head_created,
    max(CASE WHEN version = head THEN ended END) OVER name AS head_ended
  FROM told WINDOW name AS (PARTITION BY namespace, type, model_id, name)
), judged AS (
  SELECT *,
    head_ended IS NOT NULL OR coalesce(NOT skewed AND head_created <= head_live_until, 0) AS expired,
    NOT is_latest AND version < head AND (
      coalesce(rank - head_rank >= head_keep, 0) OR coalesce(NOT skewed AND created_ms <= head_keep_until, 0)
    ) AS surplus
  FROM headed
), names AS (
  SELECT group_concat(version) AS versions, count(*) AS going, sum(bytes) AS bytes, max(expired) AS whole
  FROM judged WHERE expired OR surplus GROUP BY namespace, type, model_id, name
)
SELECT coalesce(sum(going), 0), coalesce(sum(whole), 0) FROM names
"""


def path_of(number: int) -> str:
    return f"data/aws/vpc/{model(number // 100).id}/n/{number % 100 + 1}/raw"


async def fill(url: str, objects: int, size: int) -> None:
    """Objects of random bytes, 100 to a model, in a sharded index."""
    async with connect(urls.parse(url)) as store:
        machine = Machine(store)
        for first in range(0, objects, 2_000):
            files = {path_of(number): os.urandom(size) for number in range(first, min(first + 2_000, objects))}
            await each(50, files.items(), lambda item: store.put(*item))
            await machine.commit(Changeset("", (change({}, files),)))
        await machine.remote.migrate(lambda: True)


@contextmanager
def place(kind: str) -> Iterator[Callable[[str], str]]:
    if kind == "folder":
        with tempfile.TemporaryDirectory(prefix="bayou-bench-") as folder:

            def of_folder(name: str) -> str:
                Path(folder, name).mkdir()
                return str(Path(folder, name))

            yield of_folder
        return
    with SERVERS[kind]() as server:
        os.environ["AWS_ACCESS_KEY_ID"] = server.settings["access_key_id"]
        os.environ["AWS_SECRET_ACCESS_KEY"] = server.settings["secret_access_key"]
        bucket = server.new_bucket()
        yield lambda name: f"s3://{bucket}/{name}?endpoint={server.endpoint}&path_style=true&region=us-east-1"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["scrub", "index", "gc"], action="append")
    parser.add_argument("--objects", type=int, action="append")
    parser.add_argument("--cores", type=int, default=PROCESSES)
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--on", choices=["folder", "rclone", "ministack"], default="folder")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
