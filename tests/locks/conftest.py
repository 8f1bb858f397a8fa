"""Locks in a store in memory, in fake time: an async test here waits for hours in a moment."""

import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.layout.keys import Keyspace
from bayou.locks.bodies import Identity
from bayou.locks.cells import Cells, StoreCells
from bayou.locks.leases import Leases
from bayou.locks.patience import Patience
from bayou.storage import Store
from bayou.testing import clock
from bayou.testing.clock import DatedMemoryStore


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run each async test in a loop of its own, whose time is fake."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    clock.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted}))
    return True


@pytest.fixture
def store() -> Store:
    return DatedMemoryStore()


@pytest.fixture
def keys() -> Keyspace:
    return Keyspace()


Machine = Callable[..., Leases]


@pytest.fixture
def machine(store: Store) -> Machine:
    """Give the leases of one more machine on the same store."""
    count = 0

    def make(cells: Cells | None = None, *, ttl: float = 30.0, name: str | None = None, pid: int = 1) -> Leases:
        nonlocal count
        count += 1
        host = name or f"host-{count}"
        return Leases(cells or StoreCells(store), ttl=ttl, who=Identity(f"me@{host}", host, pid), clock=clock.now)

    return make


@pytest.fixture
def patience() -> Callable[[float], Patience]:
    return lambda seconds: Patience(seconds, clock=clock.now)


@pytest.fixture
def vpc() -> Model:
    return Model(ModelType("aws/ec2/vpc"), "0b2f6c1e-7a51-4c3e-9a55-1f4f0d6a1c01")


@pytest.fixture
def shell() -> Model:
    return Model(ModelType("command/shell"), "9f1c")


@pytest.fixture(scope="session")
def dead_pid() -> int:
    """The pid of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-S", "-c", ""])
    child.wait()
    return child.pid


@pytest.fixture
def worker() -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Start a process of `worker.py`; whatever is left of it in the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> "subprocess.Popen[str]":
        command = [sys.executable, str(Path(__file__).with_name("worker.py")), *arguments]
        process = subprocess.Popen(  # noqa: S603 - our own script
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
