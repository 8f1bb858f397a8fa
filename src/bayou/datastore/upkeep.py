"""Upkeep of a bucket: look at its index, change its format, make it anew, compare it with what there is."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from bayou.config import Settings
from bayou.datastore.coordination import Notice
from bayou.datastore.remote import connected
from bayou.remotes.migration import Migrated
from bayou.remotes.rebuilding import Rebuilt
from bayou.remotes.status import Status
from bayou.sync import repairing
from bayou.sync.ends import Ends
from bayou.sync.repairing import GRACE, Repair
from bayou.sync.verifying import Difference, verify

Progress = Callable[[int], None]
"""Called with how many files and objects were looked at."""

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Verified:
    differences: tuple[Difference, ...]
    pending: dict[str, int]
    """What differs and comes right by itself, counted by kind."""
    looked_at: int

    def to_dict(self) -> dict[str, object]:
        return {
            "differences": [{"kind": str(each.kind), "path": each.path, "why": each.why} for each in self.differences],
            "total": len(self.differences),
            "pending": self.pending,
            "lookedAt": self.looked_at,
        }


@dataclass(frozen=True, slots=True)
class Upkeep:
    settings: Settings
    notice: Notice

    def status(self) -> Status:
        return self._with_ends(lambda ends: ends.remote.status(), writes=False)

    def migrate(self) -> Migrated:
        """From an index in one piece to one in shards. Never back; safe to run again, and while others write."""

        async def migrate(ends: Ends) -> Migrated:
            async with ends.locks.structure() as hold:
                return await ends.remote.migrate(lambda: hold.seems_held)

        return self._with_ends(migrate, writes=True)

    def rebuild(self) -> Rebuilt:
        """Make a damaged index anew from what is left of it and from what lies in the bucket."""

        async def rebuild(ends: Ends) -> Rebuilt:
            async with ends.locks.structure() as hold:
                return await ends.remote.rebuild(lambda: hold.seems_held)

        return self._with_ends(rebuild, writes=True)

    def verify(self, *, content: bool = False, progress: Progress = lambda _: None) -> Verified:
        """Compare bucket, index and cache; with `content` read all of them. Nothing is changed."""

        async def compare(ends: Ends) -> Verified:
            seen = _Counted(progress)
            differences: list[Difference] = []
            pending: Counter[str] = Counter()
            async for each in verify(ends, content=content, seen=seen):
                if each.kind.is_pending:
                    pending[str(each.kind)] += 1
                else:
                    differences.append(each)
            return Verified(tuple(differences), dict(sorted(pending.items())), seen.total)

        return self._with_ends(compare, writes=False)

    def plan_repair(self, *, grace: timedelta = GRACE, content: bool = False) -> Repair:
        return self._with_ends(lambda ends: repairing.plan(ends, grace=grace, content=content), writes=False)

    def repair(self, *, grace: timedelta = GRACE, content: bool = False) -> Repair:
        """Make index and bucket say the same again, and sweep away what was deleted."""
        return self._with_ends(lambda ends: repairing.repair(ends, grace=grace, content=content), writes=True)

    def _with_ends(self, work: Callable[[Ends], Awaitable[_Result]], *, writes: bool) -> _Result:
        async def run() -> _Result:
            async with connected(self.settings, self.notice, writes=writes) as ends:
                return await work(ends)

        return asyncio.run(run())


class _Counted:
    def __init__(self, progress: Progress) -> None:
        self.total = 0
        self._progress = progress

    def __call__(self, more: int) -> None:
        self.total += more
        self._progress(self.total)
