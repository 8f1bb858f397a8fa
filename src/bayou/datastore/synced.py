"""What a sync did, what it would do, and how things stand: for people and for programs."""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from bayou.domain.plan import Action, Plan
from bayou.sync.report import Report
from bayou.sync.reports import Kept, Outcome

_HERE = frozenset({Action.PULL, Action.RESTORE, Action.DELETE_LOCAL})
_THERE = frozenset({Action.PUSH, Action.READD, Action.DELETE_REMOTE, Action.BURY})


class Synced(NamedTuple):
    mode: str
    report: Report
    requests: int
    seconds: float
    absent: int
    """Files whose content is not on this machine."""

    @property
    def is_complete(self) -> bool:
        return self.report.is_complete

    def to_dict(self) -> dict[str, object]:
        report = self.report
        return {
            "mode": self.mode,
            "pulled": len(report.pulled),
            "pushed": len(report.pushed),
            "deleted": len(report.deleted_here) + len(report.deleted_there),
            "listed": len(report.listed),
            "unhydrated": self.absent,
            "conflicts": report.conflicts,
            "renumbered": [{"path": each.path, "to": each.to} for each in report.renumbered],
            "failed": report.failed,
            "skipped": report.skipped,
            "collisions": [list(names) for names in report.collisions],
            "stopped": None if report.stop is None else report.stop.value,
            "deletions": report.deletions,
            "requests": self.requests,
            "bytes": report.amount.bytes_done,
            "seconds": round(self.seconds, 3),
        }


class Preview(NamedTuple):
    """What a sync would do now."""

    mode: str
    plan: Plan
    hydrates: int
    """Of how many files that were known before it would fetch the content."""

    def to_dict(self) -> dict[str, object]:
        return {
            "mode": self.mode,
            "dryRun": True,
            "steps": [
                {"action": action, "path": path, "files": files, "reason": reason}
                for action, path, files, reason in self.steps
            ],
            "hydrates": self.hydrates,
            "stopped": None if self.plan.stop is None else self.plan.stop.value,
        }

    @property
    def steps(self) -> list[tuple[str, str, int, str]]:
        """Action, path, number of files and reason; what both sides agree on anyhow is no step."""
        actions = {"pull": _HERE, "push": _THERE}.get(self.mode, _HERE | _THERE) | {Action.MERGE}
        return [
            (step.action.value, step.unit.key, len({*step.local, *step.remote, *step.lists}), step.reason.value)
            for step in self.plan.steps
            if step.action in actions
        ]


class Standing(NamedTuple):
    """How things stand on this machine, as far as it knows without asking anybody."""

    cache: str
    hydration: str
    dirty: int
    """How many paths are marked and wait to be pushed: files, or folders with something in them."""
    paths: tuple[str, ...]
    """Some of them."""
    walks: bool
    """Whether the next push looks at everything."""
    absent: int
    conflicts: tuple[Kept, ...]
    outcomes: Mapping[str, Outcome]
    """How the last push, pull and sync went."""

    @property
    def failed(self) -> dict[str, str]:
        """What the latest of them could not do."""
        last = next(iter(self.outcomes.values()), None)
        return {} if last is None else dict(last.failed)

    def to_dict(self) -> dict[str, object]:
        return {
            "cache": self.cache,
            "hydration": self.hydration,
            "dirty": self.dirty,
            "paths": list(self.paths),
            "walks": self.walks,
            "unhydrated": self.absent,
            "conflicts": len(self.conflicts),
            "last": {work: msgspec.to_builtins(outcome) for work, outcome in self.outcomes.items()},
        }
