"""How locks are shared out: waits of twenty who want one, and what existing clients in the same bucket cost.

All of it in fake time over a store in memory with the latency of a bucket, so the figures are those of the protocol and
not of this machine; a second of the clock is nobody's second.

    .venv/bin/python benchmarks/locks.py [--latency MS] [--rounds N] [--json]
"""

import argparse
import asyncio
import json
import random
import statistics
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from bayou.layout.keys import Keyspace
from bayou.locks.bodies import Identity
from bayou.locks.cells import StoreCells
from bayou.locks.leases import Leases
from bayou.locks.patience import Patience
from bayou.locks.registry import register
from bayou.storage import Record, Store, Tally
from bayou.testing import clock
from bayou.testing.clock import DatedMemoryStore
from bayou.testing.latency import Latency
from bayou.testing.legacylocks import LegacyLock

KEY = ".datastore.lock"
BARS = 30

Work = Callable[[], Awaitable[None]]
Contender = Callable[[int, Store, Work], Awaitable[float]]


async def ours(number: int, store: Store, work: Work) -> float:
    cells = StoreCells(store)
    leases = Leases(cells, who=Identity("x", f"host-{number}", 1), clock=clock.now)
    began = clock.now()
    noted = partial(register, cells, Keyspace(), KEY)
    lease = await leases.take(KEY, Patience(100_000, clock=clock.now), register=noted)
    assert lease is not None
    waited = clock.now() - began
    await work()
    await leases.drop(lease)
    return waited


async def theirs(_: int, store: Store, work: Work) -> float:
    lock = LegacyLock(store, KEY, clock=clock.wall, max_wait=100_000)
    began = clock.now()
    await lock.acquire()
    waited = clock.now() - began
    await work()
    await lock.release()
    return waited


async def contend(contenders: list[Contender], latency: float, rounds: int, hold: float) -> dict[str, Any]:
    """Let each take the lock that often, one right after the other, as machines with a lot to do."""
    tally = Tally()
    store = Record(Latency(DatedMemoryStore(), latency), tally)
    waits: list[float] = []
    longest: dict[int, float] = {}
    inside = together = taken = 0

    async def work() -> None:
        nonlocal inside, together, taken
        inside += 1
        taken += 1
        together += inside > 1
        await asyncio.sleep(hold)
        inside -= 1

    async def one(number: int, contender: Contender) -> None:
        await asyncio.sleep(random.random())  # noqa: S311 - no secret
        for _ in range(rounds):
            waited = await contender(number, store, work)
            waits.append(waited)
            longest[number] = max(longest.get(number, 0), waited)

    await asyncio.gather(*(one(number, contender) for number, contender in enumerate(contenders)))
    return {
        "waits": waits,
        "median": statistics.median(waits),
        "p95": statistics.quantiles(waits, n=20)[-1],
        "longest": max(waits),
        "unluckiest": max(longest.values()) / statistics.median(longest.values()),
        "idle": (clock.now() - taken * hold) / taken,
        "requests": tally.total / taken,
        "together": together,
        "taken": taken,
    }


def histogram(waits: list[float]) -> str:
    width = max(waits) / 12 or 1.0
    counts = [0] * 12
    for wait in waits:
        counts[min(11, int(wait / width))] += 1
    most = max(counts)
    return "\n".join(
        f"  {number * width:6.1f} s  {'#' * round(BARS * count / most):{BARS}} {count}"
        for number, count in enumerate(counts)
    )


CASES: dict[str, list[Contender]] = {
    "20 x Bayou": [ours] * 20,
    "20 x existing client": [theirs] * 20,
    "2 x Bayou": [ours] * 2,
    "2 x existing client": [theirs] * 2,
    "1 x Bayou, 1 x existing": [ours, theirs],
    "4 x Bayou, 4 x existing": [ours, theirs] * 4,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--latency", type=float, default=30.0, help="milliseconds of a request")
    parser.add_argument("--hold", type=float, default=300.0, help="milliseconds that a lock is held")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    random.seed(7)
    found = {
        name: clock.run(contend(contenders, arguments.latency / 1000, arguments.rounds, arguments.hold / 1000))
        for name, contenders in CASES.items()
    }
    if arguments.json:
        print(json.dumps(found))
        return
    print(f"{'':26}{'median':>8}{'p95':>8}{'longest':>9}{'unluckiest':>12}{'idle':>8}{'requests':>10}{'together':>10}")
    for name, row in found.items():
        print(
            "{name:26}{median:>7.1f}s{p95:>7.1f}s{longest:>8.1f}s{unluckiest:>11.2f}x{idle:>7.2f}s{requests:>10.1f}"
            "{together:>6} of {taken}".format(name=name, **row)
        )
    print("\nwaits of 20 x Bayou\n" + histogram(found["20 x Bayou"]["waits"]))
    print("\nwaits of 20 x existing client\n" + histogram(found["20 x existing client"]["waits"]))


if __name__ == "__main__":
    main()
