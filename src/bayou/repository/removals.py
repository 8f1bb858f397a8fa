"""Removals: versions that a plan lets go, taken away one name after the other, whatever becomes of the others.

Each name is looked at once more under its lock: one that was written since the plan was made stays as it is.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from bayou.domain.artifacts import ArtifactKey
from bayou.errors import BayouError
from bayou.repository.deletions import remove_name, remove_versions
from bayou.repository.holdings import Holdings, folder_of
from bayou.repository.inventory import Inventory
from bayou.tree.names import look

CHECKPOINTED = {"walPagesTotal": 0, "walPagesCheckpointed": 0}
"""What existing clients show of the journal of their catalog, once all of it is in the catalog."""


class Going(NamedTuple):
    """Versions of one name that go."""

    key: ArtifactKey
    versions: tuple[int, ...]
    size: int
    latest: int | None
    """The latest version when the plan was made."""
    whole: bool
    """Whether the name goes with them."""


@dataclass(slots=True)
class Removed:
    """What became of a plan. In a dry run, all that it would do."""

    gone: list[Going] = field(default_factory=list)
    changed: list[ArtifactKey] = field(default_factory=list)
    """Names that were written since the plan was made: the next run sees to them."""
    failures: dict[ArtifactKey, BayouError] = field(default_factory=dict)

    @property
    def versions(self) -> int:
        return sum(len(going.versions) for going in self.gone)

    @property
    def size(self) -> int:
        return sum(going.size for going in self.gone)


def whole(inventory: Inventory) -> Going:
    latest = inventory.latest
    return Going(inventory.key, inventory.numbers, inventory.size, latest and latest.version, whole=True)


def some(inventory: Inventory, numbers: Iterable[int]) -> Going:
    chosen, latest = set(numbers), inventory.latest
    size = sum(version.size for version in inventory.versions if version.version in chosen)
    return Going(inventory.key, tuple(sorted(chosen)), size, latest and latest.version, whole=False)


def remove(
    holdings: Holdings, plan: Iterable[Going], *, now: Iterable[Going] | None = None, dry_run: bool = False
) -> Removed:
    """Carry a plan out, or say what that would do. What is not in `now`, the plan as it would be made now, stays."""
    still = None if now is None else set(now)
    removed = Removed()
    for going in plan:
        try:
            if (still is None or going in still) and (dry_run or _remove(holdings, going)):
                removed.gone.append(going)
            else:
                removed.changed.append(going.key)
        except BayouError as error:
            removed.failures[going.key] = error
    return removed


def _remove(holdings: Holdings, going: Going) -> bool:
    with holdings.tree.lock(folder_of(going.key)):
        found = look(holdings.tree, going.key)
        if found is None or found.latest != going.latest or not found.finished.keys() >= set(going.versions):
            return False
        if not going.whole:
            remove_versions(holdings, going.key, going.versions)
            return True
        if found.finished.keys() != set(going.versions) or found.unfinished:
            return False
        remove_name(holdings, going.key)
        return True
