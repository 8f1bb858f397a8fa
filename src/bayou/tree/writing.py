"""Write a file chunk by chunk: every byte of each, hashed on the way, and to the disk when it is done."""

# ruff: noqa: PTH116, PTH123 - at each write: a Path costs as much as the system call

import hashlib
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from bayou.storage.oserrors import translated

_SYNCS = 8

_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW


class Written(NamedTuple):
    size: int
    sha256: str


class Writing:
    """A new file that is being written. What goes wrong with it is told of `path`, by which the tree knows it.

    Another program may write to the file instead.
    """

    def __init__(self, target: str, path: str, *, durable: bool) -> None:
        self._target = target
        self._path = path
        self._durable = durable
        self._digest = hashlib.sha256()
        self._size = 0
        self._fd = os.open(target, _WRITE, 0o666)

    def write(self, chunk: bytes) -> int:
        with translated(self._path):
            write_all(self._fd, chunk)
        self._digest.update(chunk)
        self._size += len(chunk)
        return len(chunk)

    def finish(self) -> Written:
        """Say what the file holds, and that it holds it for good. `NotFound` when somebody has removed it."""
        with translated(self._path):
            found, ours = os.stat(self._target), os.fstat(self._fd)
            if (found.st_dev, found.st_ino, found.st_size) != (ours.st_dev, ours.st_ino, self._size):
                return _hashed(self._target, durable=self._durable)
            if self._durable:
                os.fsync(self._fd)
        return Written(self._size, self._digest.hexdigest())

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def write_all(fd: int, content: bytes) -> None:
    """Write all of it: a full disk or a signal may let a call write less."""
    view = memoryview(content).cast("B")
    while view:
        view = view[os.write(fd, view) :]


def sync_several(sync: Callable[[str], None], places: Sequence[str]) -> None:
    """Sync several at a time: a disk that is asked for them together writes them together."""
    if len(places) < 2:
        for place in places:
            sync(place)
        return
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - 10 ms, and only where there are several

    with ThreadPoolExecutor(_SYNCS) as pool:
        for _ in pool.map(sync, places):
            pass


def sync_folder(folder: str) -> None:
    """See to it that what came into a folder, or left it, outlasts a power failure."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_file(place: str) -> None:
    """See to it that what is in a file outlasts a power failure."""
    fd = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _hashed(target: str, *, durable: bool) -> Written:
    with open(target, "rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        if durable:
            os.fsync(file.fileno())
        return Written(file.tell(), digest.hexdigest())
