"""A prefix is taken as it is, and nothing leads out of it (promise 7)."""

import pytest

from bayou.errors import ErrorKind, NotFound, Unsupported, UsageError
from bayou.storage import Prefix
from bayou.testing.contract.expect import list_keys, read
from bayou.testing.contract.naming import HOSTILE, UNUSUAL
from bayou.testing.memory import MemoryStore


@pytest.mark.parametrize("prefix", ["a", "teams/blue", *UNUSUAL])
async def test_keys_are_prefix_slash_key(prefix: str) -> None:
    inner = MemoryStore()
    store = Prefix(inner, prefix)
    await store.put("data/x", b"1")
    await store.copy("data/x", "data/y")
    assert list(inner.objects) == [f"{prefix}/data/x", f"{prefix}/data/y"]
    assert (await store.head("data/x")).key == "data/x"
    assert (await store.get("data/x")).meta.key == "data/x"
    assert await list_keys(store) == ["data/x", "data/y"]
    assert await list_keys(store, "data", after="data/x") == ["data/y"]
    await store.delete("data/x")
    assert list(inner.objects) == [f"{prefix}/data/y"]


@pytest.mark.parametrize("key", HOSTILE)
async def test_nothing_leads_out_of_it(key: str) -> None:
    inner = MemoryStore()
    await inner.put("outside", b"theirs")
    store = Prefix(inner, "teams/blue")
    with pytest.raises(UsageError):
        await store.put(key, b"")
    with pytest.raises(UsageError):
        await store.copy("outside", key)
    with pytest.raises(NotFound):
        await store.get("outside")
    assert list(inner.objects) == ["outside"]


async def test_a_neighbour_of_a_similar_name_is_not_listed() -> None:
    inner = MemoryStore()
    for key in ("team/a", "team-2/a", "team", "teams/a", "team/b/c"):
        await inner.put(key, b"")
    assert await list_keys(Prefix(inner, "team")) == ["a", "b/c"]


async def test_an_object_inside_keeps_its_own_name() -> None:
    inner = MemoryStore()
    await inner.put("p/a", b"content")
    fetched = await inner.get("p/a")
    outer = Prefix(inner, "p")._outer(fetched)
    assert (outer.meta.key, fetched.meta.key) == ("a", "p/a")
    assert await outer.bytes() == b"content"


@pytest.mark.parametrize("prefix", ["a/", "/a", "a//b", "/", "//"])
def test_a_prefix_that_obstore_cannot_address_is_refused(prefix: str) -> None:
    with pytest.raises(Unsupported, match="empty segment") as caught:
        Prefix(MemoryStore(), prefix)
    assert caught.value.kind is ErrorKind.STORE_CANNOT
    assert "without a slash at its ends" in caught.value.remedy


@pytest.mark.parametrize("prefix", ["..", "a/../b", ".", "nul\0", "back\\slash"])
def test_a_hostile_prefix_is_refused(prefix: str) -> None:
    with pytest.raises(UsageError):
        Prefix(MemoryStore(), prefix)


async def test_prefixes_nest() -> None:
    inner = MemoryStore()
    store = Prefix(Prefix(inner, "a/b"), "c")
    await store.put("d", b"content")
    assert list(inner.objects) == ["a/b/c/d"]
    assert await read(store, "d") == b"content"
