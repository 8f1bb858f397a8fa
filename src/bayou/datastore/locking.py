"""The locks of a datastore as people look at them: who holds which, and an end to what hangs. Needs no lock itself, and
opens nothing but the place where they are kept.
"""

from collections.abc import Sequence
from types import TracebackType
from typing import NamedTuple, Self

from bayou.config import Settings
from bayou.config.locations import Folder
from bayou.datastore.coordination import Notice, open_locks
from bayou.errors import UsageError
from bayou.layout.keys import MODEL_LOCK
from bayou.locks import Fate, Info, Scope


class Released(NamedTuple):
    lock_key: str
    was_ended: bool
    reason: str
    holder: Info | None


class Locking:
    def __init__(self, settings: Settings, notice: Notice) -> None:
        self.settings = settings
        self.locks = open_locks(settings, notice)
        self._is_folder = isinstance(settings.location, Folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.locks.close()

    def status(self, *, walk: bool = False) -> list[Info]:
        """The model locks that are held, then the global one. In a bucket, those of existing clients only with `walk`,
        which lists all of `data/`.
        """
        return self.locks.status(walk=walk or self._is_folder)

    def release(self, reference: str | None = None, *, force: bool = False) -> Released:
        """End the hold of one lock: by its key, by TYPE/ID of a model, by the beginning of its id; else the global one.

        Without `force` only if its holder is dead, which takes as long to find out as the lock is good for.
        """
        found = self._find(reference)
        if found is None or not found.is_held:
            key = self.locks.keys.global_lock if reference is None else reference
            return Released(found.lock_key if found else key, was_ended=False, reason=Fate.FREE.value, holder=None)
        if not force:
            fate = self.locks.end_abandoned(found.lock_key)
            return Released(found.lock_key, fate is Fate.ENDED, fate.value, found)
        was_ended = self.locks.release_by_force(found.lock_key, found.nonce)
        return Released(found.lock_key, was_ended, "by force" if was_ended else "it changed hands meanwhile", found)

    def _find(self, reference: str | None) -> Info | None:
        held = self.status(walk=reference is not None)
        if reference is None:
            return held[-1]
        matching = [info for info in held if _is_meant(info, reference)]
        if len(matching) > 1:
            raise UsageError(
                f"{reference!r} may mean {_listed(matching)}", remedy="Name the lock as `bayou lock status` shows it."
            )
        return matching[0] if matching else None


def _is_meant(info: Info, reference: str) -> bool:
    if info.lock_key == reference:
        return True
    folder = info.lock_key.removesuffix(f"/{MODEL_LOCK}")
    return info.scope is Scope.MODEL and (
        folder.endswith(f"/{reference}") or folder.rpartition("/")[2].startswith(reference)
    )


def _listed(locks: Sequence[Info]) -> str:
    return ", ".join(info.lock_key for info in locks)
