"""The main paths on real servers, through the store that a user gets: every kind of version, condition and listing."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.domain.scopes import scope_of
from bayou.errors import Corrupt
from bayou.layout.keys import Keyspace
from bayou.remotes import Changeset, Format
from bayou.storage import Store, connect
from bayou.testing.legacy import LegacyWriter, legacy_view
from bayou.testing.machines import Machine, change, legacy_entry, put_objects
from bayou.testing.servers import Server
from bayou.testing.servers.places import new_place

OpenBucket = Callable[[Server], Store]
KEYS = Keyspace("infra")
CONDITIONAL = ["ministack", "fake_gcs", "azurite"]


@pytest.fixture
def open_bucket(monkeypatch: pytest.MonkeyPatch) -> OpenBucket:
    def open_one(server: Server) -> Store:
        return connect(new_place(server, monkeypatch.setenv))

    return open_one


@pytest.fixture(params=CONDITIONAL)
def conditional(request: pytest.FixtureRequest) -> Server:
    server = request.getfixturevalue(request.param)
    assert isinstance(server, Server)
    return server


def version(model: str, number: int) -> dict[str, bytes]:
    folder = f"data/aws/vpc/{model}/state/{number}"
    return {f"{folder}/raw": f"{model} {number}".encode(), f"{folder}/metadata.yaml": f"version: {number}".encode()}


def theirs(files: dict[str, bytes]) -> dict[str, dict[str, object]]:
    return {path: legacy_entry(path, body) for path, body in files.items()}


START = version("a", 1) | version("b", 1) | {"reports/odd.md": b"odd", "audit/@x y.jsonl": b"\xc3\xa9"}


async def everything(store: Store, machine: Machine) -> None:
    """A life of an index: first commit, both formats, an existing client between, damage, rebuild."""
    await machine.remote.establish()
    assert (await machine.remote.load()).format is Format.NONE
    done = await machine.push(START)
    assert (len(done.committed), done.contested) == (6, ())
    assert (await machine.remote.head()).is_vouched
    await machine.push(version("a", 2), deleted=["audit/@x y.jsonl"])
    await both_see(store, machine, START.keys() - {"audit/@x y.jsonl"} | version("a", 2).keys())

    await put_objects(store, version("c", 1), "infra")
    await LegacyWriter(store, KEYS).commit(theirs(version("c", 1)))
    await machine.push(version("d", 1))
    expected = START.keys() - {"audit/@x y.jsonl"} | version("a", 2).keys()
    expected |= version("c", 1).keys() | version("d", 1).keys()
    await both_see(store, machine, expected)

    await machine.remote.migrate(lambda: True)
    await both_see(store, machine, expected)
    await machine.push(version("e", 1), deleted=list(version("b", 1)))
    expected = expected - version("b", 1).keys() | version("e", 1).keys()
    await both_see(store, machine, expected)
    await put_objects(store, version("f", 1), "infra")
    await LegacyWriter(store, KEYS).push_at_once(theirs(version("f", 1)))
    await machine.push(version("g", 1))
    expected |= version("f", 1).keys() | version("g", 1).keys()
    await both_see(store, machine, expected)

    await store.put("infra/_index/_meta.json", b'{"version":2,')
    with pytest.raises(Corrupt):
        await machine.view()
    await machine.remote.rebuild(lambda: True)
    await both_see(store, machine, expected)
    await machine.push(version("h", 1))
    await both_see(store, machine, expected | version("h", 1).keys())


async def both_see(store: Store, machine: Machine, expected: set[str]) -> None:
    assert (await legacy_view(store, KEYS)).keys() == expected
    for seeing in (machine, Machine(store, "infra")):
        assert (await seeing.view()).keys() == expected
        scoped = await seeing.view(scope_of([Model(ModelType("aws/vpc"), "a")]))
        assert scoped.keys() == {path for path in expected if "/vpc/a/" in path}


async def test_an_index_lives_on_every_kind_of_store(
    conditional: Server, open_bucket: OpenBucket, tmp_path: Path
) -> None:
    async with open_bucket(conditional) as store:
        machine = Machine(store, "infra", cache=tmp_path)
        await everything(store, machine)
        machine.remote.close()


async def test_without_conditional_writes_one_writer_is_safe(
    rclone: Server, open_bucket: OpenBucket, tmp_path: Path
) -> None:
    """Writers that take turns, each with what it remembers of its own last one."""
    async with open_bucket(rclone) as store:
        first = Machine(store, "infra", cache=tmp_path / "1", conditional=False)
        await everything(store, first)
        second = Machine(store, "infra", cache=tmp_path / "2", conditional=False)
        before = (await first.view()).keys()
        for number in range(3):
            for name, machine in (("x", first), ("y", second)):
                assert not (await machine.push(version(name, number + 1))).contested
        expected = before | {p for n in range(3) for m in "xy" for p in version(m, n + 1)}
        await both_see(store, first, set(expected))
        identity = await first.remote.establish()
        assert await second.remote.establish() == identity
        first.remote.close()
        second.remote.close()


@pytest.mark.parametrize("format_", [Format.DUAL, Format.SHARDED])
async def test_an_index_that_was_written_again_as_it_was_can_be_changed(
    conditional: Server, open_bucket: OpenBucket, tmp_path: Path, format_: Format
) -> None:
    """The same bytes need not have the version that they had: on GCS a look sees no change, and a write does."""
    async with open_bucket(conditional) as store:
        machine = Machine(store, "infra", cache=tmp_path)
        await machine.push(version("a", 1))
        if format_ is Format.SHARDED:
            await machine.remote.migrate(lambda: True)
        await machine.view()
        keys = [KEYS.monolith, *[meta.key async for page in store.list("infra/_index") for meta in page]]
        for key in keys:
            await store.put(key, await (await store.get(key)).bytes())
        assert len((await machine.push(version("a", 2))).committed) == 2
        await both_see(store, machine, {*version("a", 1), *version("a", 2)})
        machine.remote.close()


@pytest.mark.parametrize("format_", [Format.DUAL, Format.SHARDED])
async def test_committers_that_race_on_a_real_store_lose_nothing(
    conditional: Server, open_bucket: OpenBucket, format_: Format
) -> None:
    async with open_bucket(conditional) as store:
        await Machine(store).push(version("a", 1))
        if format_ is Format.SHARDED:
            await Machine(store).remote.migrate(lambda: True)
        wanted = [version("a", number) for number in range(2, 5)]
        for files in wanted:
            await put_objects(store, files)
        results = await asyncio.gather(
            *(Machine(store).commit(Changeset("", (change({}, files),))) for files in wanted)
        )
        assert [len(done.committed) for done in results] == [1] * len(results)
        expected = {path for files in [version("a", 1), *wanted] for path in files}
        assert (await Machine(store).view()).keys() == expected
        assert (await legacy_view(store, Keyspace())).keys() == expected
