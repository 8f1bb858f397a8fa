"""Patience: how long a command waits for locks, and whom it tells for whom. One for all the locks of a command.

Who waits asks again after a pause with jitter, and the longer he waits the sooner: nobody starves (sync spec W-61).
"""

import asyncio
import random
from collections.abc import Callable
from typing import NamedTuple

from bayou.locks.bodies import NOBODY, State
from bayou.locks.clock import now as default_clock
from bayou.locks.errors import LockBusy
from bayou.locks.waiters import Presence

DEFAULT_SECONDS = 60.0
SOON = 0.1  # seconds: when somebody else was faster, or the store was busy
_PAUSE, _SHORTEST = 0.5, 0.25
_AGEING = 10.0  # seconds after which the pause is half as long
_NOTHING = 0.001  # seconds: what is left may be too little for a clock to move by it
_LATER = 0.01  # a watched lock must stand still for longer than its time


class Waiting(NamedTuple):
    """Told when a wait begins, and again when the holder changes."""

    lock_key: str
    holder: str
    seconds: float


Notice = Callable[[Waiting], None]


def silently(_: Waiting) -> None:
    """Tell nobody."""


class Patience:
    def __init__(
        self,
        seconds: float = DEFAULT_SECONDS,
        notice: Notice = silently,
        clock: Callable[[], float] = default_clock,
        presence: Presence | None = None,
    ) -> None:
        """`presence` shows others that we wait."""
        self._clock = clock
        self._presence = presence
        self._began = clock()
        self._seconds = seconds
        self._notice = notice
        self._told: tuple[str, str] | None = None

    @property
    def waited(self) -> float:
        return self._clock() - self._began

    @property
    def left(self) -> float:
        return self._seconds - self.waited

    def part(self, seconds: float) -> "Patience":
        """Some of it, for one of several locks."""
        return Patience(min(seconds, self.left), self._notice, self._clock, self._presence)

    async def pause(self, state: State, *, at_most: float | None = None) -> None:
        """Wait a little for the holder of this, or raise LockBusy if the time is over."""
        self._tell(state)
        left = self.left
        if left < _NOTHING:
            holder = None if state.holder == NOBODY else state.holder
            raise LockBusy(state.where, holder, round(self.waited * 1000))
        pause = max(_SHORTEST, _PAUSE / (1 + self.waited / _AGEING)) * random.uniform(0.5, 1.5)  # noqa: S311 - no secret
        await asyncio.sleep(min(pause, left, pause if at_most is None else at_most + _LATER))

    def _tell(self, state: State) -> None:
        news = (state.where, state.holder)
        if state.holder == NOBODY:
            return
        if news != self._told:
            self._told = news
            self._notice(Waiting(*news, self.waited))
        if self._presence is not None:
            self._presence.show(state.where)
