"""What is stored is what is read: whole, at once, with its version."""

import asyncio
import os

from bayou.errors import NotFound, Unavailable, UsageError
from bayou.storage.port import Store, Version
from bayou.testing.contract.expect import file_of, read, refused

LARGE = 9 << 20  # more than any store sends in one request


async def reads_what_was_written(store: Store) -> None:
    for content in (b"", b"x", os.urandom(5 * 1024), os.urandom(1 << 20)):
        await store.put("data/a", content)
        fetched = await store.get("data/a")
        assert fetched.meta.key == "data/a"
        assert fetched.meta.size == len(content)
        assert await fetched.bytes() == content


async def a_put_replaces(store: Store) -> None:
    await store.put("a", b"a longer first content")
    await store.put("a", b"second")
    assert await read(store, "a") == b"second"


async def every_answer_names_the_same_version(store: Store) -> None:
    written = await store.put("a", b"one")
    assert (await store.get("a")).version == written
    assert (await store.get("a")).meta.version == written
    assert (await store.head("a")).version == written


async def other_bytes_are_another_version(store: Store) -> None:
    versions = [await store.put("a", content) for content in (b"1", b"2", b"3")]
    assert len(set(versions)) == len(versions)


async def head_knows_the_size(store: Store) -> None:
    await store.put("a", b"12345")
    meta = await store.head("a")
    assert (meta.key, meta.size) == ("a", 5)
    assert meta.modified.tzinfo is not None


async def what_is_missing_is_not_found(store: Store) -> None:
    await store.put("there/a", b"")
    for key in ("missing", "there", "there/a/below", "there/b"):
        with refused(NotFound):
            await store.get(key)
        with refused(NotFound):
            await store.head(key)
        with refused(NotFound):
            await store.get_if_changed(key, Version('"0 "'))


async def a_deleted_object_is_gone(store: Store) -> None:
    await store.put("folder/a", b"1")
    await store.put("folder/b", b"2")
    await store.delete("folder/a")
    with refused(NotFound):
        await store.get("folder/a")
    assert await read(store, "folder/b") == b"2"
    await store.put("folder/a", b"again")
    assert await read(store, "folder/a") == b"again"


async def deleting_what_is_missing_succeeds(store: Store) -> None:
    await store.delete("missing")
    await store.delete("no/such/folder/missing")
    await store.put("a", b"")
    await store.delete("a")
    await store.delete("a")


async def an_unchanged_object_is_not_sent_again(store: Store) -> None:
    version = await store.put("a", b"one")
    assert await store.get_if_changed("a", version) is None
    await store.put("a", b"two")
    changed = await store.get_if_changed("a", version)
    assert changed is not None
    assert await changed.bytes() == b"two"
    assert await store.get_if_changed("a", changed.version) is None


async def a_copy_holds_the_same_bytes(store: Store) -> None:
    await store.put("from/a +%ü", b"content")
    await store.put("to", b"something older")
    await store.copy("from/a +%ü", "to")
    assert await read(store, "to") == b"content"
    assert await read(store, "from/a +%ü") == b"content"
    with refused(NotFound):
        await store.copy("missing", "to")


async def a_file_is_stored_like_bytes(store: Store) -> None:
    content = os.urandom(70_000)
    with file_of(content) as path:
        version = await store.put("a", path)
    fetched = await store.get("a")
    assert fetched.version == version
    assert await fetched.bytes() == content


async def a_large_file_goes_up_and_comes_down_in_pieces(store: Store) -> None:
    content = os.urandom(LARGE)
    with file_of(content) as path:
        version = await store.put("large", path)
    fetched = await store.get("large")
    pieces = [piece async for piece in fetched.chunks()]
    assert fetched.version == version
    assert max(map(len, pieces)) < LARGE
    assert b"".join(pieces) == content


async def a_body_that_was_read_is_never_an_empty_one(store: Store) -> None:
    for content in (b"small", os.urandom(LARGE)):
        await store.put("a", content)
        fetched = await store.get("a")
        assert await fetched.bytes() == content
        try:
            again = await fetched.bytes()
        except UsageError:
            continue
        assert again == content


async def a_missing_file_is_an_error_of_the_caller(store: Store) -> None:
    with file_of(b"") as path:
        pass
    with refused(UsageError):
        await store.put("a", path)
    with refused(NotFound):
        await store.get("a")


async def many_calls_at_a_time_do_not_mix(store: Store) -> None:
    contents = {f"many/{number % 7}/{number}": f"content {number}".encode() for number in range(100)}
    await asyncio.gather(*(store.put(key, content) for key, content in contents.items()))
    found = await asyncio.gather(*(read(store, key) for key in contents))
    assert found == list(contents.values())


async def readers_see_whole_objects(store: Store) -> None:
    size = 300_000
    await store.put("a", b"0" * size)

    async def write(letter: bytes) -> None:
        for _ in range(4):
            await store.put("a", letter * size)

    async def look() -> None:
        for _ in range(12):
            content = await read(store, "a")
            assert len(content) == size
            assert len(set(content)) == 1, "a mixture of two writes"

    await asyncio.gather(write(b"1"), write(b"2"), look(), look())


async def of_several_large_writes_one_stays_whole(store: Store) -> None:
    contents = [os.urandom(LARGE) for _ in range(3)]

    async def write(content: bytes) -> Version | None:
        with file_of(content) as path:
            try:
                return await store.put("large", path)
            except Unavailable:
                return None  # another one put its parts together first, and this one may try again

    versions = await asyncio.gather(*(write(content) for content in contents))
    fetched = await store.get("large")
    assert await fetched.bytes() == contents[versions.index(fetched.version)]


async def a_range_is_a_part(store: Store) -> None:
    content = os.urandom(1000)
    await store.put("a", content)
    for start, stop in ((0, 10), (10, 20), (990, None), (0, None), (1, None), (999, 1000), (500, 5000), (20, 20)):
        fetched = await store.get("a", start=start, stop=stop)
        assert await fetched.bytes() == content[start:stop]
        assert fetched.meta.size == 1000


async def a_range_behind_the_end_is_an_error_of_the_caller(store: Store) -> None:
    await store.put("a", b"12345")
    with refused(UsageError):
        await store.get("a", start=5)
    with refused(UsageError):
        await store.get("a", start=7, stop=9)


CONTENT = (
    reads_what_was_written,
    a_put_replaces,
    every_answer_names_the_same_version,
    other_bytes_are_another_version,
    head_knows_the_size,
    what_is_missing_is_not_found,
    a_deleted_object_is_gone,
    deleting_what_is_missing_succeeds,
    an_unchanged_object_is_not_sent_again,
    a_copy_holds_the_same_bytes,
    a_file_is_stored_like_bytes,
    a_large_file_goes_up_and_comes_down_in_pieces,
    a_body_that_was_read_is_never_an_empty_one,
    a_missing_file_is_an_error_of_the_caller,
    many_calls_at_a_time_do_not_mix,
    readers_see_whole_objects,
    of_several_large_writes_one_stays_whole,
)

RANGES = (a_range_is_a_part, a_range_behind_the_end_is_an_error_of_the_caller)
