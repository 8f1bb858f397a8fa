"""Installing: what sync writes into the cache and removes from it, unless somebody changed it meanwhile.

A file is in place by a rename, after its hash was found to be right. A version's metadata comes last and goes first, so
that nobody here sees half of one. Whatever waits to be installed is installed together, while more of it arrives.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from bayou.domain.content import ContentId, Snapshot
from bayou.errors import BayouError
from bayou.layout.artifacts import LatestMarker, Part, VersionFile, name_folder
from bayou.layout.meanings import meaning
from bayou.storage.arriving import Arrived
from bayou.storage.port import Version
from bayou.sync import disk
from bayou.sync.ends import Ends
from bayou.sync.here import look
from bayou.sync.stats import Stamp
from bayou.tree import Change

CHANGED = "it changed here while it was fetched"

_MARGIN = 0.001  # seconds
_MOST = 500
"""Installed files that are recorded together."""
_MOST_WAITING = 100
"""Deliveries that wait while others are installed: they are held in memory."""


@dataclass(slots=True, eq=False)
class Delivery:
    """What is to be put in place and removed of one unit: all of it, or where that would undo what somebody did here,
    nothing.
    """

    files: Mapping[str, Arrived]
    expected: "Expected"
    gone: Sequence[str] = ()
    settled: Callable[[str | None], None] = lambda _: None
    """Told why it is not in place; None: it is."""
    staged: dict[str, str] = field(default_factory=dict)
    """The files, complete but not in place yet."""
    why: str | None = None


class Placed(NamedTuple):
    path: str
    stamp: Stamp
    content: ContentId
    version: Version


@dataclass(slots=True)
class Installer:
    """Everything that one sync installs. `finish` installs what still waits, and makes the journal say so."""

    ends: Ends
    change: Change
    sequence: int
    """Of the scan that the plan was made of: what is removed here later is removed on purpose."""
    _waiting: list[Delivery] = field(default_factory=list)
    _installed: list[Placed] = field(default_factory=list)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _installers: int = 0
    """Those who have the turn or wait for it. Were only the turn looked at, all would queue for it between one's end of
    it and the next one's begin, each with a single delivery.
    """

    async def deliver(self, delivery: Delivery) -> None:
        """Whoever comes while others are being installed leaves his there, and goes to fetch more."""
        self._waiting.append(delivery)
        if self._installers and len(self._waiting) < _MOST_WAITING:
            return
        self._installers += 1
        try:
            async with self._turn:
                await self._install_waiting()
                if len(self._installed) >= _MOST:
                    await self._record()
        finally:
            self._installers -= 1

    async def finish(self) -> None:
        async with self._turn:
            await self._install_waiting()
            await self._record()

    async def _install_waiting(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            working = asyncio.ensure_future(asyncio.to_thread(_install, self.ends, self.change, batch))
            try:
                self._installed += await asyncio.shield(working)
            except asyncio.CancelledError:
                self._installed += await working  # to its end: what is in place is recorded
                raise
            self._settle(batch)

    def _settle(self, batch: Sequence[Delivery]) -> None:
        gone = [path for delivery in batch if delivery.why is None for path in delivery.gone]
        if gone:
            self.ends.journal.removed(gone)
        for delivery in batch:
            delivery.settled(delivery.why)

    async def _record(self) -> None:
        """Record what was installed, as soon as a later change of it could be told by its time."""
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


def _install(ends: Ends, change: Change, batch: Sequence[Delivery]) -> list[Placed]:
    """Put all of it in place. What is written is synced together, and while no lock is held."""
    try:
        for delivery in batch:
            with _guarded([delivery]):
                for path, arrived in delivery.files.items():
                    body = arrived.body
                    delivery.staged[path] = str(body) if isinstance(body, Path) else change.stage(path, body)
        change.sync_staged([file for delivery in batch for file in delivery.staged.values()])
        by_name: dict[str, list[Delivery]] = {}
        for delivery in batch:
            by_name.setdefault(lock_name(next(iter((*delivery.files, *delivery.gone)))), []).append(delivery)
        with change.syncing_together():
            for name, deliveries in by_name.items():
                with _guarded(deliveries), ends.tree.lock(name):
                    for delivery in deliveries:
                        with _guarded([delivery]):
                            _put_in_place(ends, change, delivery)
    finally:
        for delivery in batch:
            for file in delivery.staged.values():
                Path(file).unlink(missing_ok=True)
    root = ends.journal.place.root
    return [
        Placed(path, stamp, arrived.content, arrived.version)
        for delivery in batch
        if delivery.why is None
        for path, arrived in delivery.files.items()
        if (stamp := _stamp_of(f"{root}/{path}")) is not None
    ]


@contextmanager
def _guarded(deliveries: Sequence[Delivery]) -> Iterator[None]:
    """What goes wrong with these is their own matter."""
    try:
        yield
    except BayouError as error:
        for delivery in deliveries:
            delivery.why = delivery.why or str(error)


def _put_in_place(ends: Ends, change: Change, delivery: Delivery) -> None:
    if delivery.why is not None:
        return
    if not delivery.expected.holds(ends, [*delivery.files, *delivery.gone]):
        delivery.why = CHANGED
        return
    for path in sorted(delivery.gone, key=_metadata_first):
        change.remove(path)
    for path in sorted(delivery.files, key=_metadata_first, reverse=True):
        change.adopt(path, delivery.staged.pop(path), is_synced=True)
    for folder in {path.rpartition("/")[0] for path in delivery.gone}:
        change.prune(folder)


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
