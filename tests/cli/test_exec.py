"""`bayou exec` records what a command did, and stands in nobody's way."""

import errno
import io
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bayou.repository import commands, executions
from bayou.repository.commands import Ended, Sinks

Run = Callable[..., Any]
"""A command in this process, or in one of its own: see the fixtures."""

EXEC = ("exec", "--type", "acme/host", "--model", "web-01", "--method", "collect")


def test_json_becomes_an_artifact_and_all_becomes_a_record(shell: Run) -> None:
    script = "echo '{\"up\": true}'; echo careful >&2"
    done = shell(*EXEC, "--tag", "env=prod", "--", "sh", "-c", script)
    assert (done.returncode, done.stdout) == (0, b'{"up": true}\n')
    assert done.stderr.startswith(b"careful\n")
    record = json.loads(shell("data", "latest", "web-01", "result", "--json").stdout)
    assert (record["attributes"], record["tags"]["env"]) == ({"up": True}, "prod")
    (listed,) = json.loads(shell("runs", "list", "--json").stdout)["runs"]
    assert (listed["status"], listed["methodName"], listed["modelType"]) == ("succeeded", "collect", "acme/host")
    assert [made["name"] for made in listed["artifacts"]["dataArtifacts"]] == ["result"]
    log = shell("runs", "show", listed["id"][:8], "--log").stdout
    assert sorted(log.splitlines()) == [b"careful", b'{"up": true}']


@pytest.mark.parametrize(("command", "code"), [("exit 7", 7), ("kill -9 $$", 137)])
def test_the_exit_code_is_passed_on_and_recorded(run: Run, command: str, code: int) -> None:
    said = run(*EXEC, "--", "sh", "-c", f"echo no more addresses >&2; {command}")
    assert said.code == code
    (listed,) = run("runs", "list", "--status", "failed", "--json").json["runs"]
    assert listed["error"]["message"] == f"exit code {code}: no more addresses"


def test_a_command_that_is_not_there_is_a_failed_run(run: Run) -> None:
    said = run(*EXEC, "--", "no-such-command-at-all")
    assert said.code == 127
    assert "there is no command 'no-such-command-at-all'" in said.err
    (listed,) = run("runs", "list", "--json").json["runs"]
    assert listed["error"]["message"] == "exit code 127: there is no command 'no-such-command-at-all'"


def test_text_is_kept_where_it_is_named_and_files_are_kept_by_their_names(run: Run, repo: Path) -> None:
    said = run(
        *EXEC,
        "--output",
        "report",
        "--file",
        "plan=out/plan.txt",
        "--",
        "sh",
        "-c",
        "mkdir out; echo 2 > out/plan.txt; echo fine",
    )
    assert said.code == 0
    assert run("data", "get", "web-01", "report").out == "fine\n"
    assert run("data", "get", "web-01", "plan").out == "2\n"
    assert (repo / "out" / "plan.txt").exists()


def test_text_without_a_name_is_only_in_the_log(run: Run) -> None:
    run(*EXEC, "--", "echo", "fine")
    assert run("data", "list", "--json").json["total"] == 0


@pytest.mark.parametrize("printed", ['{"load": NaN}', "[-Infinity]"])
def test_output_that_json_cannot_hold_is_named_and_stays_in_the_log(run: Run, printed: str) -> None:
    said = run(*EXEC, "--", "echo", printed)
    assert (said.code, run("data", "list", "--json").json["total"]) == (0, 0)
    assert "which JSON cannot hold" in said.err
    (listed,) = run("runs", "list", "--json").json["runs"]
    assert run("runs", "show", listed["id"], "--log").out == f"{printed}\n"


def test_half_characters_are_json_as_javascript_reads_it(run: Run) -> None:
    run(*EXEC, "--", "echo", r'{"name": "\ud83d"}')
    assert run("data", "latest", "web-01", "result", "--json").json["attributes"] == {"name": "\ufffd"}


def test_output_that_does_not_fit_on_the_disk_fails_the_run_and_half_of_it_is_not_kept(run: Run) -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        kept = commands.run_command(
            ["sh", "-c", "echo '{}'; echo on >&2"], Sinks(full, io.BytesIO(), io.BytesIO(), io.BytesIO()), environ={}
        )
    assert (kept.exit_code, kept.last_words) == (0, "on")
    assert kept.lost is not None
    assert kept.lost.errno == errno.ENOSPC

    def lose(command: Sequence[str], sinks: Sinks, *, environ: Mapping[str, str]) -> Ended:
        return commands.run_command(command, sinks, environ=environ)._replace(lost=kept.lost)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(executions, "run_command", lose)
        said = run(*EXEC, "--", "echo", "{}")
    assert said.code == 75
    assert "the output of 'echo'" in said.err
    (listed,) = run("runs", "list", "--json").json["runs"]
    assert (listed["status"], listed["artifacts"]["dataArtifacts"]) == ("failed", [])


def test_nothing_stays_of_a_failure_with_rollback(run: Run) -> None:
    run(*EXEC, "--rollback", "--", "sh", "-c", "echo '{}'; exit 1")
    assert run("data", "query", "version > 0", "--json").json["total"] == 0


def test_with_json_there_is_one_document_on_stdout(run: Run) -> None:
    said = run(*EXEC, "--json", "--", "sh", "-c", "echo '[1]'; exit 3")
    assert (said.code, said.json["exitCode"], said.json["status"]) == (3, 3, "failed")
    assert said.json["artifacts"] == [{"name": "result", "version": 1, "contentType": "application/json"}]
    assert "[1]" in said.err


def test_options_of_the_command_are_its_own(run: Run) -> None:
    said = run(*EXEC, "--", "echo", "--json", "--help", "-x")
    assert said.out == "--json --help -x\n"


def test_a_request_to_stop_reaches_the_command_and_the_run_is_recorded(command: tuple[str, ...], shell: Run) -> None:
    script = "trap 'echo stopped; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
    process = subprocess.Popen([*command, *EXEC, "--", "sh", "-c", script], stdout=subprocess.PIPE)  # noqa: S603 - our own command
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.terminate()
    assert process.wait(30) == 5
    assert process.stdout.read() == b"stopped\n"
    process.stdout.close()
    (listed,) = json.loads(shell("runs", "list", "--json").stdout)["runs"]
    assert listed["status"] == "failed"


def test_an_interrupt_cancels_the_run(command: tuple[str, ...], shell: Run) -> None:
    process = subprocess.Popen(  # noqa: S603 - our own command
        [*command, *EXEC, "--", "sh", "-c", "echo ready; exec sleep 30"], stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
    assert process.wait(30) == 130
    process.stdout.close()
    (listed,) = json.loads(shell("runs", "list", "--json").stdout)["runs"]
    assert listed["status"] == "cancelled"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_a_command_leaves_running_keeps_nobody_from_stopping_us(
    number: signal.Signals, command: tuple[str, ...], shell: Run
) -> None:
    """It holds the output open, so nobody knows that there is no more of it."""
    script = "sleep 60 & echo $!"
    process = subprocess.Popen([*command, *EXEC, "--", "sh", "-c", script], stdout=subprocess.PIPE)  # noqa: S603 - our own command
    assert process.stdout is not None
    left = int(process.stdout.readline())
    try:
        time.sleep(0.3)  # until the command itself has ended
        process.send_signal(number)
        assert process.wait(30) == 128 + number
    finally:
        os.kill(left, signal.SIGKILL)
        process.stdout.close()
    (listed,) = json.loads(shell("runs", "list", "--json").stdout)["runs"]
    assert listed["status"] == "cancelled"
    assert json.loads(shell("lock", "status", "--json").stdout)["locks"] == [
        {"held": False, "lockScope": "global", "lockKey": ".datastore.lock"}
    ]


def test_a_run_whose_process_was_killed_is_shown_as_that(command: tuple[str, ...], shell: Run) -> None:
    process = subprocess.Popen(  # noqa: S603 - our own command
        [*command, *EXEC, "--", "sh", "-c", "echo ready; exec sleep 3"], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.kill()
    process.wait(30)
    process.stdout.close()
    time.sleep(0.05)
    (listed,) = json.loads(shell("runs", "list", "--json").stdout)["runs"]
    assert (listed["status"], listed["stale"]) == ("running", True)
