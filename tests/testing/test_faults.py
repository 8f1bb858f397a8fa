"""The stores that misbehave do so as they say, and only then."""

import asyncio

import pytest

from bayou.errors import ErrorKind, Unavailable
from bayou.storage import Store
from bayou.storage.port import Request
from bayou.testing.contract.expect import list_keys, read
from bayou.testing.faults import Fault, Faulty, at, sometimes
from bayou.testing.latency import Latency, Throttle
from bayou.testing.memory import MemoryStore


async def outcome(store: Store) -> str:
    """How one put ends: "done", "failed" or "hangs"."""
    task = asyncio.create_task(store.put("a", b"content"))
    for _ in range(5):
        await asyncio.sleep(0)
    if not task.done():
        task.cancel()
        await asyncio.wait([task])
        return "hangs"
    return "done" if task.exception() is None else "failed"


@pytest.mark.parametrize(
    ("fault", "ends", "applied"),
    [
        (None, "done", True),
        (Fault.FAIL_BEFORE, "failed", False),
        (Fault.FAIL_AFTER, "failed", True),
        (Fault.HANG_BEFORE, "hangs", False),
        (Fault.HANG_AFTER, "hangs", True),
    ],
)
def test_a_fault_is_before_or_after_the_effect(*, fault: Fault | None, ends: str, applied: bool) -> None:
    inner = MemoryStore()
    assert asyncio.run(outcome(Faulty(inner, lambda _: fault))) == ends
    assert ("a" in inner.objects) is applied


def test_bytes_are_damaged_on_the_way_and_not_in_the_store() -> None:
    async def main() -> None:
        inner = MemoryStore()
        for content in (b"", b"x", b"content"):
            await inner.put("a", content)
            wrong = await read(Faulty(inner, lambda _: Fault.WRONG_BYTES), "a")
            assert wrong != content
            assert len(wrong) == max(1, len(content))
            half = (await Faulty(inner, lambda _: Fault.BREAK_OFF).get("a")).chunks()
            assert await anext(half) == content[: len(content) // 2]
            with pytest.raises(Unavailable):
                await anext(half)
            assert await read(inner, "a") == content

    asyncio.run(main())


def test_one_fault_does_not_spill_over_to_the_next_request() -> None:
    async def main() -> None:
        inner = MemoryStore()
        await inner.put("a", b"content")
        store = Faulty(inner, at(1, Fault.WRONG_BYTES))
        assert await read(store, "a") != b"content"
        assert await read(store, "a") == b"content"
        late = Faulty(inner, at(1, Fault.WRONG_BYTES, verb="put"))
        await late.put("a", b"content")
        assert await read(late, "a") == b"content"

    asyncio.run(main())


def test_a_request_is_chosen_by_number_and_verb() -> None:
    third = at(3, Fault.FAIL_BEFORE)
    assert [third(Request("get", "a")) for _ in range(5)] == [None, None, Fault.FAIL_BEFORE, None, None]
    second_put = at(2, Fault.FAIL_AFTER, verb="put")
    verbs = ["put", "get", "get", "put", "put"]
    assert [second_put(Request(verb, "a")) is not None for verb in verbs] == [False, False, False, True, False]


def test_a_share_of_requests_is_the_same_for_the_same_seed() -> None:
    def chosen(share: float, seed: int) -> list[Fault | None]:
        choose = sometimes(share, Fault.FAIL_BEFORE, Fault.FAIL_AFTER, seed=seed)
        return [choose(Request("get", "a")) for _ in range(1000)]

    assert chosen(0.3, 1) == chosen(0.3, 1) != chosen(0.3, 2)
    assert 200 < len([fault for fault in chosen(0.3, 1) if fault]) < 400
    assert set(chosen(0.3, 1)) == {None, Fault.FAIL_BEFORE, Fault.FAIL_AFTER}
    assert not any(chosen(0, 1))
    assert all(chosen(1, 1))


def test_every_page_of_a_listing_is_a_request() -> None:
    async def main() -> None:
        inner = MemoryStore()
        for number in range(1001):
            await inner.put(f"{number:04}", b"")
        store = Faulty(inner, at(2, Fault.FAIL_BEFORE))
        with pytest.raises(Unavailable):
            await list_keys(store)
        assert len(store.requests) == 2

    asyncio.run(main())


def test_latency_lets_others_go_first() -> None:
    async def main() -> list[str]:
        order: list[str] = []

        async def put(store: Store, name: str) -> None:
            await store.put(name, b"")
            order.append(name)

        inner = MemoryStore()
        await asyncio.gather(put(Latency(inner, 0), "far"), put(inner, "near"))
        return order

    assert asyncio.run(main()) == ["near", "far"]


def test_a_throttle_takes_one_change_of_a_key_in_its_time() -> None:
    now = 0.0
    store = Throttle(MemoryStore(), 1.0, clock=lambda: now)

    async def main() -> None:
        nonlocal now
        await store.put("a", b"")
        await store.put("b", b"")
        for change in (store.put("a", b""), store.delete("a"), store.copy("b", "a")):
            with pytest.raises(Unavailable) as caught:
                await change
            assert caught.value.kind is ErrorKind.THROTTLED
        assert await read(store, "a") == b""
        now = 1.0
        await store.put("a", b"")

    asyncio.run(main())
