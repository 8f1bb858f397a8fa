"""A sync that is cut off, at every request and at every step on the disk: the next one puts everything right."""

import asyncio
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import randrange
from typing import Any

import pytest
from hypothesis import settings

from bayou.errors import BayouError
from bayou.layout.keys import Keyspace
from bayou.locks import Locks, StoreCells
from bayou.storage import FilesystemStore
from bayou.storage.port import Request, Store
from bayou.sync.machine import Machine
from bayou.sync.marking import SETTLING
from bayou.testing.computers import Computer, name_of
from bayou.testing.faults import Chooser, Fault, Faulty, at
from bayou.testing.legacy import legacy_view
from bayou.testing.meeting import Stage, check_end, meet, whole
from bayou.testing.memory import MemoryStore

KEYS = Keyspace()
STRIDE = 2 if settings().max_examples > 100 else 6
"""How many requests or steps it goes on at a time, from another first one each time it runs."""
MEMORY = Path("/dev/shm")
IN_A_HURRY = Machine(pause=lambda _: None)
WORKER = Path(__file__).parent / "worker.py"


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="bayou-faults-", dir=MEMORY if MEMORY.is_dir() else None))
    yield made
    shutil.rmtree(made)


def computer(cache: Path, store: Store, raw: Store) -> Computer:
    """Its locks do not fail: they have tests of their own."""
    return Computer(cache, store, machine=IN_A_HURRY, locks=Locks(lambda: StoreCells(raw), KEYS))


async def set_stage(folder: Path, *, sharded: bool) -> tuple[Stage, MemoryStore]:
    store = MemoryStore()
    one, two = (computer(folder / "kept" / name, store, store) for name in ("one", "two"))
    if sharded:
        one.write("logs/first", b"first")
        await one.sync()
        await one.ends.remote.migrate(lambda: True)
        one.delete("logs/first")
        await one.sync()
    await meet(one, two)
    one.close()
    two.close()
    return Stage(folder), store


async def sync(one: Computer, how: str) -> None:
    with suppress(BayouError):
        if how == "two phases":
            prepared = await one.engine.prepare()
            assert prepared is not None
            await one.engine.commit(prepared)
        else:
            await getattr(one, how)()


def announced(choose: Chooser, struck: asyncio.Event) -> Chooser:
    def chosen(request: Request) -> Fault | None:
        fault = choose(request)
        if fault is not None:
            struck.set()
        return fault

    return chosen


@pytest.mark.parametrize("sharded", [False, True], ids=["dual", "sharded"])
@pytest.mark.parametrize("how", ["sync", "two phases"])
@pytest.mark.parametrize("fault", [Fault.FAIL_BEFORE, Fault.FAIL_AFTER, Fault.HANG_BEFORE, Fault.HANG_AFTER])
async def test_every_request_may_fail_or_be_cancelled(folder: Path, fault: Fault, how: str, *, sharded: bool) -> None:
    stage, kept = await set_stage(folder, sharded=sharded)
    number, is_over = randrange(STRIDE) + 1 - STRIDE, False  # noqa: S311 - no secret
    while not is_over:
        number += STRIDE
        here, there = stage.caches()
        store = MemoryStore()
        store.objects.update(kept.objects)
        struck = asyncio.Event()
        faulty = Faulty(store, announced(at(number, fault), struck))
        one = computer(here, faulty, store)
        task = asyncio.ensure_future(sync(one, how))
        if fault in {Fault.HANG_BEFORE, Fault.HANG_AFTER}:
            waiting = asyncio.ensure_future(struck.wait())
            await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(0.003)  # so that whatever goes on beside it does
            for future in (task, waiting):
                future.cancel()
        with suppress(asyncio.CancelledError):
            await task
        is_over = len(faulty.requests) < number
        assert whole(await legacy_view(store, KEYS), store.objects)
        one.close()
        one, two = computer(here, store, store), computer(there, store, store)
        for _ in range(2):
            for each in (one, two):
                report = await each.sync()
                assert report.is_complete, (number, report.failed)
        check_end(one, two)
        one.close()
        two.close()
        stage.end()
    assert number > 20


async def test_half_a_version_that_a_pull_left_is_completed(folder: Path) -> None:
    store = MemoryStore()
    one, two = (computer(folder / name, store, store) for name in ("one", "two"))
    one.write_version(1, b"1")
    await one.push()
    await two.sync()
    one.write_version(2, b"2")
    await one.push()
    two.write(f"{name_of()}/2/raw", b"2")
    assert (await two.pull()).is_complete
    assert two.files() == one.files()
    one.close()
    two.close()


# Death.


class Clock:
    """Time that passes at once."""

    def __init__(self) -> None:
        self.passed = 0
        self.machine = Machine(pause=lambda _: None, monotonic_ns=lambda: time.monotonic_ns() + self.passed)


class Mother:
    """A process that has loaded everything and bears children, each of which dies at a step of its own."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - ours
            [sys.executable, str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def play(self, cache: Path, bucket: Path, how: str, step: int) -> int:
        """How the child ended: it dies before its step of that number, if it comes to that."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{cache}\t{bucket}\t{how}\t{step}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture(scope="module")
def mother() -> Iterator[Mother]:
    made = Mother()
    yield made
    made.end()


def on_disk(cache: Path, bucket: Path, machine: Machine = IN_A_HURRY) -> Computer:
    store = FilesystemStore(bucket)
    return Computer(cache, store, machine=machine, locks=Locks(lambda: StoreCells(store), KEYS, ttl=0.3))


@pytest.mark.parametrize("how", ["sync", "pull", "push"])
async def test_a_process_may_die_at_any_step(folder: Path, mother: Mother, how: str) -> None:
    bucket = folder / "bucket"
    bucket.mkdir()
    one, two = (on_disk(folder / "kept" / name, bucket) for name in ("one", "two"))
    await meet(one, two)
    one.close()
    two.close()
    stage, clock = Stage(folder), Clock()
    step, stride = 1 + randrange(2 * STRIDE), 2 * STRIDE  # noqa: S311 - no secret
    ended: list[int] = []
    while not ended or ended[-1] == -signal.SIGKILL:
        here, there = stage.caches()
        copy = folder / f"bucket-{step}"
        shutil.copytree(bucket, copy)
        ended.append(mother.play(here, copy, how, step))
        # Whoever died while it told existing clients what is marked may have been one of them: that takes its time.
        clock.passed = 0
        one, two = on_disk(here, copy, clock.machine), on_disk(there, copy, clock.machine)
        objects: dict[str, Any] = {
            path.relative_to(copy).as_posix(): path for path in copy.rglob("*") if path.is_file()
        }
        assert whole(await legacy_view(FilesystemStore(copy), KEYS), objects)
        for passed in (0, 0, SETTLING, 2 * SETTLING):
            clock.passed = passed
            for each in (one, two):
                report = await each.sync()
                assert report.is_complete, (step, report.failed)
        check_end(one, two)
        one.close()
        two.close()
        stage.end()
        shutil.rmtree(copy)
        step += stride
    assert ended[-1] == 0
    assert len(ended) > 10
