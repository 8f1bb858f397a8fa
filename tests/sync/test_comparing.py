"""A first comparison: nobody remembers what was agreed on, so all that is listed is compared with all of the base."""

import hashlib
import tracemalloc
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.domain.scopes import EVERYTHING
from bayou.layout.keys import Keyspace
from bayou.remotes.parts import regroup
from bayou.sync import planning
from bayou.sync.journal import Journal, Side
from bayou.testing.computers import TYPE, Computer
from bayou.testing.memory import MemoryStore
from bayou.testing.strategies.indexes import index_of
from bayou.testing.strategies.paths import known_paths
from bayou.wire.index import Index
from bayou.wire.meta import Meta, encode

CONTENTS = [hashlib.sha256(body).hexdigest() for body in (b"a", b"b")]


@st.composite
def sides(draw: st.DrawFn) -> tuple[dict[str, str], dict[str, str | None]]:
    """What the base holds, and what is listed: of each path one of them or both, alike or not, or without a hash."""
    paths = draw(st.lists(known_paths(), unique=True, max_size=12))
    base = {path: draw(st.sampled_from(CONTENTS)) for path in paths if draw(st.integers(0, 3))}
    listed = {path: draw(st.sampled_from([*CONTENTS, None])) for path in paths if draw(st.integers(0, 3))}
    return base, listed


@pytest.fixture(params=["", "infra"], scope="module")
def journal(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterable[Journal]:
    cache = tmp_path_factory.mktemp("cache")
    with Journal(cache, request.param) as journal, Journal(cache, "other") as other:
        journal.bind(Side("store", namespace=request.param))
        other.bind(Side("store", namespace="other"))
        other.base.know([("logs/theirs", CONTENTS[0])])
        yield journal


@given(sides())
def test_what_differs_is_found_and_nothing_else(
    journal: Journal, both: tuple[dict[str, str], dict[str, str | None]]
) -> None:
    base, listed = both
    journal.base.forget([path for path, _ in journal.base.files()])
    journal.base.know(base.items())
    unlike = {path for path, content in listed.items() if content is None or base.get(path) != content}
    unlisted = {path for path in base.keys() - listed.keys() if path < "logs"}
    assert journal.base.differing(iter(listed.items()), lambda path: path < "logs") == unlike | unlisted


async def compared(cache: Path, models: int) -> tuple[int, frozenset[str]]:
    """The most memory that a first look took, of an index of which one entry differs, and what it found."""
    files = {f"data/{TYPE}/{number:06}/state-{n}/1/raw": b"%d" % n for number in range(models) for n in range(100)}
    store = MemoryStore()
    parts = regroup(Index(index_of(files)))
    for name, part in parts.items():
        await store.put(Keyspace("").shard(name), part.body)
    await store.put(Keyspace("").meta, encode(Meta(2, tuple(parts), 1)))
    computer = Computer(cache, store)
    computer.journal.bind(Side(""))
    news = next(iter(files))
    computer.journal.base.know((path, str(entry.sha256)) for path, entry in index_of(files | {news: b""}).items())
    del files, parts
    tracemalloc.start()
    there = await planning.look(computer.ends, computer.engine.agreed, EVERYTHING)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    computer.close()
    return peak, there.paths


async def test_the_memory_of_a_comparison_does_not_grow_with_what_agrees(
    tmp_path: Path,
) -> None:
    few, found_of_few = await compared(tmp_path / "few", 10)
    many, found_of_many = await compared(tmp_path / "many", 100)
    assert found_of_few == found_of_many == {f"data/{TYPE}/000000/state-0/1/raw"}
    assert many < 2 * few
