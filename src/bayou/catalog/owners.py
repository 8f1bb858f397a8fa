"""Owners of intents: which process it was, and whether it still lives."""

import os
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

_ENDED = frozenset({"Z", "X"})
_GONE = -1


class Owner(NamedTuple):
    host: str
    """One run of one kernel, and the process numbers that count there: a container has its own."""
    pid: int
    started: int
    """In ticks since boot, as process numbers come round again; 0 where nobody says."""


def this_process() -> Owner:
    return _of(os.getpid())


def is_alive(owner: Owner) -> bool:
    """Whether this process still runs here. One of another host or container counts as gone: looking at its names
    once too often is harmless, and waiting for somebody who cannot be seen is not.
    """
    if owner.host != _host():
        return False
    if owner.pid == os.getpid():
        return owner == this_process()
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return owner.started == _started(owner.pid)


@lru_cache(maxsize=1)
def _of(pid: int) -> Owner:
    return Owner(_host(), pid, _started(pid))


@lru_cache(maxsize=1)
def _host() -> str:
    boot = _read(Path("/proc/sys/kernel/random/boot_id")).strip() or os.uname().nodename
    try:
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return boot


def _started(pid: int) -> int:
    # The name of the program, which may hold anything, is in brackets before all the numbers.
    fields = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    if len(fields) < 20:
        return 0
    return _GONE if fields[0] in _ENDED else int(fields[19])


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
