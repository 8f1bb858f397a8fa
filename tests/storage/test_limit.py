"""The window: never wider than allowed, fair, half as wide after each round of throttling, and no slot is ever lost."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bayou.config.locations import Folder
from bayou.errors import ErrorKind, NotFound, Unavailable
from bayou.storage import Fetched, Limit, Window, Wrapper, connect
from bayou.storage.bodies import WHOLE
from bayou.storage.port import Request
from bayou.testing.contract.expect import list_keys, read
from bayou.testing.memory import MemoryStore, OnItsWay, Unread

T = TypeVar("T")


class Slow(Wrapper):
    """Count what is under way, and give everybody else a turn meanwhile."""

    now = most = 0

    async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:  # noqa: ARG002 - all alike
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            for _ in range(3):
                await asyncio.sleep(0)
            return await call()
        finally:
            self.now -= 1


async def settle() -> None:
    """Let everything happen that can happen by itself."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_never_more_than_the_width_are_under_way() -> None:
    slow = Slow(MemoryStore())
    store = Limit(slow, Window(3))
    await asyncio.gather(*(store.put(f"{number}", b"x") for number in range(20)))
    assert slow.most == 3
    await asyncio.gather(*(read(store, f"{number}") for number in range(20)), *(list_keys(store) for _ in range(5)))
    assert slow.most == 3
    await settle()
    assert store.window.taken == 0


async def test_the_first_to_come_is_the_first_to_go() -> None:
    window, order = Window(1), list[int]()

    async def go(number: int) -> None:
        await window.take()
        order.append(number)
        await asyncio.sleep(0)
        window.give_back()

    await asyncio.gather(*map(go, range(10)))
    assert order == list(range(10))


async def test_one_round_of_throttling_halves_once() -> None:
    window = Window(16)
    together = [await window.take() for _ in range(16)]
    for halvings in together:
        window.throttled(halvings)
        window.give_back()
    assert window.width == 8
    again = [await window.take() for _ in range(8)]
    for halvings in again:
        window.throttled(halvings)
        window.give_back()
    assert window.width == 4
    for _ in range(10):
        window.throttled(await window.take())
        window.give_back()
    assert window.width == 1


async def test_success_widens_by_a_slot_for_each_windowful() -> None:
    window = Window(4)
    for _ in range(3):
        window.throttled(await window.take())
        window.give_back()
    assert window.width == 1
    widths = []
    for _ in range(12):
        window.succeeded()
        widths.append(window.width)
    assert widths[0] == 2
    assert widths == sorted(widths)
    assert widths.index(3) > 1, "one success more is not enough for another slot"
    assert window.width == 4


@pytest.mark.parametrize("kind", [ErrorKind.THROTTLED, ErrorKind.DEADLINE_EXCEEDED, ErrorKind.TRANSIENT])
async def test_an_overloaded_store_narrows_the_window(kind: ErrorKind) -> None:
    class Overloaded(Wrapper):
        async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:  # noqa: ARG002
            raise Unavailable("no", kind=kind)

    store = Limit(Overloaded(MemoryStore()), Window(8))
    with pytest.raises(Unavailable):
        await store.put("a", b"")
    assert store.window.width == (8 if kind is ErrorKind.TRANSIENT else 4)
    assert store.window.taken == 0


async def test_who_stops_waiting_leaks_no_slot() -> None:
    window = Window(1)
    await window.take()
    waiting = [asyncio.create_task(window.take()) for _ in range(3)]
    await settle()
    waiting[0].cancel()  # while it waits
    await settle()
    window.give_back()
    waiting[1].cancel()  # when it was just given the slot
    await settle()
    assert waiting[2].done()
    window.give_back()
    assert window.taken == 0
    await window.take()


async def test_a_cancelled_or_failed_request_gives_its_slot_back() -> None:
    store = Limit(Slow(MemoryStore()), Window(1))
    task = asyncio.create_task(store.put("a", b""))
    await asyncio.sleep(0)
    assert store.window.taken == 1
    task.cancel()
    await asyncio.wait([task])
    assert store.window.taken == 0
    with pytest.raises(NotFound):
        await store.get("missing")
    assert store.window.taken == 0


async def test_a_read_holds_its_slot_until_it_is_read_broken_off_or_dropped() -> None:
    store = Limit(OnItsWay(MemoryStore()), Window(1))
    await store.put("a", b"x" * (3 << 20))
    fetched = await store.get("a")
    assert store.window.taken == 1
    await fetched.bytes()
    await settle()
    assert store.window.taken == 0

    half_read = (await store.get("a")).chunks()
    await anext(half_read)
    assert store.window.taken == 1
    await half_read.aclose()  # type: ignore[attr-defined] # it is a generator
    await settle()
    assert store.window.taken == 0

    async for _ in (await store.get("a")).chunks():
        break
    gc.collect()
    await settle()
    assert store.window.taken == 0

    unread = await store.get("a")
    del unread
    await settle()
    assert store.window.taken == 0
    assert await store.get_if_changed("a", fetched.version) is None
    assert store.window.taken == 0


async def test_a_slot_that_comes_back_from_another_thread_wakes_who_waits() -> None:
    store = Limit(OnItsWay(MemoryStore()), Window(1))
    await store.put("a", b"x")
    held = [await store.get("a")]
    asyncio.get_running_loop().set_debug(True)  # then it refuses what is not meant for other threads
    waiting = asyncio.create_task(store.get("a"))
    await settle()
    await asyncio.to_thread(held.clear)  # as the garbage collector may do it
    assert await (await asyncio.wait_for(waiting, 30)).bytes() == b"x"


def test_an_object_may_outlive_the_loop() -> None:
    async def main() -> object:
        store = Limit(OnItsWay(MemoryStore()), Window(1))
        await store.put("a", b"x")
        return await store.get("a")

    fetched = asyncio.run(main())
    del fetched  # an error here would be reported as unraisable, which fails the test


async def test_what_has_arrived_holds_no_slot(tmp_path: Path) -> None:
    """Else three reads of a byte each would wait for each other behind a window of two."""
    store = connect(Folder(tmp_path), concurrency=2)
    for name in "abc":
        await store.put(name, name.encode())
    fetched = await asyncio.wait_for(asyncio.gather(*(store.get(name) for name in "abc")), 30)
    assert [await one.bytes() for one in fetched] == [b"a", b"b", b"c"]


async def test_who_does_not_read_keeps_nobody_waiting_for_ever() -> None:
    store = Limit(OnItsWay(MemoryStore()), Window(2), idle=0.01)
    await store.put("a", b"x" * (3 << 20))
    unread, half_read = await store.get("a"), (await store.get("a")).chunks()
    first = await anext(half_read)
    assert store.window.taken == 2
    third = await asyncio.wait_for(store.get("a"), 30)
    rest = [chunk async for chunk in half_read]
    assert b"".join([first, *rest]) == await third.bytes() == await unread.bytes() == b"x" * (3 << 20)
    await settle()
    assert store.window.taken == 0, "no slot is given back twice"


async def test_a_slow_store_is_not_taken_for_an_absent_reader() -> None:
    class Slowly(Unread):
        async def chunks(self) -> AsyncIterator[bytes]:
            await asyncio.sleep(0.1)
            yield b"x"

    class Sleepy(Wrapper):
        def watch(self, fetched: Fetched) -> Fetched:
            return Slowly(fetched)

    store = Limit(Sleepy(MemoryStore()), Window(1), idle=0.02)
    await store.put("a", b"x")
    reading = asyncio.create_task((await store.get("a")).bytes())
    waiting = asyncio.create_task(store.get("a"))
    await asyncio.wait([reading, waiting], return_when=asyncio.FIRST_COMPLETED)
    assert reading.done()
    assert await reading == b"x"
    assert await (await waiting).bytes() == b"x"


async def test_large_files_wait_for_a_place_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(WHOLE + 1)
    slow = Slow(MemoryStore())
    store = Limit(slow, Window(8), uploads=2)
    await asyncio.gather(*(store.put(f"{number}", path) for number in range(6)))
    assert slow.most == 2
    path.write_bytes(b"small")
    await asyncio.gather(*(store.put(f"{number}", path) for number in range(20)))
    assert slow.most == 8


class WindowMachine(RuleBasedStateMachine):
    """Whatever happens in whatever order: as many run as may run, and none that may not."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.window = Window(4)
        self.running: list[int] = []
        self.waiting: list[asyncio.Task[int]] = []

    def teardown(self) -> None:
        for task in self.waiting:
            task.cancel()
        self.settle()
        self.loop.close()

    def settle(self) -> None:
        self.loop.run_until_complete(settle())
        for task in [task for task in self.waiting if task.done()]:
            self.waiting.remove(task)
            if not task.cancelled():
                self.running.append(task.result())

    @rule()
    def come(self) -> None:
        self.waiting.append(self.loop.create_task(self.window.take()))
        self.settle()

    @rule(number=st.integers(0, 9), at_once=st.booleans())
    @precondition(lambda self: self.waiting)
    def give_up(self, *, number: int, at_once: bool) -> None:
        self.waiting[number % len(self.waiting)].cancel()
        if at_once and self.running:
            self.running.pop()
            self.window.give_back()
        self.settle()

    @rule(number=st.integers(0, 9), throttled=st.booleans())
    @precondition(lambda self: self.running)
    def finish(self, *, number: int, throttled: bool) -> None:
        halvings = self.running.pop(number % len(self.running))
        if throttled:
            self.window.throttled(halvings)
        self.window.give_back()
        if not throttled:
            self.window.succeeded()
        self.settle()

    @invariant()
    def as_many_run_as_may(self) -> None:
        assert self.window.taken == len(self.running)
        assert 1 <= self.window.width <= 4
        assert not self.waiting or len(self.running) >= self.window.width
        assert len(self.running) <= 4


TestWindow = WindowMachine.TestCase
TestWindow.settings = settings(stateful_step_count=12)
