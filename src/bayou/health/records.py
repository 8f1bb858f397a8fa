"""What is recorded on this machine: the catalog, and runs whose process is gone."""

from collections.abc import Iterator
from pathlib import Path

import apsw

from bayou.datastore import Datastore
from bayou.domain.outputs import OutputStatus
from bayou.domain.runs import RunStatus
from bayou.health.findings import Finding, Repair, notice, ok, problem
from bayou.health.patient import Patient

_SHOWN = 20


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
