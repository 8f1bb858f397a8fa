"""Retries: exactly once under lost answers (promise 3), bounded, and never at the price of a wrong answer."""

import asyncio
import json
import os
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Self, TypeVar
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.config.locations import S3, Location
from bayou.errors import BayouError, Conflict, Denied, ErrorKind, NotFound, Unavailable, UsageError
from bayou.storage import (
    ABSENT,
    ANY,
    Body,
    Budget,
    Condition,
    Fetched,
    ObjectMeta,
    Patience,
    Prefix,
    Retry,
    Store,
    TimeLimit,
    Version,
    Wrapper,
    connect,
)
from bayou.storage import retry as retry_module
from bayou.storage.claims import Claims
from bayou.storage.port import Request
from bayou.testing.contract.content import LARGE
from bayou.testing.contract.expect import list_keys, read
from bayou.testing.faults import Chooser, Fault, Faulty, at, sometimes
from bayou.testing.latency import Latency
from bayou.testing.memory import MemoryStore
from bayou.testing.servers import Server

T = TypeVar("T")

QUICK = Patience(attempts=6, first_pause=0, longest_pause=0)
LOST = (Fault.FAIL_BEFORE, Fault.FAIL_AFTER, Fault.HANG_AFTER)


class Trouble(Wrapper):
    """Raise what `choose` says for a request, before it is carried out."""

    def __init__(self, inner: Store, choose: Callable[[Request], BayouError | None]) -> None:
        super().__init__(inner)
        self._choose = choose
        self.requests: list[Request] = []

    async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:
        self.requests.append(request)
        error = self._choose(request)
        if error is not None:
            raise error
        return await call()


class Applied(MemoryStore):
    """Count the writes that took effect, and remember the ranges that were read."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0
        self.ranges: list[tuple[int, int | None]] = []

    async def put(self, key: str, body: Body, *, when: Condition = ANY) -> Version:
        version = await super().put(key, body, when=when)
        self.writes += 1
        return version

    async def get(self, key: str, *, start: int = 0, stop: int | None = None) -> Fetched:
        self.ranges.append((start, stop))
        return await super().get(key, start=start, stop=stop)


def retrying(inner: Store, choose: Chooser, patience: Patience = QUICK) -> Retry:
    """No call of a store in memory ever waits, so the time limit ends what hangs and nothing else."""
    return Retry(TimeLimit(Faulty(inner, choose), seconds=0.001), patience)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Pauses take no time, but move the clock by which deadlines are kept."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    class Clock:
        @staticmethod
        def monotonic() -> float:
            return sum(slept)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(retry_module, "time", Clock)
    return slept


@pytest.mark.parametrize("as_file", [False, True], ids=["bytes", "file"])
@pytest.mark.parametrize("fault", LOST)
@pytest.mark.parametrize("number", [1, 2, 3])
async def test_a_conditional_write_takes_effect_exactly_once(
    *, number: int, fault: Fault, as_file: bool, tmp_path: Path
) -> None:
    inner = Applied()
    store = retrying(inner, at(number, fault, verb="put"))
    version: Condition = ABSENT
    for content in (b"first", b"second", b"third"):
        body = tmp_path / content.decode()
        body.write_bytes(content)
        version = await store.put("a", body if as_file else content, when=version)
        assert (await inner.head("a")).version == version
        assert await read(inner, "a") == content
    assert inner.writes == 3


@pytest.mark.parametrize("fault", LOST)
async def test_a_write_without_a_condition_is_repeated(fault: Fault) -> None:
    inner = MemoryStore()
    await retrying(inner, at(1, fault)).put("a", b"content")
    assert await read(inner, "a") == b"content"


@pytest.mark.parametrize("fault", LOST)
async def test_a_true_conflict_stays_one(fault: Fault) -> None:
    inner = Applied()
    stale = await inner.put("a", b"stale")
    await inner.put("a", b"theirs")
    for when in (ABSENT, stale):
        with pytest.raises(Conflict):
            await retrying(inner, at(1, fault)).put("a", b"ours", when=when)
    with pytest.raises(Conflict):
        await retrying(MemoryStore(), at(1, fault)).put("gone", b"ours", when=stale)
    assert await read(inner, "a") == b"theirs"
    assert inner.writes == 2


async def test_no_read_back_where_nothing_was_lost() -> None:
    inner = Applied()
    await inner.put("a", b"the same bytes, from somebody else")
    with pytest.raises(Conflict):
        await Retry(inner, QUICK).put("a", b"the same bytes, from somebody else", when=ABSENT)
    assert inner.ranges == []


@pytest.mark.parametrize("broken", [Unavailable("no"), Denied("no")], ids=["unavailable", "denied"])
async def test_a_conflict_that_cannot_be_resolved_is_not_called_one(broken: BayouError) -> None:
    inner = MemoryStore()
    unreadable = Trouble(inner, lambda request: broken if request.verb == "get" else None)
    with pytest.raises(Unavailable) as caught:
        await Retry(Faulty(unreadable, at(1, Fault.FAIL_AFTER)), QUICK).put("a", b"ours", when=ABSENT)
    assert caught.value.kind is ErrorKind.OUTCOME_UNKNOWN
    assert await read(inner, "a") == b"ours"


async def test_after_the_last_attempt_the_outcome_is_looked_up() -> None:
    every_put = Patience(attempts=2, first_pause=0)
    inner = MemoryStore()

    def lose(request: Request) -> Fault | None:
        return Fault.FAIL_AFTER if request.verb == "put" and "a" not in inner.objects else None

    once = Patience(attempts=1)
    assert await Retry(Faulty(inner, lose), once).put("a", b"ours", when=ABSENT) == (await inner.head("a")).version
    never = Faulty(inner, lambda request: Fault.FAIL_BEFORE if request.verb == "put" else None)
    with pytest.raises(Unavailable) as caught:
        await Retry(never, every_put).put("b", b"ours", when=ABSENT)
    assert caught.value.kind is ErrorKind.OUTCOME_UNKNOWN
    assert len([request for request in never.requests if request.verb == "put"]) == 2


async def test_a_plain_write_that_fails_says_so_and_not_that_its_outcome_is_unknown() -> None:
    with pytest.raises(Unavailable) as caught:
        await retrying(MemoryStore(), lambda _: Fault.FAIL_BEFORE).put("a", b"ours")
    assert caught.value.kind is ErrorKind.TRANSIENT


@given(seed=st.integers(0, 2**32), share=st.floats(0, 0.6), workers=st.integers(1, 4))
def test_no_increment_is_lost_or_made_twice(seed: int, share: float, workers: int) -> None:
    """Each worker adds ids to a list; a conflict sends him to look whether his id is in already."""
    inner = MemoryStore()
    store = Retry(Latency(Faulty(inner, sometimes(share, *LOST[:2], seed=seed)), 0), QUICK)
    acknowledged: list[str] = []
    conflicts = 0

    async def add(name: str) -> None:
        nonlocal conflicts
        while True:
            try:
                fetched = await store.get("ids")
                ids, when = json.loads(await fetched.bytes()), fetched.version
                if name in ids:
                    break
                await store.put("ids", json.dumps([*ids, name]).encode(), when=when)
            except Conflict:
                conflicts += 1
                continue
            except Unavailable:
                return  # it may be in or not
            break
        acknowledged.append(name)

    async def work(worker: int) -> None:
        for number in range(4):
            await add(f"{worker}/{number}")

    async def main() -> list[str]:
        await inner.put("ids", b"[]")
        await asyncio.gather(*map(work, range(workers)))
        return list(json.loads(await read(inner, "ids")))

    ids = asyncio.run(main())
    assert len(ids) == len(set(ids))
    assert set(acknowledged) <= set(ids)
    assert conflicts == 0 or workers > 1, "nobody else wrote"


@pytest.mark.parametrize("fault", [Fault.FAIL_AFTER, Fault.FAIL_BEFORE])
async def test_a_large_file_is_created_exactly_once_in_a_bucket(
    fault: Fault, ministack: Server, new_bucket: Callable[[Server], Store], tmp_path: Path
) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for path in (ours, theirs):
        path.write_bytes(os.urandom(LARGE))
    store = Retry(Faulty(new_bucket(ministack), at(1, fault)), QUICK)
    version = await store.put("large", ours, when=ABSENT)
    fetched = await store.get("large")
    assert fetched.version == version
    assert await fetched.bytes() == ours.read_bytes()
    with pytest.raises(Conflict):
        await store.put("large", theirs, when=ABSENT)


async def test_a_claim_is_recognised_after_a_lost_answer_and_by_its_owner_only(tmp_path: Path) -> None:
    inner = MemoryStore()
    ours, theirs, path = Claims(), Claims(), tmp_path / "large"
    with pytest.raises(Unavailable):
        async with ours.claimed(Faulty(inner, at(1, Fault.FAIL_AFTER)), "key", path):
            raise AssertionError
    with pytest.raises(Conflict):
        async with theirs.claimed(inner, "key", path):
            raise AssertionError
    with pytest.raises(Unavailable):
        async with ours.claimed(inner, "key", path):
            raise Unavailable("the upload failed")
    async with ours.claimed(inner, "key", path):
        # While it is under way it is nobody else's, not even for the same file.
        with pytest.raises(Conflict):
            async with ours.claimed(inner, "key", path):
                raise AssertionError
    with pytest.raises(Conflict):
        async with ours.claimed(inner, "key", path):
            raise AssertionError


@pytest.mark.parametrize("when", [ANY, ABSENT])
async def test_a_full_store_is_not_tried_again_and_keeps_its_name(when: Condition, pauses: list[float]) -> None:
    full = Unavailable("no space left", kind=ErrorKind.STORE_FULL)
    with pytest.raises(Unavailable) as caught:
        await Retry(Trouble(MemoryStore(), lambda _: full)).put("a", b"x", when=when)
    assert caught.value.kind is ErrorKind.STORE_FULL
    assert pauses == []


@pytest.mark.parametrize("when", [ANY, ABSENT])
async def test_parts_that_were_put_together_already_are_no_missing_object(
    when: Condition, ministack: Server, new_location: Callable[[Server], Location], tmp_path: Path
) -> None:
    """The answer to the last request of an upload was lost; the upload is gone when it is repeated."""
    location = new_location(ministack)
    assert isinstance(location, S3)
    path = tmp_path / "large"
    path.write_bytes(os.urandom(LARGE))
    async with Losing(ministack.endpoint) as proxy:
        store = connect(replace(location, endpoint=proxy.endpoint))
        version = await store.put("large", path, when=when)
        assert proxy.lost == 2
        fetched = await store.get("large")
        assert fetched.version == version
        assert await fetched.bytes() == path.read_bytes()


class Losing:
    """A proxy that loses the first answer to the completion of an upload, and to the second says that it is gone."""

    def __init__(self, target: str) -> None:
        parts = urlsplit(target)
        self._target = parts.hostname, parts.port
        self.lost = 0
        self.endpoint = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.endpoint = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        request = head[:-2] + b"Connection: close\r\n\r\n" + await reader.readexactly(int(length[1]) if length else 0)
        far, near = await asyncio.open_connection(*self._target)
        near.write(request)
        answer = await far.read()
        near.close()
        if head.startswith(b"POST") and b"uploadId=" in head and self.lost < 2:
            self.lost += 1
            gone = b"<Error><Code>NoSuchUpload</Code><Message>gone</Message></Error>"
            status = b"HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(gone)
            answer = b"" if self.lost == 1 else status + gone
        writer.write(answer)
        with suppress(ConnectionError):
            await writer.drain()
        writer.close()


@pytest.mark.parametrize("fault", LOST)
async def test_every_other_call_is_repeated(fault: Fault) -> None:
    inner = MemoryStore()
    await inner.put("a", b"content")
    version = (await inner.head("a")).version
    assert version is not None
    assert await read(retrying(inner, at(1, fault)), "a") == b"content"
    assert await retrying(inner, at(1, fault)).get_if_changed("a", version) is None
    changed = await retrying(inner, at(1, fault)).get_if_changed("a", Version("other"))
    assert changed is not None
    assert await changed.bytes() == b"content"
    assert (await retrying(inner, at(1, fault)).head("a")).version == version
    await retrying(inner, at(1, fault)).copy("a", "b")
    assert await list_keys(retrying(inner, at(1, fault))) == ["a", "b"]
    await retrying(inner, at(1, fault)).delete("a")
    assert await list_keys(inner) == ["b"]


CALLS: dict[str, Callable[[Store], Awaitable[object]]] = {
    "get": lambda store: store.get("a"),
    "get_if_changed": lambda store: store.get_if_changed("a", Version("v")),
    "put": lambda store: store.put("a", b"", when=ABSENT),
    "delete": lambda store: store.delete("a"),
    "list": list_keys,
    "head": lambda store: store.head("a"),
    "copy": lambda store: store.copy("a", "b"),
}
each_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())


@each_call
@pytest.mark.parametrize("error", [Conflict, NotFound, Denied, UsageError])
async def test_what_is_not_transient_is_not_repeated(
    error: type[BayouError], call: Callable[[Store], Awaitable[object]]
) -> None:
    trouble = Trouble(MemoryStore(), lambda _: error("no"))
    with pytest.raises(error):
        await call(Retry(trouble, QUICK))
    assert len(trouble.requests) == 1


@each_call
async def test_a_failure_is_never_read_as_missing(call: Callable[[Store], Awaitable[object]]) -> None:
    with pytest.raises(Unavailable):
        await call(retrying(MemoryStore(), lambda _: Fault.FAIL_BEFORE))


async def test_pauses_double_up_to_a_limit_with_jitter(pauses: list[float]) -> None:
    patience = Patience(attempts=8, first_pause=1, longest_pause=8, deadline=1000)
    for _ in range(20):
        pauses.clear()
        with pytest.raises(Unavailable, match="tried 8 times"):
            await Retry(Trouble(MemoryStore(), lambda _: Unavailable("no")), patience).head("a")
        for pause, longest in zip(pauses, (1, 2, 4, 8, 8, 8, 8), strict=True):
            assert longest / 2 <= pause <= longest
    assert len({*pauses}) > 1


async def test_the_store_says_how_long_to_wait(pauses: list[float]) -> None:
    answers = iter([Unavailable("busy", retry_after=7), Unavailable("busy", retry_after=11)])
    store = Retry(Trouble(MemoryStore(), lambda _: next(answers, None)), Patience(first_pause=0.1))
    await store.put("a", b"")
    assert pauses == [7, 11]


async def test_nobody_waits_beyond_the_deadline(pauses: list[float]) -> None:
    patience = Patience(attempts=100, first_pause=4, longest_pause=4, deadline=10)
    with pytest.raises(Unavailable, match=r"tried for ([6-9]|10) s"):
        await Retry(Trouble(MemoryStore(), lambda _: Unavailable("no")), patience).head("a")
    assert 6 <= sum(pauses) <= 10
    pauses.clear()
    with pytest.raises(Unavailable, match="the store asks for a pause of 11 s"):
        await Retry(Trouble(MemoryStore(), lambda _: Unavailable("no", retry_after=11)), patience).head("a")
    assert pauses == []


async def test_an_outage_exhausts_the_budget_of_all_calls_and_success_earns_it_back() -> None:
    down = True
    trouble = Trouble(MemoryStore(), lambda _: Unavailable("no") if down else None)
    store = Retry(trouble, QUICK, Budget(most=3, earned=0.5))
    with pytest.raises(Unavailable, match="too many requests"):
        await store.delete("a")
    assert len(trouble.requests) == 4
    with pytest.raises(Unavailable, match="too many requests"):
        await store.delete("a")
    assert len(trouble.requests) == 5
    down = False
    await store.delete("a")
    await store.delete("a")
    down = True
    with pytest.raises(Unavailable):
        await store.delete("a")
    assert len(trouble.requests) == 9, "one retry for two successes"


@given(
    content=st.binary(min_size=1, max_size=64),
    bounds=st.tuples(st.integers(0, 70), st.none() | st.integers(0, 70)),
    breaks=st.integers(0, 4),
    whole=st.booleans(),
)
def test_a_read_that_breaks_off_goes_on_where_it_was(
    *, content: bytes, bounds: tuple[int, int | None], breaks: int, whole: bool
) -> None:
    inner = Applied()
    start, stop = min(bounds[0], len(content) - 1), bounds[1]
    left = breaks

    def choose(_: Request) -> Fault | None:
        nonlocal left
        left -= 1
        return Fault.BREAK_OFF if left >= 0 else None

    async def main() -> bytes:
        await inner.put("a", content)
        fetched = await Retry(Faulty(inner, choose), QUICK).get("a", start=start, stop=stop)
        return await fetched.bytes() if whole else b"".join([chunk async for chunk in fetched.chunks()])

    assert asyncio.run(main()) == content[start:stop]
    assert all(begin <= len(content) for begin, _ in inner.ranges)
    assert all(end == stop for _, end in inner.ranges)


async def test_what_arrived_is_not_asked_for_again() -> None:
    inner = Applied()
    await inner.put("a", b"0123456789")
    fetched = await Retry(Faulty(inner, at(1, Fault.BREAK_OFF)), QUICK).get("a")
    assert [chunk async for chunk in fetched.chunks()] == [b"01234", b"56789"]
    assert inner.ranges == [(0, None), (5, None)]


@pytest.mark.parametrize("whole", [False, True])
async def test_an_object_that_changed_meanwhile_is_never_spliced(*, whole: bool) -> None:
    inner = MemoryStore()
    await inner.put("a", b"aaaaaaaaaa")
    fetched = await Retry(Faulty(inner, at(1, Fault.BREAK_OFF)), QUICK).get("a")
    await inner.put("a", b"bbbbbbbbbb")
    with pytest.raises(Conflict, match="changed"):
        _ = await fetched.bytes() if whole else [chunk async for chunk in fetched.chunks()]


async def test_a_read_goes_on_by_its_own_key_below_a_prefix() -> None:
    inner = MemoryStore()
    store = Prefix(Retry(Faulty(inner, at(2, Fault.BREAK_OFF)), QUICK), "teams/blue")
    await store.put("a", b"0123456789")
    fetched = await store.get("a")
    assert fetched.meta.key == "a"
    assert b"".join([chunk async for chunk in fetched.chunks()]) == b"0123456789"


async def test_a_read_that_keeps_breaking_off_fails() -> None:
    inner = MemoryStore()
    await inner.put("a", b"0123456789")
    fetched = await Retry(Faulty(inner, lambda _: Fault.BREAK_OFF), QUICK).get("a")
    with pytest.raises(Unavailable):
        await fetched.bytes()


@pytest.mark.parametrize("fault", LOST)
@pytest.mark.parametrize("number", [1, 2, 3, 4])
async def test_a_listing_goes_on_where_it_broke_off(number: int, fault: Fault) -> None:
    inner = MemoryStore()
    keys = [f"a/{number:04}" for number in range(2500)]
    for key in keys:
        await inner.put(key, b"")
    assert await list_keys(retrying(inner, at(number, fault)), "a") == keys
    assert await list_keys(retrying(inner, at(number, fault)), "a", after=keys[10]) == keys[11:]


class ByFolder(MemoryStore):
    """A store that lists in its own order, in pages of one."""

    async def list(self, prefix: str = "", *, after: str | None = None) -> AsyncIterator[Sequence[ObjectMeta]]:
        for key in ("b", "a/1", "c"):
            if key in self.objects and (after is None or key > after) and key.startswith(prefix):
                yield [await self.head(key)]


@pytest.mark.parametrize("number", [1, 2, 3, 4])
async def test_a_listing_out_of_order_is_complete_or_fails(number: int) -> None:
    inner = ByFolder()
    for key in ("b", "a/1", "c"):
        await inner.put(key, b"")
    if number == 1:
        assert await list_keys(retrying(inner, at(number, Fault.FAIL_BEFORE))) == ["b", "a/1", "c"]
    else:
        with pytest.raises(Unavailable):
            await list_keys(retrying(inner, at(number, Fault.FAIL_BEFORE)))


async def test_the_deadline_counts_from_the_first_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that worked on for long before it failed still gets its retries."""
    started = time.monotonic()

    class Clock:
        @staticmethod
        def monotonic() -> float:
            return started + 10_000

    monkeypatch.setattr(retry_module, "time", Clock)
    inner = MemoryStore()
    await inner.put("a", b"content")
    assert await read(Retry(Faulty(inner, at(1, Fault.FAIL_BEFORE)), QUICK), "a") == b"content"
