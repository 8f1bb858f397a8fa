"""Workflow runs: how a run goes on, and what always follows from its steps."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.domain import runsteps
from bayou.domain.outputs import ProducedArtifact
from bayou.domain.runs import REDACTED, Approval, Assertion, Progress, Run, RunStatus, StepStatus, redacted
from bayou.errors import Conflict, NotFound, UsageError

AT = "2026-04-02T09:15:00.125Z"
LATER = "2026-04-02T09:15:01.900Z"


def run(status: RunStatus = RunStatus.RUNNING, **jobs: list[str]) -> Run:
    planned = runsteps.planned(jobs or {"main": ["collect", "report"], "after": ["clean"]})
    return Run(id="r", workflow_id="w", workflow_name="nightly", status=status, jobs=planned)


def through(current: Run, *steps: Callable[[Run], Run]) -> Run:
    for step in steps:
        current = step(current)
    return current


def start(job: str, step: str) -> Callable[[Run], Run]:
    return lambda run: runsteps.step_started(run, job, step, AT)


def succeed(job: str, step: str) -> Callable[[Run], Run]:
    return lambda run: runsteps.step_succeeded(run, job, step, LATER)


def fail(job: str, step: str, *, allowed: bool = False) -> Callable[[Run], Run]:
    return lambda run: runsteps.step_failed(run, job, step, LATER, f"{step} broke", allowed=allowed)


def status_of(run: Run, job: str) -> StepStatus:
    return next(held.status for held in run.jobs if held.job_name == job)


def test_a_run_in_which_all_goes_well_succeeds() -> None:
    ended = through(
        run(RunStatus.PENDING),
        lambda run: runsteps.started(run, AT),
        *(step for job, name in [("main", "collect"), ("main", "report"), ("after", "clean")]
          for step in (start(job, name), succeed(job, name))),
        lambda run: runsteps.completed(run, LATER),
    )  # fmt: skip
    assert (ended.status, ended.started_at, ended.completed_at) == (RunStatus.SUCCEEDED, AT, LATER)
    assert ended.step_progress == Progress(3, 3)
    assert (ended.failed_step, ended.failure_reason) == (None, None)
    assert [(job.status, job.started_at, job.completed_at) for job in ended.jobs] == [
        (StepStatus.SUCCEEDED, AT, LATER)
    ] * 2


def test_the_first_failure_is_named_and_fails_the_run() -> None:
    ended = through(
        run(),
        start("main", "report"), fail("main", "report"),
        start("main", "collect"), fail("main", "collect"),
        lambda run: runsteps.completed(run, LATER),
    )  # fmt: skip
    assert (ended.failed_step, ended.failure_reason) == ("collect", "collect broke")
    assert ended.step_progress == Progress(2, 3)
    assert ended.status is RunStatus.FAILED


def test_an_allowed_failure_fails_neither_job_nor_run() -> None:
    ended = through(
        run(main=["collect", "report"]),
        start("main", "collect"), fail("main", "collect", allowed=True),
        start("main", "report"), succeed("main", "report"),
        lambda run: runsteps.completed(run, LATER),
    )  # fmt: skip
    assert ended.status is RunStatus.SUCCEEDED
    assert status_of(ended, "main") is StepStatus.SUCCEEDED
    assert ended.failed_step is None
    step = ended.step("main", "collect")
    assert step is not None
    assert (step.status, step.allowed_failure, step.error) == (StepStatus.FAILED, True, "collect broke")


def test_skipped_jobs_do_not_keep_a_run_from_succeeding() -> None:
    ended = through(
        run(main=["collect"], after=["clean"]),
        start("main", "collect"), succeed("main", "collect"),
        lambda run: runsteps.step_skipped(run, "after", "clean", LATER),
        lambda run: runsteps.completed(run, LATER),
    )  # fmt: skip
    assert status_of(ended, "after") is StepStatus.SKIPPED
    assert ended.status is RunStatus.SUCCEEDED
    assert ended.step_progress == Progress(2, 2)


def test_a_run_whose_steps_are_not_done_cannot_have_succeeded() -> None:
    assert runsteps.completed(through(run(), start("main", "collect")), LATER).status is RunStatus.FAILED


@pytest.mark.parametrize("approved", [True, False])
def test_a_step_waits_for_approval_and_then_goes_on_or_has_failed(*, approved: bool) -> None:
    waiting = through(
        run(main=["deploy"]),
        start("main", "deploy"),
        lambda run: runsteps.approval_requested(run, "main", "deploy", AT, "Go?"),
    )
    assert status_of(waiting, "main") is StepStatus.WAITING_APPROVAL
    decided = runsteps.approval_decided(
        waiting, "main", "deploy", LATER, Approval(approved=approved, reason="friday", decided_by="ann")
    )
    step = decided.step("main", "deploy")
    assert step is not None
    assert step.approval_prompt == "Go?"
    assert step.approval_decision == Approval(approved=approved, reason="friday", decided_by="ann", decided_at=LATER)
    assert (step.status, step.error) == ((StepStatus.RUNNING, None) if approved else (StepStatus.FAILED, "friday"))


def test_nobody_decides_about_what_waits_for_no_approval() -> None:
    with pytest.raises(Conflict, match="waits for no approval"):
        runsteps.approval_decided(run(), "main", "collect", AT, Approval(approved=True))


def test_what_a_step_leaves_is_recorded() -> None:
    artifact = ProducedArtifact(data_id="d", name="n", version=1)
    check = Assertion(passed=True, expr="a > 1", message="m", severity="error")
    ended = runsteps.step_succeeded(
        through(run(), start("main", "collect")),
        "main",
        "collect",
        LATER,
        left=runsteps.Left(output={"a": [1]}, produced=(artifact,), asserted=check),
    )
    step = ended.step("main", "collect")
    assert step is not None
    assert (step.output, list(step.data_artifacts), step.assert_result) == ({"a": [1]}, [artifact], check)


def test_a_cancelled_run_stays_so_and_says_why() -> None:
    stopped = runsteps.cancelled(run(), AT, "enough")
    assert (stopped.status, stopped.completed_at, stopped.tags) == (
        RunStatus.CANCELLED,
        AT,
        {"cancel_reason": "enough"},
    )
    assert runsteps.completed(stopped, LATER) is stopped
    assert runsteps.cancelled(stopped, LATER, "again") is stopped


@pytest.mark.parametrize("status", [RunStatus.SUCCEEDED, RunStatus.FAILED])
def test_a_run_at_its_end_is_neither_cancelled_nor_interrupted_nor_changed(status: RunStatus) -> None:
    ended = run(status)
    assert runsteps.cancelled(ended, LATER, "late") is ended
    assert runsteps.interrupted(ended, LATER, "late") is ended
    for step in (start("main", "collect"), lambda run: runsteps.completed(run, LATER), runsteps.suspended):
        with pytest.raises(Conflict, match=f"is {status}"):
            step(ended)


def test_an_interruption_fails_what_was_running_and_nothing_else() -> None:
    before = through(run(), start("main", "collect"), succeed("main", "collect"), start("main", "report"))
    ended = runsteps.interrupted(before, LATER, "the process died")
    assert (ended.status, ended.tags) == (RunStatus.FAILED, {"interrupt_reason": "the process died"})
    assert [(step.status, step.error) for job in ended.jobs for step in job.steps] == [
        (StepStatus.SUCCEEDED, None),
        (StepStatus.FAILED, "the process died"),
        (StepStatus.PENDING, None),
    ]
    assert [job.status for job in ended.jobs] == [StepStatus.FAILED, StepStatus.PENDING]
    assert ended.failed_step == "report"


def test_a_suspended_run_goes_on_with_its_first_start() -> None:
    again = through(
        run(RunStatus.PENDING),
        lambda run: runsteps.started(run, AT),
        runsteps.suspended,
        lambda run: runsteps.started(run, LATER),
    )
    assert (again.status, again.started_at) == (RunStatus.RUNNING, AT)


def test_steps_that_are_not_there_are_named() -> None:
    with pytest.raises(NotFound, match="no step main/nothing"):
        runsteps.step_started(run(), "main", "nothing", AT)


def test_two_steps_of_a_job_cannot_share_a_name() -> None:
    with pytest.raises(UsageError, match="one name"):
        runsteps.planned({"main": ["a", "a"]})


_MOVES: dict[str, Callable[[Run, str], Run]] = {
    "start": lambda run, step: runsteps.step_started(run, "main", step, AT),
    "succeed": lambda run, step: runsteps.step_succeeded(run, "main", step, AT),
    "fail": lambda run, step: runsteps.step_failed(run, "main", step, AT, "broke"),
    "allow": lambda run, step: runsteps.step_failed(run, "main", step, AT, "broke", allowed=True),
    "skip": lambda run, step: runsteps.step_skipped(run, "main", step, AT),
    "ask": lambda run, step: runsteps.approval_requested(run, "main", step, AT, "?"),
    "decide": lambda run, step: runsteps.approval_decided(run, "main", step, AT, Approval(approved=False)),
    "interrupt": lambda run, _: runsteps.interrupted(run, AT, "died"),
    "cancel": lambda run, _: runsteps.cancelled(run, AT, "enough"),
    "complete": lambda run, _: runsteps.completed(run, AT),
}


@given(st.lists(st.tuples(st.sampled_from(list(_MOVES)), st.sampled_from("abc")), max_size=20))
def test_whatever_happens_the_summary_follows_from_the_steps(moves: list[tuple[str, str]]) -> None:
    current = run(main=["a", "b", "c"])
    for move, step in moves:
        before = current
        with suppress(Conflict):
            current = _MOVES[move](current, step)
        if before.status.is_end:
            assert current is before
        for earlier, later in zip(before.jobs[0].steps, current.jobs[0].steps, strict=True):
            assert not earlier.status.is_end or later == earlier
    steps = current.jobs[0].steps
    failures = [held for held in steps if held.status is StepStatus.FAILED and not held.allowed_failure]
    assert current.failed_step == (failures[0].step_name if failures else None)
    if current.step_progress:
        assert current.step_progress == Progress(sum(held.status.is_end for held in steps), 3)


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "DB_PASSWORD",
        "api-key",
        "apiKey",
        "token",
        "githubToken",
        "clientSecret",
        "AWS_SECRET_ACCESS_KEY",
        "dbpassword",
        "ssh-private-key",
    ],
)
def test_inputs_that_are_called_like_secrets_are_not_kept(key: str) -> None:
    assert redacted({key: "hunter2", "region": "eu-1", "db": {key: 7}, "all": [{key: ["a"]}]}) == {
        key: REDACTED,
        "region": "eu-1",
        "db": {key: REDACTED},
        "all": [{key: REDACTED}],
    }


@pytest.mark.parametrize("key", ["max_tokens", "keyName", "region", "passengers", "tokenizer", "key", "publicKey"])
def test_inputs_that_are_called_otherwise_are_kept(key: str) -> None:
    assert redacted({key: "value"}) == {key: "value"}


def test_inputs_that_the_caller_names_are_not_kept_either() -> None:
    assert redacted({"pin": 1234, "region": "eu-1", "pins": 2}, secret=["pin"]) == {
        "pin": REDACTED,
        "region": "eu-1",
        "pins": 2,
    }


def test_a_secret_that_was_not_given_is_seen_not_to_be() -> None:
    assert redacted({"password": "", "token": None}) == {"password": "", "token": None}
