"""One sync, in a process of its own: what a command is. Prints as JSON what it did, and what that took.

python -m benchmarks.sync.one JSON      {"work": "push", "cache": …, "bucket": …, "region": …, "endpoint": …, …}
"""

import asyncio
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

from bayou.config.locations import S3
from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.domain.scopes import EVERYTHING, Scope, scope_of
from bayou.layout.keys import Keyspace
from bayou.locks import Locks, StoreCells
from bayou.storage import connect
from bayou.sync.report import Report
from bayou.sync.syncing import Job
from bayou.testing.computers import TYPE, Computer


def scope(models: list[str]) -> Scope:
    return scope_of(Model(ModelType(TYPE), model) for model in models) if models else EVERYTHING


def peak() -> int:
    """What the kernel says of this process, in bytes. `getrusage` would speak of its parent too."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) << 10 if found else 0


async def load(computer: Computer, _: Job) -> Report:
    """Only read the index."""
    await computer.ends.remote.load()
    return Report()


async def run(computer: Computer, job: Job) -> Report:
    return await computer.engine.run(job)


async def sync(wanted: dict[str, Any]) -> dict[str, Any]:
    """Do it. Keys besides those above: `models`, `lazy`, `width` (requests at a time)."""
    location = S3(wanted["bucket"], region=wanted["region"], endpoint=wanted["endpoint"], path_style=True)
    width = wanted.get("width", 25)
    work = load if wanted["work"] == "load" else run
    job = Job(
        pushes=wanted["work"] != "pull",
        pulls=wanted["work"] != "push",
        scope=scope(wanted.get("models", [])),
        lazy=wanted.get("lazy", False),
    )
    async with connect(location, concurrency=width) as store:
        locks = Locks(lambda: StoreCells(connect(location)), Keyspace(""))
        computer = Computer(Path(wanted["cache"]), store, locks=locks, pushes=width, pulls=width)
        computer.tally.log = None
        began = time.perf_counter()
        report = await work(computer, job)
        seconds = time.perf_counter() - began
        computer.close()
    return {
        "seconds": seconds,
        "requests": computer.tally.total,
        "up": computer.tally.bytes_up,
        "down": computer.tally.bytes_down,
        "pushed": len(report.pushed),
        "pulled": len(report.pulled),
        "known": report.known,
        "failed": len(report.failed) + (report.stop is not None),
        "peak": peak(),
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(sync(json.loads(sys.argv[1])))))
