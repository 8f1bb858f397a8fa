"""Real processes: killed, stopped, racing. On a folder and on a server of S3."""

import asyncio
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from bayou.config.locations import S3, Folder
from bayou.layout.keys import Keyspace
from bayou.locks import Locks, open_cells
from bayou.storage import connect
from bayou.testing.servers import Server

Worker = Callable[..., "subprocess.Popen[str]"]
TTL = 2.0
MARGIN = 15.0  # seconds, of a busy machine


@pytest.fixture(params=["folder", "ministack"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "folder":
        return str(tmp_path)
    server: Server = request.getfixturevalue("ministack")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", server.settings["access_key_id"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server.settings["secret_access_key"])
    return f"s3:{server.endpoint}:{server.new_bucket()}"


def location(place: str) -> S3 | Folder:
    if place.startswith("s3:"):
        endpoint, _, bucket = place.removeprefix("s3:").rpartition(":")
        return S3(bucket, region="us-east-1", endpoint=endpoint, path_style=True)
    return Folder(Path(place))


def locks(place: str) -> Locks:
    return Locks(partial(open_cells, location(place), ttl=TTL), Keyspace(), ttl=TTL, timeout=TTL + MARGIN)


def line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def tell(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.mark.parametrize("kind", ["model", "commit"])
def test_a_killed_holder_is_replaced_within_its_time(place: str, worker: Worker, kind: str) -> None:
    holder = worker("hold", place, str(TTL), kind)
    assert line(holder).startswith("held")
    holder.kill()
    holder.wait()
    with locks(place) as ours, ours.structure() as hold:
        assert hold.seems_held


def test_a_holder_that_was_stopped_for_longer_than_its_time_knows_before_it_writes(place: str, worker: Worker) -> None:
    holder = worker("hold", place, str(TTL), "commit")
    assert line(holder).startswith("held")
    holder.send_signal(signal.SIGSTOP)
    with locks(place) as ours, ours.commit() as hold:
        # It is woken up, and the first thing that it does is to ask.
        tell(holder)
        holder.send_signal(signal.SIGCONT)
        assert line(holder) in {"does not seem held", "seems held"}
        assert line(holder) == "is lost"
        tell(holder)
        holder.wait()
        hold.confirm(anew=True)


def test_a_holder_that_never_rests_keeps_its_lock(tmp_path: Path, worker: Worker) -> None:
    holder = worker("busy", str(tmp_path), str(TTL), str(2 * TTL))
    assert line(holder) == "held"
    assert line(holder) == "is held"


def test_eight_processes_lose_no_update_and_all_get_their_turn(place: str, worker: Worker) -> None:
    rounds, processes = 4, 8

    async def begin() -> None:
        async with connect(location(place)) as store:
            await store.put("counter", b"0")

    async def end() -> int:
        async with connect(location(place)) as store:
            return int(await (await store.get("counter")).bytes())

    asyncio.run(begin())
    began = time.monotonic()
    workers = [worker("increment", place, "10", str(rounds)) for _ in range(processes)]
    longest = []
    for process in workers:
        output, _ = process.communicate(timeout=100)
        assert process.returncode == 0
        wait, conflicts = output.split()
        assert conflicts == "0", "nobody else was at it under the lock"
        longest.append(float(wait))
    assert asyncio.run(end()) == rounds * processes
    assert max(longest) < time.monotonic() - began
    with locks(place) as ours:
        assert [info.is_held for info in ours.status()] == [False]


def test_a_nested_command_does_not_wait_for_the_one_that_started_it(tmp_path: Path, worker: Worker) -> None:
    outer = worker("nested", str(tmp_path), "10")
    assert line(outer) == "has 0 of its own"
    assert line(outer) == "has 1 of its own"


def test_a_forked_child_neither_has_the_lock_nor_releases_it(tmp_path: Path, worker: Worker) -> None:
    process = worker("fork", str(tmp_path), "10")
    assert line(process) == "child holds nothing"
    assert line(process) == "parent is held"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command_gives_its_lock_back(tmp_path: Path, worker: Worker, how: signal.Signals) -> None:
    """What a command line does with SIGTERM: it raises."""
    holder = worker("hold", str(tmp_path), "30", "commit")
    assert line(holder).startswith("held")
    assert (tmp_path / ".datastore.lock").exists()
    holder.send_signal(how)
    holder.wait()
    assert not (tmp_path / ".datastore.lock").exists()
