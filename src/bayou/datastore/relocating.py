"""Relocating what a repo has: from a datastore of its own into a namespace of a shared one, or back.

First in the bucket, then on this machine, both under the structural locks of both layouts. Each of the two can be
killed at any time and run again.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bayou.config import Folder, Settings
from bayou.datastore import abilities
from bayou.datastore.coordination import Notice, open_locks
from bayou.datastore.remote import bucket
from bayou.domain.namespaces import SOLO
from bayou.errors import Conflict, ErrorKind, UsageError
from bayou.layout.keys import MANIFEST
from bayou.remotes import ObjectRemote
from bayou.storage import Ability
from bayou.sync import relocating, relocatingfiles
from bayou.sync.journal import Journal
from bayou.sync.relocating import Move
from bayou.sync.relocatingfiles import Folder as MovedFolder
from bayou.tree.tiers import Tiers

_SOME = 5


class _Ends(NamedTuple):
    source: ObjectRemote
    target: ObjectRemote
    still_held: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Relocated:
    bucket: Move
    folders: Sequence[MovedFolder]

    def __bool__(self) -> bool:
        return bool(self.bucket or self.folders)


@dataclass(frozen=True, slots=True)
class Relocation:
    """`settings` are those with the namespace; `reverse` leads out of it."""

    settings: Settings
    notice: Notice
    reverse: bool = False

    async def plan(self) -> Relocated:
        """What would move. Nothing is changed; what speaks against it is raised."""
        moving = Move({}, {})
        if not self._is_folder:
            async with self._ends(writes=False) as ends:
                moving = await relocating.plan(ends.source, ends.target, self._tiers.is_shared)
        self._check_ours(moving)
        return Relocated(moving, self._folders())

    async def run(self) -> Relocated:
        """Move it. Safe to run again, also after it was killed."""
        moving = Move({}, {})
        async with self._ends(writes=True) as ends:
            if not self._is_folder:
                self._check_ours(await relocating.plan(ends.source, ends.target, self._tiers.is_shared))
                moving = await relocating.move(ends.source, ends.target, self._tiers.is_shared, ends.still_held)
            self._folders()
            folders = relocatingfiles.move(*self._roots, self.settings.directories)
        if folders and not self._is_folder:
            _, target = self._roots
            with Journal(self._root, self._namespaces[1], tiers=self._tiers) as journal:
                journal.mark_everything()
                journal.changes.record(relocatingfiles.files_of(folders, target))
        return Relocated(moving, folders)

    @property
    def _is_folder(self) -> bool:
        return isinstance(self.settings.location, Folder)

    @property
    def _tiers(self) -> Tiers:
        return Tiers(self.settings.directories, self.settings.exclude)

    @property
    def _root(self) -> Path:
        return root_of(self.settings)

    @property
    def _namespaces(self) -> tuple[str, str]:
        return (self.settings.namespace, SOLO) if self.reverse else (SOLO, self.settings.namespace)

    @property
    def _roots(self) -> tuple[Path, Path]:
        source, target = (self._root / name if name else self._root for name in self._namespaces)
        return source, target

    def _folders(self) -> Sequence[MovedFolder]:
        source, target = self._roots
        folders = relocatingfiles.plan(source, target, self.settings.directories)
        others = {file.parent.name for file in self._root.glob(f"*/{MANIFEST}")} - {self.settings.namespace}
        if folders and others and self._is_folder and not self.reverse:
            raise Conflict(
                f"what has no namespace may be of others who share this folder: {', '.join(sorted(others)[:_SOME])}",
                kind=ErrorKind.NOT_OWNER,
                remedy="Move by hand what is yours into the folder of your namespace.",
            )
        return folders

    def _check_ours(self, moving: Move) -> None:
        """That both sides are known to agree on it here, and nothing waits to be pushed (sync spec W-33)."""
        if not moving:
            return
        remedy = "Run bayou sync first."
        if not self.reverse:
            remedy = "First sync without the namespace: bayou namespace unset, then bayou sync."
        with Journal(self._root, self._namespaces[0], tiers=self._tiers) as journal:
            known = journal.base.get(moving.entries)
            strange = [p for p, entry in moving.entries.items() if p not in known or known[p].content != entry.sha256]
            if strange:
                some = ", ".join(sorted(strange)[:_SOME])
                message = f"{len(strange)} files there are not as this repo last synced them: {some}"
                raise Conflict(message, kind=ErrorKind.NOT_OWNER, remedy=remedy)
            scan = journal.scan()
            waiting = sorted({*scan.stamps, *scan.evidence.deleted})
            if waiting:
                message = f"{len(waiting)} changes wait to be pushed: {', '.join(waiting[:_SOME])}"
                raise Conflict(message, remedy=remedy)

    @asynccontextmanager
    async def _ends(self, *, writes: bool) -> AsyncIterator[_Ends]:
        """Both layouts, with the structural locks of both for whoever writes: that without a namespace first."""
        async with AsyncExitStack() as stack:
            store = await stack.enter_async_context(bucket(self.settings))
            several = Ability.YES
            if writes and not self._is_folder:
                several = await abilities.several_writers(self.settings, store)
            holds = []
            for namespace in sorted(self._namespaces) if writes else ():
                held = stack.enter_context(
                    open_locks(self.settings, self.notice, several_writers=several, namespace=namespace)
                )
                holds.append(await stack.enter_async_context(held.structure()))
            source, target = (
                stack.enter_context(ObjectRemote(store, namespace, width=self.settings.push_concurrency))
                for namespace in self._namespaces
            )
            yield _Ends(source, target, lambda: all(hold.seems_held for hold in holds))


def root_of(settings: Settings) -> Path:
    """The folder with the files of all namespaces: a cache, or the datastore itself."""
    if isinstance(settings.location, Folder):
        return settings.location.path
    if settings.cache is None:
        raise UsageError("this needs a repo, whose cache it works with", kind=ErrorKind.REPO_MISSING)
    return settings.cache
