"""Conditional writes hold, also for writers who race: everything that several machines agree on rests on these."""

import asyncio
import os

from bayou.errors import Conflict
from bayou.storage.port import ABSENT, Store, Version
from bayou.testing.contract.content import LARGE
from bayou.testing.contract.expect import file_of, read, refused


async def absent_creates_only_once(store: Store) -> None:
    version = await store.put("a", b"first", when=ABSENT)
    with refused(Conflict):
        await store.put("a", b"second", when=ABSENT)
    fetched = await store.get("a")
    assert fetched.version == version
    assert await fetched.bytes() == b"first"


async def absent_creates_again_after_a_delete(store: Store) -> None:
    await store.put("a", b"first", when=ABSENT)
    await store.delete("a")
    await store.put("a", b"second", when=ABSENT)
    assert await read(store, "a") == b"second"


async def a_version_is_replaced_only_while_it_is_current(store: Store) -> None:
    first = await store.put("a", b"first")
    second = await store.put("a", b"second", when=first)
    with refused(Conflict):
        await store.put("a", b"late", when=first)
    assert await read(store, "a") == b"second"
    await store.put("a", b"third", when=second)
    assert await read(store, "a") == b"third"


async def a_version_that_was_read_can_be_replaced(store: Store) -> None:
    await store.put("a", b"first")
    fetched = await store.get("a")
    await fetched.bytes()
    await store.put("a", b"second", when=fetched.version)
    head = await store.head("a")
    assert head.version is not None
    await store.put("a", b"third", when=head.version)
    assert await read(store, "a") == b"third"


async def nothing_replaces_what_is_gone(store: Store) -> None:
    version = await store.put("a", b"first")
    await store.delete("a")
    with refused(Conflict):
        await store.put("a", b"second", when=version)


async def one_of_many_creators_wins(store: Store) -> None:
    for number in range(2):
        key = f"race/{number}"

        async def create(content: bytes, key: str = key) -> bytes | None:
            try:
                await store.put(key, content, when=ABSENT)
            except Conflict:
                return None
            return content

        outcomes = await asyncio.gather(*(create(f"writer {writer}".encode()) for writer in range(16)))
        winners = [outcome for outcome in outcomes if outcome is not None]
        assert len(winners) == 1
        assert await read(store, key) == winners[0]


async def no_increment_is_lost(store: Store) -> None:
    await store.put("counter", b"0")

    async def increment() -> None:
        while True:
            fetched = await store.get("counter")
            value = int(await fetched.bytes())
            try:
                await store.put("counter", str(value + 1).encode(), when=fetched.version)
            except Conflict:
                continue
            return

    async def work() -> None:
        for _ in range(5):
            await increment()

    await asyncio.gather(*(work() for _ in range(8)))
    assert await read(store, "counter") == b"40"


async def one_of_several_large_files_wins(store: Store) -> None:
    contents = [os.urandom(LARGE) for _ in range(3)]

    async def create(content: bytes) -> Version | None:
        with file_of(content) as path:
            try:
                return await store.put("large", path, when=ABSENT)
            except Conflict:
                return None

    outcomes = await asyncio.gather(*(create(content) for content in contents))
    winners = [number for number, version in enumerate(outcomes) if version is not None]
    assert len(winners) == 1
    fetched = await store.get("large")
    assert fetched.version == outcomes[winners[0]]
    assert await fetched.bytes() == contents[winners[0]]


async def one_of_many_creators_from_one_large_file_wins(store: Store) -> None:
    with file_of(os.urandom(LARGE)) as path:

        async def create() -> Version | None:
            try:
                return await store.put("large", path, when=ABSENT)
            except Conflict:
                return None

        outcomes = await asyncio.gather(*(create() for _ in range(3)))
        winners = [version for version in outcomes if version is not None]
        assert winners == [(await store.head("large")).version]


async def a_large_file_replaces_only_its_version(store: Store) -> None:
    first = await store.put("large", b"small at first")
    with file_of(os.urandom(LARGE)) as path:
        second = await store.put("large", path, when=first)
        with refused(Conflict):
            await store.put("large", path, when=first)
    assert (await store.head("large")).version == second


CONDITIONAL = (
    absent_creates_only_once,
    absent_creates_again_after_a_delete,
    a_version_is_replaced_only_while_it_is_current,
    a_version_that_was_read_can_be_replaced,
    nothing_replaces_what_is_gone,
    one_of_many_creators_wins,
    no_increment_is_lost,
    one_of_several_large_files_wins,
    one_of_many_creators_from_one_large_file_wins,
    a_large_file_replaces_only_its_version,
)
