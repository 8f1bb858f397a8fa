"""Bodies of objects as files: written to the last byte, read in pieces from a descriptor of their own."""

import os
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from io import FileIO

from bayou.errors import Conflict, UsageError
from bayou.storage.port import CHUNK, Body, Fetched, ObjectMeta, Version

# Two seconds: what the coarsest of file systems can tell apart.
_LATER = 2_000_000_000


def write_body(body: Body, file: FileIO) -> None:
    if isinstance(body, bytes):
        _write(body, file)
        return
    try:
        # Not blocking, so that a named pipe is an error and not a wait without end.
        fd = os.open(body, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise UsageError(f"cannot read the file to store, {body}: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise UsageError(f"cannot store {body}: it is not a file")
    with FileIO(fd) as source:
        write_file(source, file)


def write_file(source: FileIO, file: FileIO) -> None:
    while chunk := source.read(CHUNK):
        _write(chunk, file)


def date_after(fd: int, replaced: os.stat_result | None) -> bool:
    """Date a file later than the one it replaces, where it is not; say whether that took a change.

    It is not where the clock went back, or where the file system counts in seconds. Its version would come back.
    """
    if replaced is None or os.fstat(fd).st_mtime_ns > replaced.st_mtime_ns:
        return False
    later = replaced.st_mtime_ns + _LATER
    os.utime(fd, ns=(later, later))
    return True


class OpenFile(Fetched):
    """A large object, read from a descriptor of its own, whatever happens to its name meanwhile."""

    def __init__(
        self, meta: ObjectMeta, version: Version, fd: int, length: int, run: Callable[..., Awaitable[bytes]]
    ) -> None:
        super().__init__(meta, version)
        self._source: _Descriptor | None = _Descriptor(fd)
        self._left = length
        self._run = run

    async def chunks(self) -> AsyncIterator[bytes]:
        source, self._source = self._source, None
        if source is None:
            raise UsageError(f"{self.meta.key!r} was read already", remedy="A body is read once: get the object again.")
        while self._left > 0:
            chunk = await self._run(source.read, min(CHUNK, self._left))
            if not chunk:
                message = f"{self.meta.key!r} became shorter while it was read"
                raise Conflict(message, remedy="Read it again.")
            self._left -= len(chunk)
            yield chunk


class _Descriptor:
    """Closed with its last reference, so never while a thread reads from it for somebody who has gone."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def read(self, size: int) -> bytes:
        return os.read(self._fd, size)

    def __del__(self) -> None:
        os.close(self._fd)


def _write(content: bytes, file: FileIO) -> None:
    # A write to a file without a buffer may be short.
    left = memoryview(content)
    while left:
        left = left[file.write(left) :]
