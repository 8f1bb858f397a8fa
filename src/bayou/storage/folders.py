"""Folders below a root, opened one segment at a time so that no symbolic link can lead out of it.

The check and the use are the same system call: there is no moment in between for somebody to swap a folder for a link.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from bayou.errors import ErrorKind, Unsupported, UsageError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@contextmanager
def open_root(root: Path) -> Iterator[int]:
    """Open the root itself. It may be a link: whoever configured it wanted it there.

    It is never created: a missing one may be a missing mount.
    """
    try:
        fd = os.open(root, _FOLDER)
    except (FileNotFoundError, NotADirectoryError) as error:
        message = f"the folder {root} does not exist or is not a folder"
        remedy = f"Mount it, or create it with: mkdir -p {root}"
        raise UsageError(message, kind=ErrorKind.CONTAINER_MISSING, remedy=remedy) from error
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def open_folder(root: Path, segments: Sequence[str]) -> Iterator[int]:
    """Open an existing folder below the root; FileNotFoundError where it is not."""
    with open_root(root) as top:
        fd = os.dup(top)
        try:
            for segment in segments:
                fd = _descend(fd, segment)
            yield fd
        finally:
            os.close(fd)


@contextmanager
def make_folder(root: Path, segments: Sequence[str], *, durable: bool) -> Iterator[int]:
    """Open a folder below the root and create what is missing of it."""
    fd = None
    while fd is None:
        fd = _make(root, segments, durable=durable)
    try:
        yield fd
    finally:
        os.close(fd)


def prune_folders(root: Path, segments: Sequence[str]) -> None:
    """Remove a folder and its parents as far as they are empty, up to but without the root."""
    for depth in range(len(segments), 0, -1):
        try:
            with open_folder(root, segments[: depth - 1]) as parent:
                os.rmdir(segments[depth - 1], dir_fd=parent)
        except OSError:
            return  # not empty, gone already, or not ours to remove


def is_link(name: str, folder: int) -> bool:
    with suppress(FileNotFoundError):
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    return False


def refuse_link(name: str) -> UsageError:
    message = f"{name!r} is a symbolic link, which is never followed inside a store"
    remedy = "Replace the link by what it points to, or remove it."
    return UsageError(message, kind=ErrorKind.INVALID_PATH, remedy=remedy)


def _make(root: Path, segments: Sequence[str], *, durable: bool) -> int | None:
    """Give a descriptor, or None if somebody pruned a folder between our looking at it and our use of it."""
    with open_root(root) as top:
        fd = os.dup(top)
    try:
        for segment in segments:
            try:
                fd = _descend(fd, segment)
            except FileNotFoundError:
                with suppress(FileExistsError):
                    os.mkdir(segment, dir_fd=fd)
                    if durable:
                        os.fsync(fd)
                fd = _descend(fd, segment)
    except FileNotFoundError:
        os.close(fd)
        return None
    except NotADirectoryError as error:
        os.close(fd)
        message = f"nothing can be stored in {'/'.join(segments)!r}, as a part of it is a file here"
        raise Unsupported(message, kind=ErrorKind.STORE_CANNOT) from error
    except BaseException:
        os.close(fd)
        raise
    return fd


def _descend(fd: int, segment: str) -> int:
    """Swap the descriptor of a folder for that of a folder in it."""
    try:
        child = os.open(segment, _FOLDER | os.O_NOFOLLOW, dir_fd=fd)
    except OSError as error:
        if is_link(segment, fd):
            raise refuse_link(segment) from error
        raise
    os.close(fd)
    return child
