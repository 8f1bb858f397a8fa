"""Every store passes the same suite: the model, a folder, and buckets on real servers."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bayou.config.locations import Location
from bayou.storage import FilesystemStore, Prefix, Store, connect, open_bare
from bayou.testing import contract
from bayou.testing.contract import Check
from bayou.testing.contract.content import (
    a_large_file_goes_up_and_comes_down_in_pieces,
    of_several_large_writes_one_stays_whole,
    readers_see_whole_objects,
)
from bayou.testing.memory import MemoryStore
from bayou.testing.servers import Server

NewLocation = Callable[[Server], Location]


def run(check: Check, store: Store) -> None:
    async def main() -> None:
        async with store:
            await check(store)

    asyncio.run(main())


def each(checks: tuple[Check, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("check", checks, ids=lambda check: check.__name__)


@each(contract.ALL)
def test_memory(check: Check) -> None:
    run(check, MemoryStore())


@each(contract.ALL)
def test_folder(check: Check, tmp_path: Path) -> None:
    run(check, FilesystemStore(tmp_path))


@each(contract.ALL)
def test_below_a_prefix(check: Check) -> None:
    run(check, Prefix(MemoryStore(), "teams/blue"))


@each(contract.ALL)
def test_s3(check: Check, ministack: Server, new_location: NewLocation) -> None:
    run(check, open_bare(new_location(ministack)))


@each(contract.ALL)
def test_s3_connected(check: Check, ministack: Server, new_location: NewLocation) -> None:
    run(check, connect(new_location(ministack)))


@each(contract.ALL)
def test_s3_of_moto(check: Check, moto: Server, new_location: NewLocation) -> None:
    # It answers 500 to some reads of what is being written, so here the retries are part of what is tested.
    run(check, connect(new_location(moto)))


# It lists folder by folder, not in the order of keys.
@each(tuple(check for check in contract.ALL if check not in contract.ORDER))
def test_s3_of_seaweedfs(check: Check, seaweedfs: Server, new_location: NewLocation) -> None:
    run(check, open_bare(new_location(seaweedfs)))


# It ignores conditions, sends the whole object when it is asked for a range, names a file that went up in parts
# otherwise when it is read, and breaks off a read when the object is overwritten. A busy one drops connections, hence
# the retries.
RCLONE = {
    *contract.CONDITIONAL,
    *contract.RANGES,
    a_large_file_goes_up_and_comes_down_in_pieces,
    of_several_large_writes_one_stays_whole,
    readers_see_whole_objects,
}


@each(tuple(check for check in contract.ALL if check not in RCLONE))
def test_s3_of_rclone(check: Check, rclone: Server, new_location: NewLocation) -> None:
    run(check, connect(new_location(rclone)))


@each(contract.ALL)
def test_gcs(check: Check, fake_gcs: Server, new_location: NewLocation) -> None:
    run(check, open_bare(new_location(fake_gcs)))


@each(contract.ALL)
def test_azure(check: Check, azurite: Server, new_location: NewLocation) -> None:
    run(check, open_bare(new_location(azurite)))
