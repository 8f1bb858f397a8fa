"""The machine as the journal sees it: which process this is, whether another one still lives, and what time it is."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

_ENDED = frozenset({"Z", "X"})
_NOT_RUNNING = -1
_FIELDS_TO_START = 20


class Owner(NamedTuple):
    boot: str
    """One run of one kernel; "" where it does not say."""
    space: str
    """In which process numbers count: a container has its own."""
    pid: int
    started: int
    """In ticks since boot, as process numbers come round again; 0 where nobody says."""

    def __str__(self) -> str:
        return f"{self.boot} {self.space} {self.pid} {self.started}"


def read_owner(text: str) -> Owner:
    boot, space, pid, started = text.split(" ")
    return Owner(boot, space, int(pid), int(started))


def this_process() -> Owner:
    return _process(os.getpid())


def lives(owner: Owner) -> bool | None:
    """Whether this process still runs; None where one cannot see it from here."""
    here = this_process()
    if owner.boot != here.boot:
        return False
    if owner.space != here.space:
        return None
    if owner.pid == here.pid:
        return owner == here
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return _started(owner.pid) in (owner.started, 0)


@dataclass(frozen=True, slots=True)
class Machine:
    """What tests replace: processes that die on command, and clocks that they set."""

    process: Callable[[], Owner] = this_process
    lives: Callable[[Owner], bool | None] = lives
    monotonic_ns: Callable[[], int] = time.monotonic_ns
    """One clock for all processes, as long as the machine runs."""
    time_ns: Callable[[], int] = time.time_ns
    pause: Callable[[float], None] = time.sleep


THIS_MACHINE = Machine()


@lru_cache(maxsize=1)
def _process(pid: int) -> Owner:
    return Owner(_boot(), _space(), pid, _started(pid))


@lru_cache(maxsize=1)
def _boot() -> str:
    return _read("/proc/sys/kernel/random/boot_id").strip()


@lru_cache(maxsize=1)
def _space() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return os.uname().nodename.replace(" ", "")


def _started(pid: int) -> int:
    # The name of the program, which may hold anything, is in brackets before all the numbers.
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if len(fields) < _FIELDS_TO_START:
        return 0
    return _NOT_RUNNING if fields[0] in _ENDED else int(fields[_FIELDS_TO_START - 1])


def _read(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""
