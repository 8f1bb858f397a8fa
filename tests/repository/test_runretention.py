"""Retention of run records: the dry run says what the real run does, and a log leaves with its record."""

import os
import shutil
from pathlib import Path

import msgspec
import pytest

from bayou.domain import runsteps
from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.domain.outputs import Output, OutputStatus, succeeded
from bayou.domain.runs import Run, RunStatus
from bayou.errors import UsageError
from bayou.repository import outputs, runs
from bayou.repository.runretention import DAY_MS, RunGc, carry_out, plan
from bayou.tree import Tree
from bayou.wire.times import to_milliseconds

GOLDEN = Path(__file__).parent.parent / "golden" / "a-v1-dual-write" / "cache"
HOST = Model(ModelType("acme/host"), "9b2f1a52-2f4e-4c0e-8a7b-54f0a2f6f0aa")
NIGHTLY = "c3d2e1f0-1234-4abc-9def-0123456789ab"
DAY_31 = 31 * DAY_MS


def at(day: int, time: str = "09:15:00.125") -> str:
    return f"2026-04-{day:02}T{time}Z"


def ms(text: str) -> int:
    found = to_milliseconds(text)
    assert found is not None
    return found


NOW = ms(at(1)) + 30 * DAY_MS + 1  # what began on the first of April is just too old


@pytest.fixture(params=["beside the repo", "in the repo"])
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Tree:
    shared = tmp_path / "store" if request.param == "beside the repo" else tmp_path / ".swamp"
    return Tree(shared, tmp_path / ".swamp", durable=False)


def aged(path: Path, moment_ms: int = ms(at(1))) -> Path:
    os.utime(path, (moment_ms / 1000, moment_ms / 1000))
    return path


def recorded(tree: Tree, day: int, status: OutputStatus = OutputStatus.SUCCEEDED, time: str = "09:15:00.125") -> str:
    output = Output(method_name="collect", status=OutputStatus.RUNNING, started_at=at(day, time))
    output = msgspec.structs.replace(succeeded(output, at(day, time)), status=status)
    path = outputs.create(tree, HOST, output, with_log=True).path
    aged(tree.root / path, ms(at(day, time)))
    return path


def ran(tree: Tree, day: int, status: RunStatus = RunStatus.SUCCEEDED, ended: int | None = None) -> Run:
    run = runsteps.started(runs.draft(NIGHTLY, "nightly", {"main": ["a"]}), at(day))
    run = msgspec.structs.replace(run, status=status, completed_at=at(ended or day) if status.is_end else None)
    runs.create(tree, run)
    aged(tree.root / f"workflow-runs/{NIGHTLY}/workflow-run-{run.id}.yaml", ms(at(ended or day)))
    return run


def log(tree: Tree, name: str, moment_ms: int = ms(at(1)), content: str = "log\n") -> Path:
    path = tree.local / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return aged(path, moment_ms)


def paths(gc: RunGc) -> set[str]:
    return {doomed.file.path for doomed in (*gc.runs, *gc.outputs, *gc.orphans)}


def files(*roots: Path) -> set[Path]:
    return {path for root in roots for path in root.rglob("*") if path.is_file() and "_control" not in path.parts}


def test_thirty_days_are_kept_to_the_millisecond(tree: Tree) -> None:
    old, kept = recorded(tree, 1), recorded(tree, 1, time="09:15:00.126")
    run, later = ran(tree, 1), ran(tree, 2)
    assert paths(plan(tree, NOW)) == {old, f"workflow-runs/{NIGHTLY}/workflow-run-{run.id}.yaml"}
    assert paths(plan(tree, NOW + 1)) >= {kept}
    assert len(paths(plan(tree, NOW + DAY_MS, older_than_ms=0))) == 4
    assert later.id not in str(paths(plan(tree, NOW)))


def test_a_dry_run_touches_nothing_and_says_what_the_real_one_does(tree: Tree) -> None:
    recorded(tree, 1)
    recorded(tree, 20)
    run = ran(tree, 1)
    log(tree, f"workflow-runs/{NIGHTLY}/workflow-run-{run.id}.log", content="x" * 100)
    log(tree, "outputs/acme/host/collect/m-2026-03-01T00-00-00-000Z.log", content="x" * 7)
    before = files(tree.root, tree.local)
    planned = plan(tree, NOW)
    report = planned.report(dry_run=True)
    assert files(tree.root, tree.local) == before
    done = carry_out(tree, planned)
    gone = before - files(tree.root, tree.local)
    assert done == planned
    assert done.report(dry_run=False) == report | {"dryRun": False}
    assert (len(gone), report["workflowRunsDeleted"], report["outputsDeleted"]) == (4, 1, 1)
    assert paths(plan(tree, NOW)) == set()


def test_the_report_has_the_names_of_the_specification(tree: Tree) -> None:
    path = recorded(tree, 1)
    run = ran(tree, 1)
    log(tree, f"workflow-runs/{NIGHTLY}/workflow-run-{run.id}.log", content="x" * 100)
    size = (tree.root / path).stat().st_size
    run_size = (tree.root / f"workflow-runs/{NIGHTLY}/workflow-run-{run.id}.yaml").stat().st_size + 100
    assert list(plan(tree, NOW).report(dry_run=True).items()) == [
        ("workflowRunsDeleted", 1),
        ("workflowRunBytesReclaimed", run_size),
        ("outputsDeleted", 1),
        ("outputBytesReclaimed", size),
        ("totalBytesReclaimed", size + run_size),
        ("dryRun", True),
    ]


@pytest.mark.parametrize("status", [RunStatus.PENDING, RunStatus.RUNNING, RunStatus.SUSPENDED])
def test_a_run_that_is_not_over_is_never_removed(tree: Tree, status: RunStatus) -> None:
    ran(tree, 1, status)
    assert paths(plan(tree, NOW + 1000 * DAY_MS)) == set()


@pytest.mark.parametrize("status", [OutputStatus.PENDING, OutputStatus.RUNNING])
def test_an_execution_that_is_not_over_is_never_removed(tree: Tree, status: OutputStatus) -> None:
    path = recorded(tree, 1, status)
    log(tree, path.replace(".yaml", ".log"))
    assert paths(plan(tree, NOW + 1000 * DAY_MS)) == set()


def test_a_run_counts_from_its_end(tree: Tree) -> None:
    ran(tree, 1, ended=20)
    assert paths(plan(tree, NOW)) == set()
    assert len(paths(plan(tree, NOW + 20 * DAY_MS))) == 1


def test_a_record_whose_file_is_new_stays(tree: Tree) -> None:
    path = recorded(tree, 1)
    aged(tree.root / path, NOW)
    assert paths(plan(tree, NOW)) == set()


def test_what_changed_since_the_plan_stays(tree: Tree) -> None:
    path, gone = recorded(tree, 1), recorded(tree, 1)
    planned = plan(tree, NOW)
    (tree.root / path).write_bytes((tree.root / path).read_bytes() + b"# by hand\n")
    (tree.root / gone).unlink()
    done = carry_out(tree, planned)
    assert paths(done) == set()
    assert done.report(dry_run=False)["totalBytesReclaimed"] == 0
    assert (tree.root / path).exists()


def test_what_cannot_be_read_stays_and_is_reported(tree: Tree) -> None:
    path = recorded(tree, 1)
    (tree.root / path).write_bytes(b"\xff")
    aged(tree.root / path)
    planned = plan(tree, NOW)
    assert paths(planned) == set()
    assert [found.path for found in planned.failed] == [path]


def test_one_failure_stops_no_other(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    from bayou.errors import Denied  # noqa: PLC0415 - one test
    from bayou.tree.change import Change  # noqa: PLC0415 - one test

    stuck, gone = recorded(tree, 1), recorded(tree, 1)
    remove = Change.remove

    def refusing(change: Change, path: str) -> None:
        if path == stuck:
            raise Denied(f"{path}: read-only")
        remove(change, path)

    planned = plan(tree, NOW + 10)
    monkeypatch.setattr(Change, "remove", refusing)
    done = carry_out(tree, planned)
    assert paths(done) == {gone}
    assert [found.path for found in done.failed] == [stuck]


def test_empty_folders_go_with_the_last_record(tree: Tree) -> None:
    path = recorded(tree, 1)
    run = ran(tree, 1)
    log(tree, path.replace(".yaml", ".log"))
    log(tree, f"workflow-runs/{NIGHTLY}/workflow-run-{run.id}.log")
    carry_out(tree, plan(tree, NOW))
    for root in {tree.root, tree.local}:
        assert not list(root.glob("outputs/*"))
        assert not list(root.glob("workflow-runs/*"))


def test_the_summary_that_existing_clients_keep_is_forgotten(tree: Tree) -> None:
    ran(tree, 1)
    ran(tree, 20)
    index = log(tree, f"workflow-runs/{NIGHTLY}/.runs-index.json")
    carry_out(tree, plan(tree, NOW))
    assert not index.exists()


# --- logs ----------------------------------------------------------------------------------------------------------

STEM = f"outputs/acme/host/collect/{HOST.id}"


def test_a_log_leaves_with_its_record_and_not_before(tree: Tree) -> None:
    old, kept = recorded(tree, 1), recorded(tree, 20)
    gone, stays = (log(tree, path.replace(".yaml", ".log")) for path in (old, kept))
    carry_out(tree, plan(tree, NOW))
    assert not gone.exists()
    assert stays.exists()


def test_a_log_of_an_existing_client_leaves_with_the_record_that_follows_it(tree: Tree) -> None:
    recorded(tree, 1)
    recorded(tree, 20)
    gone = log(tree, f"{STEM}-2026-04-01T09-15-00-120Z.log")
    stays = log(tree, f"{STEM}-2026-04-20T09-15-00-121Z.log")
    done = carry_out(tree, plan(tree, NOW))
    assert [len(doomed.logs) for doomed in done.outputs] == [1]
    assert not gone.exists()
    assert stays.exists()


def test_logs_that_were_left_behind_go_when_they_are_old_and_nobody_can_miss_them(tree: Tree) -> None:
    kept = recorded(tree, 1, OutputStatus.RUNNING)
    orphan = log(tree, f"{STEM}-2026-03-01T09-15-00-120Z.log")
    young = log(tree, f"{STEM}-2026-04-10T09-15-00-120Z.log")
    written = log(tree, f"{STEM}-2026-03-02T09-15-00-120Z.log", NOW)
    running = log(tree, f"{STEM}-2026-04-01T09-15-00-120Z.log")
    nameless = log(tree, "outputs/acme/host/collect/notes.log")
    done = carry_out(tree, plan(tree, NOW + DAY_MS))
    assert [doomed.file.path for doomed in done.orphans] == [f"{STEM}-2026-03-01T09-15-00-120Z.log"]
    assert not orphan.exists()
    assert all(path.exists() for path in (young, written, running, nameless, tree.root / kept))


def test_the_log_of_a_record_that_a_sync_moved_aside_leaves_with_it(tree: Tree) -> None:
    path = recorded(tree, 1)
    aside = tree.root / f"{path[:-5]}-0d2b4f7a.yaml"
    (tree.root / path).rename(aside)
    gone = log(tree, path.replace(".yaml", ".log"))
    carry_out(tree, plan(tree, NOW))
    assert not aside.exists()
    assert not gone.exists()


def test_no_record_can_name_a_file_to_be_removed(tree: Tree, tmp_path: Path) -> None:
    precious = tmp_path / "precious.log"
    precious.write_text("")
    path = recorded(tree, 1)
    text = (tree.root / path).read_text()
    lines = [f'logFile: "{precious}"' if line.startswith("logFile") else line for line in text.splitlines()]
    (tree.root / path).write_text("\n".join(lines) + "\n")
    aged(tree.root / path)
    carry_out(tree, plan(tree, NOW))
    assert not (tree.root / path).exists()
    assert precious.exists()


def test_records_that_say_hardly_anything_are_as_old_as_their_files(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "outputs", tmp_path / "outputs")
    shutil.copytree(GOLDEN / "workflow-runs", tmp_path / "workflow-runs")
    tree = Tree(tmp_path, tmp_path / ".swamp", durable=False)
    for path in files(tmp_path):
        aged(path)
    report = plan(tree, NOW).report(dry_run=True)
    assert (report["outputsDeleted"], report["workflowRunsDeleted"]) == (3, 1)
    for path in files(tmp_path):
        aged(path, NOW)
    assert paths(plan(tree, NOW)) == set()


def test_less_than_no_time_is_refused(tree: Tree) -> None:
    with pytest.raises(UsageError):
        plan(tree, NOW, older_than_ms=-1)
