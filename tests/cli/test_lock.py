"""`bayou lock`, and what the commands that take locks do with them."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from bayou.testing.legacylocks import LegacyFileLock
from bayou.testing.servers import Server
from bayou.wire import waiter
from bayou.wire.times import to_text
from bayou.wire.waiter import WaiterNote

Run = Callable[..., Any]

EXEC = ("exec", "--type", "acme/host", "--model", "web-01", "--method", "collect")
ENDLESS = ("--", sys.executable, "-c", "import time; print('[1]', flush=True); time.sleep(600)")


@contextmanager
def running(command: tuple[str, ...], *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that has its lock: its command has said something."""
    process = subprocess.Popen(  # noqa: S603 - our own command
        [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"[1]\n"
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # with whatever it runs
        process.communicate()


def lock_files(repo: Path) -> list[Path]:
    return sorted((repo / ".swamp").rglob(".*lock"))


def test_nobody_holds_anything_in_a_new_repo(run: Run) -> None:
    assert run("lock", "status").err == "no lock is held\n"
    said = run("lock", "status", "--json").json
    assert said == {
        "datastoreType": "filesystem",
        "locks": [{"held": False, "lockScope": "global", "lockKey": ".datastore.lock"}],
    }
    said = run("lock", "release", "--force", "--json")
    assert (said.code, said.json["released"], said.json["reason"]) == (0, False, "nobody holds it")


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1", "soon"])
def test_what_is_no_time_to_wait_is_refused(run: Run, seconds: str) -> None:
    said = run(*EXEC, "--lock-timeout", seconds, "--", "true")
    assert said.code == 2
    assert "--lock-timeout" in said.err


def test_an_empty_name_is_no_lock_at_all(run: Run, repo: Path) -> None:
    """As of a variable of a script that is not set: it must end neither the only lock there is nor the global one."""
    locks = [LegacyFileLock(repo / ".swamp" / path) for path in (".datastore.lock", "data/acme/host/0b2f/.lock")]
    assert all(lock.try_acquire() for lock in locks)
    for words in (("",), ("--model", ""), ("data/acme/host/0b2f/.lock", "--model", "acme/host/0b2f")):
        assert run("lock", "release", *words, "--force").code == 2
    assert lock_files(repo) == sorted(lock.path for lock in locks)


def test_who_holds_what_is_shown_and_ended_by_force_only(run: Run, repo: Path) -> None:
    lock = LegacyFileLock(repo / ".swamp/data/acme/host/0b2f/.lock", pid=4121)
    assert lock.try_acquire()
    model, overall = run("lock", "status", "--json").json["locks"]
    assert not overall["held"]
    assert (model["held"], model["lockScope"], model["lockKey"]) == (True, "model", "data/acme/host/0b2f/.lock")
    info = model["info"]
    assert (info["holder"], info["hostname"], info["pid"], info["ttlMs"]) == (
        "ci@legacy-host",
        "legacy-host",
        4121,
        30000,
    )
    assert info["nonce"]
    assert info["ageMs"] >= 0
    shown = run("lock", "status").out
    assert "ci@legacy-host" in shown
    assert "data/acme/host/0b2f/.lock" in shown
    released = run("lock", "release", "--model", "acme/host/0b2f", "--force", "--json")
    assert (released.code, released.json["released"]) == (0, True)
    assert released.json["previousHolder"]["holder"] == "ci@legacy-host"
    assert lock_files(repo) == []


def test_who_waits_is_shown_beside_the_lock(run: Run, repo: Path) -> None:
    key = "data/acme/host/0b2f/.lock"
    assert LegacyFileLock(repo / f".swamp/{key}", pid=4121).try_acquire()
    now = to_text(time.time_ns())
    notes = repo / ".swamp/_control/bayou/waiting"
    notes.mkdir(parents=True)
    for number in (7, 8):
        note = WaiterNote(key, f"ci@runner-{number}", f"runner-{number}", number, to_text(time.time_ns() - 10**10), now)
        (notes / f"{number}.json").write_bytes(waiter.encode(note))
    model, _ = run("lock", "status", "--json").json["locks"]
    assert sorted((one["holder"], one["hostname"], one["pid"]) for one in model["waiters"]) == [
        ("ci@runner-7", "runner-7", 7),
        ("ci@runner-8", "runner-8", 8),
    ]
    assert all(10_000 <= one["waitingMs"] < 60_000 for one in model["waiters"])
    shown = run("lock", "status").out
    assert "ci@runner-7" in shown
    assert "ci@runner-8" in shown


def test_a_name_that_means_two_locks_is_refused(run: Run, repo: Path) -> None:
    for model in ("acme/host/0b2f", "acme/dns/0b2f"):
        assert LegacyFileLock(repo / f".swamp/data/{model}/.lock").try_acquire()
    said = run("lock", "release", "0b2", "--force")
    assert said.code == 2
    assert "acme/dns" in said.err
    assert len(lock_files(repo)) == 2


def test_a_lock_can_be_looked_at_where_the_datastore_cannot_be_opened(
    run: Run, ministack: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = ministack
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", server.settings["access_key_id"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server.settings["secret_access_key"])
    config = {"bucket": server.new_bucket(), "endpoint": server.endpoint, "region": "us-east-1", "forcePathStyle": True}
    monkeypatch.setenv("SWAMP_DATASTORE", "@swamp/s3-datastore:" + json.dumps(config))
    (overall,) = run("lock", "status", "--json").json["locks"]
    assert overall["held"] is False


def test_a_busy_lock_is_exit_code_75_with_the_remedies_that_apply(run: Run, command: tuple[str, ...]) -> None:
    with running(command, *EXEC, *ENDLESS):
        said = run(*EXEC, "--no-wait", "--", "true")
        assert said.code == 75
        assert "waiting for" not in said.err
        assert "bayou lock release data/acme/host/" in said.err
        began = time.monotonic()
        said = run("data", "gc", "--json", "--lock-timeout", "0.5")
        assert said.code == 75
        assert json.loads(said.err[said.err.index("{") :])["code"] == "lock_timeout"
        assert time.monotonic() - began > 0.5
        assert run("data", "gc", "--dry-run").code == 0
        assert run("data", "latest", "web-01", "result").code == 1


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_who_is_interrupted_while_he_waits_leaves_the_lock_to_its_holder(
    command: tuple[str, ...], repo: Path, how: signal.Signals
) -> None:
    with running(command, *EXEC, *ENDLESS) as holder:
        (file,) = lock_files(repo)
        waiter = subprocess.Popen([*command, *EXEC, "--", "true"], stderr=subprocess.PIPE)  # noqa: S603 - our own command
        assert waiter.stderr is not None
        assert b"waiting for" in waiter.stderr.readline()
        waiter.send_signal(how)
        waiter.communicate(timeout=60)
        assert waiter.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[how]
        assert json.loads(file.read_bytes())["pid"] == holder.pid


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_ended_gives_its_lock_back(
    command: tuple[str, ...], repo: Path, run: Run, how: signal.Signals
) -> None:
    with running(command, *EXEC, *ENDLESS) as holder:
        assert len(lock_files(repo)) == 1
        if how is signal.SIGINT:
            # A terminal sends it to both.
            children = Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().split()
            for child in children:
                subprocess.run(["kill", "-INT", child], check=True)  # noqa: S603, S607 - the command that we started
        holder.send_signal(how)
        holder.wait(60)
    assert lock_files(repo) == []
    (record,) = run("runs", "list", "--json").json["runs"]
    assert record["status"] == "cancelled"


def test_a_command_within_a_command_does_not_wait_for_it(shell: Run, command: tuple[str, ...], repo: Path) -> None:
    inner = [*command, *EXEC, "--no-wait", "--", "echo", '{"inner": true}']
    done = shell(*EXEC, "--", *inner)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"inner": True}
    assert lock_files(repo) == []
