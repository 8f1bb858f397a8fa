"""What a lock says: who holds it, or that nobody does, in the JSON of the existing clients (sync spec 1.9).

A released lock is a body that has expired: `ttlMs` is 1 and the time is long past, whatever anybody's clock says. So
existing clients may take it over too. Its nonce, which they only ever compare, tells the next Bayou what it should know
(`Mark`). design/009 says why such a body is overwritten and not deleted.
"""

import os
import socket
import time
import uuid
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from bayou.locks.cells import Seen
from bayou.wire import lock
from bayou.wire.lock import LockBody
from bayou.wire.times import to_text

DEFAULT_TTL = 30.0
"""What existing clients use, and what an unreadable body gets (sync spec W-59)."""
LONGEST_TTL = 600.0
"""More than this nobody's body is granted (W-61)."""
NOBODY = "nobody"
_RELEASED_MS = 1
_FREE, _ENDED = "free", "ended"
_LONG_AGO = "1970-01-01T00:00:00.000Z"


class Identity(NamedTuple):
    """Who we are, as others see it."""

    holder: str
    hostname: str
    pid: int


def ourselves() -> Identity:
    hostname = socket.gethostname()
    user = os.environ.get("USER") or os.environ.get("USERNAME") or "unknown"
    return Identity(f"{user}@{hostname}", hostname, os.getpid())


@dataclass(frozen=True, slots=True)
class Mark:
    """What a released lock says besides that it is free."""

    is_walked: bool = False
    """On a global lock: since the last structural command that walked the store for locks, no existing client began a
    run. It would have removed this body (design/009)."""
    drain: str = ""
    """On a global lock: a structural command waits for runs to end; who begins a run lets it go first."""

    def to_nonce(self, *, is_registered: bool) -> str:
        """The last part is another one each time, since equal bytes are one version on S3."""
        how = _FREE if is_registered else _ENDED
        return "/".join((how, "walked" if self.is_walked else "", self.drain, str(uuid.uuid4())))


NO_MARK = Mark()


@dataclass(frozen=True)
class State:
    """What a look at a lock found."""

    seen: Seen | None
    where: str = field(compare=False)

    @cached_property
    def body(self) -> LockBody | None:
        """None where nothing is there, and where it cannot be read."""
        if self.seen is None:
            return None
        body = lock.decode(self.seen.content, self.where)
        return body if isinstance(body, LockBody) else None

    @property
    def is_free(self) -> bool:
        return self.seen is None or (self.body is not None and self.body.ttl_ms <= _RELEASED_MS)

    @property
    def is_registered(self) -> bool:
        """Whether what is there says that there is a note of this lock (`bayou.locks.registry`)."""
        return self.body is not None and self.is_free and (self.body.nonce or "").startswith(f"{_FREE}/")

    @property
    def nonce(self) -> str | None:
        return self.body.nonce if self.body is not None and not self.is_free else None

    @property
    def mark(self) -> Mark:
        if not self.is_free or self.body is None:
            return NO_MARK
        match (self.body.nonce or "").split("/"):
            case [_, walked, drain, _]:
                return Mark(walked == "walked", drain)
            case _:
                return NO_MARK

    @property
    def ttl(self) -> float:
        """How long this may stand still before it counts as abandoned, in seconds."""
        return DEFAULT_TTL if self.body is None else min(max(self.body.ttl_ms, 0) / 1000, LONGEST_TTL)

    @property
    def holder(self) -> str:
        """For people."""
        if self.is_free:
            return "a structural command that waits for runs to end" if self.mark.drain else NOBODY
        if self.body is None:
            return "somebody whose entry cannot be read"
        return f"{self.body.holder} (pid {self.body.pid})"


def held_body(who: Identity, nonce: str, ttl: float, moment_ms: int) -> bytes:
    return lock.encode(
        LockBody(who.holder, who.hostname, who.pid, to_text(moment_ms * 1_000_000), round(ttl * 1000), nonce)
    )


def free_body(who: Identity, mark: Mark, *, is_registered: bool) -> bytes:
    nonce = mark.to_nonce(is_registered=is_registered)
    return lock.encode(LockBody(who.holder, who.hostname, who.pid, _LONG_AGO, _RELEASED_MS, nonce))


def wall_ms() -> int:
    """For the eyes of existing clients only, whose rule compares clocks."""
    return time.time_ns() // 1_000_000
