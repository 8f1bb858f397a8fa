"""Paths of records: one file for each method execution, one for each workflow run."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bayou.domain.modeltypes import ModelType
from bayou.domain.names import check_id
from bayou.errors import ErrorKind, UsageError
from bayou.layout.safety import check_path
from bayou.layout.typefolders import type_at

_STAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9-]+Z")
_OUTPUT = re.compile(rf"(.+)-({_STAMP.pattern})\.yaml")
_RUN = re.compile(r"workflow-run-(.+)\.yaml")
_STARTED = re.compile(
    r"(.+)-([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2})-([0-9]{2})-([0-9]{2})-([0-9]{3})Z(?:-[^/]+)?\.(?:yaml|log)"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class OutputRecord:
    """The record of one method execution. `stamp` is its start as a file name has it (see `stamp`)."""

    type: ModelType
    method: str
    definition_id: str
    stamp: str

    def __post_init__(self) -> None:
        check_id(self.method)
        check_id(self.definition_id)
        if not _STAMP.fullmatch(self.stamp):
            raise UsageError(f"{self.stamp!r} is not a time as file names have it", kind=ErrorKind.INVALID_NAME)
        check_path(self.path)

    @property
    def path(self) -> str:
        return f"outputs/{self.type}/{self.method}/{self.definition_id}-{self.stamp}.yaml"


@dataclass(frozen=True, slots=True)
class RunRecord:
    workflow_id: str
    run_id: str

    def __post_init__(self) -> None:
        check_id(self.workflow_id)
        check_id(self.run_id)
        check_path(self.path)

    @property
    def path(self) -> str:
        return f"workflow-runs/{self.workflow_id}/workflow-run-{self.run_id}.yaml"


def stamp(time: str) -> str:
    """An ISO time as a file name can hold it: `2026-04-02T09-15-00-125Z`."""
    return time.replace(":", "-").replace(".", "-")


def read_output(segments: list[str]) -> OutputRecord | None:
    """`outputs/{type}/{method}/{definition}-{stamp}.yaml`; the stamp ends the id, which has dashes of its own."""
    match = _OUTPUT.fullmatch(segments[-1])
    if match is None or len(segments) < 4:
        return None
    model_type = type_at("/".join(segments[1:-2]))
    return OutputRecord(model_type, segments[-2], match[1], match[2]) if model_type else None


def read_run(segments: list[str]) -> RunRecord | None:
    match = _RUN.fullmatch(segments[2]) if len(segments) == 3 else None
    return RunRecord(segments[1], match[1]) if match else None


def start_of(path: str) -> tuple[str, int] | None:
    """Whose record or log of an execution this is, and when it began, in milliseconds; None if it does not say.

    A record that lost its path to another has its id at the end, after the time.
    """
    match = _STARTED.fullmatch(path)
    if match is None:
        return None
    whose, day, hour, minute, second, millisecond = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{hour}:{minute}:{second}.{millisecond}+00:00")
    except ValueError:
        return None
    return whose, (moment - _EPOCH) // timedelta(milliseconds=1)
