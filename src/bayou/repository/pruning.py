"""Data prune: the data of models that nobody defines any more (repository spec 3.8)."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bayou.domain.models import Model
from bayou.errors import Corrupt
from bayou.repository.holdings import Holdings
from bayou.repository.inventory import inventories
from bayou.repository.models import Models
from bayou.repository.removals import CHECKPOINTED, Going, Removed, remove, whole
from bayou.wire import yamlmapping

IsLive = Callable[[Model], bool]

_WORKFLOW = "workflow"
_CONTROL_PLANE = frozenset(
    f"swamp/{name}"
    for name in (
        "enrollment-token", "worker", "step-lease", "pending-dispatch", "fleet-probe", "server-token", "grant", "group"
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pruned:
    """What a prune did, or would do."""

    removed: Removed
    dry_run: bool

    def to_dict(self) -> dict[str, object]:
        models = _by_model(self.removed.gone)
        return {
            "modelsReclaimed": len(models),
            "dataEntriesReclaimed": len(self.removed.gone),
            "versionsDeleted": self.removed.versions,
            "bytesReclaimed": self.removed.size,
            "dryRun": self.dry_run,
            "reclaimedModels": [_shown(model, going) for model, going in models.items()],
            "skipped": [*map(str, self.removed.changed)],
            "failed": [{"data": str(key), "error": str(error)} for key, error in self.removed.failures.items()],
            **CHECKPOINTED,
        }


def plan_prune(holdings: Holdings, is_live: IsLive) -> tuple[Going, ...]:
    """Decide what goes. Names that say that they were deleted are no data, and stay."""
    verdicts: dict[Model, bool] = {}
    going = []
    for inventory in inventories(holdings.catalog, holdings.tree.namespace):
        model = inventory.key.model
        if model not in verdicts:
            verdicts[model] = str(model.type) in _CONTROL_PLANE or is_live(model)
        if not verdicts[model] and inventory.latest is not None and not inventory.is_deleted:
            going.append(whole(inventory))
    return tuple(sorted(going, key=lambda one: (str(one.key.model.type), one.key.model.id, one.key.name)))


def prune(
    holdings: Holdings, plan: tuple[Going, ...], *, now: tuple[Going, ...] | None = None, dry_run: bool = False
) -> Pruned:
    """Carry the plan out, or say what that would do. One name that fails holds up no other."""
    removed = remove(holdings, plan, now=now, dry_run=dry_run)
    if not dry_run:
        holdings.catalog.checkpoint()
    return Pruned(removed, dry_run)


def defined(models: Models, workflows: Path) -> IsLive:
    """Whether a model is defined, in the repo or in the datastore, or is a workflow of the repo. All is read once, now.

    A definition that cannot be read may be that of any model, so it lets nothing be pruned: the error names it.
    """
    ids = {(model.type, model.id) for model in models.all()}
    workflow_ids = set(_workflow_ids(workflows))

    def is_live(model: Model) -> bool:
        return model.id in workflow_ids if str(model.type) == _WORKFLOW else (model.type, model.id) in ids

    return is_live


def _workflow_ids(folder: Path) -> Iterator[str]:
    for file in sorted((*folder.rglob("*.yaml"), *folder.rglob("*.yml"))):
        workflow_id = yamlmapping.decode(file.read_bytes(), str(file), "a workflow").get("id")
        if not isinstance(workflow_id, str):
            raise Corrupt(str(file), expected="a workflow with a text as its id", found="none")
        yield workflow_id


def _by_model(gone: list[Going]) -> dict[Model, list[Going]]:
    models = defaultdict[Model, list[Going]](list)
    for going in gone:
        models[going.key.model].append(going)
    return models


def _shown(model: Model, gone: list[Going]) -> dict[str, object]:
    name = next((going.key.model.name for going in gone if going.key.model.name), None)
    return {
        "type": str(model.type),
        "modelId": model.id,
        **({"modelName": name} if name else {}),
        "dataNames": [going.key.name for going in gone],
        "versionCount": sum(len(going.versions) for going in gone),
        "bytesReclaimed": sum(going.size for going in gone),
    }
