"""`bayou doctor`: one document, an exit code, and repairs that are shown before they are made."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def orphan(repo: Path) -> Path:
    """A lock that nobody can read, and nobody renews. It is old enough for a second's watching."""
    file = repo / ".swamp/data/acme/host/0b2f/.lock"
    file.parent.mkdir(parents=True)
    body = {"holder": "ci@gone", "hostname": "gone", "pid": 1, "acquiredAt": "2020-01-01T00:00:00.000Z", "ttlMs": 900}
    file.write_text(json.dumps({**body, "nonce": "of-the-dead"}))
    return file


def test_what_is_well_is_exit_code_0_and_one_document(run: Run) -> None:
    said = run("doctor", "--json")
    assert said.code == 0
    assert said.json["healthy"] is True
    assert {"check", "status", "message"} <= said.json["checks"][0].keys()
    shown = run("doctor")
    assert shown.code == 0
    assert "ok  conditionalWrites: conditional writes are honoured" in shown.out


def test_what_is_not_well_is_exit_code_4_and_is_repaired_when_that_is_wanted(run: Run, orphan: Path) -> None:
    said = run("doctor", "--json")
    assert (said.code, said.json["healthy"]) == (4, False)
    (check,) = [check for check in said.json["checks"] if check["status"] == "problem"]
    assert check["check"] == "locks"
    assert check["remedy"]
    assert f"`bayou doctor --repair` can {check['repair']}" in run("doctor").out
    preview = run("doctor", "--repair", "--dry-run", "--json")
    assert (preview.code, preview.json["wouldRepair"]) == (4, [check["repair"]])
    assert orphan.exists()
    asked = run("doctor", "--repair")
    assert asked.code == 2
    assert check["repair"] in asked.err
    assert orphan.exists()
    done = run("doctor", "--repair", "--json")
    assert (done.code, done.json["healthy"], done.json["repaired"]) == (0, True, [check["repair"]])
    assert not orphan.exists()


def test_a_configuration_that_makes_no_sense_is_a_finding(run: Run, repo: Path) -> None:
    (repo / ".swamp.yaml").write_text("repoId: x\ndatastore:\n  type: nonsense\n")
    said = run("doctor", "--json")
    assert said.code == 4
    (check,) = said.json["checks"]
    assert (check["check"], check["details"]["kind"]) == ("configuration", "invalid_config")


def test_the_rights_that_are_needed_are_one_document(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWAMP_DATASTORE", '@swamp/s3-datastore:{"bucket": "lake"}')
    said = run("doctor", "--policy")
    assert said.code == 0
    assert said.json["Version"] == "2012-10-17"
