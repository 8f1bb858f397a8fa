"""Workflow runs: what is recorded of a run, its jobs and their steps (repository spec 3.2).

The order of the fields is that of the file. Files that were written long ago, or by hand, may lack all but a status.
The rules of how a run goes on are in `bayou.domain.runsteps`.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from bayou.domain.outputs import ProducedArtifact


class RunStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    SUSPENDED = "suspended"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_end(self) -> bool:
        return self in _ENDS


_ENDS = frozenset({RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.CANCELLED})


class StepStatus(StrEnum):
    """Of a step, and of a job."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING_APPROVAL = "waiting_approval"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"

    @property
    def is_end(self) -> bool:
        return self in _STEP_ENDS


_STEP_ENDS = frozenset({StepStatus.SUCCEEDED, StepStatus.FAILED, StepStatus.SKIPPED})


class Approval(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What somebody decided about a step that waited for it."""

    approved: bool
    reason: str | None = None
    decided_by: str | None = None
    decided_at: str = ""


class Assertion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a step that checks something."""

    passed: bool
    expr: str = ""
    message: str = ""
    severity: str = ""
    error: str | None = None


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    step_name: str
    status: StepStatus
    started_at: str | None = None
    completed_at: str | None = None
    error: str | None = None
    output: Any = None
    """Any JSON."""
    data_artifacts: tuple[ProducedArtifact, ...] = ()
    allowed_failure: bool = False
    approval_decision: Approval | None = None
    approval_prompt: str | None = None
    assert_result: Assertion | None = None

    @property
    def fails_the_job(self) -> bool:
        return self.status is StepStatus.FAILED and not self.allowed_failure


class Job(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    job_name: str
    status: StepStatus
    started_at: str | None = None
    completed_at: str | None = None
    steps: tuple[Step, ...] = ()


class Progress(msgspec.Struct, frozen=True):
    completed: int
    total: int


class RunSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A run without its jobs: what a list shows. `machine` is ours: without it a process id says nothing to others."""

    id: str = ""
    workflow_id: str = ""
    workflow_name: str = ""
    status: RunStatus
    started_at: str | None = None
    completed_at: str | None = None
    tags: Mapping[str, str] = {}
    pid: int | None = None
    log_file: str | None = None
    workflow_data_artifacts: tuple[ProducedArtifact, ...] = ()
    inputs: Mapping[str, Any] = {}
    """Values, some of which may be secrets: see `redacted`."""
    resume_inputs: tuple[str, ...] = ()
    """Names only."""
    initiated_by: str | None = None
    instance_id: str | None = None
    trigger_source: str | None = None
    failed_step: str | None = None
    failure_reason: str | None = None
    step_progress: Progress | None = None
    machine: str | None = None


class Run(RunSummary, frozen=True, kw_only=True, rename="camel"):
    """All of it. In the file the jobs are between `completedAt` and `tags`."""

    jobs: tuple[Job, ...] = ()

    def step(self, job: str, step: str) -> Step | None:
        return next((held for held in self._steps(job) if held.step_name == step), None)

    def _steps(self, job: str) -> Iterable[Step]:
        return (step for held in self.jobs if held.job_name == job for step in held.steps)


REDACTED = "[redacted]"

# Names behind which nobody keeps anything but secrets, by their words: `githubToken` is one, `max_tokens` is not.
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z])")
_SECRET_ENDS = ("password", "passwd", "passphrase", "secret", "token", "credential", "credentials")
_SECRET_KEYS = ("apikey", "accesskey", "privatekey", "signingkey", "encryptionkey")


def redacted(inputs: Mapping[str, Any], secret: Iterable[str] = ()) -> dict[str, Any]:
    """The inputs with the values of secret keys taken out, at any depth (weakness 46).

    `secret` names keys; those whose names speak for themselves are taken out without being named. A run is recorded to
    be understood, not to be repeated: what resumes it must be given the secrets again.
    """
    names = frozenset(secret)
    return {key: _redacted(key, value, names) for key, value in inputs.items()}


def _redacted(key: str, value: object, names: frozenset[str]) -> object:
    if key in names or _is_called_like_a_secret(key):
        return value if value is None or value == "" else REDACTED
    return _searched(value, names)


def _is_called_like_a_secret(key: str) -> bool:
    words = [word.lower() for word in _WORD.findall(key)]
    return any(word.endswith(_SECRET_ENDS) for word in words) or any(key in "".join(words) for key in _SECRET_KEYS)


def _searched(value: object, names: frozenset[str]) -> object:
    if isinstance(value, Mapping):
        return {key: _redacted(str(key), held, names) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_searched(held, names) for held in value]
    return value
