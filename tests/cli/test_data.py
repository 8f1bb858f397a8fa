"""The data commands: what goes in comes out, in the documents that programs expect."""

import csv
import io
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

import bayou
from bayou.tree import Change

Run = Callable[..., Any]
"""A command in this process, or in one of its own: see the fixtures."""

STATE = ("data", "write", "prod-vpc", "state", "-", "--type", "aws/ec2/vpc")
JSON = ("--content-type", "application/json")


def test_what_is_piped_in_is_piped_out_byte_for_byte(shell: Run) -> None:
    content = bytes(range(256)) * 5000
    assert shell(*STATE, stdin=content).returncode == 0
    assert shell("data", "get", "prod-vpc", "state").stdout == content


def test_a_file_is_written_to_a_file(run: Run, repo: Path) -> None:
    (repo / "plan.md").write_text("# 2 to add\n")
    written = run("data", "write", "prod-vpc", "plan", "plan.md", "--type", "aws/ec2/vpc", "--json").json
    assert (written["contentType"], written["size"], written["dataType"]) == ("text/markdown", 11, "file")
    assert run("data", "get", "prod-vpc", "plan", "--output", "out.md", "--verify").code == 0
    assert (repo / "out.md").read_text() == "# 2 to add\n"


def test_get_tells_all_that_is_known(run: Run) -> None:
    run(*STATE, *JSON, "--tag", "env=prod", "--lifetime", "30d", "--gc", "3", stdin=b'{"VpcId": "vpc-1"}')
    document = run("data", "get", "prod-vpc", "state", "--json").json
    assert list(document) == [
        "id",
        "name",
        "modelId",
        "modelName",
        "modelType",
        "version",
        "contentType",
        "lifetime",
        "garbageCollection",
        "streaming",
        "tags",
        "ownerDefinition",
        "createdAt",
        "size",
        "checksum",
        "contentPath",
        "content",
    ]
    assert document["content"] == {"VpcId": "vpc-1"}
    assert document["garbageCollection"] == 3
    assert document["tags"] == {"type": "file", "modelName": "prod-vpc", "env": "prod"}
    assert Path(".swamp", document["contentPath"]).read_bytes() == b'{"VpcId": "vpc-1"}'
    assert "content" not in run("data", "get", "prod-vpc", "state", "--json", "--no-content").json


def test_older_versions_are_got_by_number(run: Run) -> None:
    for text in (b"one", b"two"):
        run(*STATE, stdin=text)
    assert run("data", "get", "prod-vpc", "state", "--version", "1").out == "one"
    assert run("data", "get", "prod-vpc", "state").out == "two"
    document = run("data", "versions", "prod-vpc", "state", "--json").json
    assert [(one["version"], one["isLatest"]) for one in document["versions"]] == [(2, True), (1, False)]
    assert document["total"] == 2


def test_damaged_content_is_named_when_it_is_verified(run: Run) -> None:
    run(*STATE, stdin=b"as it was")
    path = run("data", "get", "prod-vpc", "state", "--json").json["contentPath"]
    Path(".swamp", path).write_bytes(b"as it is!")
    said = run("data", "get", "prod-vpc", "state", "--verify")
    assert said.code == 1
    assert path in said.err
    assert said.out == ""


def test_streaming_data_is_appended_to(run: Run) -> None:
    run(*STATE, "--streaming", stdin=b"one\n")
    assert run("data", "append", "prod-vpc", "state", "-", stdin=b"two\n").code == 0
    assert run("data", "get", "prod-vpc", "state").out == "one\ntwo\n"


def test_a_query_is_json_csv_parquet_or_a_table(run: Run, repo: Path) -> None:
    for n in range(3):
        run("data", "write", f"m{n}", "state", "-", "--type", "t", *JSON, stdin=b'{"n": %d}' % n)
    predicate = "attributes.n > 0"
    document = run("data", "query", predicate, "--order-by", "createdAt", "--json").json
    assert (document["total"], document["limited"]) == (2, False)
    assert [record["content"] for record in document["results"]] == [{"n": 1}, {"n": 2}]
    limited = run("data", "query", "--limit", "2", "--json").json
    assert (limited["total"], limited["limited"]) == (2, True)
    select = '{"m": modelName, "n": attributes.n}'
    projected = run("data", "query", predicate, "--select", select, "--order-by", "createdAt", "--json").json
    assert projected == {"results": [{"m": "m1", "n": 1}, {"m": "m2", "n": 2}], "total": 2, "limited": False}
    rows = list(csv.DictReader(io.StringIO(run("data", "query", predicate, "--order-by", "createdAt", "--csv").out)))
    assert [(row["modelName"], row["attributes"]) for row in rows] == [("m1", '{"n":1}'), ("m2", '{"n":2}')]
    assert run("data", "query", predicate, "--order-by", "createdAt", "--parquet", "out.parquet").code == 0
    assert parquet.read_table(repo / "out.parquet")["modelName"].to_pylist() == ["m1", "m2"]
    table = run("data", "query", predicate, "--order-by", "createdAt desc")
    assert [line.split()[1] for line in table.out.splitlines()[1:]] == ["m2", "m1"]
    assert "2 found" in table.err
    assert run("data", "query", predicate, "--count").out == "2\n"


def test_an_unknown_field_is_named_with_the_nearest_one(run: Run) -> None:
    said = run("data", "query", 'nmae == "x"')
    assert said.code == 2
    assert 'did you mean "name"?' in said.err


def test_a_list_is_grouped_and_paged(run: Run) -> None:
    for n in range(3):
        run("data", "write", "m", f"n{n}", "-", "--type", "t", stdin=b"x")
    run("data", "write", "m", "log", "-", "--type", "t", "--tag", "type=log", stdin=b"x")
    document = run("data", "list", "m", "--json").json
    assert (document["modelName"], document["total"]) == ("m", 4)
    assert [group["type"] for group in document["groups"]] == ["log", "file"]
    second = run("data", "list", "--limit", "3", "--page", "2", "--json").json
    assert [item["name"] for group in second["groups"] for item in group["items"]] == ["n2"]
    assert "3 of 4 artifacts" in run("data", "list", "--limit", "3").err


def test_a_search_filters_by_words_and_tags(run: Run) -> None:
    run("data", "write", "web", "health", "-", "--type", "acme/host", "--tag", "env=prod", stdin=b"x")
    run("data", "write", "db", "health", "-", "--type", "acme/host", "--tag", "env=test", stdin=b"x")
    assert [r["modelName"] for r in run("data", "search", "WEB", "--json").json["results"]] == ["web"]
    assert [r["modelName"] for r in run("data", "search", "--tag", "env=test", "--json").json["results"]] == ["db"]
    assert [r["modelName"] for r in run("data", "search", "--model", "web", "--json").json["results"]] == ["web"]
    limited = run("data", "search", "health", "--since", "1d", "--limit", "1", "--json").json
    assert (limited["total"], limited["limited"], len(limited["results"])) == (2, True, 1)
    assert run("data", "search", "--streaming", "--json").json["results"] == []


def test_a_deletion_is_asked_about_and_told(run: Run) -> None:
    for _ in range(2):
        run(*STATE, stdin=b"x")
    assert run("data", "delete", "prod-vpc", "state").code == 2  # nobody to ask
    dry = run("data", "delete", "prod-vpc", "--all", "--dry-run", "--json").json
    assert (dry["totalDeleted"], dry["dryRun"]) == (1, True)
    assert run("data", "delete", "prod-vpc", "state", "--version", "1", "--yes", "--json").json["versionsDeleted"] == 1
    assert run("data", "versions", "prod-vpc", "state", "--json").json["total"] == 1
    assert run("data", "delete", "prod-vpc", "--prefix", "sta", "--json").json["totalDeleted"] == 1
    assert run("data", "latest", "prod-vpc", "state").code == 1


@pytest.mark.parametrize("arguments", [(), ("state", "--all"), ("--all", "--prefix", "x"), ("--version", "1", "--all")])
def test_a_deletion_that_is_unclear_is_refused(run: Run, arguments: tuple[str, ...]) -> None:
    run(*STATE, stdin=b"x")
    assert run("data", "delete", "prod-vpc", *arguments, "--yes").code == 2
    assert run("data", "latest", "prod-vpc", "state").code == 0


def test_what_is_no_json_is_kept_and_named(run: Run) -> None:
    said = run(*STATE, "--content-type", "application/json", stdin=b'{"load": NaN}')
    assert said.code == 0
    assert "it holds NaN, which JSON cannot hold" in said.err
    assert run("data", "get", "prod-vpc", "state").out == '{"load": NaN}'
    assert "warning" not in run(*STATE, "--content-type", "application/json", stdin=b'{"load": 1}').err


def test_a_deletion_of_which_nothing_came_is_a_failure(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise bayou.Unavailable("the disk is full")

    run(*STATE, stdin=b"x")
    monkeypatch.setattr(Change, "remove_folder", refuse)
    said = run("data", "delete", "prod-vpc", "state", "--yes")
    assert said.code == bayou.Unavailable("").exit_code
    assert "the disk is full" in said.err


def test_gc_carries_out_the_plan_that_was_agreed_to(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        run(*STATE, "--gc", "2", stdin=b"x")

    def agreed(*_: object, **__: object) -> bool:
        for _again in range(2):  # while somebody thinks about it
            bayou.open().write("prod-vpc", "other", "x", keep=1)
        return True

    monkeypatch.setattr("bayou.cli.datatidy.confirmed", agreed)
    assert run("data", "gc").code == 0
    assert run("data", "versions", "prod-vpc", "state", "--json").json["total"] == 2
    assert run("data", "versions", "prod-vpc", "other", "--json").json["total"] == 2


def test_gc_and_prune_do_what_their_dry_runs_say(run: Run) -> None:
    for _ in range(4):
        run(*STATE, "--gc", "2", stdin=b"xy")
    planned = run("data", "gc", "--dry-run", "--json").json
    done = run("data", "gc", "--json").json
    assert {**planned, "dryRun": False}["versionsDeleted"] == done["versionsDeleted"] == 2
    assert "Nothing to clean up." in run("data", "gc", "--yes").err
    for definition in Path(".swamp/auto-definitions").rglob("*.yaml"):
        definition.unlink()
    assert run("data", "prune", "--dry-run", "--json").json["modelsReclaimed"] == 1
    assert run("data", "prune", "--yes").code == 0
    assert run("data", "list", "--json").json["total"] == 0


def test_a_rename_tells_what_became_of_it(run: Run) -> None:
    run(*STATE, stdin=b"x")
    document = run("data", "rename", "prod-vpc", "state", "network", "--json").json
    assert (document["oldName"], document["newName"], document["newVersion"]) == ("state", "network", 1)
    assert run("data", "get", "prod-vpc", "state").out == "x"


def test_a_reader_that_has_seen_enough_is_no_failure(shell: Run, command: tuple[str, ...], repo: Path) -> None:
    shell(*STATE, stdin=b"x" * 2**20)
    get = f"{shlex.join(command)} data get prod-vpc state"
    assert os.system(f"{get} 2>err | head -c 10 >out") == 0  # noqa: S605 - a pipe is what is tested
    assert (repo / "out").read_bytes() == b"x" * 10
    assert (repo / "err").read_bytes() == b""
