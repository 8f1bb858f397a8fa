"""Verify: each kind of difference is named, what is no difference is not, and nothing is written."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import pytest

from bayou.storage.port import Store
from bayou.sync import disk
from bayou.sync.stats import Stamp
from bayou.sync.verifying import Difference, Kind, verify
from bayou.testing.computers import MODEL, TYPE, Computer, name_of
from bayou.testing.memory import MemoryStore

STATE = name_of()
READS = {"get", "head", "list"}


class Make(Protocol):
    def __call__(self, name: str, **settings: object) -> Computer: ...


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture(params=["", "infra"])
def namespace(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def computer(tmp_path: Path, store: Store, namespace: str) -> Iterator[Make]:
    made: list[Computer] = []

    def make(name: str, **settings: object) -> Computer:
        made.append(Computer(tmp_path / name, store, namespace=namespace, **settings))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for each in made:
        each.close()


async def differences(computer: Computer, *, content: bool = False) -> list[Difference]:
    """All of them; that verify only reads is asserted each time."""
    computer.asked()
    found = [difference async for difference in verify(computer.ends, content=content)]
    assert {line.split(" ")[0] for line in computer.asked()} <= READS
    return found


async def kinds(computer: Computer, *, content: bool = False) -> dict[str, Kind]:
    return {difference.path: difference.kind for difference in await differences(computer, content=content)}


async def pushed(computer: Make) -> Computer:
    one = computer("one")
    one.write_version(1, b"one")
    one.write("logs/a", b"log")
    await one.push()
    return one


@pytest.mark.parametrize("content", [False, True])
async def test_where_all_agree_nothing_is_named(computer: Make, *, content: bool) -> None:
    one = await pushed(computer)
    two, lazy = computer("two"), computer("lazy", lazy=True)
    await two.pull()
    await lazy.pull()
    for each in (one, two, lazy):
        assert await differences(each, content=content) == []


async def test_a_new_bucket_and_an_empty_cache_do_not_differ(computer: Make) -> None:
    assert await differences(computer("one")) == []


async def test_differences_of_index_and_bucket(computer: Make, store: MemoryStore, namespace: str) -> None:
    one = await pushed(computer)
    key = one.ends.key
    await store.delete(key(f"{STATE}/1/raw"))
    await store.put(key("logs/a"), b"longer than it was")
    await store.put(key(f"{STATE}/7/raw"), b"nobody lists it")
    await store.put("elsewhere/data/x" if namespace else "other/.namespace.json", b"{}")
    await store.put("other/data/t/x", b"of another namespace")
    assert await kinds(one) == {
        "logs/a": Kind.WRONG_SIZE,
        f"{STATE}/1/raw": Kind.DANGLING,
        f"{STATE}/7/raw": Kind.ORPHAN,
    }


async def test_other_bytes_of_the_same_size_are_found_by_reading_them(computer: Make, store: MemoryStore) -> None:
    one = await pushed(computer)
    await store.put(one.ends.key(f"{STATE}/1/raw"), b"eno")
    assert await kinds(one) == {}
    assert await kinds(one, content=True) == {f"{STATE}/1/raw": Kind.WRONG_CONTENT}


async def test_what_was_deleted_waits_for_the_sweep(computer: Make) -> None:
    one = await pushed(computer)
    one.delete_version(1)
    await one.push()
    found = await differences(one)
    assert {each.kind for each in found} == {Kind.BURIED}
    assert all(each.kind.is_pending for each in found)


async def test_differences_of_the_cache(computer: Make, namespace: str) -> None:
    one = await pushed(computer)
    two = computer("two")
    await two.pull()
    one.write_version(2, b"two")
    one.write("logs/a", b"one's")
    await one.push()
    two.write("logs/b", b"new")
    two.write("logs/a", b"two's")
    (two.ends.file(f"{STATE}/1/raw")).unlink()
    assert await kinds(two) == {
        "logs/a": Kind.CONFLICTING,
        "logs/b": Kind.UNPUSHED,
        f"{STATE}/1/raw": Kind.MISSING,
        f"{STATE}/2/metadata.yaml": Kind.UNPULLED,
        f"{STATE}/2/raw": Kind.UNPULLED,
        f"{STATE}/latest": Kind.UNPULLED,
    }
    one.ends.file("logs/c").write_bytes(b"behind everybody's back")
    one.ends.file("logs/a").write_bytes(b"six by")
    one.delete_version(1)
    assert await kinds(one) == {
        "logs/a": Kind.ALTERED,
        "logs/c": Kind.ALTERED,
        f"{STATE}/1/metadata.yaml": Kind.UNPUSHED,
        f"{STATE}/1/raw": Kind.UNPUSHED,
    }
    assert namespace == one.ends.namespace


async def test_content_is_compared_byte_by_byte_where_no_look_tells(computer: Make) -> None:
    """A file that was damaged on the disk looks as it did: only who reads it knows."""
    one = await pushed(computer)
    path = f"{STATE}/1/raw"
    file = one.ends.file(path)
    assert await kinds(one) == {}
    file.write_bytes(b"eno")
    stamp = _stamp(file)
    one.journal.stats.learn([(path, stamp, one.journal.base.get([path])[path].content or "")])
    assert await kinds(one) == {}
    assert await kinds(one, content=True) == {path: Kind.ALTERED}


def _stamp(file: Path) -> Stamp:
    seen = disk.look(str(file))
    assert seen is not None
    return seen.stamp


async def test_a_bucket_without_an_index_and_one_whose_index_is_damaged(computer: Make, store: MemoryStore) -> None:
    one = await pushed(computer)
    keys = one.ends.remote.place.keys
    await store.delete(keys.monolith)
    await store.delete(keys.meta)
    await store.delete(keys.shard("logs"))
    await store.delete(keys.shard(f"data--{TYPE.replace('/', '--')}--{MODEL}"))
    await store.delete(keys.shard(f"data--{TYPE.replace('/', '--')}"))
    assert (await kinds(computer("two")))[keys.monolith] is Kind.NO_INDEX
    await store.put(keys.meta, b"{")
    assert await kinds(computer("three")) == {keys.meta: Kind.DAMAGED_INDEX}


async def test_shards_that_are_missing_left_over_or_stale(computer: Make, store: MemoryStore) -> None:
    one = await pushed(computer)
    await one.ends.remote.migrate(lambda: True)
    keys = one.ends.remote.place.keys
    await store.delete(keys.shard("logs"))
    await store.put(keys.shard("audit"), b'{"version":1,"entries":{}} ')
    found = await kinds(computer("two"))
    assert (found["logs"], found["audit"]) == (Kind.MISSING_SHARD, Kind.ORPHAN_SHARD)
    assert found["logs/a"] is Kind.ORPHAN


async def test_a_file_that_arrives_meanwhile_is_no_difference(computer: Make, store: MemoryStore) -> None:
    """The listing is older than the index: what is uploaded and committed in between is looked at again."""
    one, two = await pushed(computer), computer("two")

    listed = store.list

    async def list_then_push(prefix: str = "", *, after: str | None = None):  # type: ignore[no-untyped-def]  # noqa: ANN202
        async for page in listed(prefix, after=after):
            yield page
        if prefix == one.ends.namespace:
            store.list = listed  # type: ignore[method-assign]
            two.write("logs/late", b"late")
            await two.push()

    store.list = list_then_push  # type: ignore[method-assign]
    assert await kinds(one) == {"logs/late": Kind.UNPULLED}


async def test_differences_come_in_the_order_of_their_paths(computer: Make, store: MemoryStore) -> None:
    one = await pushed(computer)
    for number in range(2100):
        store.objects[one.ends.key(f"logs/x{number:04}")] = (b"", datetime(2026, 1, 1, tzinfo=UTC))
    found = [difference.path for difference in await differences(one)]
    assert found == sorted(found)
    assert len(found) == 2100
