"""Two computers on real servers, through the store that a user gets: push, pull, delete and merge, end to end."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bayou.config.locations import GCS, S3, Azure, Location
from bayou.layout.keys import Keyspace
from bayou.locks import Locks
from bayou.locks.opening import open_cells
from bayou.remotes import ObjectRemote
from bayou.storage import connect
from bayou.storage.probing import Ability
from bayou.testing.computers import Computer, name_of
from bayou.testing.legacy import LegacyWriter, legacy_view
from bayou.testing.meeting import check_end, meet
from bayou.testing.servers import Server

KEYS = Keyspace()
CONDITIONAL = ["ministack", "seaweedfs", "fake_gcs", "azurite"]


@pytest.fixture
def locate(monkeypatch: pytest.MonkeyPatch) -> Callable[[Server], Location]:
    def locate(server: Server) -> Location:
        bucket = server.new_bucket()
        match server.kind:
            case "s3":
                monkeypatch.setenv("AWS_ACCESS_KEY_ID", server.settings["access_key_id"])
                monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server.settings["secret_access_key"])
                return S3(bucket, region=server.settings["region"], endpoint=server.endpoint, path_style=True)
            case "gcs":
                return GCS(bucket, endpoint=server.endpoint)
            case "azure":
                monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", server.settings["account_key"])
                settings = server.settings
                return Azure(bucket, account=settings["account_name"], endpoint=settings["endpoint"])

    return locate


@pytest.fixture
def computer(tmp_path: Path) -> Iterator[Callable[..., Computer]]:
    made: list[Computer] = []

    def make(name: str, location: Location, *, writers: Ability = Ability.YES) -> Computer:
        locks = Locks(lambda: open_cells(location, several_writers=writers), KEYS, ttl=5)
        conditional = writers is Ability.YES
        one = Computer(tmp_path / name, connect(location), locks=locks, conditional=conditional)
        made.append(one)
        return one

    yield make
    for each in made:
        each.close()


async def both_meet(one: Computer, two: Computer) -> None:
    await meet(one, two)
    for each in (one, two, one):
        report = await each.sync()
        assert report.is_complete, report.failed
    check_end(one, two)
    for each in (one, two):
        each.asked()
        await each.sync()
        assert len(each.asked()) == 1


@pytest.mark.parametrize("name", CONDITIONAL)
@pytest.mark.parametrize("sharded", [False, True], ids=["dual", "sharded"])
async def test_two_computers_agree(
    name: str,
    request: pytest.FixtureRequest,
    locate: Callable[[Server], Location],
    computer: Callable[..., Computer],
    *,
    sharded: bool,
) -> None:
    location = locate(request.getfixturevalue(name))
    one, two = computer("one", location), computer("two", location)
    if sharded:
        one.write("logs/first", b"first")
        await one.sync()
        await one.ends.remote.migrate(lambda: True)
        one.delete("logs/first")
        await one.sync()
    await both_meet(one, two)


@pytest.mark.parametrize("name", CONDITIONAL)
@pytest.mark.parametrize("sharded", [False, True], ids=["dual", "sharded"])
async def test_half_of_another_version_under_an_old_entry_costs_a_number_and_no_version(
    name: str,
    request: pytest.FixtureRequest,
    locate: Callable[[Server], Location],
    computer: Callable[..., Computer],
    *,
    sharded: bool,
) -> None:
    location = locate(request.getfixturevalue(name))
    one, two = computer("one", location), computer("two", location)
    store, state = one.ends.store, name_of()
    one.write_version(1, b"ours")
    await one.sync()
    if sharded:
        await one.ends.remote.migrate(lambda: True)
    files = {path for path in one.files() if path.startswith(f"{state}/1/")}
    keys = [KEYS.monolith, *[meta.key async for page in store.list("_index") for meta in page]]
    old_index = {key: await (await store.get(key)).bytes() for key in keys if key != KEYS.meta}
    # An existing client deletes it, and is half through another version when a third one writes what it knew before.
    for path in files:
        await store.delete(path)
    await LegacyWriter(store, KEYS).commit({}, files)
    await store.put(f"{state}/1/raw", b"half")
    for key, content in old_index.items():
        await store.put(key, content)
    for each in (two, one, two):
        await each.sync()
    for each in (one, two):
        found = each.files()
        assert found.keys() == {f"{state}/2/raw", f"{state}/2/metadata.yaml", f"{state}/latest"}
        assert (found[f"{state}/2/raw"], found[f"{state}/latest"]) == (b"ours", b"2")
    assert await (await store.get(f"{state}/1/raw")).bytes() == b"half"
    assert not files & (await legacy_view(store, KEYS)).keys()


async def test_a_large_file_comes_over(
    ministack: Server, locate: Callable[[Server], Location], computer: Callable[..., Computer]
) -> None:
    location = locate(ministack)
    one, two = computer("one", location), computer("two", location)
    body = bytes(range(256)) * (20 << 12)  # 20 MiB: in parts, there and back
    one.write("files/large", body)
    await one.push()
    await two.pull()
    assert two.files()["files/large"] == body
    two.write("files/large", body + b"more")
    assert (await two.push()).is_complete
    assert (await one.pull()).is_complete
    assert one.files()["files/large"] == body + b"more"


async def test_one_writer_at_a_time_where_conditions_are_ignored(
    rclone: Server, locate: Callable[[Server], Location], computer: Callable[..., Computer]
) -> None:
    """A store without conditional writes: two computers that never push at the same time still lose nothing."""
    location = locate(rclone)
    one = computer("one", location, writers=Ability.NO)
    two = computer("two", location, writers=Ability.NO)
    for each in (one, two):
        assert isinstance(each.ends.remote, ObjectRemote)
        assert not each.ends.conditional
    await both_meet(one, two)
