"""Locks that make check-and-rename one step, among threads and processes that share a folder."""

import errno
import fcntl
import os
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bayou.errors import ErrorKind, Unavailable, Unsupported
from bayou.storage.folders import make_folder

STRIPES = 256
PATIENCE = 30.0  # seconds; the holder only renames and syncs, so more than this is a stopped process or a dead server
_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}


class KeyLocks:
    """One of 256 lock files per key. The kernel drops a lock with its holder, so that no crash leaves one behind."""

    def __init__(self, root: Path, segments: tuple[str, ...]) -> None:
        self._root = root
        self._segments = segments

    @contextmanager
    def hold(self, key: str) -> Iterator[None]:
        stripe = f"{zlib.crc32(key.encode()) % STRIPES:02x}"
        with make_folder(self._root, self._segments, durable=False) as folder:
            fd = os.open(stripe, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666, dir_fd=folder)
        try:
            _lock(fd, key)
            yield
        finally:
            os.close(fd)  # and with it the lock


def _lock(fd: int, key: str) -> None:
    deadline = time.monotonic() + PATIENCE
    pause = _FIRST_PAUSE
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                message = f"{key!r} stayed locked by another process on this folder for {PATIENCE:.0f} s"
                raise Unavailable(message, kind=ErrorKind.DEADLINE_EXCEEDED) from None
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            message = f"this file system cannot lock files ({error.strerror}), so conditional writes are not safe on it"
            raise Unsupported(message, kind=ErrorKind.STORE_CANNOT) from error
        else:
            return
