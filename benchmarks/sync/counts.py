"""What each scenario asks of the bucket, in both formats of the index: requests and bytes, which no machine changes."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.sync import trees

from bayou.config.locations import S3
from bayou.layout.keys import Keyspace
from bayou.locks import Locks, StoreCells
from bayou.storage import connect
from bayou.sync.report import Report
from bayou.testing.computers import Computer
from bayou.testing.servers import Server

EXISTING = {
    "cold push": (1057, None),
    "push, 1 changed": (8, 55),
    "push, nothing changed": (2, None),
    "pull into an empty cache": (1003, 1052),
    "pull, 1 changed": (5, 54),
    "pull, nothing changed": (2, 52),
    "scoped pull, 1 model of 50": (24, None),
    "scoped pull, nothing changed": (4, None),
    "push, 1 file in each of 10 models": (26, 73),
    "push, 1 model deleted": (28, 76),
}
"""What the existing client takes for 1,000 files, counted at a proxy: with a dual index, and with a sharded one."""


FILES = 1000


class Counted(NamedTuple):
    scenario: str
    requests: int
    up: int
    down: int
    existing: int | None
    """What an existing client takes, where somebody counted that."""


@asynccontextmanager
async def computers(server: Server, root: Path) -> AsyncIterator[Callable[[str], Computer]]:
    """Computers that share one new bucket."""
    os.environ["AWS_ACCESS_KEY_ID"] = server.settings["access_key_id"]
    os.environ["AWS_SECRET_ACCESS_KEY"] = server.settings["secret_access_key"]
    location = S3(server.new_bucket(), region=server.settings["region"], endpoint=server.endpoint, path_style=True)
    made: list[Computer] = []
    async with connect(location) as store:

        def make(name: str) -> Computer:
            locks = Locks(lambda: StoreCells(connect(location)), Keyspace(""))
            made.append(Computer(root / name, store, locks=locks))
            return made[-1]

        try:
            yield make
        finally:
            for computer in made:
                computer.close()


class Scenarios:
    """Counts what computers ask of the bucket while they do the work that a scenario claims."""

    def __init__(self, *, sharded: bool) -> None:
        self._sharded = sharded

    async def count(
        self, scenario: str, computer: Computer, work: Callable[[], Awaitable[Report]], **expected: int
    ) -> Counted:
        tally = computer.tally
        tally.log = None
        before = tally.total, tally.bytes_up, tally.bytes_down
        report = await work()
        if report.failed or report.stop:
            raise AssertionError(f"{scenario}: {report.failed} {report.stop}")
        for what, number in expected.items():
            if len(getattr(report, what)) != number:
                raise AssertionError(f"{scenario}: {len(getattr(report, what))} {what}, not {number}")
        requests, up, down = (
            now - then for now, then in zip((tally.total, tally.bytes_up, tally.bytes_down), before, strict=True)
        )
        existing = EXISTING.get(scenario, (None, None))[self._sharded]
        return Counted(scenario, requests, up, down, existing)


async def count(server: Server, root: Path, *, sharded: bool) -> AsyncIterator[Counted]:
    """Go through the scenarios, in an index of either format."""
    counted = Scenarios(sharded=sharded).count
    async with computers(server, root) as make:
        if sharded:
            await begin_sharded(make("first"))
        trees.plant(root / "one", FILES)
        one, two, three = (make(name) for name in ("one", "two", "three"))
        yield await counted("cold push", one, one.push, pushed=FILES)
        yield await counted("push, nothing changed", one, one.push, pushed=0)
        yield await counted("pull into an empty cache", two, two.pull, pulled=FILES + sharded)
        trees.require_equal(root / "one", root / "two")
        yield await counted("pull, nothing changed", two, two.pull, pulled=0)
        for number, word in (1, "1"), (201, "over 200"), (10, "10 models"):
            what = "1 file in each of 10 models" if number == 10 else f"{word} changed"
            change(one, number, word)
            yield await counted(f"push, {what}", one, one.push, pushed=number)
            yield await counted(f"pull, {what}", two, two.pull, pulled=number)
            trees.require_equal(root / "one", root / "two")
        only, of_model = trees.scope(7), trees.BLOCK - 1
        state = f"{trees.folder(7)}/state-0"  # its pages are no artifacts of a model
        yield await counted("scoped pull, 1 model of 50", three, lambda: three.pull(scope=only), pulled=of_model)
        trees.require_equal(root / "one", root / "three", state)
        trees.require_nothing_else(root / "three", state)
        yield await counted("scoped pull, nothing changed", three, lambda: three.pull(scope=only), pulled=0)
        three.write_version(10, b"10", name="state-0", model=trees.model_id(7))
        yield await counted("write-back of a run: 1 version", three, lambda: three.push(scope=only), pushed=3)
        yield await counted("pull of that version", two, two.pull, pulled=3)
        trees.require_equal(root / "three", root / "two", state)
        with two.tree.removal(trees.folder(3)) as removal:
            removal.remove_folder(trees.folder(3))
        gone = trees.BLOCK + len([path for path in changed(201) if path.startswith(trees.folder(3))]) - 1
        yield await counted("push, 1 model deleted", two, two.push, deleted_there=gone)
        yield await counted("pull, 1 model deleted", one, one.pull, deleted_here=gone)
        trees.require_equal(root / "one", root / "two")


async def begin_sharded(computer: Computer) -> None:
    """An index of the other format is one that was migrated."""
    computer.write("logs/first", b"there is no index to migrate before there is something in it")
    await computer.push()
    async with computer.ends.locks.commit() as hold:
        await computer.ends.remote.migrate(lambda: hold.seems_held)


def changed(count: int) -> list[str]:
    return [trees.page(number % trees.MODELS, number // trees.MODELS) for number in range(count)]


def change(computer: Computer, count: int, word: str) -> None:
    for path in changed(count):
        computer.write(path, trees.content(f"{word} {path}"))
