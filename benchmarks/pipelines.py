"""Reading every object and comparing it with the index: Spark, a pool of processes, and one process with asyncio.

    python benchmarks/pipelines.py [--objects N]… [--size BYTES] [--on folder|rclone|ministack] [--rounds N] [--json]

All three call the same plain functions, on the same parts of work. The session is warm: what it takes to start one is
shown by itself. Each round asks all three in a random order; a ratio is that of the medians.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from pyspark.sql import SparkSession

from bayou.config import urls
from bayou.pipelines.planning import Part, parts_of, read_part
from bayou.pipelines.selection import NO_SELECTION
from bayou.pipelines.sessions import session
from bayou.pipelines.source import Reading
from bayou.remotes import Changeset
from bayou.remotes.objects import each
from bayou.storage import connect
from bayou.testing.lakes import model
from bayou.testing.machines import Machine, change
from bayou.testing.servers import SERVERS

COLUMNS = frozenset({"path", "verdict"})
PROCESSES = 2


def main() -> None:
    arguments = _arguments()
    results = []
    started = time.perf_counter()
    spark = session(f"local[{PROCESSES}]", log=Path(tempfile.gettempdir()) / "bayou-bench-java.log")
    spark.range(1).count()
    start = time.perf_counter() - started
    with place(arguments.on) as new_url:
        for objects in arguments.objects or [1_000, 10_000]:
            url = new_url(f"n{objects}")
            asyncio.run(fill(url, objects, arguments.size))
            results.append(measure(spark, url, objects, arguments))
    spark.stop()
    if arguments.json:
        print(json.dumps({"start": start, "results": results}))
        return
    print(f"start of a session, to its first job: {start:.1f} s")
    print(f"{'objects':>9} {'asyncio':>9} {'pool of 2':>9} {'Spark':>9}   Spark against asyncio, against the pool")
    for one in results:
        times = "".join(f"{one[way]:>8.2f} s" for way in ("asyncio", "pool", "spark"))
        ratios = (one["asyncio"] / one["spark"], one["pool"] / one["spark"])
        print(f"{one['objects']:>9.0f} {times}   {ratios[0]:.2f}x, {ratios[1]:.2f}x as fast")


def measure(spark: SparkSession, url: str, objects: int, arguments: argparse.Namespace) -> dict[str, float]:
    reading = Reading.of({"url": url, "table": "checks"})
    ways: dict[str, Callable[[], int]] = {
        "asyncio": lambda: sum(count(reading, part) for part in parts_of(reading, NO_SELECTION)),
        "spark": lambda: in_spark(spark, url),
    }
    taken: dict[str, list[float]] = {"asyncio": [], "spark": [], "pool": []}
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        ways["pool"] = lambda: sum(pool.map(partial(count, reading), parts_of(reading, NO_SELECTION)))
        for number in range(arguments.rounds + 1):
            for way in random.sample(list(ways), len(ways)):
                began = time.perf_counter()
                assert ways[way]() == objects
                if number:  # the first is to warm up
                    taken[way].append(time.perf_counter() - began)
    return {"objects": objects, **{way: statistics.median(times) for way, times in taken.items()}}


def count(reading: Reading, part: Part) -> int:
    return sum(row["verdict"] == "ok" for rows in read_part(reading, NO_SELECTION, COLUMNS, part) for row in rows)


def in_spark(spark: SparkSession, url: str) -> int:
    reader = spark.read.format("bayou").options(url=url, table="checks")
    return reader.schema("path string, verdict string").load().filter("verdict = 'ok'").count()


async def fill(url: str, objects: int, size: int) -> None:
    """Objects of random bytes, 100 to a model, in a sharded index."""
    async with connect(urls.parse(url)) as store:
        machine = Machine(store)
        for first in range(0, objects, 2_000):
            files = {
                f"data/aws/vpc/{model(number // 100).id}/n/{number % 100 + 1}/raw": os.urandom(size)
                for number in range(first, min(first + 2_000, objects))
            }
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
    parser.add_argument("--objects", type=int, action="append")
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--on", choices=["folder", "rclone", "ministack"], default="folder")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
