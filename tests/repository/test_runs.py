"""Workflow runs in a datastore: each step of a run is a whole record, and lists need no more than its summary."""

import json
import os
import shutil
import threading
from pathlib import Path

import pytest

from bayou.domain import runsteps
from bayou.domain.runs import REDACTED, Run, RunStatus, StepStatus
from bayou.errors import Conflict, ErrorKind, NotFound, UsageError
from bayou.repository import runs
from bayou.repository.machines import machine_name
from bayou.repository.walking import FileAt, walk
from bayou.tree import Tree
from bayou.wire import runs as wire
from bayou.wire.times import to_milliseconds

GOLDEN = Path(__file__).parent.parent / "golden" / "a-v1-dual-write" / "cache"
NIGHTLY = "c3d2e1f0-1234-4abc-9def-0123456789ab"
WEEKLY = "d4e3f2a1-1234-4abc-9def-0123456789ab"
LATER = "2026-04-20T09:15:01.900Z"


def at(day: int) -> str:
    return f"2026-04-{day:02}T09:15:00.125Z"


def ms(text: str) -> int:
    found = to_milliseconds(text)
    assert found is not None
    return found


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / ".swamp", tmp_path / ".swamp", durable=False)


def begun(tree: Tree, day: int, workflow: str = NIGHTLY, **known: object) -> Run:
    run = runs.draft(workflow, "nightly", {"main": ["collect", "report"]}, **known)  # type: ignore[arg-type] # fields by name
    return runs.create(tree, runsteps.started(run, at(day)))


def days(page: runs.RunPage) -> list[int]:
    return [int((found.run.started_at or "")[8:10]) for found in page.runs]


def test_each_step_of_a_run_is_a_whole_record(tree: Tree) -> None:
    run = begun(tree, 1, tags={"env": "prod"}, trigger_source="cron")
    path = tree.root / f"workflow-runs/{NIGHTLY}/workflow-run-{run.id}.yaml"
    steps = [
        lambda run: runsteps.step_started(run, "main", "collect", LATER),
        lambda run: runsteps.step_succeeded(run, "main", "collect", LATER, left=runsteps.Left(output={"found": 3})),
        lambda run: runsteps.step_started(run, "main", "report", LATER),
        lambda run: runsteps.step_failed(run, "main", "report", LATER, "no paper"),
        lambda run: runsteps.completed(run, LATER),
    ]
    for step in steps:
        after = runs.advance(tree, NIGHTLY, run.id, step)
        assert wire.decode(path.read_bytes(), "r") == after == runs.read(tree, NIGHTLY, run.id)
    ended = runs.read(tree, NIGHTLY, run.id)
    assert (ended.status, ended.failed_step, ended.failure_reason) == (RunStatus.FAILED, "report", "no paper")
    assert ended.log_file == f".swamp/workflow-runs/{NIGHTLY}/workflow-run-{run.id}.log"
    assert (ended.tags, ended.trigger_source) == ({"env": "prod"}, "cron")


def test_a_step_that_is_refused_changes_nothing(tree: Tree) -> None:
    run = begun(tree, 1)
    with pytest.raises(Conflict):
        runs.advance(tree, NIGHTLY, run.id, lambda run: runsteps.step_succeeded(run, "main", "collect", LATER))
    assert runs.read(tree, NIGHTLY, run.id) == run


def test_a_run_is_recorded_once(tree: Tree) -> None:
    run = begun(tree, 1)
    with pytest.raises(Conflict) as refused:
        runs.create(tree, run)
    assert refused.value.kind is ErrorKind.ALREADY_EXISTS


def test_writers_of_different_steps_lose_nothing_of_each_other(tree: Tree) -> None:
    names = [f"step-{number}" for number in range(8)]
    run = runs.create(tree, runsteps.started(runs.draft(NIGHTLY, "nightly", {"main": names}), at(1)))

    def carry(name: str) -> None:
        left = runsteps.Left(output=name)
        runs.advance(tree, NIGHTLY, run.id, lambda run: runsteps.step_started(run, "main", name, LATER))
        runs.advance(
            tree,
            NIGHTLY,
            run.id,
            lambda run: runsteps.step_succeeded(run, "main", name, LATER, left=left),
        )

    threads = [threading.Thread(target=carry, args=[name]) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    steps = runs.read(tree, NIGHTLY, run.id).jobs[0].steps
    assert [(step.step_name, step.status, step.output) for step in steps] == [
        (name, StepStatus.SUCCEEDED, name) for name in names
    ]


def test_inputs_are_kept_without_their_secrets(tree: Tree) -> None:
    run = begun(tree, 1, inputs={"region": "eu-1", "db": {"password": "hunter2"}, "pin": 1234}, secret=["pin"])
    content = (tree.root / f"workflow-runs/{NIGHTLY}/workflow-run-{run.id}.yaml").read_text()
    assert runs.read(tree, NIGHTLY, run.id).inputs == {"region": "eu-1", "db": {"password": REDACTED}, "pin": REDACTED}
    assert "hunter2" not in content
    assert "1234" not in content.replace(NIGHTLY, "")


def test_an_output_that_is_too_large_is_refused_and_the_run_can_go_on(tree: Tree) -> None:
    run = begun(tree, 1)
    runs.advance(tree, NIGHTLY, run.id, lambda run: runsteps.step_started(run, "main", "collect", LATER))
    huge = runsteps.Left(output="x" * (wire.LARGEST_OUTPUT + 1))
    with pytest.raises(UsageError, match="takes 1048579 bytes") as refused:
        runs.advance(
            tree,
            NIGHTLY,
            run.id,
            lambda run: runsteps.step_succeeded(run, "main", "collect", LATER, left=huge),
        )
    assert refused.value.kind is ErrorKind.INVALID_CONTENT
    assert "artifact" in refused.value.remedy
    runs.advance(tree, NIGHTLY, run.id, lambda run: runsteps.step_succeeded(run, "main", "collect", LATER))


def test_large_outputs_of_others_do_not_keep_us_from_ending_their_run(tree: Tree) -> None:
    run = begun(tree, 1)
    path = tree.root / f"workflow-runs/{NIGHTLY}/workflow-run-{run.id}.yaml"
    text = path.read_text().replace(
        '"collect"\n', f'"collect"\n        output: "{"x" * (wire.LARGEST_OUTPUT + 1)}"\n', 1
    )
    path.write_text(text)
    runs.advance(tree, NIGHTLY, run.id, lambda run: runsteps.cancelled(run, LATER, "enough"))
    assert runs.read(tree, NIGHTLY, run.id).status is RunStatus.CANCELLED


def test_the_summary_that_existing_clients_keep_is_forgotten_with_each_change(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "store", tmp_path / ".swamp", durable=False)
    index = tmp_path / f".swamp/workflow-runs/{NIGHTLY}/.runs-index.json"
    index.parent.mkdir(parents=True)

    def is_forgotten() -> bool:
        gone = not index.exists()
        index.write_text(json.dumps({"version": 2, "entries": {}}))
        return gone

    is_forgotten()
    run = begun(tree, 1)
    assert is_forgotten()
    runs.advance(tree, NIGHTLY, run.id, lambda run: runsteps.cancelled(run, LATER))
    assert is_forgotten()
    runs.listing(tree)
    assert not is_forgotten()
    runs.remove(tree, NIGHTLY, run.id)
    assert is_forgotten()


# --- lists ---------------------------------------------------------------------------------------------------------


def test_runs_of_all_workflows_are_listed_newest_first(tree: Tree) -> None:
    for day in (3, 1, 4):
        begun(tree, day)
        begun(tree, day + 4, WEEKLY)
    assert days(runs.listing(tree)) == [8, 7, 5, 4, 3, 1]
    assert days(runs.listing(tree, workflow_id=WEEKLY)) == [8, 7, 5]


def test_a_list_can_be_narrowed_to_some_statuses_and_a_time(tree: Tree) -> None:
    made = [begun(tree, day) for day in (1, 2, 3, 4)]
    runs.advance(tree, NIGHTLY, made[1].id, lambda run: runsteps.cancelled(run, LATER))
    runs.advance(tree, NIGHTLY, made[2].id, runsteps.suspended)
    assert days(runs.listing(tree, statuses={RunStatus.CANCELLED, RunStatus.SUSPENDED})) == [3, 2]
    assert days(runs.listing(tree, statuses={RunStatus.CANCELLED, RunStatus.SUSPENDED}, since_ms=ms(at(3)))) == [3]
    assert days(runs.listing(tree, since_ms=ms(at(3)) + 1)) == [4]


def test_what_started_before_the_window_is_not_in_it_however_new_its_file(tree: Tree) -> None:
    for day in (1, 3):
        run = begun(tree, day)
        os.utime(tree.root / f"workflow-runs/{NIGHTLY}/workflow-run-{run.id}.yaml", (2**32, 2**32))
    assert days(runs.listing(tree, since_ms=ms(at(2)))) == [3]


def test_a_file_older_than_the_window_is_not_read(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    run = begun(tree, 1)
    os.utime(tree.root / f"workflow-runs/{NIGHTLY}/workflow-run-{run.id}.yaml", (ms(at(1)) / 1000,) * 2)
    monkeypatch.setattr(FileAt, "read", None)
    assert runs.listing(tree, since_ms=ms(at(2))) == runs.RunPage()


def test_pages_follow_one_another_without_gap_or_overlap(tree: Tree) -> None:
    for day in range(1, 8):
        begun(tree, day)
    met: list[int] = []
    after, pages = None, 0
    while True:
        page = runs.listing(tree, limit=3, after=after)
        begun(tree, 20 + pages)  # newer ones come in between
        met, after, pages = met + days(page), page.next, pages + 1
        if after is None:
            break
    assert (met, pages) == ([7, 6, 5, 4, 3, 2, 1], 3)


def test_a_broken_record_is_reported_and_one_with_broken_jobs_is_listed(tree: Tree) -> None:
    kept, broken = begun(tree, 1), begun(tree, 2)
    folder = tree.root / "workflow-runs" / NIGHTLY
    path = folder / f"workflow-run-{kept.id}.yaml"
    path.write_text(path.read_text().replace("jobs:\n", "jobs:\n  - [ {\n"))
    (folder / f"workflow-run-{broken.id}.yaml").write_bytes(b"\xff")
    page = runs.listing(tree)
    assert days(page) == [1]
    assert [found.path for found in page.unreadable] == [f"workflow-runs/{NIGHTLY}/workflow-run-{broken.id}.yaml"]


def test_a_neighbour_that_vanishes_aborts_nothing(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, gone = begun(tree, 1), begun(tree, 2)
    begun(tree, 3, WEEKLY)

    def racing(tree: Tree, folder: str, ending: str) -> list[FileAt]:
        files = list(walk(tree, folder, ending))
        runs.remove(tree, NIGHTLY, gone.id)
        shutil.rmtree(tree.root / "workflow-runs" / WEEKLY, ignore_errors=True)
        return files

    monkeypatch.setattr(runs, "walk", racing)
    assert days(runs.listing(tree)) == [1]
    assert runs.find(tree, kept.id) == kept


def test_records_that_say_hardly_anything_are_listed(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "workflow-runs", tmp_path / "workflow-runs")
    tree = Tree(tmp_path, tmp_path / ".swamp", durable=False)
    page = runs.listing(tree)
    assert sorted((found.run.status, found.run.id) for found in page.runs) == [
        ("running", "22223333-4444-4555-8666-777788889999"),
        ("succeeded", "11112222-3333-4444-8555-666677778888"),
    ]
    assert runs.find(tree, "2222").status is RunStatus.RUNNING


def test_a_run_is_found_by_its_id_or_the_beginning_of_it_without_reading_others(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [begun(tree, day) for day in (1, 2)]
    monkeypatch.setattr(FileAt, "read", None)
    assert runs.find(tree, made[0].id) == made[0]
    assert runs.find(tree, made[0].id[:-4]) == made[0]
    with pytest.raises(NotFound) as refused:
        runs.find(tree, "nothing")
    assert refused.value.kind is ErrorKind.RECORD_MISSING
    with pytest.raises(NotFound):
        runs.find(tree, "")


def test_a_beginning_that_fits_two_runs_names_neither(tree: Tree) -> None:
    for end in "ab":
        runs.create(tree, Run(id=f"same-{end}", workflow_id=NIGHTLY, status=RunStatus.PENDING))
    with pytest.raises(UsageError, match="2 runs"):
        runs.find(tree, "same")


def test_to_remove_the_runs_of_a_workflow_leaves_others(tree: Tree) -> None:
    for day in (1, 2):
        begun(tree, day)
    kept = begun(tree, 3, WEEKLY)
    assert runs.remove_workflow(tree, NIGHTLY) == 2
    assert runs.remove_workflow(tree, NIGHTLY) == 0
    assert not (tree.root / "workflow-runs" / NIGHTLY).exists()
    assert [found.run.id for found in runs.listing(tree).runs] == [kept.id]


def test_a_run_whose_process_died_is_stale_and_can_be_interrupted(tree: Tree) -> None:
    here = machine_name(tree)
    dead = begun(tree, 1, machine=here, pid=2**22 + 1)
    alive = begun(tree, 2, machine=here, pid=os.getpid())
    elsewhere = begun(tree, 3, machine="another", pid=2**22 + 1)
    waiting = begun(tree, 4, machine=here, pid=2**22 + 1)
    runs.advance(tree, NIGHTLY, waiting.id, runsteps.suspended)
    runs.advance(tree, NIGHTLY, dead.id, lambda run: runsteps.step_started(run, "main", "collect", LATER))
    resumed = runs.read(tree, NIGHTLY, alive.id)  # by a process that began long after the run
    assert not runs.is_stale(
        tree, runs.FoundRun(f"workflow-runs/{NIGHTLY}/workflow-run-{alive.id}.yaml", resumed), here
    )
    assert [run.id for run in runs.reconcile(tree, here, LATER)] == [dead.id]
    ended = runs.read(tree, NIGHTLY, dead.id)
    assert (ended.status, ended.failed_step) == (RunStatus.FAILED, "collect")
    assert "interrupt_reason" in ended.tags
    assert runs.read(tree, NIGHTLY, elsewhere.id).status is RunStatus.RUNNING
    assert runs.read(tree, NIGHTLY, waiting.id).status is RunStatus.SUSPENDED
