"""All checks, in the order in which one would make them by hand, and how they are made."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bayou.errors import BayouError
from bayou.health import buckets, disks, holds, identities, indexes, records, stores, surroundings
from bayou.health.findings import Check, Finding, Level, Report, problem, trouble
from bayou.health.patient import Patient

_REACH = ("reach",)
_OPENING = ("opening",)

CHECKS: Sequence[Check] = (
    Check("versions", surroundings.versions),
    Check("configuration", surroundings.configuration),
    Check("disk", disks.space),
    Check("opening", records.opening),
    Check("fileSystem", disks.kinds, _OPENING),
    Check("credentials", identities.credentials),
    Check("reach", stores.reach, ("credentials",)),
    Check("clock", stores.clock, _REACH),
    Check("conditionalWrites", stores.conditional_writes, _REACH),
    Check("links", disks.links, _REACH),
    Check("index", indexes.index, _REACH),
    Check("bucket", buckets.bucket, ("reach", "index", "opening")),
    Check("locks", holds.locks, _REACH),
    Check("catalog", records.catalog, _OPENING),
    Check("changes", records.changes, _OPENING),
    Check("runs", records.runs, _OPENING),
)


def examine(patient: Patient, checks: Iterable[Check] = CHECKS) -> Report:
    """Make the checks. What goes wrong with one keeps none of the others from being made, but those that need it."""
    findings: list[Finding] = []
    failed: set[str] = set()
    for check in checks:
        if failed.intersection(check.needs):
            failed.add(check.name)
            continue
        found = [replace(finding, check=check.name) for finding in _made(check, patient)]
        if any(finding.level is Level.PROBLEM for finding in found):
            failed.add(check.name)
        findings += found
    return Report(tuple(findings))


def _made(check: Check, patient: Patient) -> list[Finding]:
    found: list[Finding] = []
    try:
        found.extend(check.look(patient))
    except BayouError as error:
        found.append(trouble(error))
    except Exception as error:  # noqa: BLE001 - whatever keeps it from being made is what is to be told
        found.append(problem(f"the check could not be made: {type(error).__name__}: {error}"))
    return found
