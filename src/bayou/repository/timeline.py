"""The timeline of commands: what a person wants to see of the audit log (repository spec 8.5)."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bayou.wire.auditlines import CommandEntry

DIAGNOSTIC = "bayou-audit-check"
"""What the commands begin with that a check of the recording itself runs."""

_TOOLS = re.compile(r"(?:swamp|bayou)(?:\s|\Z)")
_NOISE = re.compile(
    r"(?:ls|cat|echo|grep|egrep|rg|head|tail|pwd|cd|which|wc|tree|file|stat|true|sleep|date|whoami|env|printenv|clear"
    r"|git (?:status|diff|log|show|branch|rev-parse))(?:\s|\Z)"
)


class Source(StrEnum):
    SWAMP = "swamp"
    """Run through the tool: this one, or the existing client."""
    DIRECT = "direct"


@dataclass(frozen=True, slots=True)
class Moment:
    """One line of it."""

    entry: CommandEntry
    source: Source

    def to_dict(self) -> dict[str, object]:
        """In the names and the order of the specification; what is not known is left out."""
        entry = self.entry
        document: dict[str, object | None] = {
            "timestamp": entry.timestamp,
            "source": self.source.value,
            "summary": entry.command,
            "status": "error" if entry.failed else "success",
            "sessionId": entry.session_id,
            "durationMs": entry.duration_ms,
            "exitCode": entry.exit_code,
            "error": entry.error or None,
        }
        return {key: value for key, value in document.items() if value is not None}


def timeline(
    entries: Iterable[CommandEntry],
    *,
    session: str | None = None,
    with_noise: bool = False,
    with_diagnostic: bool = False,
) -> Sequence[Moment]:
    """The commands, without those that only look around; of one session, also without those that name none."""
    return [
        Moment(entry, Source.SWAMP if _TOOLS.match(entry.command) else Source.DIRECT)
        for entry in entries
        if session in {None, entry.session_id}
        and (with_noise or not _NOISE.match(entry.command))
        and (with_diagnostic or not entry.command.startswith(DIAGNOSTIC))
    ]


def totals(moments: Iterable[Moment]) -> dict[str, int]:
    """How many there are of each source, by the names of the specification."""
    sources = [moment.source for moment in moments]
    return {"totalSwamp": sources.count(Source.SWAMP), "totalDirect": sources.count(Source.DIRECT)}
