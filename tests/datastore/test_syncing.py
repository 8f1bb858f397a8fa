"""A datastore whose place is a bucket: worked on without it, brought together with it when somebody wants that."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import bayou
from bayou.config import Hydration, marker, newrepo
from bayou.datastore.setup import Wishes, set_up
from bayou.errors import Denied, ErrorKind, NotFound, Unavailable, UsageError
from bayou.locks import LockLost
from bayou.sync import pushing
from bayou.testing.servers import Server

Place = Callable[[Server], str]
MODEL = "aws/ec2/vpc/prod"


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Place:
    """An empty place on a server, which finds its credentials in the environment."""

    def place(server: Server) -> str:
        bucket, endpoint = server.new_bucket(), server.endpoint
        match server.kind:
            case "s3":
                monkeypatch.setenv("AWS_ACCESS_KEY_ID", server.settings["access_key_id"])
                monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server.settings["secret_access_key"])
                return f"s3://{bucket}/team?endpoint={endpoint}&path_style=true&region=us-east-1"
            case "gcs":
                return f"gs://{bucket}/team?endpoint={endpoint}"
            case "azure":
                monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", server.settings["account_key"])
                return f"az://{bucket}/team?account={server.settings['account_name']}&endpoint={server.settings['endpoint']}"

    return place


@pytest.fixture
def url(ministack: Server, place: Place) -> str:
    return place(ministack)


def connect(repo: Path, url: str, **wishes: object) -> Path:
    """A repo whose datastore is there."""
    if not (repo / ".swamp.yaml").exists():
        newrepo.create(repo)
    set_up(repo, Wishes(url, **wishes), lambda _: None)  # type: ignore[arg-type]
    return repo


def write(repo: Path, status: str) -> None:
    with bayou.open(repo) as ds:
        ds.write("prod", "state", {"status": status}, type="aws/ec2/vpc", content_type="application/json")


@pytest.fixture(params=["azurite", "fake_gcs", "ministack", "moto"])
def sharable(request: pytest.FixtureRequest) -> Server:
    """Each kind of server that several writers can share."""
    server = request.getfixturevalue(request.param)
    assert isinstance(server, Server)
    return server


def test_two_repos_agree_on_every_kind_of_store(sharable: Server, repo: Path, place: Place) -> None:
    url = place(sharable)
    connect(repo, url)
    other = connect(repo.parent / "other", url)
    write(repo, "ok")
    with bayou.open(repo) as ds:
        assert len(ds.push().report.pushed) == 4
        assert ds.sync().requests == 1
    with bayou.open(other) as ds:
        assert ds.pull().is_complete
        assert ds.latest("prod", "state").attributes == {"status": "ok"}
        assert ds.sync().requests == 1


def test_what_works_here_needs_no_network_library(repo: Path, url: str) -> None:
    connect(repo, url)
    code = f"""
import sys, bayou
with bayou.open({str(repo)!r}) as ds:
    ds.write("prod", "state", {{"a": 1}}, type="aws/ec2/vpc")
    ds.latest("prod", "state").read()
    ds.query("attributes.a == 1")
    ds.syncing.standing()
    ds.syncing.conflicts()
    print(sorted({{"obstore"}} & set(sys.modules)))
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"  # noqa: S603


def test_a_url_alone_is_read_only_and_lazy(repo: Path, url: str) -> None:
    connect(repo, url)
    write(repo, "ok")
    with bayou.open(repo) as ds:
        ds.push()
    with bayou.open(url) as ds:
        with pytest.raises(NotFound):
            ds.latest("prod", "state")
        assert ds.pull().absent == 1
        assert ds.latest("prod", "state").attributes == {"status": "ok"}
        with pytest.raises(Denied):
            ds.push()
        with pytest.raises(Denied):
            ds.sync()
    with bayou.open(url) as ds:  # what was fetched is there the next time
        assert ds.pull().requests == 1
        assert ds.syncing.standing().absent == 0


def test_a_folder_has_nothing_to_sync(repo: Path) -> None:
    with bayou.open(repo) as ds, pytest.raises(UsageError, match="nothing to sync"):
        ds.sync()


def test_a_notebook_has_a_loop_already(repo: Path, url: str) -> None:
    connect(repo, url)
    write(repo, "ok")

    async def cell() -> int:
        with bayou.open(repo) as ds:
            return len(ds.push().report.pushed)

    assert asyncio.run(cell()) == 4


def test_all_clones_on_a_machine_see_what_one_of_them_pulled(repo: Path, url: str) -> None:
    connect(repo, url)
    other = connect(repo.parent / "other", url)
    clone = repo.parent / "clone"
    shutil.copytree(repo, clone)
    with bayou.open(clone) as ds:
        assert ds.query().total == 0
    write(other, "ok")
    with bayou.open(other) as ds:
        ds.push()
    with bayou.open(repo) as ds:
        ds.pull()
    with bayou.open(clone) as ds:
        assert [record.attributes for record in ds.query()] == [{"status": "ok"}]


def test_content_that_came_or_went_is_known_to_queries(repo: Path, url: str) -> None:
    connect(repo, url, hydration=Hydration.LAZY)
    write(repo, "ok")
    with bayou.open(repo) as ds:
        ds.push()
        assert ds.syncing.evict(0).files == 1
    with bayou.open(repo) as ds:
        asked = 'attributes.status.startsWith("o")'
        assert ds.query(asked).total == 0
        assert ds.query(asked, hydrate=True).total == 1
        assert ds.query(asked).total == 1


def test_an_extension_says_what_it_writes(repo: Path, url: str) -> None:
    connect(repo, url)
    with bayou.open(repo) as ds:
        ds.syncing.mark_dirty("files/report.txt")
        (ds.tree.root / "files").mkdir(exist_ok=True)
        (ds.tree.root / "files/report.txt").write_text("done")
        assert ds.push().report.pushed == ["files/report.txt"]
        assert all(ds.syncing.capabilities().values())


def test_a_scope_finds_a_model_by_the_definition_that_comes_with_it(repo: Path, url: str) -> None:
    connect(repo, url)
    other = connect(repo.parent / "other", url)
    theirs = "7d5f0a52-5a0f-4a6e-9d0c-6f6f9b1c2d3e"
    with bayou.open(other) as ds:
        path = "auto-definitions/aws/ec2/vpc/prod.yaml"
        lines = ("type: aws/ec2/vpc", f"id: {theirs}", "name: prod", "version: 1", "tags: {}", "methods: {}")
        with ds.tree.change(path) as change:
            change.replace(path, "\n".join(lines).encode())
    write(other, "ok")
    with bayou.open(other) as ds:
        assert ds.find_model("prod").id == theirs
        ds.push()
    with bayou.open(repo) as ds:
        ds.pull(models=[MODEL])
        assert ds.latest("prod", "state").attributes == {"status": "ok"}
        assert ds.pull(models=["aws/ec2/vpc/nobody"]).report.pulled == []


def test_a_sync_that_takes_too_long_ends_and_the_next_one_goes_on(repo: Path, url: str) -> None:
    connect(repo, url)
    write(repo, "ok")
    with bayou.open(repo) as ds:
        with pytest.raises(Unavailable) as late:
            ds.sync(seconds=0)
        assert late.value.kind is ErrorKind.DEADLINE_EXCEEDED
        assert len(ds.sync().report.pushed) == 4


def test_a_namespace_offers_its_catalog_with_each_push(repo: Path, url: str) -> None:
    connect(repo, url, namespace="infra")
    other = connect(repo.parent / "other", url, namespace="web")
    write(repo, "ok")
    with bayou.open(repo) as ds:
        assert ".catalog-export.json" in ds.push().report.pushed
        assert ds.sync().requests == 1
    with bayou.open(other) as ds:
        pulled, _ = ds.cataloguing.pull(["infra"])
        assert pulled == {"infra": 1}


def test_a_clone_never_offers_less_than_there_is(repo: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a new one, which knows nothing yet, nor one that was away while others wrote."""
    connect(repo, url, namespace="infra")
    write(repo, "ok")
    with bayou.open(repo) as ds:
        ds.sync()
        repo_id = ds.settings.repo_id
    web = connect(repo.parent / "web", url, namespace="web")

    def offered() -> int:
        with bayou.open(web) as ds:
            return ds.cataloguing.pull(["infra"])[0]["infra"]

    clone = repo.parent / "clone"
    made = newrepo.create(clone)
    marker.save(made, {**made.values, "repoId": repo_id})
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("SWAMP_HOME", str(repo.parent / "elsewhere"))
        connect(clone, url, namespace="infra")
        assert offered() == 1
    with bayou.open(repo) as ds:
        ds.write("prod", "more", b"1", type="aws/ec2/vpc")
        ds.sync()
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("SWAMP_HOME", str(repo.parent / "elsewhere"))
        with bayou.open(clone) as ds:
            ds.write("prod", "other", b"1", type="aws/ec2/vpc")
            ds.sync()
            assert ds.sync().requests == 1
        assert offered() == 3


def test_content_that_is_gone_there_is_named(repo: Path, url: str) -> None:
    connect(repo, url)
    write(repo, "ok")
    with bayou.open(repo) as ds:
        ds.push()
        record = ds.latest("prod", "state")
        place = record.path.relative_to(ds.tree.root)
        ds.syncing.evict(0)
    from bayou.config import urls  # noqa: PLC0415 - for this test only
    from bayou.storage import connect as open_store  # noqa: PLC0415 - as above

    async def remove() -> None:
        async with open_store(urls.parse(url)) as store:
            await store.delete(place.as_posix())

    asyncio.run(remove())
    with bayou.open(repo) as ds, pytest.raises(NotFound, match="there is no such object") as missing:
        ds.latest("prod", "state").read()
    assert missing.value.kind is ErrorKind.CONTENT_MISSING


def test_the_environment_may_name_another_place_which_has_a_cache_of_its_own(
    repo: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(repo, url)
    write(repo, "ok")
    monkeypatch.setenv("SWAMP_DATASTORE", url.replace("/team?", "/elsewhere?"))
    with bayou.open(repo) as ds:
        assert ds.query().total == 0
        assert str(ds.tree.root) != str(marker_cache(repo))


def marker_cache(repo: Path) -> Path:
    found = marker.read(repo)
    assert found is not None
    return Path(os.environ["SWAMP_HOME"]) / "repos" / str(found.values["repoId"])


def test_a_run_exchanges_its_model_with_the_others(tmp_path: Path, url: str) -> None:
    """Pulled before, pushed after, under the lock of the model; a structural command does so with everything."""
    one, two = connect(tmp_path / "one", url), connect(tmp_path / "two", url)
    for repo, status in ((one, "first"), (two, "second"), (one, "third")):
        with bayou.open(repo) as ds, ds.model("aws/ec2/vpc", "prod").run("create") as run:
            run.write("state", {"status": status})
    with bayou.open(two) as ds, ds.model("aws/ec2/vpc", "prod").run("look"):
        assert [record.attributes["status"] for record in ds.versions("prod", "state")] == ["third", "second", "first"]
        assert ds.syncing.standing().dirty == 0 or ds.syncing.standing().paths
    with bayou.open(one) as ds:
        assert ds.syncing.standing().dirty == 0
        ds.delete("prod", "state", 1)
        ds.gc()
        assert ds.syncing.standing().dirty == 0
    with bayou.open(two) as ds:
        ds.syncing.pull()
        assert [record.version for record in ds.versions("prod", "state")] == [3, 2]


def test_a_run_without_a_network_keeps_what_it_produced(tmp_path: Path, ministack: Server, place: Place) -> None:
    one = connect(tmp_path / "one", place(ministack))
    heard: list[str] = []
    text = (one / ".swamp.yaml").read_text()
    port = ministack.endpoint.rpartition(":")[2]
    (one / ".swamp.yaml").write_text(text.replace(f":{port}", ":9"))
    with bayou.open(one, notice=heard.append) as ds:
        with ds.model("aws/ec2/vpc", "prod").run("create") as run:
            run.write("state", {"status": "offline"})
        assert ds.syncing.standing().dirty
    assert any("offline" in said for said in heard)
    (one / ".swamp.yaml").write_text(text)
    with bayou.open(one) as ds:
        assert len(ds.syncing.sync().report.pushed) >= 3
        assert ds.syncing.standing().dirty == 0


def test_a_run_whose_credentials_end_meanwhile_says_that_its_data_waits(
    repo: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(repo, url)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(repo))
    with bayou.open(repo) as ds, monkeypatch.context() as gone:
        run = ds.model("aws/ec2/vpc", "prod").run("create")

        def execute() -> None:
            with run:
                run.write("state", {"status": "ok"})
                gone.delenv("AWS_ACCESS_KEY_ID")
                gone.delenv("AWS_SECRET_ACCESS_KEY")

        with pytest.raises(Denied, match="what was produced waits on this machine") as denied:
            execute()
        assert denied.value.kind is ErrorKind.CREDENTIALS_MISSING
        assert run.output.status == "succeeded"
        assert ds.syncing.standing().dirty
    with bayou.open(repo) as ds:
        assert len(ds.push().report.pushed) >= 3


def test_a_run_that_cannot_commit_in_time_keeps_what_it_produced(repo: Path, url: str) -> None:
    connect(repo, url)
    heard: list[str] = []
    with (
        bayou.open(repo) as other,
        bayou.open(repo, lock_timeout=0.5, notice=heard.append) as ds,
        ThreadPoolExecutor(1) as elsewhere,
    ):
        held = other.coordination.locks.commit()
        with ds.model("aws/ec2/vpc", "prod").run("create") as run:
            run.write("state", {"status": "ok"})
            elsewhere.submit(held.__enter__).result()
        assert any("what was produced waits on this machine" in said for said in heard)
        assert ds.syncing.standing().dirty
        elsewhere.submit(held.__exit__, None, None, None).result()  # else this process would still say that it holds it


def test_a_run_that_loses_its_lock_while_it_uploads_commits_nothing(
    repo: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last proof is fresh, and yet another run may be at work by now."""
    connect(repo, url)
    prepare = pushing.prepare
    with bayou.open(repo) as ds:
        with ds.model("aws/ec2/vpc", "prod").run("create") as first:
            first.write("state", {"status": "ok"})
        run = ds.model("aws/ec2/vpc", "prod").run("create")

        async def overtaken(*given: Any) -> Any:  # noqa: ANN401 - passed on
            prepared = await prepare(*given)
            (model, _) = await asyncio.to_thread(ds.coordination.locks.status)
            assert await asyncio.to_thread(ds.coordination.locks.release_by_force, model.lock_key, model.nonce)
            return prepared

        def execute() -> None:
            with run:
                run.write("state", {"status": "late"})

        with monkeypatch.context() as patched:
            patched.setattr(pushing, "prepare", overtaken)
            with pytest.raises(LockLost, match="what was produced waits on this machine"):
                execute()
        assert ds.syncing.standing().dirty
    with bayou.open(connect(repo.parent / "other", url)) as other:
        assert other.latest("prod", "state").attributes == {"status": "ok"}


def test_whoever_reads_waits_for_nobody(repo: Path, url: str) -> None:
    """Neither for a run nor for a structural command, and not for those who wait for them."""
    connect(repo, url)
    other = connect(repo.parent / "other", url)
    write(repo, "ok")
    with bayou.open(repo) as ds, bayou.open(other, lock_timeout=0) as reader:
        ds.push()
        for held in (ds.coordination.alone(), ds.model("aws/ec2/vpc", "prod").run("create")):
            with held, ThreadPoolExecutor(1) as elsewhere:

                def read() -> None:
                    assert reader.pull(lazy=True).is_complete
                    assert reader.latest("prod", "state").attributes == {"status": "ok"}
                    assert reader.query('attributes.status == "ok"', hydrate=True).total == 1
                    assert reader.syncing.plan().steps == []

                elsewhere.submit(read).result()
