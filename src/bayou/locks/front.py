"""The front of the room: `Locks`, one for each place and namespace that a process works with."""

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Self

from bayou.domain.models import Model
from bayou.errors import BayouError
from bayou.layout.keys import Keyspace
from bayou.locks import inspection, protocol, waiters
from bayou.locks.bodies import DEFAULT_TTL
from bayou.locks.cells import Cells
from bayou.locks.heart import Heart
from bayou.locks.hold import Hold
from bayou.locks.inspection import Fate, Info
from bayou.locks.lease import Lease
from bayou.locks.leases import Leases
from bayou.locks.nesting import CURRENT
from bayou.locks.patience import DEFAULT_SECONDS, Notice, Patience, silently
from bayou.locks.waiters import Presence

Trouble = Callable[[BayouError], None]


def _unheard(_: BayouError) -> None:
    pass


class Locks:
    """Every hold is a context manager, for `with` and for `async with`; `timeout=0` does not wait.

    `open_cells` is called in the thread where the locks are kept alive, as a store belongs into one event loop. There
    `notice` is told whom we wait for, and `trouble` of a lock that could not be given back and now ends by itself.
    """

    def __init__(  # noqa: PLR0913 - what differs between two places, and whom to tell
        self,
        open_cells: Callable[[], Cells],
        keys: Keyspace,
        *,
        ttl: float = DEFAULT_TTL,
        timeout: float = DEFAULT_SECONDS,
        notice: Notice = silently,
        trouble: Trouble = _unheard,
    ) -> None:
        self.keys = keys
        self._open_cells = open_cells
        self._ttl = ttl
        self._timeout = timeout
        self._notice = notice
        self._trouble = trouble
        self._heart = Heart()
        self._opened: Leases | None = None
        self._leaving: set[asyncio.Task[None]] = set()
        self._pid = os.getpid()

    def models(self, models: Iterable[Model], *, timeout: float | None = None) -> Hold:
        """For a run: the locks of its models. Waits while a structural command is at work."""
        wanted = list(models)

        async def take() -> Sequence[Lease]:
            with self._patience(timeout) as patience:
                return await protocol.take_models(self._leases(), self.keys, wanted, patience, CURRENT.get())

        return Hold(self._heart, take, self._drop)

    def commit(self, *, timeout: float | None = None) -> Hold:
        """For a commit: the global lock, shortly."""

        async def take() -> Sequence[Lease]:
            with self._patience(timeout) as patience:
                lease = await protocol.take_global(self._leases(), self.keys, patience, CURRENT.get())
            return [] if lease is None else [lease]

        return Hold(self._heart, take, self._drop)

    def structure(self, *, timeout: float | None = None, walk: bool = True) -> Hold:
        """For gc, prune, deletion of a model, migrations: the global lock, and nobody runs.

        `walk=False` where it is known that no existing client uses this store (`bayou.locks.protocol`).
        """

        async def take() -> Sequence[Lease]:
            with self._patience(timeout) as patience:
                lease = await protocol.take_structure(self._leases(), self.keys, patience, CURRENT.get(), walk=walk)
            return [] if lease is None else [lease]

        return Hold(self._heart, take, self._drop)

    def status(self, *, walk: bool = False) -> list[Info]:
        """The model locks that are held, then the global one."""
        return self._heart.run(self._status(walk=walk))

    def release_by_force(self, lock_key: str, nonce: str | None) -> bool:
        """End a hold, if it still is the one of this nonce; `status` tells it."""
        return self._heart.run(self._release_by_force(lock_key, nonce))

    def end_abandoned(self, lock_key: str) -> Fate:
        """End a hold whose holder gives no sign of life for as long as the hold is good for."""
        return self._heart.run(self._end_abandoned(lock_key))

    def left_behind(self) -> int:
        """How many notes are there of those who were killed while they waited."""
        return len(self._heart.run(self._left_behind()))

    def clear(self) -> int:
        """Take these away; says how many."""
        return self._heart.run(self._clear())

    def sweep(self, models: Iterable[Model]) -> int:
        """Clear away what is left of the locks of models that are gone, where nobody holds them; say of how many."""
        return self._heart.run(self._sweep(models))

    def close(self) -> None:
        """End the thread. What is still held ends by itself."""
        if self._opened is not None and self._heart.is_ours:
            self._heart.run(self._close())
        self._heart.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What follows runs where the heart beats.

    def _leases(self) -> Leases:
        # A child process, which inherited neither the thread nor its loop, begins anew.
        if self._opened is None or self._pid != os.getpid():
            self._pid = os.getpid()
            self._opened = Leases(self._open_cells(), ttl=self._ttl)
        return self._opened

    @contextmanager
    def _patience(self, timeout: float | None) -> Iterator[Patience]:
        ours = self._leases()
        presence = Presence(ours.cells, self.keys, ours.who, ours.clock)
        try:
            yield Patience(self._timeout if timeout is None else timeout, self._notice, ours.clock, presence)
        finally:
            # Not awaited: a cancellation in here would lose what was taken.
            leaving = presence.leave()
            if leaving is not None:
                self._leaving.add(leaving)
                leaving.add_done_callback(self._leaving.discard)

    async def _drop(self, leases: Sequence[Lease]) -> None:
        ours = self._leases()
        try:
            for lease in reversed(leases):
                is_global = lease.key == self.keys.global_lock
                error = await (protocol.drop_global(ours, lease) if is_global else ours.drop(lease))
                if error is not None:
                    self._trouble(error)
        finally:
            for lease in leases:
                ours.abandon(lease)

    async def _status(self, *, walk: bool) -> list[Info]:
        return await inspection.status(self._leases().cells, self.keys, walk=walk)

    async def _release_by_force(self, lock_key: str, nonce: str | None) -> bool:
        return await inspection.release_by_force(self._leases(), lock_key, nonce)

    async def _end_abandoned(self, lock_key: str) -> Fate:
        return await inspection.end_abandoned(self._leases(), lock_key)

    async def _left_behind(self) -> list[str]:
        return await waiters.left_behind(self._leases().cells, self.keys)

    async def _clear(self) -> int:
        return await waiters.clear(self._leases().cells, self.keys)

    async def _sweep(self, models: Iterable[Model]) -> int:
        return await inspection.sweep(self._leases(), self.keys, models)

    async def _close(self) -> None:
        leases, self._opened = self._leases(), None
        if self._leaving:
            await asyncio.wait(self._leaving)
        await leases.cells.close()
