"""What an error of SQLite means to somebody who records or asks."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bayou.errors import BayouError, Corrupt
from bayou.storage import sqliteerrors
from bayou.storage.sqliteerrors import UNUSABLE, translate

# SQLite does not look at what is in a text.
DAMAGED = (*sqliteerrors.DAMAGED, UnicodeDecodeError)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    try:
        yield
    except (*DAMAGED, *UNUSABLE) as error:
        raise _translate(error, path) from error


def _translate(error: Exception, path: Path) -> BayouError:
    if isinstance(error, DAMAGED):
        return Corrupt(
            str(path),
            expected="a catalog",
            found=str(error),
            remedy="Run the command again: the damaged file was set aside, and a new one is built from the data.",
        )
    return translate(error, f"the catalog {path}")
