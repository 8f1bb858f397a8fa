"""Listing a tree of files as a bucket lists its keys: all levels, in the order of the keys, page by page."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from bayou.storage.folders import open_folder
from bayou.storage.keys import objection
from bayou.storage.port import ObjectMeta, Version

PAGE = 1000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# What a file can be dated to and Python cannot count to.
_EARLIEST, _LATEST = (
    (moment - _EPOCH) // timedelta(milliseconds=1)
    for moment in (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
)

Names = Iterator[tuple[str, os.DirEntry[str]]]


def version_of(status: os.stat_result) -> Version:
    """Name the bytes of a file. Each put dates its file later than the one it replaces, so no version comes back."""
    return Version(f"{status.st_mtime_ns:x}-{status.st_size:x}-{status.st_ino:x}")


def describe(key: str, status: os.stat_result) -> ObjectMeta:
    milliseconds = min(max(status.st_mtime_ns // 1_000_000, _EARLIEST), _LATEST)
    modified = _EPOCH + timedelta(milliseconds=milliseconds)
    return ObjectMeta(key=key, size=status.st_size, modified=modified, version=version_of(status))


def list_files(root: Path, prefix: str, after: str, hidden: str) -> Iterator[list[ObjectMeta]]:
    """Yield pages of the regular files below a folder. Links, and folders `hidden` at any depth, are passed over."""
    try:
        with open_folder(root, prefix.split("/") if prefix else []) as folder:
            top = os.dup(folder)
    except (FileNotFoundError, NotADirectoryError):
        return  # no such folder: nothing below it
    found = _walk(top, f"{prefix}/" if prefix else "", after, f"/{hidden}/")
    while page := list(islice(found, PAGE)):
        yield page


def _walk(top: int, base: str, after: str, hidden: str) -> Iterator[ObjectMeta]:
    """Go through a tree in the order of keys. No recursion: a key may have more segments than Python has frames."""
    levels = [(top, _names(top, base))]
    try:
        while levels:
            folder, names = levels[-1]
            key, entry = next(names, (None, None))
            if key is None or entry is None:
                os.close(levels.pop()[0])
            elif not key.endswith("/"):
                if key > after and (meta := _meta(key, entry)) is not None:
                    yield meta
            elif not f"/{key}".endswith(hidden) and (key > after or after.startswith(key)):
                with suppress(FileNotFoundError, NotADirectoryError):  # deleted or replaced since it was seen
                    inner = os.open(
                        entry.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder
                    )
                    levels.append((inner, _names(inner, key)))
    finally:
        for folder, _ in levels:
            os.close(folder)


def _names(folder: int, base: str) -> Names:
    """Yield what is in a folder in the order of keys, without what cannot be one, such as bytes that are not UTF-8."""
    with os.scandir(folder) as found:
        # A folder sorts as its name with a slash, so that the order is that of the whole keys ("a-b" before "a/b").
        keyed = [(f"{base}{e.name}/" if e.is_dir(follow_symlinks=False) else base + e.name, e) for e in found]
    yield from sorted((key, entry) for key, entry in keyed if objection(key.removesuffix("/")) is None)


def _meta(key: str, entry: os.DirEntry[str]) -> ObjectMeta | None:
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None  # deleted since it was seen
    return describe(key, status) if stat.S_ISREG(status.st_mode) else None
