"""Runs and structural commands keep out of each other's way, and what they exchange with others happens in between."""

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest

import bayou
from bayou import config
from bayou.config import Arguments
from bayou.datastore import abilities
from bayou.datastore.coordination import Coordination, Exchange
from bayou.datastore.locking import Locking
from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.domain.scopes import EVERYTHING, Scope, scope_of
from bayou.errors import LockTimeout, Unavailable
from bayou.locks import Hold, LockLost, SingleWriterCells
from bayou.testing.servers import Server

T = TypeVar("T")
SHELL = Model(ModelType("command/shell"), "9f1c")


def elsewhere(work: Callable[[], T]) -> T:
    """Do something in another thread: nobody there holds what is held here."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def impatient(repo: Path) -> bayou.Datastore:
    return bayou.open(repo, lock_timeout=0)


def run_of(datastore: bayou.Datastore, name: str) -> None:
    with datastore.model("t", name).run("update"):
        pass


def locks_in(repo: Path) -> list[Path]:
    return sorted((repo / ".swamp").rglob(".*lock"))


def test_a_run_keeps_others_from_its_model_and_from_nothing_else(datastore: bayou.Datastore, repo: Path) -> None:
    with datastore.model("t", "m").run("create") as run, impatient(repo) as other:
        run.write("state", {"a": 1})
        with pytest.raises(LockTimeout) as caught:
            elsewhere(lambda: run_of(other, "m"))
        assert caught.value.exit_code == 75
        assert f"bayou lock release data/t/{run.model.id}/.lock --force" in caught.value.remedy
        elsewhere(lambda: run_of(other, "n"))
        assert other.latest("m", "state").attributes == {"a": 1}
        other.write("m", "note", "by hand", type="t")
    assert locks_in(repo) == []
    with impatient(repo) as other:
        run_of(other, "m")


def test_a_run_that_had_to_give_up_leaves_no_record(datastore: bayou.Datastore, repo: Path) -> None:
    with datastore.model("t", "m").run("create"), impatient(repo) as other:
        with pytest.raises(LockTimeout):
            elsewhere(lambda: run_of(other, "m"))
        assert [found.output.method_name for found in other.runs.methods().records] == ["create"]


def test_a_second_run_of_a_model_waits_for_the_first(datastore: bayou.Datastore, repo: Path) -> None:
    order: list[str] = []

    def second() -> None:
        heard: list[str] = []
        with bayou.open(repo, notice=heard.append) as other, other.model("t", "m").run("create"):
            order.append("second")
        assert "waiting for" in heard[0]

    thread = threading.Thread(target=second)
    with datastore.model("t", "m").run("create"):
        thread.start()
        thread.join(0.5)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_a_run_within_a_run_and_within_a_hold_does_not_wait_for_itself(repo: Path) -> None:
    with impatient(repo) as datastore:
        vpc, dns = datastore.model("aws/ec2/vpc", "prod"), datastore.model("acme/dns", "prod")
        with datastore.hold(vpc, dns, vpc):
            assert len(locks_in(repo)) == 2
            with vpc.run("create"), dns.run("update"), vpc.run("check"):
                assert len(locks_in(repo)) == 2
            assert len(locks_in(repo)) == 2
        assert locks_in(repo) == []


STRUCTURAL: dict[str, Callable[[bayou.Datastore], object]] = {
    "gc": lambda ds: ds.gc(),
    "prune": lambda ds: ds.prune(),
    "runs gc": lambda ds: ds.runs.gc(),
    "delete all": lambda ds: ds.tidying.delete_each(ds.tidying.targets("n", None)),
}


@pytest.mark.parametrize("name", STRUCTURAL)
def test_structural_commands_wait_for_runs_and_runs_for_them(datastore: bayou.Datastore, repo: Path, name: str) -> None:
    for data in ("a", "b"):
        datastore.write("n", data, b"x", type="t")
    with impatient(repo) as other:
        with datastore.model("t", "m").run("create"), pytest.raises(LockTimeout):
            elsewhere(lambda: STRUCTURAL[name](other))
        with datastore.coordination.alone(), pytest.raises(LockTimeout):
            elsewhere(lambda: run_of(other, "m"))
        STRUCTURAL[name](other)
    assert locks_in(repo) == []


def test_looking_takes_no_lock(datastore: bayou.Datastore, repo: Path) -> None:
    def look() -> None:
        with impatient(repo) as other:
            other.write("m", "by-hand", b"x", type="t")
            assert other.gc(dry_run=True).dry_run
            assert other.prune(dry_run=True).dry_run
            assert other.count() == 1
            assert other.delete("m", "by-hand") == [1]

    with datastore.coordination.alone():
        elsewhere(look)


def steal(repo: Path) -> None:
    """Let somebody else have the only lock."""
    (file,) = locks_in(repo)
    body = json.loads(file.read_bytes()) | {"nonce": "theirs", "holder": "ci@elsewhere"}
    file.write_text(json.dumps(body))


def lose(datastore: bayou.Datastore, repo: Path) -> None:
    """Let somebody else have the only lock, and find out now, as the heart does from time to time."""
    (file,) = locks_in(repo)
    file.write_text(json.dumps(json.loads(file.read_bytes()) | {"nonce": "theirs", "holder": "ci@elsewhere"}))
    locks = datastore.coordination.locks
    (lease,) = locks._leases()._hearts
    locks._heart.run(lease.prove())


def test_a_run_that_lost_its_lock_writes_nothing_more_and_says_so(datastore: bayou.Datastore, repo: Path) -> None:
    def losing() -> None:
        with datastore.model("t", "m").run("create") as run:
            run.write("state", {"a": 1})
            lose(datastore, repo)
            run.write("state", {"a": 2})

    with pytest.raises(LockLost) as caught:
        losing()
    assert caught.value.exit_code == 3
    assert [record.version for record in datastore.versions("m", "state")] == [1]
    (found,) = datastore.runs.methods().records
    assert found.output.status == "failed"
    (file,) = locks_in(repo)
    assert json.loads(file.read_bytes())["nonce"] == "theirs"


def test_a_run_with_rollback_that_lost_its_lock_becomes_the_latest_of_nothing(
    datastore: bayou.Datastore, repo: Path
) -> None:
    def losing() -> None:
        with datastore.model("t", "m").run("create", rollback=True) as run:
            run.write("state", {"a": 1})
            lose(datastore, repo)

    with pytest.raises(LockLost):
        losing()
    assert datastore.count() == 0


class Recorded:
    """An exchange that notes what it is asked for, and what was held then."""

    def __init__(self, repo: Path, fails: Unavailable | None = None) -> None:
        self.calls: list[tuple[str, Scope, bool, int]] = []
        self._repo = repo
        self._fails = fails
        self.exchange = Exchange(self.before, self.after)

    async def before(self, scope: Scope, hold: Hold) -> None:
        self.calls.append(("before", scope, await hold.still_held(), len(locks_in(self._repo))))

    async def after(self, scope: Scope, hold: Hold) -> None:
        self.calls.append(("after", scope, await hold.still_held(anew=True), len(locks_in(self._repo))))
        if self._fails:
            raise self._fails


def test_what_is_exchanged_is_exchanged_while_the_locks_are_held(datastore: bayou.Datastore, repo: Path) -> None:
    recorded = Recorded(repo)
    datastore.coordination.exchange = recorded.exchange
    with datastore.model("t", "m").run("create") as run:
        run.write("state", {"a": 1})
    datastore.gc()
    of_model = scope_of([run.model])
    assert recorded.calls == [
        ("before", of_model, True, 1),
        ("after", of_model, True, 1),
        ("before", EVERYTHING, True, 1),
        ("after", EVERYTHING, True, 1),
    ]


def test_a_run_that_fails_is_published_too_and_what_failed_it_is_told(repo: Path) -> None:
    heard: list[str] = []
    with bayou.open(repo, notice=heard.append) as datastore:
        recorded = Recorded(repo, Unavailable("the bucket is away"))
        datastore.coordination.exchange = recorded.exchange
        with pytest.raises(ZeroDivisionError), datastore.model("t", "m").run("create"):
            raise ZeroDivisionError
        assert [call[0] for call in recorded.calls] == ["before", "after"]
        assert any("the bucket is away" in text for text in heard)
        with pytest.raises(KeyboardInterrupt), datastore.model("t", "m").run("create"):
            raise KeyboardInterrupt
        assert [call[0] for call in recorded.calls] == ["before", "after", "before"]
        with pytest.raises(Unavailable), datastore.model("t", "m").run("create") as run:
            run.write("state", {"a": 1})
        assert datastore.latest("m", "state").attributes == {"a": 1}
    assert locks_in(repo) == []


# Buckets.


def settings_at(server: Server, monkeypatch: pytest.MonkeyPatch) -> config.Settings:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", server.settings["access_key_id"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server.settings["secret_access_key"])
    url = f"s3://{server.new_bucket()}/team?endpoint={server.endpoint}&region=us-east-1&path_style=true"
    arguments = Arguments(datastore=url, lock_timeout_ms=1)
    return config.load(Path.cwd(), {"SWAMP_HOME": str(Path.cwd() / "home")}, arguments, home=Path.cwd())


def silently(_: str) -> None:
    pass


@pytest.mark.usefixtures("repo")
def test_machines_on_one_bucket_keep_each_other_out(ministack: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_at(ministack, monkeypatch)
    with closing(Coordination(settings, silently)) as one, closing(Coordination(settings, silently)) as other:

        def run() -> None:
            with other.running([SHELL]):
                pass

        def structure() -> None:
            with other.alone():
                pass

        with one.running([SHELL]) as check:
            check()
            for work in (run, structure):
                with pytest.raises(LockTimeout):
                    elsewhere(work)
            with Locking(settings, silently) as locking:
                assert [info.lock_key for info in locking.status() if info.is_held] == ["data/command/shell/9f1c/.lock"]
        elsewhere(run)
        elsewhere(structure)


@pytest.mark.usefixtures("repo")
def test_a_store_that_ignores_conditions_is_found_out_once_and_has_one_writer(
    rclone: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_at(rclone, monkeypatch)
    for _ in range(2):
        with closing(Coordination(settings, silently)) as coordination, coordination.running([SHELL]) as check:
            check()
            assert isinstance(coordination.locks._leases().cells, SingleWriterCells)
        monkeypatch.setattr(abilities, "find_out", None)  # it is never asked again
