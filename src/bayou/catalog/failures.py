"""What an error of SQLite means to somebody who records or asks."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from bayou.errors import BayouError, Corrupt, Denied, ErrorKind, Unavailable

# SQLite does not look at what is in a text.
DAMAGED = (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError)
UNWRITABLE = (
    apsw.FullError,
    apsw.ReadOnlyError,
    apsw.CantOpenError,
    apsw.IOError,
    apsw.PermissionsError,
    apsw.BusyError,
)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    try:
        yield
    except (*DAMAGED, *UNWRITABLE) as error:
        raise _translate(error, path) from error


def _translate(error: Exception, path: Path) -> BayouError:
    text = f"the catalog {path}: {error}"
    match error:
        case apsw.CorruptError() | apsw.NotADBError() | UnicodeDecodeError():
            return Corrupt(
                str(path),
                expected="a catalog",
                found=str(error),
                remedy="Run the command again: the damaged file was set aside, and a new one is built from the data.",
            )
        case apsw.FullError():
            return Unavailable(
                text, kind=ErrorKind.STORE_FULL, remedy="Free some space on the disk, then run it again."
            )
        case apsw.BusyError():
            return Unavailable(
                text, remedy="Another process keeps the catalog busy. Stop it, or run the command later."
            )
        case apsw.IOError():
            return Unavailable(text)
        case _:
            return Denied(text, remedy="Check the permissions of the file and its folder.")
