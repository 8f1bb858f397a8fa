"""What is recorded on this machine: the catalog, changes that others do not have, and runs whose process is gone."""

from collections.abc import Iterator
from pathlib import Path

import apsw

from bayou.datastore import Datastore
from bayou.domain.outputs import OutputStatus
from bayou.domain.runs import RunStatus
from bayou.health.findings import Finding, Repair, notice, ok, problem
from bayou.health.patient import Patient

_SHOWN = 20
_SOME = 5


def opening(patient: Patient) -> Iterator[Finding]:
    """What is on this machine: a cache with its journal, or a folder. One that is missing is told by `reach`."""
    datastore = patient.datastore
    if datastore is not None:
        yield ok(f"{datastore.tree.root} can be worked with", path=str(datastore.tree.root))


def catalog(patient: Patient) -> Iterator[Finding]:
    """First as a file, as it is; opening it would set a damaged one aside. Then what it says of the data."""
    datastore = patient.datastore
    if datastore is None:
        return
    damage = _damage(datastore.catalog_path)
    if damage is not None:
        again = Repair("set the catalog aside, and build it anew from the data", lambda: _anew(datastore))
        yield problem(f"the catalog {datastore.catalog_path} is damaged: {damage}", repair=again)
        return
    heard = len(patient.notices)
    datastore.catalog.current()
    for said in patient.notices[heard:]:
        yield notice(said)
    stats, unusable = datastore.catalog.stats(), datastore.catalog.problems()
    yield ok(f"{stats.versions} versions of {stats.names} artifacts", versions=stats.versions, artifacts=stats.names)
    for one in unusable[:_SHOWN]:
        yield problem(f"{one.path}: {one.message}", "Restore it from another copy, or delete that version.")
    if len(unusable) > _SHOWN:
        yield problem(f"{len(unusable) - _SHOWN} more versions cannot be used", "`bayou status` shows them all.")


def changes(patient: Patient) -> Iterator[Finding]:
    """What the cache has that the bucket has not: none of it is lost, and nobody else sees it."""
    datastore = patient.datastore
    if datastore is None or not datastore.is_synced:
        return
    standing = datastore.syncing.standing()
    details = {"dirty": standing.dirty, "conflicts": len(standing.conflicts), "failed": dict(standing.failed)}
    if standing.conflicts:
        some = ", ".join(kept.path for kept in standing.conflicts[:_SOME])
        remedy = "`bayou conflicts list` shows them; take-mine or take-theirs settles each."
        yield notice(f"{len(standing.conflicts)} files were changed here and there: {some}", remedy, details=details)
    if standing.failed:
        some = "; ".join(f"{path}: {why}" for path, why in list(standing.failed.items())[:_SOME])
        remedy = "The next sync tries again; where it always fails, the reason says what to do."
        yield notice(f"the last sync left {len(standing.failed)} files: {some}", remedy, details=details)
    if not (standing.conflicts or standing.failed):
        waiting = f"{standing.dirty} changed paths wait for the next push" if standing.dirty else "nothing waits"
        yield ok(waiting, **details)


def runs(patient: Patient) -> Iterator[Finding]:
    datastore = patient.datastore
    if datastore is None:
        return
    recorded = datastore.runs
    methods = recorded.methods(statuses=[OutputStatus.RUNNING]).records
    workflows = recorded.workflows(statuses=[RunStatus.RUNNING]).runs
    stale = [found.output.id for found in methods if recorded.is_stale(found)]
    stale += [found.run.id for found in workflows if recorded.is_stale(found)]
    if stale:
        reconcile = Repair(f"record {len(stale)} runs as failed", recorded.reconcile)
        yield notice(
            f"{len(stale)} runs never ended: their processes are gone", repair=reconcile, details={"runs": stale}
        )
    else:
        yield ok("all runs have ended, or are under way")


def _damage(path: Path) -> str | None:
    if not path.exists():
        return None
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(1)")]
        finally:
            connection.close()
    except apsw.BusyError:
        return None  # somebody is at work on it
    except apsw.Error as error:
        return str(error)
    return None if found == ["ok"] else "; ".join(found)


def _anew(datastore: Datastore) -> None:
    if _damage(datastore.catalog_path) is not None:
        path = datastore.catalog_path
        path.rename(path.with_name(f"{path.name}.corrupt"))
    datastore.catalog.rebuild()
