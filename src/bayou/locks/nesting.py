"""Nesting: a command inside of a command must not wait for its own holder.

Within a process the context knows what it holds (other threads wait as anybody does); a child process reads it from its
environment. Existing clients say there only whose process holds model locks (`SWAMP_LOCK_HOLDER_PID`).
"""

import os
import threading
from collections.abc import Iterable, Mapping, MutableMapping
from contextvars import ContextVar
from dataclasses import dataclass, replace

from bayou.locks.bodies import Identity, State

HOLDER_PID = "SWAMP_LOCK_HOLDER_PID"
HELD = "BAYOU_HELD_LOCKS"
"""The nonces of what is held, separated by commas."""


@dataclass(frozen=True, slots=True)
class Family:
    """The locks that this context holds, and those that a process holds which started this one."""

    nonces: frozenset[str] = frozenset()
    parent: int | None = None
    """Of an existing client, which does not say more."""

    def holds(self, state: State, who: Identity) -> bool:
        """Whether the holder of this is waiting for us."""
        if state.body is None or state.is_free:
            return False
        if state.nonce in self.nonces:
            return True
        return (
            self.parent is not None
            and who.pid != self.parent == state.body.pid
            and (state.body.hostname == who.hostname)
        )

    @property
    def is_inside(self) -> bool:
        """Whether anything is held here: whoever waits for all runs to end waits for us too."""
        return bool(self.nonces) or self.parent is not None

    def with_more(self, nonces: Iterable[str]) -> "Family":
        return replace(self, nonces=self.nonces | frozenset(nonces))

    def without(self, nonces: Iterable[str]) -> "Family":
        return replace(self, nonces=self.nonces - frozenset(nonces))

    def environment(self) -> dict[str, str]:
        """What to tell a child process."""
        return {HOLDER_PID: str(os.getpid()), HELD: ",".join(sorted(self.nonces))}


def inherited(environ: Mapping[str, str]) -> Family:
    """What the process that started this one has told it."""
    parent = environ.get(HOLDER_PID, "")
    nonces = frozenset(filter(None, environ.get(HELD, "").split(",")))
    return Family(nonces, int(parent) if parent.isdecimal() and not nonces else None)


class Announcement:
    """What this process holds, as its environment tells it to whatever it starts: a command of ours or of an existing
    client. Several threads may hold locks at a time.
    """

    def __init__(self, environ: MutableMapping[str, str]) -> None:
        self._environ = environ
        self._before = {name: environ.get(name) for name in (HOLDER_PID, HELD)}
        self._nonces = inherited(environ).nonces
        self._guard = threading.Lock()

    def add(self, nonces: Iterable[str]) -> None:
        with self._guard:
            self._nonces |= frozenset(nonces)
            self._environ.update(Family(self._nonces).environment())

    def take_back(self, nonces: Iterable[str]) -> None:
        with self._guard:
            self._nonces -= frozenset(nonces)
            if self._nonces > inherited({HELD: self._before[HELD] or ""}).nonces:
                self._environ.update(Family(self._nonces).environment())
                return
            for name, value in self._before.items():
                if value is None:
                    self._environ.pop(name, None)
                else:
                    self._environ[name] = value


ANNOUNCEMENT = Announcement(os.environ)

# Read once, before this process holds anything: later the environment says what is meant for our own children.
_INHERITED = inherited(os.environ)
CURRENT: ContextVar[Family] = ContextVar("bayou_locks", default=_INHERITED)
