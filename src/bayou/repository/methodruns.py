"""One execution of a method: its record from the first moment on, and the artifacts that it writes."""

import hashlib
import os
import traceback
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from bayou.catalog import Row
from bayou.domain.artifacts import Artifact, ArtifactKey, Owner
from bayou.domain.models import Model
from bayou.domain.outputs import (
    Output,
    OutputStatus,
    ProducedArtifact,
    Provenance,
    Trigger,
    cancelled,
    failed,
    succeeded,
)
from bayou.domain.tags import Step, Tags, layered, owned_by_method
from bayou.errors import Conflict, ErrorKind, NotFound
from bayou.layout.definitions import EvaluatedDefinition, definition_stem
from bayou.layout.places import LOCAL
from bayou.repository import outputs, streams
from bayou.repository.content import Given
from bayou.repository.deferred import Deferred
from bayou.repository.drafts import Draft
from bayou.repository.ephemeral import Ephemeral, Held
from bayou.repository.holdings import Holdings
from bayou.repository.machines import machine_name
from bayou.repository.reads import latest
from bayou.repository.record import Record
from bayou.repository.saving import save
from bayou.wire import yamlmapping
from bayou.wire.javascript import compact

RESOURCE = "resource"
FILE = "file"
LOG = "log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What is known of an execution before it begins.

    With `rollback` nothing of it becomes the latest of anything unless all of it succeeds. `inputs` are recorded as the
    arguments of the evaluated definition, in the clear: a secret does not belong there.
    """

    inputs: Mapping[str, object] = field(default_factory=dict)
    tags: Tags = field(default_factory=dict)
    """Added to those of each artifact; they have the last word but one."""
    step: Step | None = None
    rollback: bool = False
    with_log: bool = False
    initiated_by: str | None = None


class MethodRun:
    """Use it as a context manager: it succeeds when the body does, and fails when that raises.

    All of it happens within `around`, which gives a check that raises when nothing more may be written.
    """

    def __init__(  # noqa: PLR0913 - what an execution is made of
        self,
        holdings: Holdings,
        model: Model,
        method: str,
        circumstances: Circumstances,
        *,
        around: AbstractContextManager[Callable[[], None]],
        ephemeral_budget: int,
        afterwards: Callable[[], None] = lambda: None,
    ) -> None:
        self.model = model
        self.method = method
        self._holdings = holdings
        self._circumstances = circumstances
        self._afterwards = afterwards
        self._ephemeral = Ephemeral(ephemeral_budget)
        self._deferred = Deferred(holdings) if circumstances.rollback else None
        self._produced: list[ProducedArtifact] = []
        self._around = around

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            self._check = opened.enter_context(self._around)
            self._begin()
            opened.push(self._conclude)
            self._opened = opened.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.__exit__(kind, error, trace)

    def _begin(self) -> None:
        holdings, model, circumstances = self._holdings, self.model, self._circumstances
        self._hash = _evaluated(holdings, model, self.method, circumstances.inputs)
        self._path, self.output = outputs.create(
            holdings.tree,
            model,
            Output(
                method_name=self.method,
                status=OutputStatus.RUNNING,
                started_at=holdings.now(),
                provenance=_provenance(circumstances, self._hash),
                pid=os.getpid(),
                machine=machine_name(holdings.tree),
            ),
            with_log=circumstances.with_log,
        )

    @property
    def id(self) -> str:
        return self.output.id

    @property
    def log(self) -> Path | None:
        """Where its log goes, beside the repo; the folder is made by whoever writes it."""
        if self.output.log_file is None:
            return None
        return self._holdings.tree.local / self.output.log_file.removeprefix(f"{LOCAL}/")

    def write(  # noqa: PLR0913 - what there is to say about an artifact
        self,
        name: str,
        given: Given,
        *,
        data_type: str = RESOURCE,
        spec: str | None = None,
        tags: Tags | None = None,
        content_type: str | None = None,
        lifetime: str = "infinite",
        keep: int | str = 10,
        streaming: bool = False,
    ) -> Record:
        """Write a new version: bytes, a text, a value (as JSON), a `Path`, or a binary stream."""
        self._check()
        key = ArtifactKey(self.model, name)
        all_tags = layered(
            data_type,
            spec_name=spec,
            model_name=self.model.name,
            step=self._circumstances.step,
            runtime=self._circumstances.tags,
            output=tags or {},
        )
        draft = Draft(
            owner=owned_by_method(self.model.id, all_tags, definition_hash=self._hash),
            tags=all_tags,
            content_type=content_type,
            lifetime=lifetime,
            garbage_collection=keep,
            streaming=streaming,
        )
        if draft.is_ephemeral:
            self._ephemeral.save(key, given, draft, self._holdings.now())
            return self.latest(name)
        if self._deferred is not None:
            artifact = self._deferred.save(key, given, draft)
        else:
            artifact = save(self._holdings, key, given, draft)
        self._note(artifact)
        return self._record(artifact, is_latest=self._deferred is None)

    def write_file(  # noqa: PLR0913 - as in write
        self,
        name: str,
        path: str | os.PathLike[str],
        *,
        spec: str | None = None,
        tags: Tags | None = None,
        content_type: str | None = None,
        lifetime: str = "infinite",
        keep: int | str = 10,
    ) -> Record:
        """Write a file as a new version; its content type is guessed from its name."""
        return self.write(
            name,
            Path(path),
            data_type=FILE,
            spec=spec,
            tags=tags,
            content_type=content_type,
            lifetime=lifetime,
            keep=keep,
        )

    def append(self, name: str, given: Given) -> Record:
        """Add to the end of the latest version of streaming data."""
        self._check()
        key = ArtifactKey(self.model, name)
        if self._ephemeral.find(key) is not None:
            self._ephemeral.append(key, given, self._owner)
            return self.latest(name)
        return self._record(streams.append(self._holdings, key, given, self._owner), is_latest=True)

    def latest(self, name: str) -> Record:
        """The latest version, of this run's ephemeral data first."""
        key = ArtifactKey(self.model, name)
        held = self._ephemeral.find(key)
        if held is not None:
            return _held(self._holdings, held)
        found = latest(self._holdings.tree, key)
        if found is None or found.artifact.is_deleted:
            raise NotFound(f"there is no {key}", kind=ErrorKind.DATA_MISSING)
        return self._record(found.artifact, is_latest=True)

    def ephemeral(self) -> list[Record]:
        """What this run holds in memory, for queries."""
        return [_held(self._holdings, held) for held in self._ephemeral]

    def succeed(self) -> None:
        """It did what it was to do."""
        try:
            self._check()
        except Conflict as error:
            self.fail(str(error))
            raise
        if self._deferred is not None and (errors := self._deferred.advance()):
            self.fail("; ".join(map(str, errors)))
            raise errors[0]
        self._end(lambda output: succeeded(output, self._holdings.now(), self._produced))

    def fail(self, message: str, *, stack: str | None = None) -> None:
        """It did not. What it wrote before stays, unless all was to be taken back."""
        self._roll_back()
        produced = self._produced
        self._end(lambda output: failed(output, self._holdings.now(), message, stack=stack, produced=produced))

    def cancel(self, reason: str = "") -> None:
        """Somebody stopped it."""
        self._roll_back()
        self._end(lambda output: cancelled(output, self._holdings.now(), reason))

    def _conclude(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self.output.is_over:
            return  # the body has said how it ended
        match error:
            case None:
                self.succeed()
            case Exception():
                self.fail(str(error) or type(error).__name__, stack="".join(traceback.format_exception(error)))
            case _:
                self.cancel("interrupted")

    @property
    def _owner(self) -> Owner:
        step = self._circumstances.step
        return owned_by_method(self.model.id, step.all_tags if step else {}, definition_hash=self._hash)

    def _note(self, artifact: Artifact) -> None:
        self._produced.append(
            ProducedArtifact(data_id=artifact.id, name=artifact.name, version=artifact.version, tags=artifact.tags)
        )

    def _record(self, artifact: Artifact, *, is_latest: bool) -> Record:
        tree = self._holdings.tree
        return Record(Row(tree.namespace, self.model, artifact, is_latest, hydrated=True, row=0), tree)

    def _roll_back(self) -> None:
        if self._deferred is not None:
            self._deferred.rollback()
            self._produced.clear()

    def _end(self, step: Callable[[Output], Output]) -> None:
        self.output = outputs.advance(self._holdings.tree, self._path, step)
        self._afterwards()


def _held(holdings: Holdings, held: Held) -> Record:
    row = Row(holdings.tree.namespace, held.key.model, held.artifact, held.is_latest, hydrated=True, row=0)
    return Record(row, None, content=held.raw)


def _provenance(circumstances: Circumstances, definition_hash: str) -> Provenance:
    step = circumstances.step
    return Provenance(
        definition_hash=definition_hash,
        model_version="1",
        triggered_by=Trigger.WORKFLOW if step else Trigger.MANUAL,
        workflow_id=step.workflow_id if step else None,
        workflow_run_id=step.workflow_run_id if step else None,
        step_name=step.step if step else None,
        initiated_by=circumstances.initiated_by,
    )


def _evaluated(holdings: Holdings, model: Model, method: str, inputs: Mapping[str, object]) -> str:
    """Record the definition as this execution has it, and give its hash (repository spec 1.5)."""
    name = model.name or model.id
    definition = {
        "id": model.id,
        "name": name,
        "version": 1,
        "tags": {},
        "globalArguments": {},
        "methods": {method: {"arguments": dict(inputs)}},
    }
    path = EvaluatedDefinition(model.type, definition_stem(name, model.id)).path
    content = yamlmapping.encode({"type": model.type.raw, **definition}, "an evaluated definition")
    if holdings.tree.read(path) != content:
        with holdings.tree.change(path) as change:
            change.replace(path, content)
    return hashlib.sha256(compact(_sorted(definition))).hexdigest()


def _sorted(value: object) -> object:
    match value:
        case Mapping():
            return {str(key): _sorted(value[key]) for key in sorted(value, key=str)}
        case list() | tuple():
            return [_sorted(item) for item in value]
        case _:
            return value
