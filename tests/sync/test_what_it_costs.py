"""What a sync costs besides its requests: transactions of the journal, and requests that wait for each other."""

import asyncio
import os
import stat
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeVar

import pytest

from bayou.storage.port import Request, Store, Wrapper
from bayou.sync import database
from bayou.sync.journal import Journal
from bayou.testing.computers import Computer
from bayou.testing.memory import MemoryStore

T = TypeVar("T")


@pytest.fixture
def transactions(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the journal was written to."""
    count: Counter[str] = Counter()
    transact = database._transact

    def counted(connection: object, work: object, begin: str) -> object:
        count[begin] += 1
        return transact(connection, work, begin)  # type: ignore[arg-type]

    monkeypatch.setattr(database, "_transact", counted)
    return count


def write(computer: Computer, names: int) -> None:
    for number in range(names):
        computer.write_version(1, b"%d" % number, name=f"state-{number}")


async def test_a_cold_sync_takes_as_many_transactions_for_few_names_as_for_many(
    tmp_path: Path, transactions: Counter[str]
) -> None:
    taken = []
    for names in (3, 60):
        store = MemoryStore()
        one, two = Computer(tmp_path / f"one-{names}", store), Computer(tmp_path / f"two-{names}", store)
        write(one, names)
        transactions.clear()
        assert len((await one.push()).pushed) == 3 * names
        pushing = transactions.total()
        transactions.clear()
        assert len((await two.pull()).pulled) == 3 * names
        taken.append((pushing, transactions.total()))
        assert one.files() == two.files()
        one.close()
        two.close()
    assert taken[0] == taken[1]


class Together(Wrapper):
    """Holds every put of a marker until there are `wanted` of them."""

    def __init__(self, inner: Store, wanted: int) -> None:
        super().__init__(inner)
        self._barrier = asyncio.Barrier(wanted)

    async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:
        if request.verb == "put" and request.key.endswith("/latest"):
            async with asyncio.timeout(20):
                await self._barrier.wait()
        return await call()


async def test_markers_do_not_wait_for_each_other(tmp_path: Path) -> None:
    one = Computer(tmp_path, Together(MemoryStore(), 10))
    write(one, 10)
    assert not (await one.push()).failed
    one.close()


class Disk:
    """In which order files are synced, put in place and recorded; of a computer that waits for its disk."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, journal: Journal) -> None:
        self.events: list[tuple[str, int]] = []
        fsync, replace, installed = os.fsync, os.replace, journal.installed

        def noted_fsync(fd: int) -> None:
            fsync(fd)
            status = os.fstat(fd)
            self.events.append(("folder" if stat.S_ISDIR(status.st_mode) else "file", status.st_ino))

        def noted_replace(source: str, target: str) -> None:
            inode = os.lstat(source).st_ino
            replace(source, target)
            self.events.append(("placed", inode))
            self.events.append(("changed", Path(target).parent.stat().st_ino))

        def noted_installed(files: Mapping[str, str], *, as_of: int) -> None:
            self.events.append(("recorded", len(files)))
            installed(files, as_of=as_of)

        monkeypatch.setattr(os, "fsync", noted_fsync)
        monkeypatch.setattr(os, "replace", noted_replace)
        monkeypatch.setattr(journal, "installed", noted_installed)

    def last(self, event: str) -> dict[int, int]:
        """When it last happened, by what it happened to."""
        return {inode: number for number, (what, inode) in enumerate(self.events) if what == event}


async def test_what_is_pulled_is_on_the_disk_before_it_is_in_place_and_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MemoryStore()
    one, two = Computer(tmp_path / "one", store), Computer(tmp_path / "two", store)
    write(one, 10)
    await one.push()
    two.ends.installs.durable = True
    disk = Disk(monkeypatch, two.journal)
    assert len((await two.pull()).pulled) == 30
    placed, synced = disk.last("placed"), disk.last("file")
    assert len(placed) == 30
    assert all(synced[inode] < when for inode, when in placed.items())
    changed, settled = disk.last("changed"), disk.last("folder")
    recorded = max(disk.last("recorded").values())
    assert all(changed[inode] < settled[inode] < recorded for inode in changed)
    assert sum(event == "file" for event, _ in disk.events) == 30
    one.close()
    two.close()
