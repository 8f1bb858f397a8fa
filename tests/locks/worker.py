"""A process of its own, for tests that kill, stop or race processes. Run as a script: `worker.py COMMAND ARGUMENT…`.

A place is a folder, or `s3:ENDPOINT:BUCKET` with the credentials in the environment.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from bayou.config.locations import S3, Folder, Location
from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.errors import Conflict
from bayou.layout.keys import Keyspace
from bayou.locks import FileCells, Hold, LockBusy, Locks, open_cells
from bayou.storage import connect
from bayou.storage.port import Version

MODEL = Model(ModelType("command/shell"), "9f1c")


def place(text: str) -> Location:
    if text.startswith("s3:"):
        endpoint, _, bucket = text.removeprefix("s3:").rpartition(":")
        return S3(bucket, region="us-east-1", endpoint=endpoint, path_style=True)
    return Folder(Path(text))


def locks(where: str, ttl: str) -> Locks:
    return Locks(partial(open_cells, place(where), ttl=float(ttl)), Keyspace(), ttl=float(ttl), timeout=50)


def say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201 - to the test


def exchange(root: str, key: str, rounds: str) -> None:
    """Be one of several that all want to be the next, again and again; say how often we were."""

    async def main() -> int:
        cells, won = FileCells(Path(root)), 0
        while True:
            seen = await cells.read(key)
            assert seen is not None, "the file is never away, not even for a moment"
            at = int(seen.content.split()[0])
            if at == int(rounds):
                return won
            try:
                await cells.replace(key, b"%d %d" % (at + 1, os.getpid()), seen.version)
            except Conflict:
                continue
            won += 1

    say(asyncio.run(main()))


def hold(where: str, ttl: str, kind: str) -> None:
    """Hold a lock until standard input ends; then say whether it still is ours."""
    with locks(where, ttl) as ours, held(ours, kind) as holding:
        say("held", *holding.tokens)
        sys.stdin.readline()
        # What a holder does before it writes under the lock.
        if holding.seems_held:
            say("seems held")
        else:
            say("does not seem held")
        say("is held" if asyncio.run(holding.still_held()) else "is lost")
        sys.stdin.readline()


def held(ours: Locks, kind: str) -> Hold:
    return ours.models([MODEL]) if kind == "model" else ours.commit()


def busy(where: str, ttl: str, seconds: str) -> None:
    """Hold a lock while this thread never rests."""
    with locks(where, ttl) as ours, ours.commit() as holding:
        say("held")
        until = time.monotonic() + float(seconds)
        while time.monotonic() < until:
            sum(range(1000))
        say("is held" if holding.seems_held else "is lost")


def increment(where: str, ttl: str, rounds: str) -> None:
    """Add one under the lock, with a compare-and-swap as every commit has; say how long the longest wait was."""
    longest, conflicts = 0.0, 0
    store = connect(place(where))

    async def add() -> bool:
        fetched = await store.get("counter")
        value = int(await fetched.bytes())
        await asyncio.sleep(0.005)
        try:
            await store.put("counter", b"%d" % (value + 1), when=Version(fetched.version))
        except Conflict:
            return False
        return True

    with asyncio.Runner() as runner, locks(where, ttl) as ours:
        for _ in range(int(rounds)):
            began = time.monotonic()
            with ours.commit() as holding:
                longest = max(longest, time.monotonic() - began)
                holding.confirm()
                while not runner.run(add()):
                    conflicts += 1
    say(f"{longest:.3f}", conflicts)


def nested(where: str, ttl: str) -> None:
    """Hold the lock of a model, and run a command that wants the same one."""

    def run() -> None:
        command = [sys.executable, __file__, "inner", where, ttl]
        child = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)  # noqa: S603 - our own
        say(child.stdout.strip())

    with locks(where, ttl) as ours, ours.models([MODEL]):
        run()
    run()


def inner(where: str, ttl: str) -> None:
    with locks(where, ttl) as ours:
        try:
            with ours.models([MODEL], timeout=1) as holding:
                say("has", len(holding.leases), "of its own")
        except LockBusy:
            say("must wait")


def fork(where: str, ttl: str) -> None:
    """Hold a lock and fork: the child leaves the block too, and must neither renew nor release anything."""
    with locks(where, ttl) as ours, ours.commit() as holding:
        child = os.fork()
        if child == 0:
            say("child seems held" if holding.seems_held else "child holds nothing")
            holding.__exit__(None, None, None)
            os._exit(0)
        os.waitpid(child, 0)
        holding.confirm(anew=True)
        say("parent is held" if holding.seems_held else "parent is lost")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as a command line has it
    {f.__name__: f for f in (exchange, hold, busy, increment, nested, inner, fork)}[sys.argv[1]](*sys.argv[2:])
