"""The count of requests is exact, as budgets of requests are tested with it."""

from pathlib import Path

import pytest

from bayou.errors import NotFound, Unavailable, UsageError
from bayou.storage import Record, Tally
from bayou.storage.port import Request
from bayou.testing.contract.expect import list_keys, read
from bayou.testing.faults import Fault, Faulty, at
from bayou.testing.memory import MemoryStore, OnItsWay


async def test_each_call_counts_by_its_verb(tmp_path: Path) -> None:
    store = Record(MemoryStore(), Tally(log=[]))
    tally, path = store.tally, tmp_path / "body"
    path.write_bytes(b"12345")
    version = await store.put("a", b"123")
    await store.put("b", path)
    await store.head("a")
    await store.get_if_changed("a", version)
    assert await read(store, "b") == b"12345"
    await store.copy("a", "c")
    await store.delete("c")
    assert tally.requests == {"put": 2, "head": 1, "get": 2, "copy": 1, "delete": 1}
    assert tally.total == 7
    assert (tally.bytes_up, tally.bytes_down) == (8, 5)
    assert tally.log == [
        Request("put", "a", b"123"),
        Request("put", "b", path),
        Request("head", "a"),
        Request("get", "a"),
        Request("get", "b"),
        Request("copy", "c", source="a"),
        Request("delete", "c"),
    ]


async def test_what_fails_counts_too_but_sent_nothing() -> None:
    store = Record(Faulty(MemoryStore(), at(1, Fault.FAIL_AFTER)), Tally())
    with pytest.raises(Unavailable):
        await store.put("a", b"123")
    with pytest.raises(NotFound):
        await store.get("missing")
    assert store.tally.requests == {"put": 1, "get": 1}
    assert store.tally.bytes_up == 0


async def test_a_file_that_is_not_there_was_never_asked_for(tmp_path: Path) -> None:
    store = Record(MemoryStore(), Tally())
    with pytest.raises(UsageError):
        await store.put("a", tmp_path / "missing")
    with pytest.raises(UsageError):
        await store.put("a", tmp_path)
    assert store.tally.total == 0


async def test_a_file_may_go_as_soon_as_it_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "body"
    path.write_bytes(b"12345")

    class Moving(MemoryStore):
        async def put(self, *arguments: object, **options: object) -> object:  # type: ignore[override] # passed on
            version = await super().put(*arguments, **options)  # type: ignore[arg-type] # the same
            path.unlink()
            return version

    store = Record(Moving(), Tally())
    await store.put("a", path)
    assert store.tally.bytes_up == 5


async def test_a_listing_counts_its_pages_and_its_end() -> None:
    inner = MemoryStore()
    for number in range(1001):
        await inner.put(f"{number:04}", b"")
    store = Record(inner, Tally())
    assert len(await list_keys(store)) == 1001
    assert store.tally.requests == {"list": 3}


async def test_only_bytes_that_arrived_count() -> None:
    inner = MemoryStore()
    await inner.put("a", b"x" * (3 << 20))
    store = Record(OnItsWay(inner), Tally())
    async for _ in (await store.get("a")).chunks():
        break
    assert store.tally.bytes_down == 1 << 20
