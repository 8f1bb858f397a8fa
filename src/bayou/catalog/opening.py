"""Open the file of a catalog, whatever is found there. It is derived, so nothing in it is worth a failed command."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw

from bayou.catalog.database import Database
from bayou.catalog.failures import DAMAGED, translated
from bayou.catalog.schema import Newer, NotOurs, found_version
from bayou.storage.sqliteerrors import UNUSABLE

Notice = Callable[[str], None]

_SIDECARS = ("", "-wal", "-shm")


def open_database(path: Path, notice: Notice) -> Database:
    """Open or create it; set aside what is damaged or not ours; where it cannot be used, have a temporary one.

    A catalog of a newer release is left alone: if each release replaced the other's, they would build for ever.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(path):
            try:
                return Database(path)
            except (*DAMAGED, NotOurs):
                _move_aside(path, notice)
                return Database(path)
    except Newer:
        notice(
            f"the catalog {path} is of a newer release of Bayou; this one makes a temporary one, which takes "
            "time. Use the newer release."
        )
    except (*UNUSABLE, OSError) as error:
        notice(f"the catalog {path} cannot be used ({error}); a temporary one serves, which takes time")
        with translated(path):
            return _temporary(path)
    with translated(path):
        return _temporary()


def set_aside(database: Database, notice: Notice) -> None:
    """Replace a file that turned out to be damaged, unless somebody else already did."""
    with _one_at_a_time(database.path):
        if database.is_at_its_path():
            _move_aside(database.path, notice)


def _move_aside(path: Path, notice: Notice) -> None:
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    aside = path.with_name(f"{path.name}.corrupt-{stamp}")
    count = 1
    while aside.exists():
        count += 1
        aside = path.with_name(f"{path.name}.corrupt-{stamp}-{count}")
    # The log first: without its file it is nothing, and a new file must never meet it.
    for sidecar in reversed(_SIDECARS):
        with suppress(FileNotFoundError):
            path.with_name(f"{path.name}{sidecar}").rename(aside.with_name(f"{aside.name}{sidecar}"))
    notice(f"the catalog {path} was damaged or is no catalog; it is kept as {aside.name}, and a new one is built")


@contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    """Among processes: who makes the file, or replaces it."""
    fd = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _temporary(like: Path | None = None) -> Database:
    """`like` is a file that can be read, it may be, but not be written: its copy need not be built."""
    folder = Path(tempfile.mkdtemp(prefix="bayou-catalog-"))
    path = folder / "catalog.db"
    try:
        if like is not None:
            _copy(like, path)
        return Database(path, on_close=lambda: shutil.rmtree(folder, ignore_errors=True))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _copy(path: Path, target: Path) -> None:
    """Copy it as of one moment, or leave nothing: what is damaged, or cannot even be read, is of no use."""
    try:
        with (
            closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as there,
            closing(apsw.Connection(str(target))) as here,
        ):
            with here.backup("main", there, "main") as copying:
                while not copying.done:
                    copying.step()
            usable = found_version(here) > 0 and here.pragma("quick_check", 1) == "ok"
    except (apsw.Error, NotOurs, Newer):
        usable = False
    if not usable:
        for sidecar in _SIDECARS:
            target.with_name(f"{target.name}{sidecar}").unlink(missing_ok=True)
