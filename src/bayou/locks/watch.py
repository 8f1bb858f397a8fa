"""Telling a dead holder from a live one by watching: who lives renews the lock, so a lock that stands still is dead."""

import os
from collections.abc import Callable

from bayou.locks.bodies import Identity, State
from bayou.locks.clock import now as default_clock
from bayou.storage.port import Version

_LATE = 0.5
"""The part of its time after which even a lock on the dead of this machine counts. Not less than a missed renewal: in
another container of the same name the process may well be alive, and then it renews (weakness 55)."""


class Watch:
    """One lock, watched by one process. Nobody's wall clock is asked (sync spec W-54)."""

    def __init__(self, who: Identity, clock: Callable[[], float] = default_clock) -> None:
        self._who = who
        self._clock = clock
        self._version: Version | None = None
        self._since = 0.0

    def is_stale(self, state: State, asked: float) -> bool:
        """Whether this is abandoned. `asked` is when the look at it began.

        From the end of the first look that found this version to the beginning of this one it did not change. A holder
        counts from the beginning of the write that made it, so it always gives up before anybody takes over.
        """
        if state.seen is None or state.is_free:
            self._version = None
            return False
        if state.seen.version != self._version:
            self._version, self._since = state.seen.version, self._clock()
            return False
        return asked - self._since > self._patience(state)

    def left(self, state: State) -> float:
        """How long until this would count as abandoned, if it goes on standing still."""
        return max(0.0, self._since + self._patience(state) - self._clock())

    def _patience(self, state: State) -> float:
        return state.ttl * _LATE if died_here(state, self._who) else state.ttl


def died_here(state: State, who: Identity) -> bool:
    """Whether the holder was a process of this machine that is gone. The host is compared first."""
    body = state.body
    return body is not None and is_dead_here(body.hostname, body.pid, who)


def is_dead_here(hostname: str, pid: int, who: Identity) -> bool:
    """Whether this was a process of this machine, and is gone."""
    if hostname != who.hostname or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False
