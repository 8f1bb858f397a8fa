"""Attempts to change an index: what they may rely on, and how they write. Every write compares and swaps."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import TypeVar

from bayou.errors import Conflict
from bayou.remotes.changes import StillHeld
from bayou.remotes.looking import Place
from bayou.storage.port import ABSENT, Fetched, Store, Version, Wrapper

Result = TypeVar("Result")

ATTEMPTS = 8
_FIRST_PAUSE = 0.05  # seconds, doubling: a store may take one write of an object per second


class LostRaceError(Exception):
    """Somebody else wrote this object since we read it: look again, merge again."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


class _Doubting(Wrapper):
    """A store that reads what is doubted also where it seems unchanged. The same bytes written again are unchanged for
    whoever looks at their ETag, and on GCS another version for whoever writes over them.
    """

    def __init__(self, inner: Store, doubted: AbstractSet[str]) -> None:
        super().__init__(inner)
        self._doubted = doubted

    async def get_if_changed(self, key: str, version: Version) -> Fetched | None:
        return await (self.get(key) if key in self._doubted else self.inner.get_if_changed(key, version))


@dataclass(slots=True)
class Attempt:
    place: Place
    still_held: StillHeld
    follows_ours: bool = False
    """Whether nobody but us had the global lock since one of us let it go."""
    doubted: set[str] = field(default_factory=set)
    """Keys of objects that were not what they were vouched for. They are read, whatever anything says of them."""
    published: Mapping[str, str] = field(default_factory=dict)
    """The lists of tombstones that it wrote, with their versions: the meta is to tell of them."""

    def __post_init__(self) -> None:
        self.place = replace(self.place, store=_Doubting(self.place.store, self.doubted))

    def require_lock(self) -> None:
        if not self.still_held():
            raise Conflict(
                "the global lock was lost before the commit was done",
                remedy="Run the command again: what was committed is found again, and nothing is done twice.",
            )

    def may_trust(self, key: str) -> bool:
        return self.place.conditional and key not in self.doubted

    async def until_undisturbed(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Do the work, and all of it again each time somebody else wrote an object in between."""
        for number in range(ATTEMPTS):
            self.require_lock()
            try:
                return await work()
            except LostRaceError as lost:
                self.doubted.add(lost.key)
            await asyncio.sleep(random.uniform(0.5, 1) * _FIRST_PAUSE * 2**number)  # noqa: S311 - spreads load
        raise Conflict(
            f"somebody else changed the index {ATTEMPTS} times while it was being written",
            remedy="Somebody writes without the global lock. Find out who, then run the command again.",
        )

    async def replace(self, key: str, body: bytes, version: str | None) -> Version:
        """Write an object over the version that was read; None: over nothing."""
        try:
            return await self.place.store.put(key, body, when=ABSENT if version is None else Version(version))
        except Conflict as conflict:
            raise LostRaceError(key) from conflict
