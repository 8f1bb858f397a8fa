"""Locks that make check-and-rename one step, among threads and processes that share a folder."""

import errno
import fcntl
import os
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event

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
    def hold(self, *keys: str, given_up: Event | None = None) -> Iterator[None]:
        """Hold the locks of these keys. In one order whoever asks, so that two who ask for the same never wait for each
        other; and keys that share a file lock it once. `given_up` ends the wait, and what comes after it.
        """
        stripes = {f"{zlib.crc32(key.encode()) % STRIPES:02x}": key for key in keys}
        with ExitStack() as held:
            for stripe in sorted(stripes):
                held.enter_context(self._hold(stripe, stripes[stripe], given_up))
            yield

    @contextmanager
    def _hold(self, stripe: str, key: str, given_up: Event | None) -> Iterator[None]:
        with make_folder(self._root, self._segments, durable=False) as folder:
            fd = os.open(stripe, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666, dir_fd=folder)
        try:
            _lock(fd, key, given_up)
            yield
        finally:
            os.close(fd)  # and with it the lock


def _lock(fd: int, key: str, given_up: Event | None) -> None:
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
            break
        _stop_if(given_up, key)
    _stop_if(given_up, key)


def _stop_if(given_up: Event | None, key: str) -> None:
    if given_up is not None and given_up.is_set():
        raise Unavailable(f"{key!r}: nobody waits for this any more")
