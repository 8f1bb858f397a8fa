"""A repo moves from bucket to bucket, and to a folder: nothing is lost that was written before, meanwhile or since."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import pytest

from bayou.config import Settings, marker, newrepo, urls
from bayou.datastore import moving, remote, setup
from bayou.datastore.coordination import open_locks
from bayou.locks import Locks
from bayou.storage import connect
from bayou.storage.port import Request, Wrapper
from bayou.testing.servers import Server

Run = Callable[..., Any]
T = TypeVar("T")

STEP = int(os.environ.get("BAYOU_TEST_STEP", "75"))
"""Every so many requests one dies; with 1 it dies at each."""


@pytest.fixture
def place(ministack: Server, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """An empty place of a real bucket, each time another one."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ministack.settings["access_key_id"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", ministack.settings["secret_access_key"])
    settings = f"endpoint={ministack.endpoint}&path_style=true&region=us-east-1"
    return lambda: f"s3://{ministack.new_bucket()}/team?{settings}"


@pytest.fixture
def clone(repo: Path) -> str:
    """Another repo, as the value of --repo-dir."""
    folder = repo.parent / "other"
    newrepo.create(folder)
    return str(folder)


def write(run: Run, text: str, *where: str, model: str = "prod") -> None:
    content = json.dumps({"status": text}).encode()
    arguments = ("--type", "aws/ec2/vpc", "--content-type", "application/json", *where)
    assert run("data", "write", model, "state", "-", *arguments, stdin=content).code == 0


def read(run: Run, *where: str, model: str = "prod") -> Any:  # noqa: ANN401 - what JSON is
    return json.loads(run("data", "get", model, "state", *where).out)["status"]


def place_of(folder: Path) -> dict[str, Any]:
    found = marker.read(folder)
    assert found is not None
    block = found.values["datastore"]
    assert isinstance(block, dict)
    return dict(block)


def test_from_bucket_to_bucket_and_what_others_wrote_there_later(
    run: Run, place: Callable[[], str], repo: Path, clone: str
) -> None:
    old, new = place(), place()
    write(run, "ok")
    run("setup", old)
    run("setup", old, "--repo-dir", clone)
    write(run, "not pushed yet")
    done = run("setup", new, "--content", "--json").json
    assert (done["filesCopied"] > 4, done["errors"], done["damaged"], done["conflicts"]) == (True, {}, {}, [])
    assert place_of(repo)["config"]["bucket"] in new
    assert read(run) == "not pushed yet"
    assert run("sync", "--json").json["requests"] == 1
    assert run("verify", "--content").code == 0
    # Somebody who did not hear of it writes to the old place; it is fetched from there.
    write(run, "late", "--repo-dir", clone, model="late")
    assert run("sync", "--repo-dir", clone).code == 0
    fetched = run("setup", new, "--from", old, "--json").json
    assert (fetched["filesCopied"], fetched["errors"]) == (4, {})
    assert read(run, model="late") == "late"
    # And then moves too, with what he wrote since: the two meet at the new place.
    write(run, "later", "--repo-dir", clone, model="late")
    assert run("setup", new, "--repo-dir", clone).code == 0
    assert read(run, "--repo-dir", clone) == "not pushed yet"
    run("sync")
    assert read(run, model="late") == "later"


def test_from_bucket_to_folder(run: Run, place: Callable[[], str], repo: Path) -> None:
    write(run, "ok")
    run("setup", place())
    folder = repo.parent / "shared"
    folder.mkdir()
    done = run("setup", str(folder), "--json").json
    assert (done["type"], done["filesCopied"]) == ("filesystem", 4)
    assert read(run) == "ok"
    assert list(folder.rglob("metadata.yaml"))
    write(run, "more")
    assert read(run) == "more"
    # And back, to another bucket: what the cache holds of the first one does not count.
    assert run("setup", place(), "--json").json["conflicts"] == []
    assert read(run) == "more"
    assert run("verify", "--content").code == 0


def test_what_is_damaged_is_named_and_the_repo_stays_where_it_is(
    run: Run, place: Callable[[], str], repo: Path
) -> None:
    old, new = repo.parent / "old", place()
    write(run, "ok")
    first = place()
    run("setup", first)
    before = place_of(repo)
    del old
    key = next((repo.parent / "home").rglob("raw")).as_posix().partition("/data/")[2]
    damage(first, f"data/{key}")
    refused = run("setup", new, "--json")
    assert refused.code == 1
    assert key in json.loads(refused.err)["error"]
    assert "--accept-damaged" in json.loads(refused.err)["hint"]
    assert place_of(repo) == before
    accepted = run("setup", new, "--accept-damaged", "--json")
    assert accepted.json["damaged"] == {f"data/{key}": "corrupt"}
    # The cache still had it.
    assert read(run) == "ok"
    run("sync")
    assert run("verify", "--content").code == 0


def test_a_place_of_others_and_one_that_is_away_are_refused(
    run: Run, place: Callable[[], str], repo: Path, clone: str
) -> None:
    old, taken = place(), place()
    write(run, "ok")
    run("setup", old)
    write(run, "theirs", "--repo-dir", clone)
    run("setup", taken, "--repo-dir", clone)
    before = place_of(repo)
    refused = run("setup", taken, "--json")
    assert (refused.code, "holds data already" in json.loads(refused.err)["error"]) == (1, True)
    late = run("setup", place(), "--timeout", "0")
    assert (late.code, "goes on where it stopped" in late.err) == (75, True)
    for arguments in (("--skip-migration",), ("--namespace", "infra"), ("--from", old)):
        assert run("setup", place(), *arguments).code == 2
    assert place_of(repo) == before
    assert read(run) == "ok"


def test_what_is_written_while_it_moves_moves_too(
    run: Run, place: Callable[[], str], clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here, not pushed; and by somebody else: both right before the lock is taken."""
    old, new = place(), place()
    write(run, "ok")
    run("setup", old)
    run("setup", old, "--repo-dir", clone)
    written: list[bool] = []

    def meanwhile(settings: Settings, *args: Any, **more: Any) -> Locks:  # noqa: ANN401 - passed on
        if not written and settings.location == urls.parse(old):
            written.append(True)
            write(run, "meanwhile")
            write(run, "theirs", "--repo-dir", clone, model="other")
            assert run("sync", "--repo-dir", clone).code == 0
        return open_locks(settings, *args, **more)

    monkeypatch.setattr(moving, "open_locks", meanwhile)
    done = run("setup", new, "--json").json
    assert (written, done["errors"], done["conflicts"]) == ([True], {}, [])
    assert read(run) == "meanwhile"
    assert read(run, model="other") == "theirs"
    assert run("verify", "--content").code == 0


def test_what_is_written_to_a_folder_while_it_is_left_comes_along(
    run: Run, place: Callable[[], str], repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, new = repo.parent / "shared", place()
    shared.mkdir()
    write(run, "ok")
    run("setup", str(shared))
    marked = (repo / ".swamp.yaml").read_bytes()

    def meanwhile(*args: Any, **more: Any) -> Locks:  # noqa: ANN401 - passed on
        write(run, "meanwhile")
        return open_locks(*args, **more)

    monkeypatch.setattr(setup, "open_locks", meanwhile)
    said = run("setup", new)
    assert (said.code, "written meanwhile" in said.err) == (0, True)
    assert read(run) == "meanwhile"
    assert run("sync", "--json").json["pushed"] == 3
    # What somebody wrote there after that is fetched when he says so.
    switched = (repo / ".swamp.yaml").read_bytes()
    (repo / ".swamp.yaml").write_bytes(marked)
    write(run, "late", model="late")
    (repo / ".swamp.yaml").write_bytes(switched)
    monkeypatch.setattr(setup, "open_locks", open_locks)
    assert run("setup", new, "--from", str(shared), "--json").json["filesCopied"] == 4
    assert read(run, model="late") == "late"


class Killed(BaseException):
    """Nobody handles it."""


class Deadly(Wrapper):
    """Ends the process at its request of a number, before or after it was carried out."""

    asked = 0
    last = 0

    async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:  # noqa: ARG002 - not asked for
        Deadly.asked += 1
        if Deadly.asked == Deadly.last and Deadly.last % 2:
            raise Killed
        done = await call()
        if Deadly.asked == Deadly.last:
            raise Killed
        return done


@pytest.mark.parametrize("kinds", ["bucket to bucket", "bucket to folder", "folder to bucket"])
def test_one_that_is_killed_goes_on_and_until_the_switch_the_repo_works_as_before(
    run: Run, place: Callable[[], str], repo: Path, monkeypatch: pytest.MonkeyPatch, kinds: str
) -> None:
    def new_place(kind: str) -> str:
        if kind == "bucket":
            return place()
        folder = repo.parent / str(uuid4())
        folder.mkdir()
        return str(folder)

    source, target = kinds.split(" to ")
    write(run, "ok")
    died = 0
    for last in range(7, 1000, STEP):
        assert run("setup", new_place(source)).code == 0
        new = new_place(target)
        write(run, f"before {last}")
        Deadly.asked, Deadly.last = 0, last
        before = place_of(repo)
        with monkeypatch.context() as patched:
            patched.setattr(remote, "connect", lambda *args, **more: Deadly(connect(*args, **more)))
            with suppress(Killed):
                run("setup", new)
        if place_of(repo) == before:
            assert read(run) == f"before {last}"
            write(run, f"after {last}")
            done = run("setup", new, "--json")
            assert (done.code, done.json["conflicts"]) == (0, []), done
            assert read(run) == f"after {last}"
        assert read(run).endswith(f" {last}")
        if Deadly.asked < last:
            break
        died += 1
    assert died > 0
    if target == "bucket":
        assert run("sync", "--json").json["failed"] == {}
        assert run("verify", "--content").code == 0


def damage(url: str, path: str) -> None:
    async def work() -> None:
        async with connect(urls.parse(url)) as store:
            await store.put(path, b"rotten")

    asyncio.run(work())
