"""Nothing outside of the bound namespace is ever read or written (promise 7), and contamination goes without harm."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Protocol

import pytest

from bayou.remotes import Change, Changeset, Format
from bayou.storage.record import Record, Tally
from bayou.sync.contamination import find, remove
from bayou.sync.repairing import repair
from bayou.sync.verifying import verify
from bayou.testing.computers import MODEL, TYPE, Computer, name_of
from bayou.testing.machines import entry_of
from bayou.testing.memory import MemoryStore

STATE = name_of()
OUTSIDE = {".locks/infra.lock", "_control/bayou/store.json"}


class Make(Protocol):
    def __call__(self, name: str, namespace: str) -> Computer: ...


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def tally() -> Tally:
    return Tally(log=[])


@pytest.fixture
def computer(tmp_path: Path, store: MemoryStore, tally: Tally) -> Iterator[Make]:
    """Computers of which every request is recorded, also those of their locks."""
    made: list[Computer] = []

    def make(name: str, namespace: str) -> Computer:
        made.append(Computer(tmp_path / name, Record(store, tally), namespace=namespace))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize("form", [Format.DUAL, Format.SHARDED])
async def test_every_request_is_for_the_namespace(
    computer: Make, store: MemoryStore, tally: Tally, form: Format
) -> None:
    stranger = computer("stranger", "web")
    stranger.write_version(1, b"theirs")
    await stranger.push()
    theirs = {key: value for key, value in store.objects.items() if key.startswith("web/")}
    assert tally.log is not None
    tally.log.clear()

    one, two = computer("one", "infra"), computer("two", "infra")
    one.write_version(1, b"one")
    one.write("logs/a", b"a")
    await one.push()
    if form is Format.SHARDED:
        async with one.ends.locks.structure() as hold:
            await one.ends.remote.migrate(lambda: hold.seems_held)
    await two.pull()
    two.write_version(2, b"two")
    one.write_version(2, b"one's")
    two.write("logs/a", b"two's")
    one.write("logs/a", b"one's")
    await one.sync()
    await two.sync()
    one.delete_version(1)
    await one.sync()
    await two.sync()
    await one.engine.commit(await one.engine.prepare())
    await store.delete(one.ends.key(f"{STATE}/2/raw"))
    assert [each async for each in verify(one.ends, content=True)]
    await repair(one.ends, grace=timedelta(0))
    async with one.ends.locks.structure() as hold:
        await one.ends.remote.rebuild(lambda: hold.seems_held)
    await one.ends.remote.status()
    records = one.ends.remote.records
    await records.put_if_absent("claims/x", b"1")
    await records.list()
    await records.delete("claims/x")
    one.ends.locks.status(walk=True)

    asked = {(request.verb, request.key) for request in tally.log}
    outside = {key for _, key in asked if key != "infra" and not key.startswith("infra/")}
    assert outside <= OUTSIDE
    assert {verb for verb, key in asked if key == "_control/bayou/store.json"} <= {"get", "put"}
    assert {key: value for key, value in store.objects.items() if key.startswith("web/")} == theirs
    written = {key for key in store.objects if not key.startswith(("infra/", "web/"))}
    assert written <= {*OUTSIDE, ".locks/web.lock"}


async def test_a_repo_of_its_own_has_the_keys_that_it_always_had(computer: Make, store: MemoryStore) -> None:
    solo = computer("solo", "")
    solo.write_version(1, b"one")
    await solo.push()
    part = f"data--{TYPE.replace('/', '--')}"
    data = {key for key in store.objects if not key.startswith("_control/bayou/")}
    assert data - {".datastore.lock"} == {
        f"{STATE}/1/raw",
        f"{STATE}/1/metadata.yaml",
        f"{STATE}/latest",
        ".datastore-index.json",
        "_index/_meta.json",
        f"_index/{part}.json",
        f"_index/{part}--{MODEL}.json",
    }


async def test_a_namespace_lies_below_its_name_on_both_sides(computer: Make, store: MemoryStore) -> None:
    """Acceptance 84-87, 91, 92, 96, 97: paths lose their prefix once, and nothing is at the bare path."""
    one, two = computer("one", "infra"), computer("two", "infra")
    one.write_version(1, b"one")
    one.journal.mark_dirty("infra/logs/a")
    one.ends.file("logs").mkdir()
    one.ends.file("logs/a").write_bytes(b"marked by its path in the cache")
    assert (one.journal.place.cache / "infra/logs/a").is_file()
    assert len((await one.push()).pushed) == 4
    assert not [key for key in store.objects if key.startswith(("data/", "logs/", "_index/", "infra/infra/"))]
    assert (await one.ends.remote.load()).contents().keys() >= {"logs/a", f"{STATE}/1/raw"}
    await two.pull()
    assert two.files() == one.files()
    assert not (two.journal.place.cache / "data").exists()
    assert (await two.push(everything=True)).failed == {}
    assert not [key for key in store.objects if key.startswith("infra/infra/")]


async def test_what_lies_in_the_cache_beside_the_namespace_is_never_pushed(computer: Make, store: MemoryStore) -> None:
    """Acceptance 88, 93, 94; W-43: foreign namespaces, what is left of a solo layout, and our own state."""
    one = computer("one", "infra")
    cache = one.journal.place.cache
    for path in (
        "data/t/m/n/1/raw",
        "logs/left-over",
        "web/.namespace.json",
        "web/data/t/m/n/1/raw",
        "infra/.namespace.json",
        "infra/_index/_meta.json",
        "infra/_control/x",
        "infra/.datastore-index.json",
    ):
        (cache / path).parent.mkdir(parents=True, exist_ok=True)
        (cache / path).write_bytes(b"{}")
    one.write("logs/ours", b"ours")
    assert (await one.push(everything=True)).pushed == ["logs/ours"]
    one.journal.mark_everything()
    prepared = await one.engine.prepare()
    assert not [path for each in prepared.changeset.changes for path in each.paths if path != "logs/ours"]
    data = {key for key in store.objects if "/data/" in key or "logs/" in key or key.startswith("data/")}
    assert data == {"infra/logs/ours"}
    assert "infra/_control/x" not in store.objects


async def test_a_cache_of_its_own_does_not_push_other_namespaces_either(computer: Make, store: MemoryStore) -> None:
    """Acceptance 95 has them pushed as ordinary data. They are somebody else's: we leave them alone."""
    solo = computer("solo", "")
    foreign = solo.journal.place.cache / "web/data/t/m/n/1/raw"
    foreign.parent.mkdir(parents=True)
    foreign.write_bytes(b"theirs")
    solo.write("logs/ours", b"ours")
    assert (await solo.push(everything=True)).pushed == ["logs/ours"]
    assert not [key for key in store.objects if key.startswith("web/")]


# Contamination (acceptance 156-160).


@pytest.mark.parametrize("form", [Format.DUAL, Format.SHARDED])
async def test_what_of_others_lies_inside_of_ours_goes_and_nothing_else(
    computer: Make, store: MemoryStore, form: Format
) -> None:
    one = computer("one", "infra")
    one.write_version(1, b"one")
    one.write("audit/x", b"ours")
    await one.push()
    if form is Format.SHARDED:
        await one.ends.remote.migrate(lambda: True)
    for key in (
        "web/.namespace.json",
        "web/data/x",
        "audit/.namespace.json",
        "infra/web/data/x",
        "infra/web/data/y",
        "infra/team/.namespace.json",
        "infra/team/logs/x",
    ):
        await store.put(key, b"{}")
    # An existing client listed one of them. The index stays what it is (W-34).
    contaminated = Change({}, {"web/data/x": entry_of("web/data/x", b"{}")})
    await one.ends.remote.commit(Changeset("infra", (contaminated,)), lambda: True)
    before = dict(store.objects)
    found = await find(one.ends)
    assert found.foreign == {"team": ("team/logs/x",), "web": ("web/data/x", "web/data/y")}
    assert store.objects == before

    async with one.ends.locks.structure() as hold:
        assert await remove(one.ends, found, hold) == 3
    assert (await one.ends.remote.load()).contents().keys() == {
        "audit/x",
        f"{STATE}/1/metadata.yaml",
        f"{STATE}/1/raw",
        f"{STATE}/latest",
    }
    assert (await one.ends.remote.head()).format is form
    gone = {key for key in before if key not in store.objects}
    assert gone == {"infra/web/data/x", "infra/web/data/y", "infra/team/logs/x"}
    assert (await find(one.ends)).paths == []


async def test_a_clean_namespace_and_a_repo_without_one_have_nothing_foreign(computer: Make) -> None:
    for namespace in ("infra", ""):
        one = computer(f"one{namespace}", namespace)
        one.write("logs/a", b"a")
        await one.push()
        assert (await find(one.ends)).foreign == {}
