"""What a check is, and what it finds."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from bayou.errors import BayouError
from bayou.health.patient import Patient

_NONE: Mapping[str, object] = MappingProxyType({})


class Level(StrEnum):
    OK = "ok"
    NOTICE = "notice"
    """Worth knowing; nothing is wrong."""
    PROBLEM = "problem"


class Repair(NamedTuple):
    what: str
    """What it will do, as the preview shows it."""
    carry_out: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Finding:
    level: Level
    message: str
    remedy: str | None = None
    details: Mapping[str, object] = field(default_factory=dict)
    repair: Repair | None = None
    check: str = ""

    def to_dict(self) -> dict[str, object]:
        document: dict[str, object] = {"check": self.check, "status": str(self.level), "message": self.message}
        if self.remedy:
            document["remedy"] = self.remedy
        if self.details:
            document["details"] = dict(self.details)
        if self.repair:
            document["repair"] = self.repair.what
        return document


def ok(message: str, **details: object) -> Finding:
    return Finding(Level.OK, message, details=details)


def notice(
    message: str, remedy: str | None = None, *, repair: Repair | None = None, details: Mapping[str, object] = _NONE
) -> Finding:
    return Finding(Level.NOTICE, message, remedy, details, repair)


def problem(
    message: str, remedy: str | None = None, *, repair: Repair | None = None, details: Mapping[str, object] = _NONE
) -> Finding:
    return Finding(Level.PROBLEM, message, remedy, details, repair)


def trouble(error: BayouError, *, repair: Repair | None = None) -> Finding:
    """A check that could not be made is a problem in itself; the error says which."""
    return problem(error.message, error.remedy, repair=repair, details={"kind": str(error.kind)})


class Check(NamedTuple):
    name: str
    look: Callable[[Patient], Iterable[Finding]]
    needs: tuple[str, ...] = ()
    """Checks without whose success this one could only say the same again."""


@dataclass(frozen=True, slots=True)
class Report:
    findings: tuple[Finding, ...]

    @property
    def is_healthy(self) -> bool:
        return not any(finding.level is Level.PROBLEM for finding in self.findings)

    @property
    def repairs(self) -> list[Repair]:
        return [finding.repair for finding in self.findings if finding.repair is not None]

    def to_dict(self) -> dict[str, object]:
        return {"healthy": self.is_healthy, "checks": [finding.to_dict() for finding in self.findings]}
