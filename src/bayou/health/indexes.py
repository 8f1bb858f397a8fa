"""The index of a bucket: which format it has, and whether its parts agree."""

from collections.abc import Iterator

from bayou.errors import Corrupt
from bayou.health.buckets import carry_out, upkeep_of
from bayou.health.findings import Finding, Repair, notice, ok, problem, trouble
from bayou.health.patient import Patient
from bayou.remotes import Format, ObjectRemote
from bayou.remotes.status import MANY, Status
from bayou.storage import Store


def index(patient: Patient) -> Iterator[Finding]:
    if patient.is_folder:
        return
    rebuilding = Repair("rebuild the index from what is in the bucket", lambda: _rebuild(patient))
    try:
        found = patient.ask(lambda store: _remote(patient, store).status())
    except Corrupt as error:
        yield trouble(error, repair=rebuilding)
        return
    if found.format is Format.NONE:
        yield ok("there is no index yet", format=str(found.format))
        return
    yield ok(f"{found.format} index of {found.entries} files in {found.partitions} parts", **_details(found))
    if found.shards.missing:
        yield problem(f"shards are listed and missing: {', '.join(found.shards.missing)}", repair=rebuilding)
    if found.shards.left_over or found.shards.differing:
        names = ", ".join((*found.shards.left_over, *found.shards.differing))
        yield notice(f"shards are not what the index says: {names}", "The next commit repairs them.", repair=rebuilding)
    if found.skipped:
        told = "; ".join(f"{path}: {why}" for path, why in list(found.skipped.items())[:5])
        yield problem(f"{len(found.skipped)} entries of the index cannot be used: {told}", repair=rebuilding)
    if found.should_migrate:
        yield notice(
            f"with more than {MANY} files each commit writes the whole index again",
            "Once no client of an old release writes here any more, run `bayou index migrate`.",
        )


def _remote(patient: Patient, store: Store) -> ObjectRemote:
    return ObjectRemote(store, patient.settings.namespace)


def _rebuild(patient: Patient) -> None:
    """With a cache at hand, what lost its object is uploaded again instead of being dropped."""
    upkeep = upkeep_of(patient)
    if upkeep is not None:
        carry_out(upkeep)
        return
    with patient.coordination.locks.structure() as hold:
        patient.ask(lambda store: _remote(patient, store).rebuild(lambda: hold.seems_held))


def _details(found: Status) -> dict[str, object]:
    return {
        "format": str(found.format),
        "entries": found.entries,
        "partitions": found.partitions,
        "commitSeq": found.commit_seq,
        "withoutHash": found.without_hash,
        "unpartitioned": found.unpartitioned,
    }
