"""Installing: what sync writes into the cache and removes from it, unless somebody changed it meanwhile.

A file is in place by a rename, after its hash was found to be right. A version's metadata comes last and goes first, so
that nobody here sees half of one.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, TypeVar

from bayou.domain.content import ContentId, Snapshot
from bayou.layout.artifacts import LatestMarker, Part, VersionFile, name_folder
from bayou.layout.meanings import meaning
from bayou.storage.port import Version
from bayou.sync import disk
from bayou.sync.ends import Ends
from bayou.sync.here import look
from bayou.sync.objects import Arrived
from bayou.sync.stats import Stamp
from bayou.tree import Change

_MARGIN = 0.001  # seconds
_MOST = 500
"""Installed files that are recorded together."""

UNPACKED = 4
"""How many names at a time are unpacked: the disk is waited for, and no network."""
_TOGETHER = 50
"""Files or versions of one name that are unpacked and installed together."""

Item = TypeVar("Item")


class Placed(NamedTuple):
    path: str
    stamp: Stamp
    content: ContentId
    version: Version


@dataclass(slots=True)
class Installer:
    """Everything that one sync installs. `finish` makes the journal say so."""

    ends: Ends
    change: Change
    sequence: int
    """Of the scan that the plan was made of: what is removed here later is removed on purpose."""
    _installed: list[Placed] = field(default_factory=list)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def install(self, files: Mapping[str, Arrived], expected: "Expected", gone: Iterable[str] = ()) -> bool:
        """Put these in place and remove those of the same unit; False where that would undo what somebody did here."""
        placed = await asyncio.to_thread(self._install, files, expected, sorted(gone))
        if placed is None:
            return False
        self._installed += placed
        if len(self._installed) >= _MOST:
            await self.finish()
        return True

    async def remove(self, paths: Sequence[str], expected: "Expected") -> bool:
        if await asyncio.to_thread(self._install, {}, expected, paths) is None:
            return False
        self.ends.journal.removed(paths)
        return True

    async def finish(self) -> None:
        """Record what was installed, as soon as a later change of it could be told by its time."""
        async with self._turn:
            placed, self._installed = self._installed, []
            if not placed:
                return
            control = self.ends.journal.place.control
            settled = max(each.stamp.ctime_ns + each.stamp.tick_ns() for each in placed)
            await asyncio.sleep(max(0, settled - disk.time_ns(control)) / 1e9 + _MARGIN)
            root, journal = self.ends.journal.place.root, self.ends.journal
            same = [each for each in placed if _stamp_of(f"{root}/{each.path}") == each.stamp]
            journal.stats.learn((each.path, each.stamp, each.content) for each in same)
            # Also what somebody changed since: his is a change of what both sides held.
            journal.installed({each.path: each.content for each in placed}, as_of=self.sequence)
            journal.base.saw((each.path, each.version) for each in placed if each.version)

    def _install(self, files: Mapping[str, Arrived], expected: "Expected", gone: Sequence[str]) -> list[Placed] | None:
        paths = [*files, *gone]
        with self.ends.tree.lock(lock_name(paths[0])):
            if not expected.holds(self.ends, paths):
                return None
            for path in sorted(gone, key=_metadata_first):
                self.change.remove(path)
            for path in sorted(files, key=_metadata_first, reverse=True):
                body = files[path].body
                if isinstance(body, Path):
                    self.change.adopt(path, str(body))
                else:
                    self.change.replace(path, body)
            for folder in {path.rpartition("/")[0] for path in gone}:
                self.change.prune(folder)
            root = self.ends.journal.place.root
            return [
                Placed(path, stamp, arrived.content, arrived.version)
                for path, arrived in files.items()
                if (stamp := _stamp_of(f"{root}/{path}")) is not None
            ]


@dataclass(frozen=True, slots=True)
class Expected:
    """What a plan found here. Whatever is otherwise by now was changed by somebody, and is looked at again."""

    content: Snapshot
    """Of what may be here."""
    found: Snapshot
    """Of what certainly was."""

    def holds(self, ends: Ends, paths: Sequence[str]) -> bool:
        now = look(ends.tree.root, ends.journal.stats, paths)
        return all(path in now and self._is_so(path, now[path]) for path in paths)

    def _is_so(self, path: str, content: ContentId | None) -> bool:
        return path not in self.found if content is None else content == self.content.get(path)


def by_name(items: Iterable[Item], path: Callable[[Item], str]) -> Iterator[list[Item]]:
    """What is locked together, some at a time; `path` is that of an item, or of any of its files."""
    for _, some in groupby(sorted(items, key=path), lambda item: lock_name(path(item))):
        together = list(some)
        yield from (together[first : first + _TOGETHER] for first in range(0, len(together), _TOGETHER))


def lock_name(path: str) -> str:
    """What whoever writes this file locks."""
    match meaning(path):
        case VersionFile(model, name) | LatestMarker(model, name):
            return name_folder(model, name)
        case _:
            return path


def _metadata_first(path: str) -> tuple[bool, str]:
    return (not path.endswith(f"/{Part.METADATA}"), path)


def _stamp_of(place: str) -> Stamp | None:
    seen = disk.look(place)
    return None if seen is None else seen.stamp
