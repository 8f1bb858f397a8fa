"""Cells in a folder: lock files as the existing clients have them, exchanged by link and rename alone.

`flock` may mean nothing on a network file system; links and exclusive creation do. A lock file appears by a link, whole
and only where there is none. Whoever wants to end a version of it (to renew, take over or remove it) first creates the
file that stands for the end of just that version, which only one can; then he looks again, and renames or removes. So
nobody ever ends what he has not seen (weakness 56). Existing clients know nothing of that, and may still do so.

The client of a network file system may remember for a minute that a file is not there, but not once it has opened the
folder anew: no lock is taken for free before that.
"""

import asyncio
import hashlib
import os
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from bayou.errors import Conflict, ErrorKind
from bayou.layout.artifacts import LATEST
from bayou.locks.cells import Cells, Seen
from bayou.locks.clock import now
from bayou.storage.confine import confined
from bayou.storage.folders import open_root
from bayou.storage.oserrors import translated
from bayou.storage.port import Version

T = TypeVar("T")

_OWN = "_control/bayou/leases"  # where existing clients never look
_LARGEST = 1 << 16
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_ABANDONED = 30.0  # seconds: nobody needs longer for a look and a rename
_HURRY = 5.0  # seconds after which who ends a version gives up instead, so that the right to it can be taken away


class FileCells(Cells):
    removes = True

    def __init__(self, root: Path) -> None:
        self._root = root
        self._own = root / _OWN

    async def read(self, key: str, known: Seen | None = None) -> Seen | None:
        seen = await self._run(self._read, key)
        return known if known is not None and known == seen else seen

    async def create(self, key: str, content: bytes) -> Version:
        return await self._run(self._create, key, content)

    async def replace(self, key: str, content: bytes, version: Version) -> Version:
        return await self._run(self._end, key, version, content)

    async def remove(self, key: str, version: Version) -> None:
        await self._run(self._end, key, version, None)

    async def note(self, key: str, content: bytes) -> bool:
        try:
            await self._run(self._create, key, content)
        except Conflict:
            return False
        return True

    async def discard(self, key: str) -> None:
        await self._run(self._discard, key)

    async def below(self, folder: str) -> AsyncIterator[list[str]]:
        yield await self._run(lambda: list(self._files(folder)))

    async def locks_below(self, folder: str, name: str) -> AsyncIterator[list[str]]:
        yield await self._run(lambda: list(self._locks(folder, name)))

    async def _run(self, work: Callable[..., T], *arguments: object) -> T:
        # In a thread, since a network file system may take its time.
        return await asyncio.to_thread(work, *arguments)

    def _read(self, key: str) -> Seen | None:
        with translated(key):
            place = self._place(key)
            try:
                fd = _open_freshly(place)
            except (FileNotFoundError, NotADirectoryError):
                return None
            try:
                content = os.read(fd, _LARGEST)
            finally:
                os.close(fd)
        return Seen(content, _version(content))

    def _create(self, key: str, content: bytes) -> Version:
        with translated(key), self._temporary(content) as temporary:
            target = self._place(key)
            target.parent.mkdir(parents=True, exist_ok=True)
            _link(temporary, target, key)
        return _version(content)

    def _end(self, key: str, version: Version, content: bytes | None) -> Version:
        """Replace or remove this very version of a lock file."""
        with translated(key), self._right_to_end(key, version) as began:
            seen = self._read(key)
            if seen is None or seen.version != version:
                raise Conflict(f"{key!r} is not version {version} any more")
            target = self._place(key)
            if content is None:
                _in_time(key, began)
                target.unlink()
                return version
            with self._temporary(content) as temporary:
                _in_time(key, began)
                temporary.rename(target)
            return _version(content)

    @contextmanager
    def _right_to_end(self, key: str, version: Version) -> Iterator[float]:
        """Be the only one who ends this version. Gives the moment from which on to hurry."""
        right = self._own / "ends" / hashlib.sha256(f"{key}\0{version}".encode()).hexdigest()
        right.parent.mkdir(parents=True, exist_ok=True)
        began = now()
        with self._temporary(b"") as token:
            try:
                _link(token, right, key)
            except Conflict:
                self._give_way(token, right)
                raise
            try:
                yield began
            finally:
                with suppress(FileNotFoundError):
                    if token.samefile(right):  # it may have been taken away, and be somebody else's by now
                        right.unlink()

    def _give_way(self, token: Path, right: Path) -> None:
        """Take the right of one who died from him, for the next try. Both times are of the file server's clock."""
        with suppress(FileNotFoundError):
            found = right.stat()
            if token.stat().st_mtime - found.st_mtime < _ABANDONED:
                return
            grave = self._unused()
            right.rename(grave)
            if not os.path.samestat(grave.stat(), found):
                with suppress(FileExistsError):
                    right.hardlink_to(grave)  # somebody else was faster, and this is his
            grave.unlink()

    def _discard(self, key: str) -> None:
        with translated(key), suppress(FileNotFoundError, NotADirectoryError):
            self._place(key).unlink()

    def _place(self, key: str) -> Path:
        return confined(self._root, key)

    def _unused(self) -> Path:
        folder = self._own / "tmp"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f".{uuid.uuid4()}.tmp"

    @contextmanager
    def _temporary(self, content: bytes) -> Iterator[Path]:
        with open_root(self._root):  # never made: a missing root may be a missing mount
            path = self._unused()
        try:
            path.write_bytes(content)
            yield path
        finally:
            with suppress(FileNotFoundError):
                path.unlink()

    def _files(self, folder: str) -> Iterator[str]:
        for at, _, names in os.walk(self._place(folder)):
            for name in names:
                yield str(Path(at, name).relative_to(self._root))

    def _locks(self, folder: str, name: str) -> Iterator[str]:
        """Walk models, but not their data: no lock is below the folder of a data name."""
        for at, folders, names in os.walk(self._place(folder)):
            if name in names:
                yield str(Path(at, name).relative_to(self._root))
            if LATEST in names or LATEST in folders:  # the latter is a link, as very old clients made it
                folders.clear()


def _version(content: bytes) -> Version:
    return Version(hashlib.sha256(content).hexdigest())


def _open_freshly(path: Path) -> int:
    try:
        return os.open(path, _READ)
    except FileNotFoundError:
        os.close(os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        return os.open(path, _READ)


def _link(source: Path, target: Path, key: str) -> None:
    try:
        os.link(source, target)
    except FileExistsError as error:
        with suppress(FileNotFoundError):
            if source.samefile(target):
                return  # our own link, whose answer NFS lost
        raise Conflict(f"{key!r} exists already", kind=ErrorKind.ALREADY_EXISTS) from error


def _in_time(key: str, began: float) -> None:
    if now() - began > _HURRY:
        raise Conflict(f"{key!r} was not replaced, as this process was stopped at that moment")
