"""Federation: what the repos of one place tell each other, in a folder and in a bucket."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

import bayou
from bayou import config
from bayou.config import newrepo
from bayou.datastore import federation
from bayou.errors import UsageError
from bayou.storage.connecting import connect
from bayou.sync.journal import Journal
from bayou.sync.syncing import Job
from bayou.testing.computers import Computer
from bayou.testing.memory import MemoryStore
from bayou.testing.servers import Server

Repo = Callable[..., Path]


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    """Makes repos, each with a namespace of one place."""
    monkeypatch.setenv("SWAMP_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BAYOU_DURABLE", "0")

    def make(namespace: str, declared: dict[str, object]) -> Path:
        folder = tmp_path / namespace
        newrepo.create(folder)
        marker = folder / ".swamp.yaml"
        marker.write_text(
            marker.read_text() + yaml.safe_dump({"datastore": {**declared, "namespace": namespace}}, sort_keys=False)
        )
        return folder

    return make


def test_in_a_folder(repo: Repo, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    place: dict[str, object] = {"type": "filesystem", "path": str(shared)}
    with bayou.open(repo("web", place)) as web:
        version = web.write("prod", "state", {"a": 1}, type="aws/vpc")
        assert web.cataloguing.export()[1] == 1
    with bayou.open(repo("infra", place)) as infra:
        assert infra.cataloguing.pull(["web", "team"]) == ({"web": 1}, ["team"])
        (found,) = infra.query('name == "state"')
        assert (found.namespace, found.version) == ("web", version.version)
        raw = f"data/aws/vpc/{found.model_id}/state/1/raw"
        content = federation.contents_of(infra.settings, [("web", raw), ("web", "data/x")], at_most=100)
        assert {at: json.loads(body) for at, body in content.items()} == {("web", raw): {"a": 1}}
        assert not federation.contents_of(infra.settings, [("web", raw)], at_most=1)
        for path in ("../infra/x", "/etc/passwd"):
            with pytest.raises(UsageError):
                federation.contents_of(infra.settings, [("web", path)], at_most=100)
        content_asked_for(infra)


def content_asked_for(infra: bayou.Datastore) -> None:
    """What decides is brought if somebody wants that, and is kept nowhere."""
    before = {file for file in infra.tree.root.rglob("*") if "catalog" not in file.name}
    for predicate, total in (("attributes.a == 1", 1), ("attributes.a == 2", 0)):
        assert infra.query(predicate).undecided == 1
        results = infra.query(predicate, hydrate=True)
        assert (results.total, results.undecided) == (total, 0)
    (shown,) = infra.query('name == "state"', select="attributes.a", hydrate=True)
    assert shown == 1
    (record,) = infra.query("attributes.a == 1", hydrate=True)
    assert (record.namespace, record.attributes, json.loads(record.read())) == ("web", {"a": 1}, {"a": 1})
    with record.open() as file:
        assert json.load(file) == {"a": 1}
    (record,) = infra.query('name == "state"')
    assert record.attributes == {}
    assert {file for file in infra.tree.root.rglob("*") if "catalog" not in file.name} == before


def test_in_a_bucket(ministack: Server, repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ministack.settings["access_key_id"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", ministack.settings["secret_access_key"])
    bucket = {"bucket": ministack.new_bucket(), "region": "us-east-1", "forcePathStyle": True}
    folder = repo("infra", {"type": "@swamp/s3-datastore", "config": {**bucket, "endpoint": ministack.endpoint}})
    settings = config.load(folder, os.environ, home=folder)
    rows = [{"namespace": "web", "type_normalized": "t", "model_id": "m", "data_name": "n", "version": 1}]

    async def prepare() -> None:
        async with connect(settings.location) as store:
            await store.put("web/.catalog-export.json", json.dumps(rows).encode())
            await store.put("bad/.catalog-export.json", b"{")
            await store.put("web/data/t/m/n/1/raw", b"theirs")

    asyncio.run(prepare())
    notices: list[str] = []
    found = federation.rows_of(settings, notices.append, ["web", "bad", "none"])
    assert found == {"web": rows, "bad": None, "none": None}
    assert len(notices) == 2
    files = [("web", f"data/t/m/n/{number}/raw") for number in (1, 2)]
    assert federation.contents_of(settings, files, at_most=100) == {files[0]: b"theirs"}
    assert federation.contents_of(settings, files, at_most=1) == {}


def test_what_is_offered_goes_with_the_next_push_and_only_if_it_is_new(repo: Repo, tmp_path: Path) -> None:
    """W-80, as existing clients deliver it: a file among others."""
    shared = tmp_path / "shared"
    shared.mkdir()
    store = MemoryStore()
    with (
        bayou.open(repo("web", {"type": "filesystem", "path": str(shared)})) as web,
        Journal(shared, "web") as journal,
    ):
        web.write("prod", "state", {"a": 1}, type="aws/vpc")
        assert federation.offer(web, journal)
        assert not federation.offer(web, journal)
        computer = Computer(shared, store, namespace="web")

        async def push() -> list[str]:
            return (await computer.engine.run(Job(pulls=False))).pushed

        assert ".catalog-export.json" in asyncio.run(push())
        assert json.loads(store.objects["web/.catalog-export.json"][0])[0]["data_name"] == "state"
        assert not federation.offer(web, journal)
        web.write("prod", "state", {"a": 2})
        assert federation.offer(web, journal)
        assert ".catalog-export.json" in asyncio.run(push())
        assert len(json.loads(store.objects["web/.catalog-export.json"][0])) == 2
        computer.close()


def test_a_repo_of_its_own_offers_nothing(repo: Repo, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    folder = repo("web", {"type": "filesystem", "path": str(shared)})
    marker = folder / ".swamp.yaml"
    marker.write_text(marker.read_text().replace("namespace: web", ""))
    with bayou.open(folder) as solo, Journal(shared) as journal:
        assert not federation.offer(solo, journal)
        assert not (shared / ".catalog-export.json").exists()
