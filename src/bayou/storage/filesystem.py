"""A folder as an object store, with the same contract as a bucket.

A put writes a temporary file, syncs it, and moves it into place under the lock of its key: by a link for "create if
absent", else by a rename. What the store needs for itself lies in a reserved folder below `_control/`, where existing
clients never look; keys in it are refused and not listed.
"""

import asyncio
import errno
import os
import stat
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from io import FileIO
from pathlib import Path
from threading import Event
from typing import NamedTuple, TypeVar

from bayou.errors import Conflict, ErrorKind, NotFound, Unsupported, UsageError
from bayou.storage.files import OpenFile, date_after, write_body, write_file
from bayou.storage.folders import is_link, make_folder, open_folder, prune_folders, refuse_link
from bayou.storage.keylocks import KeyLocks
from bayou.storage.keys import check_key, check_listing
from bayou.storage.listing import describe, list_files, version_of
from bayou.storage.oserrors import translated
from bayou.storage.port import (
    ABSENT,
    ANY,
    CHUNK,
    Body,
    Condition,
    Fetched,
    FetchedBytes,
    ObjectMeta,
    Store,
    Unconditional,
    Version,
)

T = TypeVar("T")

THREADS = 16
RESERVED = "_control/bayou/folder-store"
_TEMPORARY = (*RESERVED.split("/"), "tmp")
_LOCKS = (*RESERVED.split("/"), "locks")
_ABANDONED_AFTER = 24 * 3600.0
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS}


class FilesystemStore(Store):
    """Objects as files below an existing folder.

    `durable=False` leaves out the syncs: an acknowledged write may then be lost when the machine (not just the process)
    dies.
    """

    def __init__(self, root: Path, *, durable: bool = True) -> None:
        self.root = root
        self._durable = durable
        self._locks = KeyLocks(root, _LOCKS)
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="bayou-folder")
        self._swept = False

    async def get(self, key: str, *, start: int = 0, stop: int | None = None) -> Fetched:
        _check(key)
        return await self._run(self._read, key, start, stop)

    async def get_if_changed(self, key: str, version: Version) -> Fetched | None:
        _check(key)
        return await self._run(self._read_if_changed, key, version)

    async def put(self, key: str, body: Body, *, when: Condition = ANY) -> Version:
        _check(key)
        return await self._change(self._put, key, partial(write_body, body), when)

    async def delete(self, key: str) -> None:
        _check(key)
        await self._change(self._delete, key)

    async def list(self, prefix: str = "", *, after: str | None = None) -> AsyncIterator[Sequence[ObjectMeta]]:
        check_listing(prefix, after)
        if prefix:
            _check(prefix)
        pages = list_files(self.root, prefix, after or "", RESERVED)
        while page := await self._run(_next_page, prefix, pages):
            yield page

    async def head(self, key: str) -> ObjectMeta:
        _check(key)
        return await self._run(self._head, key)

    async def copy(self, source: str, target: str) -> None:
        _check(source)
        _check(target)
        await self._change(self._copy, source, target)

    async def close(self) -> None:
        self._pool.shutdown(wait=False)

    async def _run(self, work: Callable[..., T], *arguments: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, partial(work, *arguments))

    async def _change(self, work: Callable[..., T], *arguments: object) -> T:
        """Run what changes the folder, so that it changes nothing once its caller has given up.

        A thread goes on after that. It looks when it has the key's lock, so whatever anybody writes later stays.
        """
        given_up = Event()
        try:
            return await self._run(work, *arguments, given_up)
        except asyncio.CancelledError:
            given_up.set()
            raise

    # What follows runs in the pool's threads.

    def _read(self, key: str, start: int, stop: int | None) -> Fetched:
        with translated(key), self._opened(key) as file:
            status = os.fstat(file.fileno())
            if start and start >= status.st_size:
                message = f"{key!r} has {status.st_size} bytes, none from {start} on"
                raise UsageError(message, remedy="Ask for a range inside of the object.")
            return self._deliver(key, file, status, start, stop)

    def _read_if_changed(self, key: str, version: Version) -> Fetched | None:
        with translated(key), self._opened(key) as file:
            status = os.fstat(file.fileno())
            return None if version_of(status) == version else self._deliver(key, file, status, 0, None)

    def _deliver(self, key: str, file: FileIO, status: os.stat_result, start: int, stop: int | None) -> Fetched:
        """Read a small object at once; keep a descriptor of a large one, so that what is read is what was found."""
        meta, version = describe(key, status), version_of(status)
        length = (status.st_size if stop is None else min(stop, status.st_size)) - start
        file.seek(start)
        if length > CHUNK:
            return OpenFile(meta, version, os.dup(file.fileno()), length, self._run)
        return FetchedBytes(meta, version, file.read(max(length, 0)))

    def _head(self, key: str) -> ObjectMeta:
        with translated(key), self._opened(key) as file:
            return describe(key, os.fstat(file.fileno()))

    @contextmanager
    def _opened(self, key: str) -> Iterator[FileIO]:
        *parents, name = key.split("/")
        with open_folder(self.root, parents) as folder:
            try:
                # Not blocking, so that a named pipe in the tree is an error and not a wait without end.
                fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
            except OSError as error:
                if is_link(name, folder):
                    raise refuse_link(key) from error
                raise
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise NotFound(f"no object {key!r}: there is a folder or a special file of that name")
        with FileIO(fd) as file:
            yield file

    def _put(self, key: str, write: Callable[[FileIO], None], when: Condition, given_up: Event) -> Version:
        with translated(key), self._staged(write) as staged:
            return self._publish(key, staged, when, given_up)

    def _copy(self, source: str, target: str, given_up: Event) -> None:
        with translated(source), self._opened(source) as original:
            self._put(target, partial(write_file, original), ANY, given_up)

    def _delete(self, key: str, given_up: Event) -> None:
        *parents, name = key.split("/")
        with translated(key), self._locks.hold(key, given_up=given_up):
            try:
                with open_folder(self.root, parents) as folder:
                    if is_link(name, folder):
                        raise refuse_link(key)
                    os.unlink(name, dir_fd=folder)
                    self._sync(folder)
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                return
            prune_folders(self.root, parents)

    @contextmanager
    def _staged(self, write: Callable[[FileIO], None]) -> Iterator["_Staged"]:
        """Write a temporary file, for the caller to move away."""
        name = uuid.uuid4().hex
        with make_folder(self.root, _TEMPORARY, durable=False) as folder:
            self._sweep(folder)
            try:
                fd = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=folder)
                with FileIO(fd, "r+") as file:
                    write(file)
                    # The kernel's own time stamps tick too slowly to tell two puts apart.
                    now = time.time_ns()
                    os.utime(fd, ns=(now, now))
                    self._sync(fd)
                    yield _Staged(folder, name, fd)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=folder)

    def _publish(self, key: str, staged: "_Staged", when: Condition, given_up: Event) -> Version:
        *parents, name = key.split("/")
        with self._locks.hold(key, given_up=given_up):
            while True:
                with make_folder(self.root, parents, durable=self._durable) as target:
                    current = _look(target, name)
                    _demand(key, current, when)
                    if date_after(staged.fd, current):
                        self._sync(staged.fd)
                    try:
                        _move(staged, target, name, when)
                    except FileNotFoundError:
                        if os.fstat(target).st_nlink:
                            raise
                        continue  # somebody deleted the folder's last object, and the folder, just now
                    self._sync(target)
                    return version_of(os.fstat(staged.fd))

    def _sync(self, fd: int) -> None:
        if self._durable:
            os.fsync(fd)

    def _sweep(self, folder: int) -> None:
        """Remove, once in this store's life, the temporary files of processes that died long ago."""
        if self._swept:
            return
        self._swept = True
        oldest = time.time() - _ABANDONED_AFTER
        with os.scandir(folder) as found:
            for entry in found:
                with suppress(FileNotFoundError):
                    if entry.stat(follow_symlinks=False).st_mtime < oldest:
                        os.unlink(entry.name, dir_fd=folder)


class _Staged(NamedTuple):
    """A temporary file that waits to be published."""

    folder: int
    name: str
    fd: int


def _check(key: str) -> None:
    check_key(key)
    if f"/{RESERVED}/" in f"/{key}/":
        # Of a store whose root lies below ours as well.
        message = f"{key!r} belongs to the folder store itself"
        raise UsageError(message, kind=ErrorKind.INVALID_PATH, remedy=f"Choose a key outside of {RESERVED}/.")


def _next_page(prefix: str, pages: Iterator[list[ObjectMeta]]) -> list[ObjectMeta] | None:
    with translated(prefix):
        return next(pages, None)


def _look(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _demand(key: str, current: os.stat_result | None, when: Condition) -> None:
    """Raise unless the condition holds. The caller holds the lock of the key."""
    if current is not None and stat.S_ISLNK(current.st_mode):
        raise refuse_link(key)
    if current is not None and stat.S_ISDIR(current.st_mode):
        message = f"{key!r} is a folder here, so no object can have that name"
        raise Unsupported(message, kind=ErrorKind.STORE_CANNOT)
    if when is ABSENT:
        if current is not None:
            raise _exists(key)
    elif not isinstance(when, Unconditional) and (current is None or version_of(current) != when):
        raise Conflict(f"{key!r} is not version {when} any more")


def _move(staged: _Staged, target: int, name: str, when: Condition) -> None:
    """Publish a temporary file under its name."""
    if when is not ABSENT:
        os.rename(staged.name, name, src_dir_fd=staged.folder, dst_dir_fd=target)
        return
    try:
        # A link is exclusive by itself, also against writers who know nothing of our locks.
        os.link(staged.name, name, src_dir_fd=staged.folder, dst_dir_fd=target, follow_symlinks=False)
    except FileExistsError as error:
        found = _look(target, name)
        if found is not None and os.path.samestat(found, os.fstat(staged.fd)):
            return  # our own link, whose answer NFS lost
        raise _exists(name) from error
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        message = "this file system has no hard links, so nothing can be created on it only if it is absent"
        raise Unsupported(message, kind=ErrorKind.STORE_CANNOT) from error


def _exists(key: str) -> Conflict:
    return Conflict(f"{key!r} exists already", kind=ErrorKind.ALREADY_EXISTS)
