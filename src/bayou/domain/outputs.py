"""Outputs: the record of one execution of a method, and the steps that it may go through (repository spec 3.1).

`pending` -> `running` -> `succeeded` or `failed`; both of the first two may be `cancelled`. Nothing leaves an end.
`at` is an ISO time of UTC, as `bayou.wire.times` writes it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from bayou.errors import Conflict


class OutputStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_end(self) -> bool:
        return self not in _NEXT


_NEXT = {
    OutputStatus.PENDING: {OutputStatus.RUNNING, OutputStatus.CANCELLED},
    OutputStatus.RUNNING: {OutputStatus.SUCCEEDED, OutputStatus.FAILED, OutputStatus.CANCELLED},
}


class Trigger(StrEnum):
    MANUAL = "manual"
    WORKFLOW = "workflow"
    MODEL = "model"


class Provenance(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What was run, and on whose behalf. The first three are in every file, in the order of the fields."""

    definition_hash: str = ""
    model_version: str = ""
    triggered_by: Trigger = Trigger.MANUAL
    workflow_id: str | None = None
    workflow_run_id: str | None = None
    step_name: str | None = None
    parent_output_id: str | None = None
    caller_extension: str | None = None
    initiated_by: str | None = None
    bundle_fingerprint: str | None = None


class ProducedArtifact(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A version that the execution wrote."""

    data_id: str
    name: str
    version: int
    tags: Mapping[str, str] = {}


class Produced(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    data_artifacts: tuple[ProducedArtifact, ...] = ()


class OutputError(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    message: str
    stack: str | None = None


class Output(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One execution. The order of the fields is that of the file.

    Files that were written long ago, or by hand, may lack all but a status. They are read; nothing writes them.
    `machine` is ours: without it a process id says nothing to anybody else.
    """

    id: str = ""
    definition_id: str = ""
    method_name: str = ""
    status: OutputStatus
    started_at: str = ""
    retry_count: int = 0
    provenance: Provenance = Provenance()
    artifacts: Produced = Produced()
    completed_at: str | None = None
    duration_ms: int | None = None
    error: OutputError | None = None
    log_file: str | None = None
    pid: int | None = None
    machine: str | None = None

    @property
    def is_over(self) -> bool:
        return self.status.is_end


def started(output: Output, at: str) -> Output:
    """It runs. `started_at` stays: it names the file."""
    return _moved(output, OutputStatus.RUNNING, at)


def succeeded(output: Output, at: str, produced: Sequence[ProducedArtifact] = ()) -> Output:
    return _moved(output, OutputStatus.SUCCEEDED, at, produced)


def failed(
    output: Output, at: str, message: str, *, stack: str | None = None, produced: Sequence[ProducedArtifact] = ()
) -> Output:
    """It failed; what it produced before that stays recorded."""
    moved = _moved(output, OutputStatus.FAILED, at, produced)
    return msgspec.structs.replace(moved, error=OutputError(message=message, stack=stack))


def cancelled(output: Output, at: str, reason: str = "") -> Output:
    moved = _moved(output, OutputStatus.CANCELLED, at)
    return msgspec.structs.replace(moved, error=OutputError(message=reason)) if reason else moved


def _moved(output: Output, to: OutputStatus, at: str, produced: Sequence[ProducedArtifact] = ()) -> Output:
    if to not in _NEXT.get(output.status, ()):
        raise Conflict(
            f"the output {output.id} is {output.status}, and cannot become {to}",
            remedy="Look at the record: another process has brought it to its end.",
        )
    artifacts = Produced(data_artifacts=(*output.artifacts.data_artifacts, *produced))
    if not to.is_end:
        return msgspec.structs.replace(output, status=to, artifacts=artifacts)
    return msgspec.structs.replace(
        output,
        status=to,
        artifacts=artifacts,
        completed_at=at,
        duration_ms=_milliseconds(output.started_at, at),
    )


def _milliseconds(start: str, end: str) -> int | None:
    """From start to end: none where a clock was put back, unknown where one is no time."""
    try:
        passed = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    except (ValueError, TypeError):
        return None
    return max(passed // timedelta(milliseconds=1), 0)
