"""What a sync costs besides its requests: transactions of the journal, and requests that wait for each other."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from bayou.storage.port import Request, Store, Wrapper
from bayou.sync import database
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
