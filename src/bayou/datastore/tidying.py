"""Tidy up: delete, rename, and let go of what nobody needs any more; a dry run is the plan of the run."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from bayou.catalog import Row
from bayou.domain.artifacts import ArtifactKey
from bayou.domain.models import Model
from bayou.errors import BayouError
from bayou.repository import deletions, pruning, renames, retention, runs
from bayou.repository.deletions import Deleted, Target
from bayou.repository.pruning import Pruned
from bayou.repository.record import Record
from bayou.repository.removals import Going
from bayou.repository.retention import Collected, RunIsGone

if TYPE_CHECKING:
    from bayou.datastore.datastore import Datastore


class Tidying:
    def __init__(self, datastore: "Datastore") -> None:
        self._datastore = datastore
        self._holdings = datastore.holdings

    def delete(self, model: str, name: str, version: int | None = None) -> list[int]:
        self._datastore.check_writable()
        return deletions.delete(self._holdings, ArtifactKey(self._datastore.find_model(model), name), version)

    def targets(self, model: str, name: str | None, *, version: int | None = None, prefix: str = "") -> list[Target]:
        """What `delete_each` is to delete: a name, a version of it, or all names that begin with a prefix."""
        found = self._datastore.find_model(model)
        if name is None:
            return deletions.names_with(self._holdings, found, prefix)
        return [Target(ArtifactKey(found, name), version)]

    def delete_each(self, targets: Iterable[Target]) -> Deleted:
        """Delete many. What is not there is refused first of all; one that fails does not stop the rest."""
        self._datastore.check_writable()
        targets = list(targets)
        # The lock of its name is enough for one. Of many a run would see some gone and some not.
        with self._datastore.coordination.alone() if len(targets) > 1 else nullcontext():
            return deletions.delete_each(self._holdings, targets)

    def rename(self, model: str, old: str, new: str) -> Record:
        self._datastore.check_writable()
        found = self._datastore.find_model(model)
        artifact = renames.rename(self._holdings, ArtifactKey(found, old), new)
        return self._datastore.record(
            Row(self._datastore.namespace, found, artifact, is_latest=True, hydrated=True, row=0)
        )

    def plan_gc(self) -> retention.Plan:
        """What has expired, and the versions that their policies let go."""
        self._datastore.catalog.current(self._datastore.progress)
        return retention.plan_gc(self._holdings, self._run_is_gone())

    def gc(self, plan: retention.Plan, *, dry_run: bool = False) -> Collected:
        """Whoever waited for the locks may find that less is to go by now than when the plan was made."""
        if dry_run:
            return retention.collect(self._holdings, plan, dry_run=True)
        with self._alone():
            return retention.collect(self._holdings, plan, now=self.plan_gc())

    def gc_of(self, model: Model) -> None:
        """What `autoGc` asks for after a run: this model's expired data and surplus versions."""
        retention.collect(self._holdings, retention.plan_gc(self._holdings, self._run_is_gone(), model=model))

    def plan_prune(self) -> tuple[Going, ...]:
        """The data of models that nobody defines any more."""
        self._datastore.catalog.current(self._datastore.progress)
        repo = self._datastore.settings.repo or self._datastore.tree.root
        return pruning.plan_prune(self._holdings, pruning.defined(self._datastore.models, repo / "workflows"))

    def prune(self, plan: tuple[Going, ...], *, dry_run: bool = False) -> Pruned:
        """As with `gc`: a model may have been defined meanwhile."""
        if dry_run:
            return pruning.prune(self._holdings, plan, dry_run=True)
        with self._alone():
            pruned = pruning.prune(self._holdings, plan, now=self.plan_prune())
            # What stays costs each structural command a look at it, and hurts nobody.
            with suppress(BayouError, TimeoutError):
                self._datastore.coordination.locks.sweep({going.key.model for going in pruned.removed.gone})
            return pruned

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self._datastore.check_writable()
        with self._datastore.coordination.alone():
            yield

    def _run_is_gone(self) -> RunIsGone:
        """One look at all records of runs, not one for each artifact (weakness 54)."""
        there = {(found.run.workflow_id, found.run.id) for found in runs.listing(self._datastore.tree).runs}
        return lambda workflow_id, run_id: (workflow_id, run_id) not in there
