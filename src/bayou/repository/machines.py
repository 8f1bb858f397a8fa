"""This machine's name in records, and whether a process that a record names still runs on it.

The name is that of the host with a random end, which is kept beside the repo: two containers may be called the same.
It is kept for each host name and machine id, so a clone of the machine, or another container on the same folder, finds
none of its own and draws another. A clone that kept even these writes to the same audit file; a sync keeps both sides.
"""

import hashlib
import os
import re
import secrets
import socket
from contextlib import suppress
from pathlib import Path

from bayou.repository.walking import FileAt
from bayou.tree import Tree

_FOLDER = "_control/bayou/machines"
_NAME = re.compile(rb"[A-Za-z0-9_-]{1,80}")
_LONGEST_HOST = 40
_MACHINE_ID = Path("/etc/machine-id")
_SLACK_MS = 5000  # a clock that was set in between


def machine_name(tree: Tree) -> str:
    """The name, which is drawn at the first call and then stays."""
    host = socket.gethostname()
    path = f"{_FOLDER}/{_fingerprint(host)}"
    kept = tree.read(path)
    if kept is None:
        slug = re.sub(r"[^A-Za-z0-9_-]+", "-", host.partition(".")[0])[:_LONGEST_HOST].strip("-") or "host"
        drawn = f"{slug}-{secrets.token_hex(4)}".encode()
        with tree.change(path) as change:
            kept = drawn if change.create(path, drawn) else tree.read(path)
    if kept is None or not _NAME.fullmatch(kept):
        with tree.change(path) as change:  # damaged: a name of its own again, from the next call on
            change.remove(path)
        return f"host-{secrets.token_hex(4)}"
    return kept.decode()


def is_dead(machine: str | None, pid: int | None, written_ms: int, here: str) -> bool:
    """Whether the process that wrote a record is gone for certain: it ran here, and does not any more.

    One that began after the record was written for the last time only has its number.
    """
    if machine != here or pid is None:
        return False
    if pid <= 0 or not _runs(pid):
        return True
    began = _began_ms(pid)
    return began is not None and began > written_ms + _SLACK_MS


def writer_is_dead(tree: Tree, path: str, machine: str | None, pid: int | None, here: str) -> bool:
    """The same, of the record at a path."""
    if machine != here:
        return False
    status = FileAt(path, str(tree.locate(path))).status()
    return status is not None and is_dead(machine, pid, status.st_mtime_ns // 1_000_000, here)


def _fingerprint(host: str) -> str:
    machine_id = b""
    with suppress(OSError):
        machine_id = _MACHINE_ID.read_bytes()
    return hashlib.sha256(host.encode(errors="surrogateescape") + b"\0" + machine_id).hexdigest()[:16]


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    fields = _fields(pid)
    return not fields or fields[0] != b"Z"


def _began_ms(pid: int) -> int | None:
    """When the process began, where the system tells."""
    fields = _fields(pid)
    try:
        booted = re.search(rb"^btime ([0-9]+)$", Path("/proc/stat").read_bytes(), re.MULTILINE)
    except OSError:
        return None
    if booted is None or len(fields) < 20:
        return None
    return int(booted[1]) * 1000 + int(fields[19]) * 1000 // os.sysconf("SC_CLK_TCK")


def _fields(pid: int) -> list[bytes]:
    """What Linux tells of a process, after its number and its name, which may hold anything."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    return []
