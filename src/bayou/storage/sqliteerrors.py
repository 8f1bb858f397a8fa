"""What an error of SQLite means to somebody who keeps something in one of its files."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from bayou.errors import BayouError, Denied, ErrorKind, Unavailable

DAMAGED = (apsw.CorruptError, apsw.NotADBError)
UNUSABLE = (
    apsw.FullError,
    apsw.BusyError,
    apsw.LockedError,
    apsw.ReadOnlyError,
    apsw.CantOpenError,
    apsw.PermissionsError,
    apsw.IOError,
)


@contextmanager
def translated(what: str) -> Iterator[None]:
    """`what` names the file, and what it is."""
    try:
        yield
    except (*DAMAGED, *UNUSABLE, OSError) as error:
        raise translate(error, what) from error


def translate(error: Exception, what: str) -> BayouError:
    text = f"{what}: {(error.strerror if isinstance(error, OSError) else None) or error}"
    match error:
        case apsw.FullError() | OSError(errno=errno.ENOSPC | errno.EDQUOT):
            remedy = "Free some space on the disk, then run the command again."
            return Unavailable(text, kind=ErrorKind.STORE_FULL, remedy=remedy)
        case apsw.BusyError() | apsw.LockedError():
            return Unavailable(text, remedy="Another process keeps it busy. Stop it, or run the command later.")
        case (
            apsw.ReadOnlyError()
            | apsw.CantOpenError()
            | apsw.PermissionsError()
            | PermissionError()
            | OSError(errno=errno.EROFS)
        ):
            remedy = "Check the permissions of the file and its folder, and that the disk is not mounted read-only."
            return Denied(text, kind=ErrorKind.PERMISSION_DENIED, remedy=remedy)
        case apsw.IOError():
            return Unavailable(text, remedy="Look whether the disk is full or failing: bayou doctor.")
        case _:
            return Unavailable(text)
