"""A model as users have it in hand: a type and a name, to which one writes and of which one reads."""

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from bayou.catalog import Row
from bayou.domain.artifacts import ArtifactKey, Owner, OwnerType
from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.domain.tags import Step, Tags, layered
from bayou.errors import BayouError
from bayou.repository.content import Given
from bayou.repository.drafts import Draft
from bayou.repository.record import Record
from bayou.repository.saving import save

if TYPE_CHECKING:
    from bayou.datastore.datastore import Datastore
    from bayou.repository.methodruns import MethodRun


class ModelHandle:
    def __init__(self, datastore: "Datastore", model_type: ModelType, name: str) -> None:
        self.type = model_type
        self.name = name
        self._datastore = datastore

    @cached_property
    def model(self) -> Model:
        """With its id. A model that nobody has defined is defined by the first look at it."""
        self._datastore.check_writable()
        return self._datastore.models.of(self.type, self.name)

    @property
    def id(self) -> str:
        return self.model.id

    def run(  # noqa: PLR0913 - the circumstances of an execution
        self,
        method: str,
        *,
        inputs: Mapping[str, object] | None = None,
        tags: Tags | None = None,
        step: Step | None = None,
        rollback: bool = False,
        with_log: bool = False,
        initiated_by: str | None = None,
    ) -> "MethodRun":
        """Execute a method: `with model.run("create") as run: run.write(…)`. Its record tells how it went.

        It begins with the block, once no other run of this model, on whichever machine, is under way.
        """
        from bayou.repository.methodruns import Circumstances, MethodRun  # noqa: PLC0415 - for runs only

        circumstances = Circumstances(
            inputs=inputs or {},
            tags=tags or {},
            step=step,
            rollback=rollback,
            with_log=with_log,
            initiated_by=initiated_by,
        )
        settings = self._datastore.settings
        return MethodRun(
            self._datastore.holdings,
            self.model,
            method,
            circumstances,
            around=self._datastore.coordination.running([self.model]),
            ephemeral_budget=settings.ephemeral_budget,
            afterwards=self._collect if settings.auto_gc else lambda: None,
        )

    def write(  # noqa: PLR0913 - what there is to say about an artifact
        self,
        name: str,
        given: Given,
        *,
        tags: Tags | None = None,
        content_type: str | None = None,
        lifetime: str = "infinite",
        keep: int | str = 10,
        streaming: bool = False,
    ) -> Record:
        """Write a new version by hand, as no method does."""
        model = self.model
        draft = Draft(
            owner=self._owner,
            tags=layered("resource", model_name=self.name, runtime=tags or {}),
            content_type=content_type,
            lifetime=lifetime,
            garbage_collection=keep,
            streaming=streaming,
        )
        artifact = save(self._datastore.holdings, ArtifactKey(model, name), given, draft)
        return self._datastore.record(Row(self._datastore.namespace, model, artifact, True, True, 0))

    def append(self, name: str, given: Given) -> Record:
        """Add to the end of streaming data that was written by hand."""
        from bayou.repository.streams import append  # noqa: PLC0415 - for streams only

        artifact = append(self._datastore.holdings, ArtifactKey(self.model, name), given, self._owner)
        return self._datastore.record(Row(self._datastore.namespace, self.model, artifact, True, True, 0))

    def write_file(self, name: str, path: str | os.PathLike[str], *, tags: Tags | None = None) -> Record:
        return self.write(name, Path(path), tags={"type": "file", **(tags or {})})

    def latest(self, name: str) -> Record:
        return self._datastore.latest(str(self), name)

    def versions(self, name: str) -> list[Record]:
        return self._datastore.versions(str(self), name)

    def _collect(self) -> None:
        with suppress(BayouError):  # it fails no run
            self._datastore.tidying.gc_of(self.model)

    @property
    def _owner(self) -> Owner:
        return Owner(owner_type=OwnerType.MANUAL, owner_ref=self.model.id)

    def __str__(self) -> str:
        return f"{self.type}/{self.name}"

    def __repr__(self) -> str:
        return f"<Model {self}>"
