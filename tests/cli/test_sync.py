"""Two repos and a bucket on a real server: every command that goes between them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bayou.config import marker, newrepo, urls
from bayou.testing.servers import Server

Run = Callable[..., Any]

PLACE = "data/aws/ec2/vpc"


@pytest.fixture
def url(ministack: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty place of a real bucket."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ministack.settings["access_key_id"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", ministack.settings["secret_access_key"])
    return f"s3://{ministack.new_bucket()}/team?endpoint={ministack.endpoint}&path_style=true&region=us-east-1"


@pytest.fixture
def other(repo: Path) -> str:
    """Another repo, as the value of --repo-dir."""
    folder = repo.parent / "other"
    newrepo.create(folder)
    return str(folder)


def write(run: Run, text: str, *where: str, name: str = "state", model: str = "prod") -> None:
    content = json.dumps({"status": text}).encode()
    arguments = ("--type", "aws/ec2/vpc", "--content-type", "application/json", *where)
    assert run("data", "write", model, name, "-", *arguments, stdin=content).code == 0


def read(run: Run, *where: str, name: str = "state") -> Any:  # noqa: ANN401 - what JSON is
    return json.loads(run("data", "get", "prod", name, *where).out)["status"]


def settings_of(folder: str | Path) -> dict[str, Any]:
    found = marker.read(Path(folder))
    assert found is not None
    return dict(found.values)


def test_what_one_repo_recorded_another_finds(run: Run, url: str, other: str) -> None:
    write(run, "ok")
    done = run("setup", url, "--json").json
    assert (done["remoteHeldData"], done["hydration"]) == (False, "full")
    assert (done["filesPushed"], done["errors"], done["directoriesMigrated"]) == (4, {}, ["auto-definitions", "data"])
    assert read(run) == "ok"

    said = run("setup", url, "--json", "--repo-dir", other)
    assert (said.json["remoteHeldData"], said.json["hydration"], said.json["unhydrated"]) == (True, "lazy", 1)
    assert "there is data already" in said.err
    assert settings_of(other)["datastore"]["hydrationStrategy"] == "lazy"
    assert read(run, "--repo-dir", other) == "ok"
    assert run("status", "--json", "--repo-dir", other).json["sync"]["unhydrated"] == 0

    write(run, "changed", "--repo-dir", other)
    assert run("sync", "--push", "--json", "--repo-dir", other).json["pushed"] == 3
    pulled = run("sync", "--pull", "--json").json
    assert (pulled["mode"], pulled["pulled"], pulled["failed"]) == ("pull", 3, {})
    assert read(run) == "changed"
    assert run("sync", "--json").json["requests"] == 1


def test_setup_moves_what_was_recorded_and_leaves_logs_where_they_are(run: Run, url: str, repo: Path) -> None:
    write(run, "ok")
    (repo / ".swamp/outputs/t/m").mkdir(parents=True)
    (repo / ".swamp/outputs/t/m/run.log").write_text("log")
    run("setup", url)
    assert (repo / ".swamp/outputs/t/m/run.log").read_text() == "log"
    assert not (repo / ".swamp/data").exists()
    assert list((repo / ".swamp/migrated/data").rglob("metadata.yaml"))
    assert read(run) == "ok"
    again = run("setup", url, "--json").json
    assert (again["filesCopied"], again["filesPushed"], again["hydration"]) == (0, 0, "full")


def test_setup_that_was_stopped_goes_on_and_until_then_the_repo_works_as_before(run: Run, url: str, repo: Path) -> None:
    write(run, "ok")
    before = (repo / ".swamp.yaml").read_bytes()
    stopped = run("setup", url, "--timeout", "0")
    assert stopped.code == 75
    assert "goes on where it stopped" in stopped.err
    assert (repo / ".swamp.yaml").read_bytes() == before
    write(run, "later")
    assert run("setup", url).code == 0
    assert read(run) == "later"
    assert "type" in settings_of(repo)["datastore"]
    assert run("sync", "--json").json["pushed"] == 0


def test_setup_that_died_after_the_switch_is_finished_by_the_same_command(run: Run, url: str, repo: Path) -> None:
    write(run, "ok")
    assert run("setup", url).code == 0
    late = repo / ".swamp/data/aws/ec2/vpc/late/x/1"
    late.mkdir(parents=True)
    (late / "raw").write_bytes(b"1")
    done = run("setup", url, "--json").json
    assert done["filesCopied"] == 1
    assert not (repo / ".swamp/data").exists()


def test_setup_keeps_what_else_the_marker_says(run: Run, url: str, repo: Path) -> None:
    found = marker.read(repo)
    assert found is not None
    folder = repo.parent / "shared"
    folder.mkdir()
    block = {"type": "filesystem", "path": str(folder), "exclude": ["logs/**"], "syncTimeoutMs": 1000}
    marker.save(found, {**found.values, "datastore": block})
    write(run, "ok")
    assert run("setup", url, "--namespace", "infra").code == 0
    after = settings_of(repo)["datastore"]
    assert (after["exclude"], after["syncTimeoutMs"], after["namespace"]) == (["logs/**"], 1000, "infra")
    assert read(run) == "ok"
    assert (folder / "data").is_dir()  # it may be others' too


def test_setup_in_another_folder(run: Run, repo: Path) -> None:
    write(run, "ok")
    shared = repo.parent / "shared"
    assert run("setup", str(shared)).code == 2
    shared.mkdir()
    done = run("setup", str(shared), "--json").json
    assert (done["type"], done["filesCopied"]) == ("filesystem", 4)
    assert read(run) == "ok"
    assert list(shared.rglob("raw"))


def test_setup_overwrites_nothing_of_others(run: Run, repo: Path, other: str) -> None:
    shared = repo.parent / "shared"
    shared.mkdir()
    write(run, "ours")
    write(run, "theirs", "--repo-dir", other)
    run("setup", str(shared))
    refused = run("setup", str(shared), "--json", "--repo-dir", other)
    assert refused.code == 1
    assert "holds something else" in json.loads(refused.err)["error"]
    assert read(run) == "ours"
    assert read(run, "--repo-dir", other) == "theirs"
    assert "datastore" not in settings_of(other)


def test_a_store_that_ignores_conditions_is_for_one_writer(
    run: Run, rclone: Server, repo: Path, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", rclone.settings["access_key_id"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", rclone.settings["secret_access_key"])
    place = f"s3://{rclone.new_bucket()}?endpoint={rclone.endpoint}&path_style=true&region=us-east-1"
    write(run, "ok")
    refused = run("setup", place, "--json")
    assert refused.code == 1
    assert "--single-writer" in json.loads(refused.err)["hint"]
    assert "datastore" not in settings_of(repo)
    assert run("setup", place, "--single-writer").code == 0
    write(run, "more")
    pushed = run("sync", "--push", "--json")
    assert pushed.json["pushed"] == 3
    assert "ignores the conditions" in pushed.err
    run("setup", place, "--single-writer", "--repo-dir", other)
    assert read(run, "--repo-dir", other) == "more"


def test_a_scope_is_what_is_pushed_and_pulled(run: Run, url: str, other: str) -> None:
    run("setup", url)
    run("setup", url, "--repo-dir", other, "--hydration", "full")
    write(run, "a")
    write(run, "b", model="dev")
    pushed = run("sync", "--push", "--model", "aws/ec2/vpc/prod", "--json").json
    assert pushed["pushed"] == 4
    assert run("status", "--json").json["sync"]["dirty"] > 0
    run("sync")
    nothing = run("sync", "--pull", "--model", "aws/ec2/vpc/nobody", "--json", "--repo-dir", other).json
    assert nothing["pulled"] == 0
    pulled = run("sync", "--pull", "--model", "aws/ec2/vpc/dev", "--json", "--repo-dir", other).json
    assert pulled["pulled"] == 4
    listed = run("data", "list", "--json", "--repo-dir", other).json
    assert [item["modelName"] for group in listed["groups"] for item in group["items"]] == ["dev"]
    refused = run("sync", "--model", "nobody", "--json", "--repo-dir", other)
    assert refused.code == 2
    assert "TYPE/NAME" in json.loads(refused.err)["hint"]


def test_content_comes_when_it_is_asked_for(run: Run, url: str, other: str) -> None:
    run("setup", url)
    write(run, "ok")
    write(run, "failed", name="health")
    run("sync")
    run("setup", url, "--repo-dir", other)
    there = ("--json", "--repo-dir", other)
    query = 'attributes.status == "ok"'
    asked = run("data", "query", query, *there)
    assert asked.json["total"] == 0
    assert "2 rows could not be decided" in asked.err
    assert run("data", "query", query, "--hydrate", *there).json["total"] == 1
    assert run("status", *there).json["sync"]["unhydrated"] == 0
    assert run("cache", "evict", "--keep", "0", *there).json["files"] == 2
    assert run("cache", "status", *there).json["unhydrated"] == 2
    assert run("sync", *there).json["unhydrated"] == 2
    synced = run("sync", "--hydrate", *there).json
    assert (synced["pulled"], synced["unhydrated"]) == (2, 0)
    assert run("sync", "--metadata-only", "--hydrate", *there).code == 2


def test_a_dry_run_says_what_the_run_does(run: Run, url: str, other: str) -> None:
    run("setup", url)
    run("setup", url, "--repo-dir", other)
    write(run, "ok")
    planned = run("sync", "--dry-run", "--json").json
    assert {step["action"] for step in planned["steps"]} <= {"push", "merge"}
    files = sum(step["files"] for step in planned["steps"])
    assert run("sync", "--json").json["pushed"] == files == 4
    planned = run("sync", "--pull", "--dry-run", "--json", "--repo-dir", other).json
    assert {step["reason"] for step in planned["steps"]} == {"written_there"}
    assert run("status", "--json", "--repo-dir", other).json["versions"] == 0
    assert "nothing to do" in run("sync", "--dry-run").err


def test_conflicts_are_decided(run: Run, url: str, repo: Path, other: str) -> None:
    run("setup", url)
    run("setup", url, "--repo-dir", other)
    ours, theirs = cache_of(run), cache_of(run, "--repo-dir", other)
    mark(run, repo, ours, "files/notes.md", b"0")
    run("sync")
    run("sync", "--hydrate", "--repo-dir", other)
    mark(run, Path(other), theirs, "files/notes.md", b"theirs")
    mark(run, repo, ours, "files/notes.md", b"ours")
    run("sync", "--repo-dir", other)
    assert run("sync", "--json").json["conflicts"] == ["files/notes.md"]
    (found,) = run("conflicts", "list", "--json").json["conflicts"]
    assert (found["path"], Path(found["file"]).read_bytes()) == ("files/notes.md", b"ours")
    assert run("status", "--json").json["sync"]["conflicts"] == 1
    assert run("conflicts", "take-mine").code == 2
    assert run("conflicts", "take-mine", "files/notes.md", "--json").json == {"decided": ["files/notes.md"]}
    run("sync")
    run("sync", "--repo-dir", other)
    assert (theirs / "files/notes.md").read_bytes() == b"ours"
    assert run("conflicts", "list", "--json").json["total"] == 0
    assert run("conflicts", "take-theirs", "files/notes.md", "--yes").code == 1


def test_without_a_network_everything_but_a_sync_works(run: Run, url: str, repo: Path) -> None:
    run("setup", url)
    write(run, "ok")
    run("sync")
    found = marker.read(repo)
    assert found is not None
    away = urls.parse(url)
    block = settings_of(repo)["datastore"]
    config = {**block["config"], "endpoint": "http://127.0.0.1:9"}
    marker.save(found, {**found.values, "datastore": {**block, "config": config}})
    assert away.type == block["type"]
    write(run, "offline")
    assert read(run) == "offline"
    assert run("data", "query", 'attributes.status == "offline"', "--json").json["total"] == 1
    status = run("status", "--json").json["sync"]
    assert status["dirty"] > 0
    failed = run("sync", "--json", "--timeout", "20")
    assert failed.code == 75
    assert "changes wait here" in json.loads(failed.err)["hint"]
    assert run("status", "--json").json["sync"]["last"]["sync"]["error"]
    found = marker.read(repo)
    assert found is not None
    marker.save(found, {**found.values, "datastore": block})
    assert run("sync", "--json").json["pushed"] == 3


def test_what_was_left_is_named_and_the_code_says_so(run: Run, url: str) -> None:
    run("setup", url)
    write(run, "ok")
    raw = next((cache_of(run) / PLACE).rglob("raw"))
    raw.write_bytes(b"{}")
    said = run("sync", "--json")
    assert said.code == 3
    (why,) = said.json["failed"].values()
    assert "its metadata says" in why
    assert "left by the last one" in run("status").out


def test_a_folder_has_nothing_to_sync(run: Run) -> None:
    refused = run("sync", "--json")
    assert refused.code == 2
    assert "bayou setup" in json.loads(refused.err)["hint"]


def test_a_lost_cache_is_fetched_again(run: Run, url: str) -> None:
    run("setup", url)
    write(run, "ok")
    run("sync")
    shutil.rmtree(cache_of(run))
    assert run("sync", "--json").json["pulled"] == 4
    assert read(run) == "ok"


def cache_of(run: Run, *where: str) -> Path:
    return Path(run("cache", "status", "--json", *where).json["path"])


def mark(run: Run, repo: Path, cache: Path, path: str, content: bytes) -> None:
    """Write a file as an extension does: tell the journal, then write."""
    import bayou  # noqa: PLC0415 - where commands do not reach

    assert run is not None
    with bayou.open(repo) as datastore:
        datastore.syncing.mark_dirty(path)
    (cache / path).parent.mkdir(parents=True, exist_ok=True)
    (cache / path).write_bytes(content)
