"""Paths of audit logs: one file for each day.

Ours also carry the machine that wrote them, so that no two machines append to one file and nothing is left to merge
(design 4.2). Existing clients write theirs without; the day is at the same place in both.
"""

import re
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from bayou.errors import ErrorKind, UsageError


class AuditKind(StrEnum):
    COMMANDS = "commands"
    VAULT = "vault-audit"
    VAULT_READS = "vault-reads"
    """Only read: the older name of the vault's."""


_MACHINE = re.compile("[A-Za-z0-9_-]*")
_LOG = re.compile(r"(commands|vault-audit|vault-reads)-([0-9]{4}-[0-9]{2}-[0-9]{2})(?:\.([A-Za-z0-9_-]+))?\.jsonl")


@dataclass(frozen=True, slots=True)
class AuditLog:
    """The log of a UTC day. `machine` is empty in existing clients' logs."""

    kind: AuditKind
    day: date
    machine: str = ""

    def __post_init__(self) -> None:
        if not _MACHINE.fullmatch(self.machine):
            raise UsageError(
                f"{self.machine!r} cannot name a machine in a file name: use letters, digits, '-' and '_'",
                kind=ErrorKind.INVALID_NAME,
            )

    @property
    def path(self) -> str:
        writer = f".{self.machine}" if self.machine else ""
        return f"audit/{self.kind}-{self.day.isoformat()}{writer}.jsonl"


def read_audit(segments: list[str]) -> AuditLog | None:
    match = _LOG.fullmatch(segments[1]) if len(segments) == 2 else None
    if match is None:
        return None
    try:
        day = date.fromisoformat(match[2])
    except ValueError:
        return None
    return AuditLog(AuditKind(match[1]), day, match[3] or "")
