"""Something to ask, for each test or for all of a module."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bayou.testing.bench import bench_in
from bayou.testing.queries import Desk, Shelf


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    """One catalog for a module; each test clears it first."""
    shelf = Shelf(tmp_path_factory.mktemp("shelf"))
    yield shelf
    shelf.catalog.close()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with bench_in(tmp_path / "ds") as bench:
        yield Desk(bench)
