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
"""The nonces of what is held, separated by commas; `by:` and the pid of the Bayou that said so, as its locks are known
one by one; `pid:` and that of each existing client further out."""
_BY, _PID = "by:", "pid:"


@dataclass(frozen=True, slots=True)
class Family:
    """The locks that this context holds, and those of the processes that wait for this one."""

    nonces: frozenset[str] = frozenset()
    parents: frozenset[int] = frozenset()
    """Of existing clients, which do not say more."""

    def holds(self, state: State, who: Identity) -> bool:
        """Whether the holder of this is waiting for us."""
        if state.body is None or state.is_free:
            return False
        if state.nonce in self.nonces:
            return True
        return state.body.hostname == who.hostname and state.body.pid in self.parents - {who.pid}

    @property
    def is_inside(self) -> bool:
        """Whether anything is held here: whoever waits for all runs to end waits for us too."""
        return bool(self.nonces or self.parents)

    def with_more(self, nonces: Iterable[str]) -> "Family":
        return replace(self, nonces=self.nonces | frozenset(nonces))

    def without(self, nonces: Iterable[str]) -> "Family":
        return replace(self, nonces=self.nonces - frozenset(nonces))

    def environment(self) -> dict[str, str]:
        """What to tell a child process."""
        held = [f"{_BY}{os.getpid()}", *sorted(self.nonces), *(f"{_PID}{pid}" for pid in sorted(self.parents))]
        return {HOLDER_PID: str(os.getpid()), HELD: ",".join(held)}


def inherited(environ: Mapping[str, str]) -> Family:
    """What the processes that started this one have told it: Bayou, existing clients, or one inside of the other."""
    said = set(filter(None, environ.get(HELD, "").split(",")))
    holder = environ.get(HOLDER_PID, "")
    parents = {word.removeprefix(_PID) for word in said if word.startswith(_PID)}
    if f"{_BY}{holder}" not in said:
        parents.add(holder)
    return Family(
        frozenset(word for word in said if not word.startswith((_BY, _PID))),
        frozenset(int(pid) for pid in parents if pid.isdecimal()),
    )


class Announcement:
    """What this process holds, as its environment tells it to whatever it starts: a command of ours or of an existing
    client. Several threads may hold locks at a time.
    """

    def __init__(self, environ: MutableMapping[str, str]) -> None:
        self._environ = environ
        self._before = {name: environ.get(name) for name in (HOLDER_PID, HELD)}
        self._inherited = self._family = inherited(environ)
        self._guard = threading.Lock()

    def add(self, nonces: Iterable[str]) -> None:
        """Say that these are held, too. Who holds nothing himself leaves what was said: an existing client said it."""
        with self._guard:
            self._family = self._family.with_more(nonces)
            self._say()

    def take_back(self, nonces: Iterable[str]) -> None:
        with self._guard:
            self._family = self._family.without(nonces)
            self._say()

    def _say(self) -> None:
        if self._family != self._inherited:
            self._environ.update(self._family.environment())
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
