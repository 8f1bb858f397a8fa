"""A hold: the locks of one command, from `with` to its end. With and without a loop, and told when one is lost."""

import os
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from functools import partial
from types import TracebackType
from typing import Any, Self

from bayou.locks.errors import LockLost
from bayou.locks.heart import Heart
from bayou.locks.lease import Lease
from bayou.locks.nesting import ANNOUNCEMENT, CURRENT

Take = Callable[[], Coroutine[Any, Any, Sequence[Lease]]]
Drop = Callable[[Sequence[Lease]], Coroutine[Any, Any, None]]


class Hold:
    """`leases` is empty where the locks are those of whoever waits for us (`bayou.locks.nesting`)."""

    def __init__(self, heart: Heart, take: Take, drop: Drop) -> None:
        self.leases: Sequence[Lease] = ()
        self.lost: Future[LockLost] = Future()
        """Done as soon as one of the locks is lost. For `asyncio.wrap_future`; callbacks run in another thread."""
        self.lost.set_running_or_notify_cancel()
        self._heart = heart
        self._take = take
        self._drop = drop

    @property
    def tokens(self) -> tuple[str, ...]:
        """The fencing tokens: a lock that was lost and taken again has another one."""
        return tuple(lease.nonce for lease in self.leases)

    @property
    def seems_held(self) -> bool:
        """Whether all are ours as far as this process can know by itself. Costs nothing; ask it between steps."""
        return all(lease.seems_held for lease in self.leases)

    @property
    def follows_ours(self) -> bool:
        """Whether nobody but us had any of the locks since one of us let it go. False where that cannot be told."""
        return bool(self.leases) and all(lease.follows_ours for lease in self.leases)

    def check(self) -> None:
        """Raise LockLost unless they seem held."""
        for lease in self.leases:
            lease.check()

    async def still_held(self, *, anew: bool = False) -> bool:
        """The question at a commit. Asks the store for each lock whose last proof is not fresh; `anew`: for all."""
        return await self._heart.call(self._all_held(anew=anew)) if self.leases else True

    def confirm(self, *, anew: bool = False) -> None:
        """The same for callers without a loop; raises LockLost. Asked before each write: no thread is woken in vain."""
        if not anew and all(lease.is_fresh for lease in self.leases):
            return
        if self.leases and not self._heart.run(self._all_held(anew=anew)):
            self.check()

    def environment(self) -> dict[str, str]:
        """What a child process has to find in its environment, so that it does not wait for us."""
        return CURRENT.get().environment()

    def __enter__(self) -> Self:
        try:
            self._heart.run(self._enter())
            self._entered()
            ANNOUNCEMENT.add(self.tokens)
        except BaseException:
            # An interrupt may arrive at any moment, also when all is taken.
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ANNOUNCEMENT.take_back(self.tokens)
        if self._left():
            self._heart.run(self._drop(self.leases))

    async def __aenter__(self) -> Self:
        try:
            await self._heart.call(self._enter())
            self._entered()
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._left():
            await self._heart.call(self._drop(self.leases))

    def _entered(self) -> None:
        CURRENT.set(CURRENT.get().with_more(self.tokens))

    def _left(self) -> bool:
        """Whether there is something to give back: in a child process there is not."""
        CURRENT.set(CURRENT.get().without(self.tokens))
        return bool(self.leases) and self.leases[0].process == os.getpid()

    # What follows runs where the heart beats.

    async def _enter(self) -> None:
        self.leases = await self._take()
        for lease in self.leases:
            lease.loss.add_done_callback(partial(self._lose, lease.key))

    async def _all_held(self, *, anew: bool) -> bool:
        return all([await (lease.prove() if anew else lease.still_held()) for lease in self.leases])

    def _lose(self, key: str, loss: Future[str]) -> None:
        if not self.lost.done():
            self.lost.set_result(LockLost(key, loss.result()))
