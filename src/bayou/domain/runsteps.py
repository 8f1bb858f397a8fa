"""How a run goes on: each step of it as a function from a run to the next (repository spec 3.2).

What is at its end stays there. `failedStep`, `failureReason` and `stepProgress` always follow from the steps, and the
status of a job from its own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from bayou.domain.outputs import ProducedArtifact
from bayou.domain.runs import Approval, Assertion, Job, Progress, Run, RunStatus, Step, StepStatus
from bayou.errors import Conflict, ErrorKind, NotFound, UsageError

_NEXT = {
    StepStatus.PENDING: {StepStatus.RUNNING, StepStatus.WAITING_APPROVAL, StepStatus.SKIPPED, StepStatus.FAILED},
    StepStatus.RUNNING: {
        StepStatus.WAITING_APPROVAL,
        StepStatus.SUCCEEDED,
        StepStatus.FAILED,
        StepStatus.SKIPPED,
    },
    StepStatus.WAITING_APPROVAL: {StepStatus.RUNNING, StepStatus.SUCCEEDED, StepStatus.FAILED, StepStatus.SKIPPED},
}
_PASSED = frozenset({StepStatus.SUCCEEDED, StepStatus.SKIPPED})
_NEXT_OF_RUN = {
    RunStatus.PENDING: {RunStatus.RUNNING},
    RunStatus.RUNNING: {RunStatus.SUSPENDED},
    RunStatus.SUSPENDED: {RunStatus.RUNNING},
}


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """What a step leaves behind at its end."""

    output: Any = None
    """Any JSON."""
    produced: tuple[ProducedArtifact, ...] = ()
    asserted: Assertion | None = None

    def fields(self) -> dict[str, Any]:
        return {"output": self.output, "data_artifacts": self.produced, "assert_result": self.asserted}


NOTHING = Left()


def planned(jobs: Mapping[str, Iterable[str]]) -> tuple[Job, ...]:
    """Jobs with their steps, none of which has begun."""
    made = []
    for job, names in jobs.items():
        steps = tuple(Step(step_name=name, status=StepStatus.PENDING) for name in names)
        if len({step.step_name for step in steps}) != len(steps):
            raise UsageError(f"two steps of the job {job!r} have one name")
        made.append(Job(job_name=job, status=StepStatus.PENDING, steps=steps))
    return tuple(made)


# --- the run ---------------------------------------------------------------------------------------------------------


def started(run: Run, at: str) -> Run:
    """It begins, or goes on after it was suspended."""
    return msgspec.structs.replace(_moved(run, RunStatus.RUNNING), started_at=run.started_at or at)


def suspended(run: Run) -> Run:
    """It stops until somebody lets it go on."""
    return _moved(run, RunStatus.SUSPENDED)


def completed(run: Run, at: str) -> Run:
    """It is at its end: succeeded when all jobs succeeded or were skipped. What was cancelled stays so."""
    if run.status is RunStatus.CANCELLED:
        return run
    if run.status.is_end:
        raise _refused(f"the run {run.id} is {run.status} already")
    passed = all(job.status in _PASSED for job in run.jobs)
    return msgspec.structs.replace(run, status=RunStatus.SUCCEEDED if passed else RunStatus.FAILED, completed_at=at)


def cancelled(run: Run, at: str, reason: str = "") -> Run:
    """Somebody stopped it. A run at its end stays as it is."""
    if run.status.is_end:
        return run
    tags = {**run.tags, "cancel_reason": reason} if reason else run.tags
    return msgspec.structs.replace(run, status=RunStatus.CANCELLED, completed_at=at, tags=tags)


def interrupted(run: Run, at: str, reason: str) -> Run:
    """Its process died: what was running has failed. A run at its end stays as it is."""
    if run.status.is_end:
        return run
    jobs = tuple(
        msgspec.structs.replace(
            job,
            steps=tuple(
                msgspec.structs.replace(step, status=StepStatus.FAILED, completed_at=at, error=reason)
                if step.status is StepStatus.RUNNING
                else step
                for step in job.steps
            ),
            **({"status": StepStatus.FAILED, "completed_at": at} if job.status is StepStatus.RUNNING else {}),
        )
        for job in run.jobs
    )
    ended = msgspec.structs.replace(
        run, status=RunStatus.FAILED, completed_at=at, jobs=jobs, tags={**run.tags, "interrupt_reason": reason}
    )
    return _summed(ended)


# --- its jobs and steps ----------------------------------------------------------------------------------------------


def step_started(run: Run, job: str, step: str, at: str) -> Run:
    return _with_step(run, job, step, at, StepStatus.RUNNING, started_at=at)


def step_succeeded(run: Run, job: str, step: str, at: str, *, left: Left = NOTHING) -> Run:
    return _with_step(run, job, step, at, StepStatus.SUCCEEDED, **left.fields())


def step_failed(  # noqa: PLR0913 - which step, when, why, and what it leaves
    run: Run, job: str, step: str, at: str, error: str, *, left: Left = NOTHING, allowed: bool = False
) -> Run:
    """It failed. An allowed failure is recorded, and its job succeeds all the same."""
    return _with_step(run, job, step, at, StepStatus.FAILED, error=error, allowed_failure=allowed, **left.fields())


def step_skipped(run: Run, job: str, step: str, at: str) -> Run:
    return _with_step(run, job, step, at, StepStatus.SKIPPED)


def approval_requested(run: Run, job: str, step: str, at: str, prompt: str) -> Run:
    """The step waits until somebody decides."""
    return _with_step(run, job, step, at, StepStatus.WAITING_APPROVAL, approval_prompt=prompt)


def approval_decided(run: Run, job: str, step: str, at: str, decision: Approval) -> Run:
    """The step goes on, or has failed."""
    found = run.step(job, step)
    if found is not None and found.status is not StepStatus.WAITING_APPROVAL:
        raise _refused(f"the step {job}/{step} of the run {run.id} is {found.status}: it waits for no approval")
    decision = msgspec.structs.replace(decision, decided_at=decision.decided_at or at)
    if decision.approved:
        return _with_step(run, job, step, at, StepStatus.RUNNING, approval_decision=decision)
    return _with_step(
        run, job, step, at, StepStatus.FAILED, approval_decision=decision, error=decision.reason or "not approved"
    )


def _with_step(run: Run, job: str, step: str, at: str, to: StepStatus, **fields: object) -> Run:
    if run.status.is_end:
        raise _refused(f"the run {run.id} is {run.status} already")
    met = False

    def moved(held: Step) -> Step:
        nonlocal met
        met = True
        if to not in _NEXT.get(held.status, ()):
            raise _refused(f"the step {job}/{step} of the run {run.id} is {held.status}, and cannot become {to}")
        ended = {"completed_at": at} if to.is_end else {}
        return msgspec.structs.replace(held, status=to, **ended, **fields)

    jobs = tuple(_job_after(held, step, at, moved) if held.job_name == job else held for held in run.jobs)
    if not met:
        raise NotFound(f"the run {run.id} has no step {job}/{step}", kind=ErrorKind.RECORD_MISSING)
    return _summed(msgspec.structs.replace(run, jobs=jobs))


def _job_after(job: Job, name: str, at: str, moved: Callable[[Step], Step]) -> Job:
    steps = tuple(moved(step) if step.step_name == name else step for step in job.steps)
    status = _status_of(steps)
    return msgspec.structs.replace(
        job,
        steps=steps,
        status=status,
        started_at=job.started_at or (None if status is StepStatus.PENDING else at),
        completed_at=at if status.is_end else None,
    )


def _status_of(steps: Sequence[Step]) -> StepStatus:
    """What becomes of a job: it is at its end when all of its steps are."""
    met = {step.status for step in steps}
    if not all(status.is_end for status in met):
        if StepStatus.WAITING_APPROVAL in met and StepStatus.RUNNING not in met:
            return StepStatus.WAITING_APPROVAL
        return StepStatus.PENDING if met == {StepStatus.PENDING} else StepStatus.RUNNING
    if any(step.fails_the_job for step in steps):
        return StepStatus.FAILED
    return StepStatus.SKIPPED if met == {StepStatus.SKIPPED} else StepStatus.SUCCEEDED


def _summed(run: Run) -> Run:
    steps = [step for job in run.jobs for step in job.steps]
    failure = next((step for step in steps if step.fails_the_job), None)
    return msgspec.structs.replace(
        run,
        failed_step=failure.step_name if failure else None,
        failure_reason=failure.error if failure else None,
        step_progress=Progress(completed=sum(step.status.is_end for step in steps), total=len(steps)),
    )


def _moved(run: Run, to: RunStatus) -> Run:
    if to not in _NEXT_OF_RUN.get(run.status, ()):
        raise _refused(f"the run {run.id} is {run.status}, and cannot become {to}")
    return msgspec.structs.replace(run, status=to)


def _refused(message: str) -> Conflict:
    return Conflict(message, remedy="Look at the record: another process may have brought it further.")
