"""Looks at the disk: what is in a folder, how a file looks, what it holds. Nothing here follows a symbolic link (W-42).

Something that is gone, or that has become something else, since one heard of it is an answer (None), not a failure. All
other failures are raised as they are: what could not be looked at is not absent (sync spec W-05, W-06).
"""

import hashlib
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path
from typing import NamedTuple

from bayou.domain.content import ContentId
from bayou.sync.stats import Stamp

_GONE = (FileNotFoundError, NotADirectoryError)
_CHUNK = 1 << 20


class Form(Enum):
    FILE = auto()
    FOLDER = auto()
    LINK = auto()
    OTHER = auto()


class Seen(NamedTuple):
    form: Form
    stamp: Stamp


class Content(NamedTuple):
    content: ContentId
    stamp: Stamp


def look(place: str) -> Seen | None:
    try:
        status = os.lstat(place)
    except _GONE:
        return None
    return Seen(_form(status.st_mode), _stamp(status))


def names(folder: str) -> list[tuple[str, Form]] | None:
    """What is in a folder, in the order in which whole paths sort; None where there is none."""
    try:
        with os.scandir(folder) as entries:
            found = [(entry.name, _form_of_entry(entry)) for entry in entries]
    except _GONE:
        return None
    return sorted(found, key=lambda each: f"{each[0]}/" if each[1] is Form.FOLDER else each[0])


def read(place: str, check: Callable[[], None]) -> Content | None:
    """The hash of a file and how it looked while it was read; None where it is gone or changed meanwhile."""
    try:
        fd = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except _GONE:
        return None
    except OSError:
        if os.path.islink(place):  # noqa: PTH114 - the same in less
            return None
        raise
    try:
        before = os.fstat(fd)
        if not stat.S_ISREG(before.st_mode):
            return None
        digest = hashlib.sha256()
        while chunk := os.read(fd, _CHUNK):
            check()
            digest.update(chunk)
        stamp = _stamp(before)
        return Content(digest.hexdigest(), stamp) if _stamp(os.fstat(fd)) == stamp else None
    finally:
        os.close(fd)


def time_ns(control: Path) -> int:
    """What time it is for the disk, which stamps files by a clock of its own: in ticks, and on a network another's."""
    place = control / "clock"
    with suppress(FileNotFoundError):
        os.utime(place)
        return place.stat().st_mtime_ns
    control.mkdir(parents=True, exist_ok=True)
    place.touch()
    return place.stat().st_mtime_ns


def _form_of_entry(entry: "os.DirEntry[str]") -> Form:
    # What the listing says costs no look at the file.
    if entry.is_symlink():
        return Form.LINK
    if entry.is_dir(follow_symlinks=False):
        return Form.FOLDER
    return Form.FILE if entry.is_file(follow_symlinks=False) else Form.OTHER


def _form(mode: int) -> Form:
    if stat.S_ISREG(mode):
        return Form.FILE
    if stat.S_ISDIR(mode):
        return Form.FOLDER
    return Form.LINK if stat.S_ISLNK(mode) else Form.OTHER


def _stamp(status: os.stat_result) -> Stamp:
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
