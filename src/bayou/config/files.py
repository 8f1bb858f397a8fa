"""Files that several processes of this machine change: written whole or not at all, one change after the other."""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP}


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Be the only process in a folder that does so. The kernel takes the lock back from whoever dies."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def replace(path: Path, content: bytes) -> None:
    """Replace a file, keeping its permissions. Call it `alone`, having looked at what is replaced."""
    with _written_beside(path, content, stat.S_IMODE(path.stat().st_mode)) as temporary:
        temporary.replace(path)


def publish(path: Path, content: bytes) -> None:
    """Make a new file; FileExistsError if anything has that name by then. Call it `alone`."""
    with _written_beside(path, content, None) as temporary:
        try:
            os.link(temporary, path)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            # A disk without links, such as exFAT: only processes that come `alone` are kept apart there.
            if os.path.lexists(path):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
            temporary.replace(path)


@contextmanager
def _written_beside(path: Path, content: bytes, mode: int | None) -> Iterator[Path]:
    """Write a temporary file to be moved or linked to `path`, and see to it that this outlasts a power failure."""
    temporary = path.with_name(f"{path.name}.tmp-{os.getpid()}-{os.urandom(4).hex()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
