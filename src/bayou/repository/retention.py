"""Data gc: what has expired, and the versions that their policies let go (repository spec 2.2, 2.3, 3.7).

The plan is a value, computed from the catalog; a dry run is that plan, and the run carries it out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from bayou.domain.artifacts import ArtifactKey
from bayou.domain.lifetimes import Expired, expiry, parse_lifetime
from bayou.domain.models import Model
from bayou.domain.retention import parse_policy, versions_to_drop
from bayou.errors import BayouError, UsageError
from bayou.repository.holdings import Holdings
from bayou.repository.inventory import Inventory, inventories
from bayou.repository.leftovers import remove_temporaries, remove_unfinished, unfinished
from bayou.repository.removals import CHECKPOINTED, Going, Removed, remove, some, whole

RunIsGone = Callable[[str, str], bool]
"""Whether the record of a run (the id of its workflow, its own id) is known not to exist."""

SKEW = timedelta(days=1)
"""What is from further in the future was written by a clock that was wrong, or is looked at by one that is."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a gc takes away. No version is in it twice (weakness 52)."""

    expired: Mapping[ArtifactKey, Expired]
    going: tuple[Going, ...]
    unfinished: tuple[str, ...]
    skewed: tuple[ArtifactKey, ...]
    """Names whose age nobody can tell, as they have versions from the future: nothing of them goes by its age."""


class Judged(NamedTuple):
    """What is decided about one name."""

    going: Going | None
    expired: Expired | None
    """Why all of it goes, if it does."""
    skewed: bool


@dataclass(frozen=True, slots=True)
class Collected:
    """What a gc did, or would do."""

    plan: Plan
    removed: Removed
    unfinished: int
    dry_run: bool

    def to_dict(self) -> dict[str, object]:
        expired = [going for going in self.removed.gone if going.key in self.plan.expired]
        return {
            "dataEntriesExpired": len(expired),
            "versionsDeleted": self.removed.versions,
            "bytesReclaimed": self.removed.size,
            "dryRun": self.dry_run,
            "expiredEntries": [
                {
                    "type": str(going.key.model.type),
                    "modelId": going.key.model.id,
                    "dataName": going.key.name,
                    "reason": str(self.plan.expired[going.key]),
                    "versionCount": len(going.versions),
                }
                for going in expired
            ],
            "unfinishedRemoved": self.unfinished,
            "skipped": [*map(str, self.removed.changed), *map(str, self.plan.skewed)],
            "failed": [{"data": str(key), "error": str(error)} for key, error in self.removed.failures.items()],
            **CHECKPOINTED,
        }


def plan_gc(holdings: Holdings, run_is_gone: RunIsGone, *, model: Model | None = None) -> Plan:
    """Decide what goes: of the whole datastore, or of one model after it ran."""
    now = holdings.moment()
    expired: dict[ArtifactKey, Expired] = {}
    going: list[Going] = []
    skewed: list[ArtifactKey] = []
    for inventory in inventories(holdings.catalog, holdings.tree.namespace, model):
        judged = judge(inventory, now, run_is_gone)
        if judged.skewed:
            skewed.append(inventory.key)
        if judged.expired is not None:
            expired[inventory.key] = judged.expired
        if judged.going is not None:
            going.append(judged.going)
    left = () if model else tuple(unfinished(holdings.tree, holdings.clock()))
    return Plan(expired, tuple(sorted(going, key=lambda one: _order(one.key))), left, tuple(sorted(skewed, key=_order)))


def judge(inventory: Inventory, now: datetime, run_is_gone: RunIsGone) -> Judged:
    """What of one name goes. Nothing else of the datastore has a say in it."""
    dated = not any(version.created_at and version.created_at > now + SKEW for version in inventory.versions)
    expired = _expired(inventory, now, run_is_gone, dated=dated)
    if expired is not None:
        return Judged(whole(inventory), expired, not dated)
    surplus = _surplus(inventory, now, dated=dated)
    return Judged(some(inventory, surplus) if surplus else None, None, not dated)


def collect(holdings: Holdings, plan: Plan, *, now: Plan | None = None, dry_run: bool = False) -> Collected:
    """Carry the plan out, or say what that would do. One name that fails holds up no other."""
    removed = remove(holdings, plan.going, now=None if now is None else now.going, dry_run=dry_run)
    if dry_run:
        return Collected(plan, removed, len(plan.unfinished), dry_run)
    swept = 0
    for folder in plan.unfinished:
        try:
            swept += remove_unfinished(holdings, folder)
        except BayouError:
            continue  # it is in nobody's way, and the next gc tries again
    remove_temporaries(holdings.tree, holdings.clock())
    holdings.catalog.checkpoint()
    return Collected(plan, removed, swept, dry_run)


def _expired(inventory: Inventory, now: datetime, run_is_gone: RunIsGone, *, dated: bool) -> Expired | None:
    latest = inventory.latest
    if latest is None or inventory.is_deleted:
        return None

    def is_gone() -> bool:
        return bool(latest.workflow_id and latest.workflow_run_id) and run_is_gone(
            latest.workflow_id, latest.workflow_run_id
        )

    created_at = latest.created_at if dated and latest.created_at else now
    return expiry(parse_lifetime(latest.lifetime), created_at=created_at, now=now, run_is_gone=is_gone)


def _surplus(inventory: Inventory, now: datetime, *, dated: bool) -> list[int]:
    """What the policy of the latest lets go: never the latest of a step, nor what waits to be advanced."""
    latest = inventory.latest
    if latest is None or len(inventory.versions) == 1:
        return []
    try:
        policy = parse_policy(latest.garbage_collection)
    except UsageError:
        return []  # written by hand: it asks for nothing that anybody could do
    ages = {v.version: v.created_at if dated else None for v in inventory.versions if v.version <= latest.version}
    return versions_to_drop(ages, policy, now, keep={v.version for v in inventory.versions if v.is_latest})


def _order(key: ArtifactKey) -> tuple[str, str, str]:
    return str(key.model.type), key.model.id, key.name
