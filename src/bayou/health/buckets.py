"""The bucket against its index: what is listed and lost, what lies there and is not listed, what waits to be swept."""

from collections import Counter
from collections.abc import Iterator

from bayou.datastore.upkeep import Upkeep
from bayou.errors import Conflict
from bayou.health.findings import Finding, Repair, notice, ok, problem
from bayou.health.patient import Patient
from bayou.sync.repairing import Repair as Plan
from bayou.sync.repairs import Action

_TIDY = {Action.LIST, Action.SWEEP, Action.CLEAR}
"""What nobody misses."""
_SOME = 5


def bucket(patient: Patient) -> Iterator[Finding]:
    upkeep = upkeep_of(patient)
    if upkeep is None:
        return
    plan = upkeep.plan_repair()
    wrong = [fix for fix in plan.fixes if fix.action not in {*_TIDY, Action.LEAVE}]
    left = [fix for fix in plan.fixes if fix.action is Action.LEAVE]
    tidy = [fix for fix in plan.fixes if fix.action in _TIDY]
    repairing = Repair(_told(plan), lambda: carry_out(upkeep)) if plan.is_needed else None
    if wrong:
        some = "; ".join(f"{fix.path}: {fix.why}" for fix in wrong[:_SOME])
        yield problem(f"{len(wrong)} files of the bucket are not what its index says: {some}", repair=repairing)
    elif tidy:
        yield notice(
            f"{len(tidy)} objects are to be listed or swept away", "Run `bayou doctor --repair`.", repair=repairing
        )
    if left:
        some = "; ".join(f"{fix.path}: {fix.why}" for fix in left[:_SOME])
        yield notice(f"{len(left)} objects are left alone: {some}", "`bayou verify` names them all.")
    if not (wrong or tidy or left):
        yield ok("the bucket holds what its index lists")


def upkeep_of(patient: Patient) -> Upkeep | None:
    """None for a folder, and for a place that is looked at without a repo, so without a cache to compare it with."""
    if patient.is_folder or patient.settings.repo is None or patient.settings.cache is None:
        return None
    return Upkeep(patient.settings, patient.notices.append)


def carry_out(upkeep: Upkeep) -> None:
    failed = upkeep.repair().failed
    if failed:
        some = "; ".join(f"{path}: {why}" for path, why in list(failed.items())[:_SOME])
        raise Conflict(f"{len(failed)} repairs were not made: {some}", remedy="Run it again.")


def _told(plan: Plan) -> str:
    counts = Counter(str(fix.action) for fix in plan.fixes if fix.action is not Action.LEAVE)
    return "make index and bucket agree: " + ", ".join(f"{action} {count}" for action, count in sorted(counts.items()))
