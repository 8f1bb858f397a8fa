"""Inventory: what the catalog knows of each name, as much as it takes to decide what may go."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from bayou.catalog import Catalog
from bayou.domain.artifacts import ArtifactKey, Lifecycle
from bayou.domain.models import Model
from bayou.layout.typefolders import type_at

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Version(NamedTuple):
    name_row: int
    type: str
    model_id: str
    name: str
    version: int
    is_latest: int
    model_name: str
    lifetime: str
    garbage_collection: int | str
    created_ms: int | None
    size: int
    lifecycle: str
    workflow_id: str
    workflow_run_id: str

    @property
    def created_at(self) -> datetime | None:
        """None where nobody knows, or where it is not in any calendar."""
        try:
            return None if self.created_ms is None else _EPOCH + timedelta(milliseconds=self.created_ms)
        except OverflowError:
            return None


class Inventory(NamedTuple):
    """One name, with its versions, lowest first."""

    key: ArtifactKey
    versions: Sequence[Version]

    @property
    def latest(self) -> Version | None:
        """None where nothing is advanced: such names are being written for the first time, or were hidden."""
        return next((version for version in reversed(self.versions) if version.is_latest), None)

    @property
    def is_deleted(self) -> bool:
        return self.latest is not None and self.latest.lifecycle == Lifecycle.DELETED

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(version.version for version in self.versions)

    @property
    def size(self) -> int:
        return sum(version.size for version in self.versions)


def inventories(catalog: Catalog, namespace: str, model: Model | None = None) -> Iterator[Inventory]:
    """All names of the namespace, or those of one model; one after the other, as of one moment."""
    condition, parameters = "namespace = ?", [namespace]
    if model is not None:
        # Through the index of names: after each run this is asked of a catalog of any size.
        of_model = "SELECT name_row FROM name WHERE namespace = ? AND type = ? AND model_id = ?"
        condition, parameters = f"name_row IN ({of_model})", [namespace, str(model.type), model.id]
    found = catalog.select(condition, parameters, columns=Version._fields, order_by="name_row, version")
    for _, group in groupby(map(Version._make, found), attrgetter("name_row")):
        versions = list(group)
        first = versions[0]
        model_type = type_at(first.type)
        if model_type is not None:
            called = next((version.model_name for version in versions if version.model_name), None)
            yield Inventory(ArtifactKey(Model(model_type, first.model_id, called), first.name), versions)
