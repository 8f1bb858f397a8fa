"""Find: which model is meant, and which of its versions; with the error that says why there is none."""

from typing import TYPE_CHECKING

from bayou.catalog import Row
from bayou.domain.artifacts import ArtifactKey
from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.errors import ErrorKind, NotFound
from bayou.repository.reads import latest
from bayou.repository.reads import version as read_version
from bayou.repository.record import Record

if TYPE_CHECKING:
    from bayou.datastore.datastore import Datastore


class Finding:
    def __init__(self, datastore: "Datastore") -> None:
        self._datastore = datastore

    def latest(self, model: str, name: str) -> Record:
        rows = self._datastore.catalog.latest(self._datastore.namespace, model, name)
        if not rows or len({row.model for row in rows}) > 1:
            found = self.model(model)
            chain = self._datastore.models.chain(found)
            by_id = (self._datastore.catalog.latest(self._datastore.namespace, each.id, name) for each in chain)
            rows = next(filter(None, by_id), [])
        if not rows:
            # Where it is metadata that cannot be read, this names it.
            latest(self._datastore.tree, ArtifactKey(self.model(model), name))
            raise _no_data(model, name)
        row = max(rows, key=lambda row: row.artifact.version)
        for problem in self._datastore.catalog.problems_above(row):
            self._datastore.notice(
                f"version {row.artifact.version} is shown, as {problem.path} cannot be used: {problem.message}"
            )
        if row.artifact.renamed_to is not None:
            return self._renamed(row)
        if row.artifact.is_deleted:
            raise _no_data(model, name, ": it was deleted")
        return self._datastore.record(row)

    def version(self, model: str, name: str, version: int) -> Record:
        key = ArtifactKey(self.model(model), name)
        rows = self._datastore.catalog.versions(key, version)
        if not rows:
            read_version(self._datastore.tree, key, version)  # which names metadata that cannot be read
            raise _no_data(model, f"{name} version {version}")
        return self._datastore.record(rows[0])

    def versions(self, model: str, name: str) -> list[Record]:
        found = self.model(model)
        rows = self._datastore.catalog.versions(ArtifactKey(found, name))
        if not rows:
            chain = self._datastore.models.chain(found)
            by_id = (self._datastore.catalog.versions(ArtifactKey(each, name)) for each in chain)
            rows = next(filter(None, by_id), [])
        if not rows:
            raise _no_data(model, name)
        return [self._datastore.record(row) for row in rows]

    def model(self, reference: str) -> Model:
        known = self._known_models(reference)
        if known:
            return self._datastore.models.meant(reference, known)
        self._datastore.catalog.current(self._datastore.progress)
        return self._datastore.models.meant(reference, [*self._known_models(), *self._datastore.models.all()])

    def _known_models(self, reference: str | None = None) -> list[Model]:
        """The models that have data: all, or those whose name, or whose id, begins or ends the reference."""
        name = None if reference is None else reference.rpartition("/")[2]
        condition, parameters = "namespace = ? AND is_latest = 1", [self._datastore.namespace]
        if name is not None:
            condition += " AND (model_name = ? OR model_id = ?)"
            parameters += [name, name]
        rows = self._datastore.catalog.select(
            condition, parameters, columns=("DISTINCT type", "model_id", "model_name")
        )
        return [Model(ModelType(kind), model_id, called or None) for kind, model_id, called in rows]

    def _renamed(self, row: Row) -> Record:
        found = latest(self._datastore.tree, ArtifactKey(row.model, row.artifact.name))
        if found is None or found.artifact.is_deleted:
            raise _no_data(str(row.model), row.artifact.name, f": it was renamed to {row.artifact.renamed_to!r}")
        key, artifact = found
        return self._datastore.record(
            Row(self._datastore.namespace, key.model, artifact, is_latest=True, hydrated=True, row=0)
        )


def _no_data(model: str, name: str, why: str = "") -> NotFound:
    return NotFound(
        f"there is no data {name!r} of the model {model!r}{why}",
        kind=ErrorKind.DATA_MISSING,
        remedy="List what is there: bayou data list.",
    )
