"""The log of commands, as users write to it and ask it."""

import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bayou.repository import audit, timeline
from bayou.repository.audit import Verified
from bayou.wire.auditlines import CommandEntry
from bayou.wire.times import to_text

if TYPE_CHECKING:
    from bayou.datastore.datastore import Datastore

_HOUR_MS = 3_600_000


class Timeline(NamedTuple):
    entries: Sequence[Mapping[str, object]]
    totals: Mapping[str, int]
    hours: int
    skipped: int
    """Lines of the logs that are no entries."""

    def to_dict(self) -> dict[str, object]:
        """In the names of the specification (8.5)."""
        return {
            "entries": list(self.entries),
            **self.totals,
            "hoursAnalyzed": self.hours,
            "skipped": self.skipped,
        }


class Audited:
    def __init__(self, datastore: "Datastore") -> None:
        self._datastore = datastore
        self._tree = datastore.tree

    def record(  # noqa: PLR0913 - what is known of a command
        self,
        command: str,
        *,
        exit_code: int | None = None,
        error: str | None = None,
        session: str | None = None,
        duration_ms: int | None = None,
        cwd: str | None = None,
    ) -> str | None:
        """Record a command that was run. It never fails its caller: what went wrong comes back as text."""
        entry = CommandEntry(
            timestamp=to_text(time.time_ns()),
            command=command,
            cwd=os.getcwd() if cwd is None else cwd,  # noqa: PTH109 - text is wanted
            session_id=session,
            exit_code=exit_code,
            error=error,
            status="error" if exit_code or error else "success",
            duration_ms=duration_ms,
        )
        return audit.record(self._tree, self._datastore.machine, entry)

    def timeline(
        self, *, hours: int = 24, session: str | None = None, with_noise: bool = False, with_diagnostic: bool = False
    ) -> Timeline:
        """What was run in the last hours, oldest first."""
        found = audit.commands(self._tree, time.time_ns() // 1_000_000 - hours * _HOUR_MS)
        moments = timeline.timeline(
            found.entries, session=session, with_noise=with_noise, with_diagnostic=with_diagnostic
        )
        return Timeline([moment.to_dict() for moment in moments], timeline.totals(moments), hours, found.skipped)

    def verify(self) -> Sequence[Verified]:
        """Whether each line of our logs follows the one before it."""
        return audit.verify(self._tree)
