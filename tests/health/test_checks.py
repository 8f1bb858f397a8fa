"""Each check on something that is sound and on something that is not: folders of this machine, and real servers."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

import bayou
from bayou import config
from bayou.config import Arguments, newrepo
from bayou.config.declaration import written
from bayou.config.locations import GCS, S3, Azure, Folder
from bayou.health import CHECKS, Check, Finding, Level, Patient, Report, disks, examine, policy, stores
from bayou.health.findings import ok, problem
from bayou.health.identities import azure_source, gcs_source
from bayou.storage import Store
from bayou.testing.legacylocks import LegacyFileLock
from bayou.testing.machines import Machine
from bayou.testing.servers import Server
from bayou.testing.servers.places import new_place


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SWAMP_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BAYOU_DURABLE", "0")
    for name in ("SWAMP_DATASTORE", "SWAMP_REPO_DIR", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture(scope="session")
def dead_pid() -> int:
    """The pid of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-S", "-c", ""])
    child.wait()
    return child.pid


@pytest.fixture
def repo(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = home / "repo"
    newrepo.create(folder)
    monkeypatch.chdir(folder)
    return folder


@contextmanager
def patient_at(
    repo: Path | None = None, datastore: str | None = None, namespace: str | None = None
) -> Iterator[Patient]:
    arguments = Arguments(repo_dir=repo, datastore=datastore, namespace=namespace)
    with Patient(config.load(Path.cwd(), os.environ, arguments, home=Path.home())) as patient:
        yield patient


def report_of(repo: Path) -> Report:
    with patient_at(repo) as patient:
        return examine(patient)


def named(report: Report, name: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.check == name]


def url_of(server: Server, monkeypatch: pytest.MonkeyPatch, bucket: str | None = None) -> str:
    bucket = bucket or server.new_bucket()
    match server.kind:
        case "s3":
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", server.settings["access_key_id"])
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server.settings["secret_access_key"])
            return f"s3://{bucket}/team?endpoint={server.endpoint}&region=us-east-1&path_style=true"
        case "gcs":
            return f"gs://{bucket}/team?endpoint={server.endpoint}"
        case "azure":
            monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", server.settings["account_key"])
            account = server.settings["account_name"]
            return f"az://{bucket}/team?account={account}&endpoint={server.endpoint}"


# How checks are made.


def test_a_check_that_fails_is_a_problem_and_spares_us_those_that_need_it(repo: Path) -> None:
    def denied(_: Patient) -> Iterator[Finding]:
        yield ok("as far as here")
        raise bayou.Denied("no entry", remedy="Knock.")

    def never(_: Patient) -> Iterator[Finding]:
        raise AssertionError("it needs what failed")

    def broken(_: Patient) -> Iterator[Finding]:
        raise OSError("nobody thought of this")

    checks = [
        Check("first", denied),
        Check("second", never, ("first",)),
        Check("third", never, ("second",)),
        Check("fourth", lambda _: [ok("fine")]),
        Check("fifth", broken),
    ]
    with patient_at(repo) as patient:
        report = examine(patient, checks)
    assert [(f.check, str(f.level), f.message) for f in report.findings] == [
        ("first", "ok", "as far as here"),
        ("first", "problem", "no entry"),
        ("fourth", "ok", "fine"),
        ("fifth", "problem", "the check could not be made: OSError: nobody thought of this"),
    ]
    assert report.findings[1].remedy == "Knock."
    assert not report.is_healthy
    assert Report((problem("x"),)).to_dict()["healthy"] is False


# Folders.


def test_a_new_repo_is_healthy_and_nothing_of_the_examination_stays(repo: Path) -> None:
    report = report_of(repo)
    assert report.is_healthy, report
    made = {finding.check for finding in report.findings}
    assert made == {check.name for check in CHECKS} - {"credentials", "index", "bucket", "changes"}
    assert report.repairs == []
    assert [path for path in (repo / ".swamp").rglob("*") if path.is_file() and "probes" in str(path)] == []


def test_a_disk_without_room_for_data_or_for_names_is_told(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def disk(size: int, inodes: int, total: int = 10**9) -> Level:
        found = SimpleNamespace(f_bavail=size, f_frsize=1, f_favail=inodes, f_files=total)
        monkeypatch.setattr(os, "statvfs", lambda _: found)
        with patient_at(repo) as patient:
            (finding,) = disks.space(patient)
            return finding.level

    assert disk(2**40, 10**6) is Level.OK
    assert disk(2**40, 0, total=0) is Level.OK  # inodes are made as they are needed
    assert disk(2**29, 10**6) is Level.NOTICE
    assert disk(2**40, 5_000) is Level.NOTICE
    assert disk(2**20, 10**6) is Level.PROBLEM
    assert disk(2**40, 10) is Level.PROBLEM


def test_a_catalog_on_a_network_file_system_is_a_problem_and_a_datastore_there_is_not(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    monkeypatch.setattr(disks, "_MOUNTS", mounts)

    def levels(kind: str) -> list[Level]:
        shown = str(repo).replace(" ", "\\040")
        mounts.write_text(f"/dev/vda / ext4 rw 0 0\nserver:/x {shown} {kind} rw 0 0\nproc /proc proc rw 0 0\n")
        with patient_at(repo) as patient:
            return [finding.level for finding in disks.kinds(patient)]

    assert levels("ext4") == [Level.OK, Level.OK]
    assert levels("nfs4") == [Level.PROBLEM, Level.OK]
    assert levels("fuse.sshfs") == [Level.PROBLEM, Level.OK]
    assert levels("tmpfs") == [Level.OK, Level.NOTICE]


def test_the_kind_of_a_file_system_is_that_of_the_innermost_mount(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/vda / ext4 rw 0 0\nx /srv/a\\040b nfs rw 0 0\ny /srv/a\\040b xfs rw 0 0\nz /srv/a zfs rw 0 0\n"
    )
    monkeypatch.setattr(disks, "_MOUNTS", mounts)
    assert disks.kind_of(Path("/srv/a b/c")) == "xfs"
    assert disks.kind_of(Path("/srv/a/c")) == "zfs"
    assert disks.kind_of(Path("/srv/ab")) == "ext4"


def test_a_missing_folder_is_told_once(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWAMP_DATASTORE", f"filesystem:{tmp_path / 'gone'}")
    report = report_of(repo)
    problems = [finding for finding in report.findings if finding.level is Level.PROBLEM]
    assert problems
    assert all("gone" in finding.message for finding in problems)
    assert {finding.check for finding in problems} <= {"fileSystem", "reach"}


def test_a_clock_that_is_wrong_is_told(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def skewed(seconds: float) -> tuple[Level, str]:
        fake = SimpleNamespace(time=lambda: time.time() + seconds, monotonic=time.monotonic)
        monkeypatch.setattr(stores, "time", fake)
        with patient_at(repo) as patient:
            (finding,) = stores.clock(patient)
            return finding.level, finding.message

    assert skewed(0)[0] is Level.OK
    assert skewed(10)[0] is Level.NOTICE
    for hour, side in ((3600, "ahead of"), (-3600, "behind")):
        level, message = skewed(hour)
        assert level is Level.PROBLEM
        assert side in message


def test_a_lock_of_the_dead_is_found_and_ended(repo: Path, dead_pid: int) -> None:
    here = os.uname().nodename
    alive = LegacyFileLock(repo / ".swamp/data/t/alive/.lock", hostname=here)
    dead = LegacyFileLock(repo / ".swamp/data/t/dead/.lock", hostname=here, pid=dead_pid, ttl_ms=1000)
    unreadable = repo / ".swamp/data/t/odd/.lock"
    assert alive.try_acquire()
    assert dead.try_acquire()
    unreadable.parent.mkdir()
    unreadable.write_text("not json")
    with patient_at(repo) as patient:
        report = examine(patient)
        problems = {str(f.details["lockKey"]): f for f in named(report, "locks") if f.level is Level.PROBLEM}
        assert problems.keys() == {"data/t/dead/.lock", "data/t/odd/.lock"}
        repair = problems["data/t/dead/.lock"].repair
        assert repair is not None
        repair.carry_out()
    assert not dead.path.exists()
    assert alive.path.exists()
    unreadable.unlink()
    assert report_of(repo).is_healthy


def test_what_is_left_of_those_who_waited_is_taken_away(repo: Path) -> None:
    note = repo / ".swamp/_control/bayou/waiting/one.json"
    note.parent.mkdir(parents=True)
    note.write_bytes(b"{")
    with patient_at(repo) as patient:
        (found,) = [finding for finding in examine(patient).findings if finding.repair is not None]
        assert (found.check, found.level) == ("locks", Level.NOTICE)
        assert found.repair is not None
        found.repair.carry_out()
    assert not note.exists()


def test_a_damaged_catalog_is_found_and_built_anew(repo: Path) -> None:
    with bayou.open(repo) as datastore:
        datastore.write("m", "state", {"a": 1}, type="t")
        path = datastore.catalog_path
    for log in path.parent.glob(f"{path.name}-*"):
        log.unlink()
    path.write_bytes(b"not a catalog" * 1000)
    with patient_at(repo) as patient:
        (finding,) = named(examine(patient), "catalog")
        assert finding.level is Level.PROBLEM
        assert finding.repair is not None
        finding.repair.carry_out()
    assert report_of(repo).is_healthy
    with bayou.open(repo) as datastore:
        assert datastore.latest("m", "state").attributes == {"a": 1}


def test_a_version_that_nobody_can_read_is_named(repo: Path) -> None:
    with bayou.open(repo) as datastore:
        record = datastore.write("m", "state", {"a": 1}, type="t")
        metadata = record.path.with_name("metadata.yaml")
    metadata.write_text("{")
    (finding,) = [f for f in named(report_of(repo), "catalog") if f.level is Level.PROBLEM]
    assert "state/1" in finding.message


def test_a_run_whose_process_is_gone_is_recorded_as_failed(repo: Path) -> None:
    script = "import bayou, os; bayou.open().model('t', 'm').run('create').__enter__(); os._exit(0)"
    subprocess.run([sys.executable, "-c", script], check=True)  # noqa: S603 - our own script
    (repo / ".swamp/data/t").rename(repo / ".swamp/elsewhere")  # its lock is another check's
    with patient_at(repo) as patient:
        (finding,) = named(examine(patient), "runs")
        assert finding.level is Level.NOTICE
        assert finding.repair is not None
        finding.repair.carry_out()
    (finding,) = named(report_of(repo), "runs")
    assert finding.level is Level.OK


# Stores.


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("name", ["ministack", "fake_gcs", "azurite"])
def test_a_bucket_that_is_sound_is_healthy(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    url = url_of(request.getfixturevalue(name), monkeypatch)
    with patient_at(datastore=url, namespace="infra") as patient:
        report = examine(patient)
        assert report.is_healthy, report
        assert named(report, "index")[0].details == {"format": "none"}
        assert named(report, "credentials")[0].details["source"]

        async def left(store: Store) -> list[str]:
            return [meta.key async for page in store.list() for meta in page]

        assert patient.ask(left) == []


@pytest.mark.usefixtures("home")
def test_a_store_that_ignores_conditions_is_a_problem(rclone: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with patient_at(datastore=url_of(rclone, monkeypatch)) as patient:
        report = examine(patient)
    (finding,) = named(report, "conditionalWrites")
    assert finding.level is Level.PROBLEM
    assert "single writer" in finding.message


@pytest.mark.usefixtures("home")
def test_a_missing_bucket_and_refused_and_missing_credentials_each_have_their_remedy(
    seaweedfs: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kind(url: str) -> tuple[str, str, object]:
        with patient_at(datastore=url) as patient:
            report = examine(patient)
        (finding,) = [finding for finding in report.findings if finding.level is Level.PROBLEM]
        assert finding.remedy
        return finding.check, finding.remedy, finding.details["kind"]

    url = url_of(seaweedfs, monkeypatch)
    assert kind(url_of(seaweedfs, monkeypatch, "no-such-bucket"))[::2] == ("reach", "container_missing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    assert kind(url)[::2] == ("reach", "credentials_rejected")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    check, remedy, missing = kind(url)
    assert (check, missing) == ("credentials", "credentials_missing")
    assert "aws configure" in remedy


@pytest.mark.usefixtures("home")
def test_a_place_where_nobody_answers_is_a_problem_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "y")
    url = "s3://bucket/team?endpoint=http://127.0.0.1:9&region=us-east-1&path_style=true"
    with patient_at(datastore=url) as patient:
        report = examine(patient)
    (finding,) = [finding for finding in report.findings if finding.level is Level.PROBLEM]
    assert (finding.check, finding.details["kind"]) == ("reach", "transient")
    # What is on this machine can be looked at all the same.
    assert {"catalog", "changes", "runs"} <= {finding.check for finding in report.findings}


@pytest.mark.usefixtures("home")
def test_a_journal_that_cannot_be_opened_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "y")
    url = "s3://bucket/team?endpoint=http://127.0.0.1:9&region=us-east-1&path_style=true"
    with patient_at(datastore=url) as patient:
        assert patient.datastore is not None
        control = Path(patient.datastore.tree.root) / "_control"
    shutil.rmtree(control, ignore_errors=True)
    control.write_bytes(b"no folder")
    with patient_at(datastore=url) as patient:
        report = examine(patient)
    assert [f.check for f in report.findings if f.level is Level.PROBLEM] == ["opening", "reach"]


@pytest.mark.usefixtures("home")
def test_a_damaged_index_is_found_and_rebuilt(ministack: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with patient_at(datastore=url_of(ministack, monkeypatch)) as patient:

        async def fill(store: Store) -> None:
            machine = Machine(store)
            await machine.push({"data/t/s/a/state/1/raw": b"1", "data/t/s/a/state/1/metadata.yaml": b"version: 1"})
            assert (await machine.remote.migrate(lambda: True)).entries == 2
            async for page in store.list("_index"):
                for meta in page:
                    if not meta.key.endswith("_meta.json"):
                        await store.put(meta.key, b"{")

        patient.ask(fill)
        (finding,) = [f for f in named(examine(patient), "index") if f.level is Level.PROBLEM]
        assert finding.repair is not None
        finding.repair.carry_out()
        report = examine(patient)
        assert report.is_healthy, report
        assert named(report, "index")[0].details["entries"] == 2


def test_a_bucket_that_is_not_what_its_index_says_is_found_and_mended(
    ministack: Server, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = new_place(ministack, monkeypatch.setenv, prefix="p")
    marker = repo / ".swamp.yaml"
    marker.write_text(marker.read_text() + yaml.safe_dump({"datastore": written(location, repo)}))
    with bayou.open(repo) as datastore:
        datastore.write("prod", "state", {"a": 1}, type="aws/vpc")
        datastore.sync()
        (raw,) = [path for path, _ in datastore.syncing._journal.base.files() if path.endswith("/raw")]
    (finding,) = named(report_of(repo), "bucket")
    assert (finding.level, finding.repair) == (Level.OK, None)
    with patient_at(repo) as patient:
        patient.ask(lambda store: store.delete(raw))
        (finding,) = named(examine(patient), "bucket")
        assert finding.level is Level.PROBLEM
        assert raw in finding.message
        assert finding.repair is not None
        assert finding.repair.what == "make index and bucket agree: upload 1"
        finding.repair.carry_out()
        patient.ask(lambda store: store.put("_index/_meta.json", b"{"))
        patient.ask(lambda store: store.delete(raw))
        (finding,) = [f for f in named(examine(patient), "index") if f.level is Level.PROBLEM]
        assert finding.repair is not None
        finding.repair.carry_out()
    report = report_of(repo)
    assert report.is_healthy, report
    with bayou.open(repo) as datastore:
        assert datastore.sync().report.deleted_here == []
        assert datastore.latest("prod", "state").json() == {"a": 1}


# Rights, and whose they are.


def test_the_policy_names_the_bucket_and_the_prefix_and_nothing_else() -> None:
    document: Any = policy(S3("lake", "team"))
    listing, objects = document["Statement"]
    assert listing["Resource"] == ["arn:aws:s3:::lake"]
    assert listing["Condition"] == {"StringLikeIfExists": {"s3:prefix": ["team", "team/*"]}}
    assert objects["Resource"] == ["arn:aws:s3:::lake/team/*"]
    assert objects["Action"] == ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"]
    assert "arn:aws-cn:s3:::lake" in json.dumps(policy(S3("lake", region="cn-north-1")))
    assert "arn:aws-us-gov:s3:::lake/*" in json.dumps(policy(S3("lake", region="us-gov-west-1")))
    assert "Condition" not in policy(S3("lake"))["Statement"][0]  # type: ignore[index]
    roles = policy(GCS("lake", "team"))
    assert roles["write"] == ["roles/storage.objectUser"]
    assert roles["condition"] == (
        "resource.name.startsWith('projects/_/buckets/lake/objects/team/') ||"
        " api.getAttribute('storage.googleapis.com/objectListPrefix', '').startsWith('team/')"
    )
    assert policy(Azure("lake", account="acme"))["read"] == ["Storage Blob Data Reader"]
    assert policy(Folder(Path("/srv/store")))["path"] == "/srv/store"


def test_which_chain_answers_is_told(tmp_path: Path) -> None:
    sources: list[tuple[Callable[[dict[str, str], Path], str], dict[str, str], str]] = [
        (gcs_source, {"GOOGLE_APPLICATION_CREDENTIALS": "x"}, "environment (GOOGLE_APPLICATION_CREDENTIALS)"),
        (gcs_source, {}, "machine (metadata server)"),
        (azure_source, {"AZURE_STORAGE_ACCOUNT_KEY": "x"}, "environment (AZURE_STORAGE_ACCOUNT_KEY)"),
        (azure_source, {"AZURE_CLIENT_SECRET": "x"}, "client secret (AZURE_CLIENT_SECRET)"),
        (azure_source, {}, "machine (managed identity)"),
    ]
    for source, environ, said in sources:
        assert source(environ, tmp_path) == said
    (tmp_path / ".config/gcloud").mkdir(parents=True)
    (tmp_path / ".config/gcloud/application_default_credentials.json").write_text("{}")
    assert gcs_source({}, tmp_path) == "gcloud auth application-default login"
