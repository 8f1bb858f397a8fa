"""What the storage port costs on top of what it is built on, in one run: time and the processor's time for each call.

    python benchmarks/storage.py [--on rclone|ministack|folder|folder-unsynced]… [--objects N] [--rounds N] [--json]

Buckets: bare obstore, the adapter (`Bucket`) and all of `connect()`, against a real server on this machine.
Folders: plain open, write and rename in as many threads, the adapter (`FilesystemStore`) and all of `connect()`.

Each round gives every way fresh keys, in a random order, so that a busy machine slows all of them; the spread is that
of the ratios within a round. The processor's time is this process's alone, without the server's. Nothing is retried: a
failure ends the run, as it would otherwise hide in a pause.
"""

import argparse
import asyncio
import gc
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import obstore
from obstore.store import S3Store

from bayou.config.locations import S3, Folder
from bayou.storage import FilesystemStore, Patience, Store, connect, open_bare
from bayou.storage.filesystem import THREADS
from bayou.testing.servers import SERVERS

CONCURRENCY = 50
BODY = os.urandom(5 << 10)
WARM_UP = 100  # objects before each measurement: connections, threads, the server's own first steps
ONCE = Patience(attempts=1)


@dataclass(frozen=True)
class Way:
    """One way to store and read an object."""

    name: str
    put: Callable[[str], Awaitable[object]]
    get: Callable[[str], Awaitable[object]]


@dataclass(frozen=True)
class Cost:
    """What one call took, in microseconds: by the clock, and of this process's processor time."""

    wall: float
    cpu: float


Ways = Sequence[Way]  # the first is what the others are compared to
Costs = Mapping[str, Mapping[str, Sequence[Cost]]]  # by verb and way, one for each round


def by_port(name: str, store: Store) -> Way:
    async def get(key: str) -> bytes:
        return await (await store.get(key)).bytes()

    return Way(name, lambda key: store.put(key, BODY), get)


def by_obstore(store: S3Store) -> Way:
    async def get(key: str) -> bytes:
        return bytes(await (await obstore.get_async(store, key)).bytes_async())

    return Way("obstore", lambda key: obstore.put_async(store, key, BODY), get)


def by_hand(root: Path, pool: ThreadPoolExecutor, *, synced: bool) -> Way:
    def put(key: str) -> None:
        path = root / key
        temporary = root / f"{key}.tmp"
        try:
            file = temporary.open("wb", buffering=0)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = temporary.open("wb", buffering=0)
        with file:
            file.write(BODY)
            if synced:
                os.fsync(file.fileno())
        temporary.rename(path)
        if synced:
            folder = os.open(path.parent, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)

    def get(key: str) -> bytes:
        return (root / key).read_bytes()

    def run(work: Callable[[str], object]) -> Callable[[str], Awaitable[object]]:
        return lambda key: asyncio.get_running_loop().run_in_executor(pool, work, key)

    return Way("plain files", run(put), run(get))


def at_most(slots: asyncio.Semaphore, way: Way) -> Way:
    """Give a way the limit that `connect()` brings with it."""

    async def put(key: str) -> object:
        async with slots:
            return await way.put(key)

    async def get(key: str) -> object:
        async with slots:
            return await way.get(key)

    return Way(way.name, put, get)


@asynccontextmanager
async def on_server(name: str) -> AsyncIterator[Ways]:
    with SERVERS[name]() as server:
        settings = server.settings
        os.environ["AWS_ACCESS_KEY_ID"] = settings["access_key_id"]
        os.environ["AWS_SECRET_ACCESS_KEY"] = settings["secret_access_key"]
        bucket = server.new_bucket()
        bare = S3Store(
            bucket,
            endpoint=settings["endpoint"],
            region=settings["region"],
            access_key_id=settings["access_key_id"],
            secret_access_key=settings["secret_access_key"],
            client_options={"allow_http": True},
            retry_config={"max_retries": 0},
        )
        location = S3(bucket, "prefix", settings["region"], server.endpoint, path_style=True)
        slots = asyncio.Semaphore(CONCURRENCY)
        async with (
            open_bare(location) as adapter,
            connect(location, concurrency=CONCURRENCY, patience=ONCE) as ready,
        ):
            yield (
                at_most(slots, by_obstore(bare)),
                at_most(slots, by_port("Bucket", adapter)),
                by_port("connect()", ready),
            )


@asynccontextmanager
async def on_folder(*, synced: bool) -> AsyncIterator[Ways]:
    slots = asyncio.Semaphore(CONCURRENCY)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(THREADS) as pool:
        root = Path(folder)
        async with FilesystemStore(root, durable=synced) as adapter, connect(Folder(root)) as ready:
            ways = [
                at_most(slots, by_hand(root, pool, synced=synced)),
                at_most(slots, by_port("FilesystemStore", adapter)),
            ]
            if synced:  # `connect()` knows no other
                ways.append(by_port("connect()", ready))
            yield ways


PLACES = {
    "rclone": lambda: on_server("rclone"),
    "ministack": lambda: on_server("ministack"),
    "folder": lambda: on_folder(synced=True),
    "folder-unsynced": lambda: on_folder(synced=False),
}


async def measure(ways: Ways, objects: int, rounds: int) -> Costs:
    costs: dict[str, dict[str, list[Cost]]] = {verb: {way.name: [] for way in ways} for verb in ("put", "get")}
    for turn in range(rounds):
        for way in ways:
            await warm_up(way, f"{turn}/{way.name}")
        for way in random.sample(ways, len(ways)):
            cost, _ = await timed(way.put, keys(turn, way, objects))
            costs["put"][way.name].append(cost)
        for way in random.sample(ways, len(ways)):
            cost, contents = await timed(way.get, keys(turn, way, objects))
            assert all(content == BODY for content in contents)
            costs["get"][way.name].append(cost)
    return costs


def keys(turn: int, way: Way, objects: int) -> list[str]:
    return [f"{turn}/{way.name}/{number}" for number in range(objects)]


async def warm_up(way: Way, folder: str) -> None:
    await way.put(f"{folder}/first")  # rclone fails when several writers find their folder missing
    spare = [f"{folder}/warm-up-{number}" for number in range(WARM_UP)]
    await timed(way.put, spare)
    await timed(way.get, spare)


async def timed(call: Callable[[str], Awaitable[object]], wanted: Sequence[str]) -> tuple[Cost, list[object]]:
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    results = await asyncio.gather(*map(call, wanted))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Cost(wall / len(wanted) * 1e6, cpu / len(wanted) * 1e6), results


def compared(costs: Sequence[float], base: Sequence[float]) -> dict[str, float]:
    """Give the median, its ratio to the other median, and the least and greatest ratio within a round."""
    ratios = [cost / other for cost, other in zip(costs, base, strict=True)]
    median = statistics.median(costs)
    return {
        "median": round(median, 1),
        "ratio": round(median / statistics.median(base), 3),
        "least": round(min(ratios), 3),
        "greatest": round(max(ratios), 3),
    }


def rows(place: str, costs: Costs) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for verb, sides in costs.items():
        base = next(iter(sides.values()))
        for name, side in sides.items():
            wall = compared([cost.wall for cost in side], [cost.wall for cost in base])
            cpu = compared([cost.cpu for cost in side], [cost.cpu for cost in base])
            found.append({"on": place, "verb": verb, "way": name, "wall": wall, "cpu": cpu})
    return found


def line(row: dict[str, object]) -> str:
    text = f"{row['on']!s:16} {row['verb']!s:4} {row['way']!s:16}"
    for clock in ("wall", "cpu"):
        figures = row[clock]
        assert isinstance(figures, dict)
        text += "{median:>9.0f}{ratio:>7.2f}x  {least:.2f}..{greatest:.2f}  ".format(**figures)
    return text.rstrip()


async def main() -> None:
    parser = argparse.ArgumentParser(description="What the storage port costs on top of what it is built on.")
    parser.add_argument("--on", action="append", choices=PLACES, help="may be repeated; all of them if left out")
    parser.add_argument("--objects", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true", help="one JSON document instead of the table")
    arguments = parser.parse_args()
    found: list[dict[str, object]] = []
    if not arguments.json:
        print(
            f"{arguments.objects} objects of {len(BODY)} bytes, {CONCURRENCY} at a time, {arguments.rounds} rounds,"
            f" {os.cpu_count()} processors; microseconds for each call"
        )
        print(f"{'':38}{'clock':>9}{'ratio':>8}  {'spread':10}  {'cpu':>9}{'ratio':>8}  spread")
    for place in arguments.on or PLACES:
        async with PLACES[place]() as ways:
            new = rows(place, await measure(ways, arguments.objects, arguments.rounds))
        found += new
        if not arguments.json:
            print("\n".join(map(line, new)), flush=True)
    if arguments.json:
        print(json.dumps({"objects": arguments.objects, "bytes": len(BODY), "rounds": arguments.rounds, "rows": found}))


if __name__ == "__main__":
    asyncio.run(main())
