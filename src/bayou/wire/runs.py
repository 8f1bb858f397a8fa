"""Records of workflow runs, `workflow-runs/{workflow}/workflow-run-{run}.yaml` (repository spec 3.2)."""

import json
import re
from typing import Any, Final, TypeVar

import msgspec

from bayou.domain.runs import Run, RunSummary
from bayou.errors import Corrupt, ErrorKind, UsageError
from bayou.wire import yamlmapping
from bayou.wire.documents import problem, require_shallow

LARGEST_OUTPUT: Final = 2**20
"""Bytes of JSON that a step may leave in the record of its run."""

_NOUN: Final = "the record of a run"
_Form = TypeVar("_Form")

# Everything up to the next key of the outermost mapping.
_JOBS = re.compile(r"^(?:jobs|\"jobs\"|'jobs'):[^\n]*(?:\n(?:[ \t#-][^\n]*)?(?=\n|\Z))*\n?", re.MULTILINE)
# Left out where there is nothing to say; the others are always there.
_OPTIONAL: Final = frozenset({"workflowDataArtifacts", "inputs", "resumeInputs"})


def decode(data: bytes, where: str) -> Run:
    return _shaped(yamlmapping.decode(data, where, _NOUN, most=yamlmapping.MANY), Run, where)


def decode_summary(data: bytes, where: str) -> RunSummary:
    """Read all but the jobs, whose outputs may be large and whose form may be broken: they are cut out unread."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise Corrupt(where, expected=_NOUN, found=f"bytes that are not UTF-8 at {error.start}") from None
    try:
        document = yamlmapping.decode_text(_JOBS.sub("", text, count=1), where, _NOUN, most=yamlmapping.MANY)
    except Corrupt:
        # Written in a way that a line does not show where the jobs end.
        document = yamlmapping.decode_text(text, where, _NOUN, most=yamlmapping.MANY)
    document.pop("jobs", None)
    return _shaped(document, RunSummary, where)


def encode(run: Run) -> bytes:
    document: dict[str, Any] = msgspec.to_builtins(run)
    jobs = document.pop("jobs")
    for job in jobs:
        for name in ("startedAt", "completedAt"):
            if job[name] is None:
                del job[name]
        steps = job.pop("steps")
        job["steps"] = steps  # last
    written: dict[str, object] = {}
    for key, value in document.items():
        if key == "tags":
            written["jobs"] = jobs
        if value is not None and (value or key not in _OPTIONAL):
            written[key] = value
    return yamlmapping.encode(written, _NOUN)


def check_output(step: str, output: object) -> None:
    """Refuse what no record should hold: the file is written anew at each step of the run (weakness 45).

    To put something else in its place would give readers what they do not expect, so the caller decides: it stores the
    output as data and names that.
    """
    remedy = "Store it as an artifact, and list that among the step's data artifacts."
    try:
        size = len(json.dumps(output, ensure_ascii=False, allow_nan=False).encode())
        require_shallow(output, step, "the output of a step")
    except (ValueError, TypeError, RecursionError, Corrupt) as error:
        message = f"the output of the step {step!r} cannot be recorded: {error}"
        raise UsageError(message, kind=ErrorKind.INVALID_CONTENT, remedy=remedy) from None
    if size > LARGEST_OUTPUT:
        message = (
            f"the output of the step {step!r} takes {size} bytes; the record of a run holds {LARGEST_OUTPUT} at most"
        )
        raise UsageError(message, kind=ErrorKind.INVALID_CONTENT, remedy=remedy)


def _shaped(document: dict[str, object], form: type[_Form], where: str) -> _Form:
    try:
        return msgspec.convert(document, form)
    except msgspec.ValidationError as error:
        raise Corrupt(where, expected=_NOUN, found=f"YAML of another shape ({problem(error)})") from None
