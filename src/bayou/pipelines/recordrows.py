"""Rows about what is recorded: executions of methods, runs of workflows, lines of the audit logs."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import msgspec

from bayou.domain.entries import Entry
from bayou.domain.outputs import ProducedArtifact
from bayou.errors import Corrupt
from bayou.layout.audit import AuditKind, AuditLog
from bayou.layout.meanings import meaning
from bayou.layout.records import OutputRecord, RunRecord
from bayou.pipelines.reading import AT_ONCE, Batches, Row, Task, chunks, moment, whole
from bayou.remotes.objects import each
from bayou.wire import auditlines
from bayou.wire import outputs as output_form
from bayou.wire import runs as run_form

K = TypeVar("K")


async def outputs(task: Task, entries: Mapping[str, Entry]) -> Batches:
    """A row for each execution of a method."""
    found = [
        (what, entry) for what, entry in _of(OutputRecord, entries) if task.selection.may_be("type", str(what.type))
    ]
    for chunk in chunks(found, AT_ONCE):
        yield await each(task.place.width, chunk, lambda pair: _read(task, pair[1], _output(pair[0], pair[1])))


async def workflow_runs(task: Task, entries: Mapping[str, Entry]) -> Batches:
    """A row for each run of a workflow."""
    for chunk in chunks(_of(RunRecord, entries), AT_ONCE):
        yield await each(task.place.width, chunk, lambda pair: _read(task, pair[1], _run(pair[0], pair[1])))


async def audit(task: Task, entries: Mapping[str, Entry]) -> Batches:
    """A row for each line of each log. What is no entry is passed over, as everywhere."""
    for chunk in chunks(_of(AuditLog, entries), 32):
        found = await each(task.place.width, chunk, lambda pair: _lines(task, *pair))
        yield [row for rows in found for row in rows]


def _of(kind: type[K], entries: Mapping[str, Entry]) -> Iterable[tuple[K, Entry]]:
    return [(what, entry) for path, entry in entries.items() if isinstance(what := meaning(path), kind)]


async def _read(task: Task, entry: Entry, make: Callable[[bytes], Row]) -> Row:
    row: Row = {"namespace": task.namespace, "path": entry.key, "problem": None}
    try:
        return row | make(await _current(task, entry))
    except Corrupt as error:
        return row | {"problem": str(error)}


async def _current(task: Task, entry: Entry) -> bytes:
    """A record as it is now: it is written anew, or grows, before its entry follows."""
    return await whole(task.place, msgspec.structs.replace(entry, sha256=None))


def _output(what: OutputRecord, entry: Entry) -> Callable[[bytes], Row]:
    def make(body: bytes) -> Row:
        output = output_form.decode(body, entry.key)
        said = output.provenance
        return {
            "type": str(what.type),
            "id": output.id,
            "definition_id": output.definition_id or what.definition_id,
            "method": output.method_name or what.method,
            "status": output.status.value,
            "started": moment(output.started_at),
            "completed": moment(output.completed_at),
            "duration_ms": output.duration_ms,
            "retries": output.retry_count,
            "error": output.error.message if output.error else None,
            "triggered_by": said.triggered_by.value,
            "initiated_by": said.initiated_by,
            "workflow_id": said.workflow_id,
            "workflow_run_id": said.workflow_run_id,
            "step_name": said.step_name,
            "machine": output.machine,
            "artifacts": _produced(output.artifacts.data_artifacts),
        }

    return make


def _run(what: RunRecord, entry: Entry) -> Callable[[bytes], Row]:
    def make(body: bytes) -> Row:
        run = run_form.decode_summary(body, entry.key)
        return {
            "id": run.id or what.run_id,
            "workflow_id": run.workflow_id or what.workflow_id,
            "workflow_name": run.workflow_name,
            "status": run.status.value,
            "started": moment(run.started_at),
            "completed": moment(run.completed_at),
            "tags": list(run.tags.items()),
            "initiated_by": run.initiated_by,
            "trigger_source": run.trigger_source,
            "failed_step": run.failed_step,
            "failure_reason": run.failure_reason,
            "machine": run.machine,
            "artifacts": _produced(run.workflow_data_artifacts),
        }

    return make


async def _lines(task: Task, what: AuditLog, entry: Entry) -> list[Row]:
    row: Row = {
        "namespace": task.namespace,
        "path": entry.key,
        "kind": what.kind.value,
        "day": what.day.isoformat(),
        "machine": what.machine,
        "problem": None,
    }
    try:
        body = await _current(task, entry)
    except Corrupt as error:
        return [row | {"problem": str(error)}]
    decode = auditlines.decode_command if what.kind is AuditKind.COMMANDS else auditlines.decode_vault
    found = []
    for number, line in enumerate(body.splitlines(), 1):
        said = decode(line)
        if said is not None:
            found.append(row | {"line": number} | msgspec.structs.asdict(said) | {"time": moment(said.timestamp)})
    return found


def _produced(artifacts: Iterable[ProducedArtifact]) -> list[Row]:
    return [{"data_id": one.data_id, "name": one.name, "version": one.version} for one in artifacts]
