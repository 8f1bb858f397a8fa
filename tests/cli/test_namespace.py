"""`bayou namespace …`: on real servers, and in a shared folder."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from bayou import config
from bayou.cli import start
from bayou.storage.connecting import connect
from bayou.testing.computers import Computer, name_of

STATE = name_of()


def settings_of(repo: Path) -> config.Settings:
    return config.load(repo, os.environ, home=repo.parent / "home")


def with_computer(repo: Path, work: Callable[[Computer], Awaitable[Any]]) -> Any:  # noqa: ANN401
    """Something that a sync of this repo does, as it is configured now."""

    async def run() -> Any:  # noqa: ANN401
        settings = settings_of(repo)
        assert settings.cache is not None
        async with connect(settings.location) as store:
            computer = Computer(settings.cache, store, namespace=settings.namespace, prefix=_prefix(settings))
            try:
                return await work(computer)
            finally:
                computer.close()

    return asyncio.run(run())


def _prefix(settings: config.Settings) -> str:
    return getattr(settings.location, "prefix", "")


async def _push(computer: Computer) -> None:
    computer.write_version(1, b"one")
    computer.write("logs/a", b"log")
    assert (await computer.push()).is_complete


async def _data_keys(computer: Computer) -> set[str]:
    keys = {meta.key async for page in computer.ends.store.list() for meta in page}
    return {key for key in keys if "data/" in key or "logs/" in key}


def test_a_repo_moves_into_a_namespace_and_back(place: config.Settings, repo: Path, run: Any) -> None:  # noqa: ANN401
    marker = (repo / ".swamp.yaml").read_text()
    with_computer(repo, _push)
    paths = {f"{STATE}/1/raw", f"{STATE}/1/metadata.yaml", f"{STATE}/latest", "logs/a"}
    said = run("namespace", "set", "infra", "--migrate", "--json")
    assert said.code == 0, said.err
    assert (said.json["namespace"], said.json["objects"], said.json["totalFiles"]) == ("infra", 4, 4)
    assert settings_of(repo).namespace == "infra"
    assert place.cache is not None
    assert (place.cache / "infra" / STATE / "1" / "raw").read_bytes() == b"one"
    assert not (place.cache / "data").exists()
    assert with_computer(repo, _data_keys) == {f"infra/{path}" for path in paths}

    report = with_computer(repo, lambda computer: computer.sync())
    assert (report.pushed, report.pulled, report.conflicts, report.failed) == ([], [], [], {})
    assert run("verify", "--content", "--json").code == 0
    listed = run("namespace", "list", "--json").json
    assert [(each["namespace"], each["isCurrent"]) for each in listed["namespaces"]] == [("infra", True)]
    assert run("namespace", "set", "infra", "--json").code == 0  # once more is no harm

    said = run("namespace", "unset", "--migrate", "--json")
    assert said.code == 0, said.err
    assert (said.json["previousNamespace"], said.json["objects"]) == ("infra", 4)
    assert (repo / ".swamp.yaml").read_text() == marker
    assert with_computer(repo, _data_keys) == paths
    report = with_computer(repo, lambda computer: computer.sync())
    assert (report.pushed, report.pulled, report.conflicts, report.failed) == ([], [], [], {})
    assert run("namespace", "list", "--json").json == {"namespaces": [], "currentNamespace": ""}


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("store_server", ["ministack"], indirect=True)
def test_what_speaks_against_a_namespace_leaves_everything_as_it_is(repo: Path, run: Any) -> None:  # noqa: ANN401
    with_computer(repo, _push)
    marker = (repo / ".swamp.yaml").read_text()

    async def register(computer: Computer) -> None:
        for name in ("web", "team"):
            await computer.ends.store.put(f"{name}/.namespace.json", _MANIFEST.replace("web", name).encode())

    with_computer(repo, register)
    said = run("namespace", "set", "web", "--json")
    assert (said.code, "already_exists" in said.err) == (1, True)
    assert run("namespace", "set", "No Slug").code == 2
    with_computer(repo, _write_only)
    said = run("namespace", "set", "infra", "--migrate", "--json")
    assert said.code == 1
    assert "wait to be pushed: logs/new" in said.err
    assert run("namespace", "unset").code == 2
    assert run("namespace", "migrate", "--yes").code == 2
    assert (repo / ".swamp.yaml").read_text() == marker

    with_computer(repo, lambda computer: computer.push())
    said = run("namespace", "set", "infra")
    assert said.code == 0
    assert "bayou namespace migrate" in said.err
    said = run("namespace", "migrate", "--json")
    assert (said.json["confirm"], said.json["objects"]) == (False, 5)
    assert run("namespace", "migrate").code == 0
    said = run("namespace", "migrate", "--yes", "--json")
    assert (said.json["confirm"], said.json["objects"]) == (True, 5)
    said = run("namespace", "unset", "--migrate")
    assert said.code == 1
    assert "others share this datastore: team, web" in said.err
    assert settings_of(repo).namespace == "infra"
    assert "infra" in run("namespace", "list").out


@pytest.mark.parametrize("store_server", ["ministack"], indirect=True)
def test_contamination_is_shown_then_removed(place: config.Settings, repo: Path, run: Any) -> None:  # noqa: ANN401
    assert run("namespace", "set", "infra").code == 0

    async def contaminate(computer: Computer) -> None:
        await computer.ends.store.put("web/.namespace.json", _MANIFEST.encode())
        await computer.ends.store.put("infra/web/data/x", b"theirs")

    with_computer(repo, contaminate)
    foreign = [{"namespace": "web", "objectCount": 1}]
    assert run("namespace", "repair", "--json").json == {
        "foreignNamespaces": foreign,
        "totalForeignObjects": 1,
        "deleted": 0,
    }
    assert run("namespace", "repair", "--yes", "--json").json["deleted"] == 1
    assert run("namespace", "repair", "--json").json["totalForeignObjects"] == 0
    assert "0 foreign objects" in run("namespace", "repair").err
    assert place.namespace == ""


async def _write_only(computer: Computer) -> None:
    computer.write("logs/new", b"new")


_MANIFEST = '{"namespace": "web", "repoId": "another", "registeredAt": "2026-11-02T08:15:30.120Z"}'


# A datastore in a folder.


@pytest.fixture
def shared(repo: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "shared"
    folder.mkdir()
    marker = repo / ".swamp.yaml"
    marker.write_text(f"{marker.read_text()}datastore:\n  type: filesystem\n  path: {folder}\n")
    return folder


def test_a_folder_is_shared_the_same_way(shared: Path, repo: Path, run: Any) -> None:  # noqa: ANN401
    (repo / "x.json").write_text('{"a": 1}')
    assert run("data", "write", "prod", "state", "x.json", "--type", "aws/vpc").code == 0
    said = run("namespace", "set", "infra", "--migrate", "--json")
    assert said.code == 0, said.err
    assert said.json["totalFiles"] >= 3
    assert (shared / "infra/.namespace.json").is_file()
    assert not (shared / "data").exists()
    found = run("data", "query", 'modelName == "prod"', "--json").json
    assert [each["namespace"] for each in found["results"]] == ["infra"]
    assert run("data", "write", "prod", "state", "x.json").code == 0
    said = run("namespace", "unset", "--migrate", "--json")
    assert said.code == 0, said.err
    assert not (shared / "infra/data").exists()
    assert not (shared / "infra/.namespace.json").exists()
    assert len(run("data", "versions", "prod", "state", "--json").json["versions"]) == 2


def test_in_a_shared_folder_nobody_takes_what_may_be_anothers(shared: Path, repo: Path, run: Any) -> None:  # noqa: ANN401
    (shared / "web").mkdir()
    (shared / "web/.namespace.json").write_text(_MANIFEST)
    (repo / "x.json").write_text("{}")
    assert run("data", "write", "prod", "state", "x.json", "--type", "aws/vpc").code == 0
    before = (repo / ".swamp.yaml").read_text()
    said = run("namespace", "set", "infra", "--migrate", "--json")
    assert (said.code, "not_owner" in said.err) == (1, True)
    assert (repo / ".swamp.yaml").read_text() == before
    assert not (shared / "infra").exists()


def test_a_datastore_that_nobody_can_share_has_no_namespace(run: Any) -> None:  # noqa: ANN401
    said = run("namespace", "set", "infra", "--json")
    assert (said.code, "invalid_config" in said.err) == (2, True)


@pytest.mark.parametrize("command", ["set", "unset", "list", "migrate", "repair"])
def test_help_has_an_example(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert start.run(["namespace", command, "--help"]) == 0
    assert f"Example: bayou namespace {command}" in capfd.readouterr().out
