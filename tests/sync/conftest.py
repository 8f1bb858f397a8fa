"""Computers that share a bucket in memory."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bayou.storage.port import Store
from bayou.testing.computers import Computer
from bayou.testing.memory import MemoryStore

Make = Callable[..., Computer]


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def computer(tmp_path: Path, store: Store) -> Iterator[Make]:
    made: list[Computer] = []

    def make(name: str, **settings: object) -> Computer:
        made.append(Computer(tmp_path / name, store, **settings))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for each in made:
        each.close()
