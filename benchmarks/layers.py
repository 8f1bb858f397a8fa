"""What each layer of `connect()` costs a small put or get, over an obstore that answers at once.

    python benchmarks/layers.py [--rounds N]

The loop's thread alone, in a warm cache: the least of all rounds is what the layer itself takes, however busy the
machine is. What it costs beside a real server is `storage.py`'s question.
"""

import argparse
import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from unittest import mock

import obstore
from obstore.store import MemoryStore

from bayou.storage import Limit, Prefix, Record, Retry, Store, Tally, TimeLimit, Window
from bayou.storage.bucket import Bucket
from bayou.storage.versions import ETags

BODY = bytes(5 << 10)
CALLS = 500
CLIENT = MemoryStore()
META = {"path": "below/key", "size": len(BODY), "last_modified": datetime.now(UTC)}
VERSION = {"e_tag": '"etag"', "version": None}


class Answer:
    """What obstore says to a get."""

    meta: Mapping[str, object] = META | VERSION
    range = (0, len(BODY))

    async def bytes_async(self) -> bytes:
        return BODY


async def get_async(*_: object, **__: object) -> Answer:
    return Answer()


async def put_async(*_: object, **__: object) -> Mapping[str, object]:
    return VERSION


def layers() -> dict[str, Store]:
    """Each one around the one before, as `connect()` has them."""
    bucket = Bucket(CLIENT, CLIENT, ETags())
    prefix = Prefix(bucket, "below")
    record = Record(prefix, Tally())
    timed = TimeLimit(record)
    limit = Limit(timed, Window(50))
    return {
        "Bucket": bucket,
        "Prefix": prefix,
        "Record": record,
        "TimeLimit": timed,
        "Limit": limit,
        "Retry": Retry(limit),
    }


async def bare_put() -> None:
    await obstore.put_async(CLIENT, "key", BODY)


async def bare_get() -> None:
    bytes(await (await obstore.get_async(CLIENT, "key")).bytes_async())


def put(store: Store) -> Callable[[], Awaitable[object]]:
    return lambda: store.put("key", BODY)


def get(store: Store) -> Callable[[], Awaitable[object]]:
    async def read() -> bytes:
        return await (await store.get("key")).bytes()

    return read


async def least(ways: Mapping[str, Callable[[], Awaitable[object]]], rounds: int) -> dict[str, float]:
    """Microseconds of the thread for each call."""
    found = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, call in ways.items():
            begin = time.thread_time()
            for _ in range(CALLS):
                await call()
            found[name] = min(found[name], (time.thread_time() - begin) / CALLS * 1e6)
    return found


async def main() -> None:
    parser = argparse.ArgumentParser(description="What each layer of connect() costs a small put or get.")
    parser.add_argument("--rounds", type=int, default=60)
    rounds = parser.parse_args().rounds
    stores = layers()
    gc.disable()
    with mock.patch.object(obstore, "get_async", get_async), mock.patch.object(obstore, "put_async", put_async):
        puts = await least({"obstore": bare_put} | {name: put(store) for name, store in stores.items()}, rounds)
        gets = await least({"obstore": bare_get} | {name: get(store) for name, store in stores.items()}, rounds)
    print(f"{'microseconds':12}{'put':>7}{'get':>7}")
    names = list(puts)
    for before, name in pairwise(names):
        print(f"{name:12}{puts[name] - puts[before]:7.1f}{gets[name] - gets[before]:7.1f}")
    print(f"{'together':12}{puts['Retry'] - puts['obstore']:7.1f}{gets['Retry'] - gets['obstore']:7.1f}")


if __name__ == "__main__":
    asyncio.run(main())
