"""The patient: a datastore as far as it can be reached. Each part is opened when a check first asks for it."""

from collections.abc import Callable, Coroutine
from functools import cached_property
from types import TracebackType
from typing import Any, Self, TypeVar

from bayou.config import Settings
from bayou.config.locations import Folder
from bayou.datastore import Datastore
from bayou.datastore.coordination import Coordination
from bayou.datastore.locking import Locking
from bayou.datastore.opening import open_settings
from bayou.errors import Unsupported, UsageError
from bayou.locks.heart import Heart
from bayou.storage import Patience as StorePatience
from bayou.storage import Store, connect

T = TypeVar("T")

# Somebody waits for the answer, and "it does not answer" is one.
_PATIENCE = StorePatience(attempts=2, first_pause=0.2, longest_pause=1.0, deadline=15.0)


class Patient:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.notices: list[str] = []
        """What was said while something was opened."""
        self._heart = Heart()
        self._store: Store | None = None

    @property
    def is_folder(self) -> bool:
        return isinstance(self.settings.location, Folder)

    def ask(self, question: Callable[[Store], Coroutine[Any, Any, T]]) -> T:
        """Ask the place where everybody sees the datastore: a bucket, or a folder."""

        async def asked() -> T:
            if self._store is None:
                seconds = min(self.settings.request_timeout_ms / 1000, 10.0)
                self._store = connect(self.settings.location, request_seconds=seconds, patience=_PATIENCE)
            return await question(self._store)

        return self._heart.run(asked())

    @cached_property
    def datastore(self) -> Datastore | None:
        """None where it cannot be opened: by this release, or because its folder is missing, which `reach` tells."""
        try:
            return open_settings(self.settings, notice=self.notices.append)
        except (Unsupported, UsageError):
            return None

    @cached_property
    def locking(self) -> Locking:
        return Locking(self.settings, self.notices.append)

    @cached_property
    def coordination(self) -> Coordination:
        return Coordination(self.settings, self.notices.append)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        opened = self.__dict__
        if "locking" in opened:
            self.locking.locks.close()
        if "coordination" in opened:
            self.coordination.close()
        if opened.get("datastore") is not None:
            opened["datastore"].close()
        if self._store is not None:
            self._heart.run(self._store.close())
        self._heart.stop()
