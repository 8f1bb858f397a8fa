"""A datastore for each test, or several."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bayou.testing.bench import Bench, bench_in


@pytest.fixture
def make_bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    with ExitStack() as opened:
        yield lambda name="ds", **settings: opened.enter_context(bench_in(tmp_path / name, **settings))


@pytest.fixture
def bench(make_bench: Callable[..., Bench]) -> Bench:
    return make_bench()
