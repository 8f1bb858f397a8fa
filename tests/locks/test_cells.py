"""Cells: what a lease needs of a place, on every kind of place there is. And lock files, exchanged without `flock`."""

import asyncio
import fcntl
import os
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bayou.config.locations import GCS, S3, Folder, Location, Mongo
from bayou.errors import Conflict, Denied, Unavailable, Unsupported, UsageError
from bayou.locks import files as files_module
from bayou.locks.cells import Cells, StoreCells
from bayou.locks.files import FileCells
from bayou.locks.opening import open_cells
from bayou.storage import Ability
from bayou.testing.memory import MemoryStore
from bayou.testing.servers import Server

Worker = Callable[..., "subprocess.Popen[str]"]

KEY = "data/command/shell/9f1c/.lock"


@pytest.fixture
def location(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location | None:
    match request.param:
        case "folder":
            return Folder(tmp_path)
        case "memory":
            return None
        case name:
            server: Server = request.getfixturevalue(name)
            if server.kind == "gcs":
                return GCS(server.new_bucket(), endpoint=server.endpoint)
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", server.settings["access_key_id"])
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server.settings["secret_access_key"])
            return S3(server.new_bucket(), region="us-east-1", endpoint=server.endpoint, path_style=True)


def opened(location: Location | None) -> Cells:
    return StoreCells(MemoryStore()) if location is None else open_cells(location)


Check = Callable[[Cells], Awaitable[None]]
CHECKS: list[Check] = []


def check(function: Check) -> Check:
    CHECKS.append(function)
    return function


@check
async def a_cell_is_filled_once(cells: Cells) -> None:
    assert await cells.read(KEY) is None
    version = await cells.create(KEY, b"one")
    with pytest.raises(Conflict):
        await cells.create(KEY, b"two")
    seen = await cells.read(KEY)
    assert seen is not None
    assert seen == (b"one", version)
    assert await cells.read(KEY, seen) is seen


@check
async def only_the_current_version_is_replaced(cells: Cells) -> None:
    first = await cells.create(KEY, b"one")
    second = await cells.replace(KEY, b"two", first)
    with pytest.raises(Conflict):
        await cells.replace(KEY, b"three", first)
    seen = await cells.read(KEY)
    assert seen is not None
    assert seen == (b"two", second)
    if cells.removes:
        with pytest.raises(Conflict):
            await cells.remove(KEY, first)
        assert await cells.read(KEY) == seen
    await cells.remove(KEY, second)
    assert await cells.read(KEY) is None
    with pytest.raises(Conflict):
        await cells.replace(KEY, b"four", second)


@check
async def of_many_one_wins(cells: Cells) -> None:
    async def attempt(work: Awaitable[object]) -> bool:
        try:
            await work
        except Conflict:
            return False
        return True

    wins = await asyncio.gather(*(attempt(cells.create(KEY, b"%d" % number)) for number in range(8)))
    assert sum(wins) == 1
    for _ in range(3):
        seen = await cells.read(KEY)
        assert seen is not None
        wins = await asyncio.gather(*(attempt(cells.replace(KEY, os.urandom(8), seen.version)) for _ in range(8)))
        assert sum(wins) == 1


@check
async def notes_are_found_and_locks_too(cells: Cells) -> None:
    await cells.note("_control/bayou/leases/models/a/b.json", b"x")
    await cells.note("_control/bayou/leases/models/a/b.json", b"y")
    await cells.note("_control/bayou/leases/models/a/b/c.json", b"z")
    await cells.create(KEY, b"one")
    await cells.note("data/command/shell/9f1c/report/latest", b"1")
    await cells.note("data/command/shell/9f1c/report/1/raw", b"1")
    found = [key async for page in cells.below("_control/bayou/leases/models") for key in page]
    assert sorted(found) == ["_control/bayou/leases/models/a/b.json", "_control/bayou/leases/models/a/b/c.json"]
    assert [key async for page in cells.locks_below("data", ".lock") for key in page] == [KEY]
    await cells.discard("_control/bayou/leases/models/a/b.json")
    await cells.discard("_control/bayou/leases/models/a/b.json")
    assert len([key async for page in cells.below("_control/bayou/leases/models") for key in page]) == 1


@pytest.mark.parametrize("work", CHECKS, ids=lambda work: work.__name__)
@pytest.mark.parametrize("location", ["memory", "folder", "ministack", "fake_gcs"], indirect=True)
def test_every_kind_of_place_keeps_cells(location: Location | None, work: Check) -> None:
    async def main() -> None:
        cells = opened(location)
        try:
            await work(cells)
        finally:
            await cells.close()

    asyncio.run(main())


def test_a_place_that_ignores_conditions_is_opened_for_a_single_writer(tmp_path: Path) -> None:
    assert open_cells(Folder(tmp_path)).several_writers
    s3 = S3("bucket", region="us-east-1", endpoint="http://127.0.0.1:1", path_style=True)
    assert not open_cells(s3, several_writers=Ability.NO).several_writers
    with pytest.raises(Unsupported):
        open_cells(Mongo({}))


# Files.


def files_below(root: Path) -> list[str]:
    return [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]


@pytest.fixture
def no_flock(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("flock may mean nothing on a network file system")

    for name in ("flock", "lockf", "fcntl"):
        monkeypatch.setattr(fcntl, name, refuse)


@pytest.mark.usefixtures("no_flock")
def test_lock_files_do_without_flock_and_leave_nothing_but_themselves(tmp_path: Path) -> None:
    async def main() -> None:
        cells = FileCells(tmp_path)
        version = await cells.create(KEY, b"one")
        version = await cells.replace(KEY, b"two", version)
        assert files_below(tmp_path) == [KEY]
        await cells.remove(KEY, version)
        assert files_below(tmp_path) == []

    asyncio.run(main())


def test_a_missing_root_is_never_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        asyncio.run(FileCells(tmp_path / "unmounted").create(KEY, b"one"))
    assert not (tmp_path / "unmounted").exists()


def test_links_that_lead_out_of_the_datastore_are_refused(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (inside / "data").symlink_to(outside)
    with pytest.raises(UsageError):
        asyncio.run(FileCells(inside).create(KEY, b"one"))
    assert list(outside.iterdir()) == []


def test_an_error_of_the_disk_is_no_free_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(FileCells(tmp_path).create(KEY, b"one"))

    def stale(*_: object) -> int:
        raise OSError(116, "Stale file handle")

    monkeypatch.setattr(os, "open", stale)
    with pytest.raises(Unavailable):
        asyncio.run(FileCells(tmp_path).read(KEY))
    monkeypatch.setattr(os, "open", lambda *_: (_ for _ in ()).throw(PermissionError(13, "no")))
    with pytest.raises(Denied):
        asyncio.run(FileCells(tmp_path).read(KEY))


def test_a_link_whose_answer_was_lost_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = os.link

    def lost(source: Path, target: Path) -> None:
        link(source, target)
        raise FileExistsError(17, "exists")

    monkeypatch.setattr(os, "link", lost)
    asyncio.run(FileCells(tmp_path).create(KEY, b"one"))
    assert (tmp_path / KEY).read_bytes() == b"one"


def test_no_lock_file_is_missing_before_its_folder_was_opened_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client of a network file system may remember for a minute that a file is not there."""
    asyncio.run(FileCells(tmp_path).create(KEY, b"one"))
    really, fresh = os.open, set[Path]()

    def forgetful(path: Path, flags: int, *more: int, **named: int) -> int:
        if flags & os.O_DIRECTORY:
            fresh.add(Path(path))
        elif Path(path).name == ".lock" and Path(path).parent not in fresh:
            raise FileNotFoundError(2, "remembered as missing")
        return really(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", forgetful)
    seen = asyncio.run(FileCells(tmp_path).read(KEY))
    assert seen is not None
    assert seen.content == b"one"


def test_who_died_while_ending_a_version_is_overtaken_later_and_who_is_at_it_is_not(tmp_path: Path) -> None:
    async def main() -> None:
        cells = FileCells(tmp_path)
        version = await cells.create(KEY, b"one")
        with cells._right_to_end(KEY, version):
            with pytest.raises(Conflict):
                await cells.replace(KEY, b"two", version)
            (right,) = (tmp_path / "_control/bayou/leases/ends").iterdir()
            os.utime(right, (1, 1))  # as if he had died long ago
            with pytest.raises(Conflict):
                await cells.replace(KEY, b"two", version)  # which makes room for the next try
            await cells.replace(KEY, b"two", version)
        assert (tmp_path / KEY).read_bytes() == b"two"
        assert list(right.parent.iterdir()) == []

    asyncio.run(main())


def test_who_was_stopped_between_look_and_rename_gives_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        cells = FileCells(tmp_path)
        version = await cells.create(KEY, b"one")
        moments = iter([0.0, 6.0])
        monkeypatch.setattr(files_module, "now", lambda: next(moments))
        with pytest.raises(Conflict, match="stopped"):
            await cells.replace(KEY, b"two", version)
        assert (tmp_path / KEY).read_bytes() == b"one"

    asyncio.run(main())


def test_processes_that_race_for_a_lock_file_win_each_version_once(tmp_path: Path, worker: Worker) -> None:
    asyncio.run(FileCells(tmp_path).create(KEY, b"0 0"))
    workers = [worker("exchange", str(tmp_path), KEY, "60") for _ in range(3)]
    assert sum(int(process.communicate(timeout=60)[0]) for process in workers) == 60
    assert (tmp_path / KEY).read_bytes().split()[0] == b"60"
