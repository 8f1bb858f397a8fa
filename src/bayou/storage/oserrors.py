"""What an error of the operating system means to somebody who stores or reads an object in a folder."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from bayou.errors import BayouError, Denied, ErrorKind, NotFound, Unavailable, Unsupported

_FULL = {errno.ENOSPC, errno.EDQUOT}
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS}
_MISSING = {errno.ENOENT, errno.ENOTDIR, errno.ENXIO}  # the last is a socket where a file should be
_IMPOSSIBLE = {
    errno.ENAMETOOLONG: "Use shorter names: most file systems allow 255 bytes.",
    errno.EISDIR: "Use a name that no folder has.",
    errno.EINVAL: "Use names that this file system allows.",
    errno.EILSEQ: "Use names that this file system allows.",
    errno.EFBIG: "Use a file system, or a limit of the process, that allows files of this size.",
    errno.EOPNOTSUPP: "Use a file system with hard links and locks.",
}


@contextmanager
def translated(key: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise translate(error, key) from error


def translate(error: OSError, key: str) -> BayouError:
    text = f"{key!r}: {error.strerror or error}"
    if error.errno in _MISSING:
        return NotFound(f"no object {key!r}")
    if error.errno in _REFUSED:
        remedy = "Check the permissions of the folder and that it is not mounted read-only."
        return Denied(text, remedy=remedy)
    if error.errno in _FULL:
        remedy = "Free some space on the disk, then run the command again."
        return Unavailable(text, kind=ErrorKind.STORE_FULL, remedy=remedy)
    if error.errno in _IMPOSSIBLE:
        return Unsupported(text, kind=ErrorKind.STORE_CANNOT, remedy=_IMPOSSIBLE[error.errno])
    # A stale handle, a device error, too many open files: the next try may well succeed, and no try is harmful.
    return Unavailable(text)
