"""The time limit: whatever hangs ends, large bodies get longer, and cancellations of others pass through."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from bayou.errors import ErrorKind, Unavailable
from bayou.storage import Fetched, Store, TimeLimit, Version
from bayou.testing.contract.expect import list_keys, read
from bayou.testing.faults import Fault, Faulty, at
from bayou.testing.memory import MemoryStore, OnItsWay

CALLS: dict[str, Callable[[Store], Awaitable[object]]] = {
    "get": lambda store: store.get("a"),
    "get_if_changed": lambda store: store.get_if_changed("a", Version("v")),
    "put": lambda store: store.put("a", b""),
    "delete": lambda store: store.delete("a"),
    "list": list_keys,
    "head": lambda store: store.head("a"),
    "copy": lambda store: store.copy("a", "b"),
}


async def stocked() -> MemoryStore:
    store = MemoryStore()
    await store.put("a", b"content")
    return store


class Silent(MemoryStore):
    """A store whose bodies break off in silence."""

    async def get(self, key: str, *, start: int = 0, stop: int | None = None) -> Fetched:
        fetched = await super().get(key, start=start, stop=stop)

        class Body(Fetched):
            async def chunks(self) -> AsyncIterator[bytes]:
                yield b"the first piece"
                await asyncio.Event().wait()

        return Body(fetched.meta, fetched.version)


@pytest.mark.parametrize("fault", [Fault.HANG_BEFORE, Fault.HANG_AFTER])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
async def test_a_call_that_hangs_ends(call: Callable[[Store], Awaitable[object]], fault: Fault) -> None:
    store = TimeLimit(Faulty(await stocked(), at(1, fault)), seconds=0.001)
    with pytest.raises(Unavailable) as caught:
        await call(store)
    assert caught.value.kind is ErrorKind.DEADLINE_EXCEEDED


async def test_a_body_that_hangs_ends() -> None:
    inner = Silent()
    await inner.put("a", b"content")
    pieces = (await TimeLimit(inner, seconds=0.001).get("a")).chunks()
    assert await anext(pieces) == b"the first piece"
    with pytest.raises(Unavailable) as caught:
        await anext(pieces)
    assert caught.value.kind is ErrorKind.DEADLINE_EXCEEDED
    with pytest.raises(Unavailable):
        await (await TimeLimit(inner, seconds=0.001, slowest=1 << 30).get("a")).bytes()


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What each request was allowed."""
    asked: list[float] = []
    timeout = asyncio.timeout

    def spy(seconds: float) -> asyncio.Timeout:
        asked.append(seconds)
        return timeout(seconds)

    monkeypatch.setattr(asyncio, "timeout", spy)
    return asked


async def test_the_allowance_grows_with_what_is_sent(allowed: list[float], tmp_path: Path) -> None:
    store = TimeLimit(OnItsWay(MemoryStore()), seconds=30, slowest=1000)
    path = tmp_path / "body"
    path.write_bytes(b"x" * 5000)
    await store.put("a", b"")
    await store.put("a", b"x" * 2000)
    await store.put("a", path)
    await store.head("a")
    fetched = await store.get("a")
    assert allowed == [30, 32, 35, 30, 30]
    await fetched.bytes()
    assert allowed[5:] == [35]


async def test_every_piece_has_its_own_limit(allowed: list[float]) -> None:
    inner = MemoryStore()
    await inner.put("a", b"x" * (3 << 20))
    fetched = await TimeLimit(OnItsWay(inner), seconds=30).get("a")
    assert len([piece async for piece in fetched.chunks()]) == 3
    assert allowed == [30] * 5, "the answer, three pieces, and the end"


async def test_what_has_arrived_needs_no_limit(allowed: list[float]) -> None:
    assert await read(TimeLimit(await stocked(), seconds=30), "a") == b"content"
    assert allowed == [30]


async def test_a_limit_of_the_caller_is_the_callers() -> None:
    store = TimeLimit(Faulty(MemoryStore(), at(1, Fault.HANG_BEFORE)), seconds=1000)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await store.put("a", b"")


async def test_a_timeout_of_the_store_itself_is_passed_on() -> None:
    class Impatient(MemoryStore):
        async def delete(self, key: str) -> None:
            raise TimeoutError(key)

    with pytest.raises(TimeoutError, match="a"):
        await TimeLimit(Impatient(), seconds=1000).delete("a")


async def test_a_cancellation_passes_through() -> None:
    store = TimeLimit(Faulty(MemoryStore(), at(1, Fault.HANG_BEFORE)), seconds=1000)
    task = asyncio.create_task(store.put("a", b""))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_what_answers_is_not_touched() -> None:
    store = TimeLimit(await stocked(), seconds=1000)
    assert await read(store, "a") == b"content"
