"""The record of a write: one execution, which names all that it wrote, as every run of a method leaves one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.domain.outputs import Output, OutputStatus, ProducedArtifact, Provenance, Trigger, succeeded
from bayou.layout.records import OutputRecord, stamp
from bayou.pipelines.naming import Name
from bayou.wire import outputs
from bayou.wire.times import to_milliseconds, to_text

TYPE = ModelType("bayou/write")
"""The type of the models that stand for jobs which write."""
_METHOD = "write"
_SAME_MOMENT = 100
"""Writes of one job that may have begun in one millisecond."""


@dataclass(frozen=True, slots=True)
class Job:
    """A write, as its record tells of it."""

    id: str
    name: str
    started: str


def paths(job: Job, model: Model) -> Iterator[tuple[str, str]]:
    """When it began, and where its record goes then. The first that is free counts: as with any run, of two that began
    in one millisecond the second began in the next.
    """
    began = to_milliseconds(job.started) or 0
    for later in range(_SAME_MOMENT):
        started = to_text((began + later) * 1_000_000)
        yield started, OutputRecord(model.type, _METHOD, model.id, stamp(started)).path


def record(job: Job, model: Model, names: Iterable[Name], *, started: str, at: str) -> bytes:
    """What it says, the same each time it is asked for these."""
    running = Output(
        id=job.id,
        definition_id=model.id,
        method_name=_METHOD,
        status=OutputStatus.RUNNING,
        started_at=started,
        provenance=Provenance(model_version="1", triggered_by=Trigger.MANUAL),
    )
    produced = [
        ProducedArtifact(data_id=one.id, name=one.name, version=one.version, tags=one.tags)
        for name in names
        for one in (piece.artifact for piece in name.pieces)
    ]
    return outputs.encode(succeeded(running, at, produced))
