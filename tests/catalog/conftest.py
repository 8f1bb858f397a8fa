"""A repo and its catalog."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bayou.catalog import Catalog
from bayou.testing.catalogs import Files


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.fixture
def catalog(files: Files) -> Iterator[Catalog]:
    with Catalog.open(files.path, files.tree) as opened:
        yield opened
