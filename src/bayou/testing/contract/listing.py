"""A listing is complete, in order, and can be taken up again anywhere."""

import asyncio

from bayou.storage.port import Store
from bayou.testing.contract.expect import list_keys

# Chosen so that the order of whole keys differs from that of a walk through folders.
NESTED = ("a-b", "a/b-c", "a/b/c", "a0", "b/1", "b/10", "b/2", "ba", "z")


async def _plant(store: Store, keys: tuple[str, ...]) -> None:
    await asyncio.gather(*(store.put(key, key.encode()) for key in keys))


async def an_empty_store_lists_nothing(store: Store) -> None:
    assert await list_keys(store) == []
    assert await list_keys(store, "no/such/folder") == []


async def a_listing_is_complete(store: Store) -> None:
    await _plant(store, NESTED)
    pages = [page async for page in store.list()]
    assert all(pages)
    assert {meta.key: meta.size for page in pages for meta in page} == {key: len(key) for key in NESTED}


async def a_listing_is_in_the_order_of_keys(store: Store) -> None:
    await _plant(store, NESTED)
    assert await list_keys(store) == sorted(NESTED)


async def a_prefix_is_a_folder(store: Store) -> None:
    await _plant(store, NESTED)
    assert set(await list_keys(store, "a")) == {"a/b-c", "a/b/c"}
    assert await list_keys(store, "a/b") == ["a/b/c"]
    assert await list_keys(store, "b") == ["b/1", "b/10", "b/2"]
    assert await list_keys(store, "ba") == []


async def a_listing_goes_on_behind_any_key(store: Store) -> None:
    await _plant(store, NESTED)
    for after in (*NESTED, "a", "a/b", "a/zzz", "b", "0", "zz"):
        assert await list_keys(store, after=after) == [key for key in sorted(NESTED) if key > after], after
    assert await list_keys(store, "b", after="b/1") == ["b/10", "b/2"]
    assert await list_keys(store, "b", after="a") == ["b/1", "b/10", "b/2"]
    assert await list_keys(store, "b", after="c") == []


async def a_listing_of_several_pages_is_complete(store: Store) -> None:
    keys = tuple(f"many/{number:04}" for number in range(1100))
    await _plant(store, keys)
    assert await list_keys(store) == list(keys)
    assert await list_keys(store, "many", after=keys[1050]) == list(keys[1051:])


LISTING = (
    an_empty_store_lists_nothing,
    a_listing_is_complete,
    a_prefix_is_a_folder,
    a_listing_of_several_pages_is_complete,
)

ORDER = (a_listing_is_in_the_order_of_keys, a_listing_goes_on_behind_any_key)
