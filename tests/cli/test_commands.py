"""All commands: codes, documents and what they say when something is wrong."""

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from bayou import __version__
from bayou.cli.start import Commands, bayou

Run = Callable[..., Any]
"""A command in this process, or in one of its own: see the fixtures."""


def every_command(
    command: click.Command = bayou, words: tuple[str, ...] = ()
) -> list[tuple[tuple[str, ...], click.Command]]:
    if not isinstance(command, click.Group):
        return [(words, command)]
    context = click.Context(command)
    found = ((name, command.get_command(context, name)) for name in command.list_commands(context))
    return [entry for name, child in found if child for entry in every_command(child, (*words, name))]


EVERY = every_command()


@pytest.mark.parametrize(("words", "command"), EVERY, ids=[" ".join(words) for words, _ in EVERY])
def test_every_command_has_help_with_an_example(words: tuple[str, ...], command: click.Command) -> None:
    assert command.help
    assert f"bayou {' '.join(words)}" in command.help
    undocumented = [o.name for o in command.params if isinstance(o, click.Option) and not o.help]
    assert not undocumented


@pytest.mark.parametrize(("words", "command"), EVERY, ids=[" ".join(words) for words, _ in EVERY])
def test_every_command_takes_a_repo_and_speaks_json(words: tuple[str, ...], command: click.Command) -> None:
    flags = {flag for option in command.params if isinstance(option, click.Option) for flag in option.opts}
    if words != ("audit", "record"):  # prints nothing
        assert "--json" in flags
    if words not in {("init",), ("pipeline", "list"), ("pipeline", "warm")}:  # names its folder; about no repo
        assert "--repo-dir" in flags


def test_every_command_is_where_the_group_looks_for_it() -> None:
    for place in Commands.places.values():
        module, _, name = place.partition(":")
        assert isinstance(getattr(importlib.import_module(module), name), click.Command)


def test_the_version_is_told_without_anything_else(shell: Run) -> None:
    assert shell("--version").stdout.decode() == f"bayou {__version__}\n"


def test_errors_are_documents_where_results_are(run: Run) -> None:
    said = run("data", "get", "nobody", "nothing", "--json")
    assert (said.code, said.out) == (1, "")
    error = json.loads(said.err)
    assert error["code"] == "model_missing"
    assert error["hint"]


@pytest.mark.parametrize(
    "arguments",
    [("data", "nonsense"), ("data", "get"), ("nonsense",), ("data", "query", "--limit", "-1"), ("data", "query", "(")],
)
def test_what_makes_no_sense_is_exit_code_2(run: Run, arguments: tuple[str, ...]) -> None:
    assert run(*arguments).code == 2


def test_outside_of_a_repo_it_says_what_to_do(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = run("data", "list")
    assert said.code == 1
    assert "bayou init" in said.err


def test_init_makes_a_repo_once(run: Run, tmp_path: Path) -> None:
    document = run("init", str(tmp_path / "new"), "--json").json
    assert Path(document["path"], ".swamp.yaml").is_file()
    assert run("init", str(tmp_path / "new")).code == 1


def test_status_tells_where_things_are_and_what_is_there(run: Run, repo: Path) -> None:
    run("data", "write", "m", "n", "-", "--type", "t", stdin=b"xyz")
    document = run("status", "--json").json
    assert (document["repo"], document["artifacts"], document["versions"], document["bytes"]) == (str(repo), 1, 1, 3)
    assert {"name": "durable", "value": "off", "origin": "environment BAYOU_DURABLE"} in document["settings"]
    assert "1 artifacts of 1 models" in run("status").out


def test_status_names_what_nobody_can_read(run: Run) -> None:
    run("data", "write", "m", "n", "-", "--type", "t", stdin=b"xyz")
    (metadata,) = Path(".swamp/data").rglob("metadata.yaml")
    metadata.write_text("nonsense: [")
    run("catalog", "rebuild")
    (problem,) = run("status", "--json").json["problems"]
    assert str(metadata).endswith(problem["path"])


def test_a_damaged_catalog_is_set_aside_in_the_same_command(run: Run) -> None:
    run("data", "write", "m", "n", "-", "--type", "t", stdin=b"xyz")
    for file in Path(".swamp").glob("catalog.bayou.db*"):
        file.write_bytes(b"no database at all" * 1000) if file.suffix == ".db" else file.unlink()
    said = run("data", "query", "--json")
    assert (said.code, said.json["total"]) == (0, 1)
    assert "catalog.bayou.db" in said.err


def test_the_catalog_is_rebuilt_exported_and_compacted(run: Run) -> None:
    run("data", "write", "m", "n", "-", "--type", "t", stdin=b"xyz")
    assert run("catalog", "rebuild", "--json").json == {"artifacts": 1, "versions": 1, "problems": 0}
    assert run("catalog", "stats", "--json").json["latestByType"] == {"t": 1}
    assert run("catalog", "export", "out.json", "--json").json == {"path": "out.json", "rows": 1}
    assert json.loads(Path("out.json").read_text())[0]["data_name"] == "n"
    assert run("catalog", "export", "--json").json["path"].endswith(".catalog-export.json")
    assert run("catalog", "pull", "--namespaces", "infra", "--json").json == {
        "pulled": [],
        "skipped": ["infra"],
        "totalRows": 0,
    }
    assert "dbBytesReclaimed" in run("catalog", "compact", "--json").json


def test_commands_are_recorded_and_shown(run: Run) -> None:
    run("audit", "record", "terraform apply", "--exit-code", "1", "--error", "no credentials", "--session", "s1")
    run("audit", "record", "ls -l")
    hook = {"session_id": "s2", "tool_name": "Bash", "tool_input": {"command": "make demo"}, "cwd": "/work"}
    run("audit", "record", "--from-hook", stdin=json.dumps(hook).encode())
    run("audit", "record", "--from-hook", stdin=b"not what a hook says")
    document = run("audit", "list", "--json").json
    assert [(entry["summary"], entry["status"]) for entry in document["entries"]] == [
        ("terraform apply", "error"),
        ("make demo", "success"),
    ]
    assert len(run("audit", "list", "--all", "--json").json["entries"]) == 3
    assert [e["summary"] for e in run("audit", "list", "--session", "s2", "--json").json["entries"]] == ["make demo"]
    assert run("audit", "verify", "--json").json["healthy"] is True


def test_a_changed_line_of_the_audit_log_is_found(run: Run) -> None:
    for command in ("one", "two", "three"):
        run("audit", "record", command)
    (log,) = Path(".swamp/audit").glob("commands-*.jsonl")
    log.write_text(log.read_text().replace('"two"', '"2"'))
    said = run("audit", "verify", "--json")
    assert (said.code, said.json["logs"][0]["breaks"]) == (4, [3])


def test_run_records_are_listed_in_pages_and_collected(run: Run) -> None:
    for n in range(3):
        run("exec", "--type", "t", "--model", "m", "--method", f"do{n}", "--", "true")
    first = run("runs", "list", "--limit", "2", "--json").json
    rest = run("runs", "list", "--after", first["next"], "--json").json
    assert [one["methodName"] for one in (*first["runs"], *rest["runs"])] == ["do2", "do1", "do0"]
    assert run("runs", "list", "--model", "m", "--method", "do1", "--json").json["runs"][0]["methodName"] == "do1"
    assert run("runs", "list", "--workflows", "--json").json["runs"] == []
    assert run("runs", "show", first["runs"][0]["id"], "--json").json["methodName"] == "do2"
    assert run("runs", "gc", "--older-than", "30d", "--json").json["outputsDeleted"] == 0
    assert run("runs", "gc", "--older-than", "30d", "--dry-run", "--json").json["dryRun"] is True


def test_every_command_is_documented() -> None:
    documented = Path(__file__).parents[2].joinpath("docs", "commands.md").read_text()
    missing = [" ".join(words) for words, _ in EVERY if f"`bayou {' '.join(words)}" not in documented]
    assert not missing


@pytest.mark.parametrize("arguments", [("cache", "evict", "--keep", "much"), ("sync", "--nothing"), ("nothing",)])
def test_what_makes_no_sense_is_a_document_too_where_one_is_asked_for(run: Run, arguments: tuple[str, ...]) -> None:
    said = run(*arguments, "--json")
    assert said.code == 2
    assert json.loads(said.err).keys() == {"error", "code", "hint"}
