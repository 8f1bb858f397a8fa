"""Change files of the tree: whole files appear by rename, versions by their metadata, which is written last.

Two things are written in place: a version that has no metadata yet, since nobody sees it, and the end of a stream.
"""

# System calls by their names: at each write there are several, and a Path costs as much as each.
# ruff: noqa: PTH102, PTH103, PTH104, PTH105, PTH106, PTH108, PTH112, PTH120

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

from bayou.storage.oserrors import translated
from bayou.tree.exchange import put_in_place
from bayou.tree.writing import Writing, Written, sync_file, sync_folder, sync_several, write_all

if TYPE_CHECKING:
    from bayou.tree.tree import Tree

T = TypeVar("T")

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_TRIES = 100


class Change:
    """Handed out by `Tree.change` and `Tree.removal`, which have marked what it is about."""

    def __init__(self, tree: "Tree") -> None:
        self._tree = tree
        self._folders: dict[str, str] = {}
        self._unsynced: set[str] | None = None

    def claim(self, folder: str) -> bool:
        """Make a folder of which there can be but one maker, or say that it is there already.

        It outlasts a power failure once its parent is synced, as that is by whatever makes the claim count.
        """
        target = self._place(folder)
        with translated(folder):
            try:
                self._below(target, lambda: os.mkdir(target))
            except FileExistsError:
                return False
            self._folders[folder] = target  # made by us, and so no link
            return True

    def begin(self, path: str) -> Writing:
        """Begin a file in place that nobody sees yet. Whoever begins it closes it."""
        target = self._place(path)
        with translated(path):
            return self._below(target, lambda: Writing(target, path, durable=self._tree.durable))

    def write(self, path: str, chunks: Iterable[bytes]) -> Written:
        """Write a file in place that nobody sees yet, and hash it on the way."""
        with closing(self.begin(path)) as writing:
            for chunk in chunks:
                writing.write(chunk)
            return writing.finish()

    def replace(self, path: str, content: bytes) -> None:
        """Make the file say this, all of it or none."""
        target = self._place(path)
        with translated(path), self._temporary(target, content) as temporary:
            # A symbolic link, which is the older form of a `latest` marker, is replaced too, and not what it points to.
            self._below(target, lambda: os.replace(temporary, target))
            self._sync(target)

    def point(self, path: str, content: bytes) -> None:
        """Like `replace`, for a file that can be told from the others, should the machine die: a `latest` marker."""
        if self._tree.durable:
            self.replace(path, content)
            return
        target = self._place(path)
        with translated(path), self._temporary(target, content) as temporary:
            self._below(target, lambda: put_in_place(temporary, target))
            _discard(temporary)

    def stage(self, path: str, content: bytes) -> str:
        """Write a file that is not in place yet: many are synced together (`sync_staged`), and then adopted."""
        target = self._place(path)
        with translated(path):
            return self._written(self._temporary_name(target), content)

    def sync_staged(self, files: Sequence[str]) -> None:
        """See to it that what is in these files outlasts a power failure."""
        if self._tree.durable:
            with translated(""):
                sync_several(sync_file, files)

    @contextmanager
    def syncing_together(self) -> Iterator[None]:
        """What comes and goes in here outlasts a power failure only after its end: each folder is synced once."""
        self._unsynced = folders = set[str]()
        try:
            yield
        finally:
            self._unsynced = None
            with translated(""):
                sync_several(sync_folder, [folder for folder in folders if os.path.isdir(folder)])

    def adopt(self, path: str, file: str, *, is_synced: bool = False) -> None:
        """Make a file that is complete, and on the same disk, be the one at this path."""
        target = self._place(path)
        with translated(path):
            if self._tree.durable and not is_synced:
                sync_file(file)
            self._below(target, lambda: os.replace(file, target))
            self._sync(target)

    def create(self, path: str, content: bytes) -> bool:
        """Make a file of which there can be but one maker, or say that it is there already."""
        target = self._place(path)
        with translated(path), self._temporary(target, content) as temporary:
            try:
                self._below(target, lambda: os.link(temporary, target))
            except FileExistsError:
                return False
            finally:
                _discard(temporary)
            self._sync(target)
            return True

    def append(self, path: str, content: bytes) -> int:
        """Add to the end of a file, which is made where it is missing, all or nothing; the size that it has then."""
        target = self._place(path)
        with translated(path):
            fd = self._below(target, lambda: os.open(target, _APPEND, 0o666))
            before, left = os.fstat(fd).st_size, memoryview(content).cast("B")
            try:
                while left:
                    left = left[os.write(fd, left) :]
                if self._tree.durable:
                    os.fsync(fd)
                return os.fstat(fd).st_size
            except BaseException:
                # Not when somebody else has added in between: an existing client, or a logger.
                if os.fstat(fd).st_size == before + len(content) - len(left):
                    os.ftruncate(fd, before)
                raise
            finally:
                os.close(fd)

    def remove(self, path: str) -> None:
        """Remove a file; it need not be there."""
        target = self._place(path)
        with translated(path), suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(target)
            self._sync(target)

    def remove_folder(self, folder: str) -> None:
        """Remove a folder with all that is in it, all of it at one moment; it need not be there."""
        for place in self._tree.places(folder):
            with translated(folder), suppress(FileNotFoundError, NotADirectoryError):
                grave = self._temporary_name(place)
                os.makedirs(os.path.dirname(grave), exist_ok=True)
                os.rename(place, grave)
                self._sync(place)
                shutil.rmtree(grave, ignore_errors=True)  # it is out of everybody's sight, and swept when it is old

    def prune(self, folder: str) -> None:
        """Remove a folder and its parents as far as they are empty, but never the first segment."""
        while "/" in folder:
            for place in self._tree.places(folder):
                try:
                    os.rmdir(place)
                except (FileNotFoundError, NotADirectoryError):
                    continue
                except OSError:
                    return
            folder = folder.rpartition("/")[0]

    def touch(self, folder: str) -> None:
        """Let a folder's time say that something in it changed: for those who look at nothing but that."""
        with translated(folder), suppress(FileNotFoundError):
            os.utime(self._place(folder))

    def sync(self, folder: str) -> None:
        """See to it that what is in this folder outlasts a power failure."""
        with translated(folder):
            self._sync(f"{self._place(folder)}/")

    def _place(self, path: str) -> str:
        """Where a path is. Its folder is checked once for the whole change; the file itself is never followed."""
        folder, _, name = path.rpartition("/")
        place = self._folders.get(folder)
        if place is None or self._tree.tiers.exclude:
            found = self._tree.place(path)
            self._folders[folder] = os.path.dirname(found)
            return found
        return f"{place}/{name}"

    def _below(self, target: str, step: Callable[[], T]) -> T:
        """Take a step that needs the folder of the target: again where it is missing, or pruned while we make it."""
        for _ in range(_TRIES):
            try:
                return step()
            except FileNotFoundError:
                with suppress(FileNotFoundError):
                    self._make(os.path.dirname(target))
        return step()

    def _make(self, folder: str) -> None:
        if os.path.isdir(folder):
            return
        self._make(os.path.dirname(folder))
        with suppress(FileExistsError):
            os.mkdir(folder)
            self._sync(folder)

    @contextmanager
    def _temporary(self, target: str, content: bytes) -> Iterator[str]:
        """A complete file, which is moved away; where it is not, it is removed."""
        temporary = self._temporary_name(target)
        try:
            yield self._written(temporary, content, durable=self._tree.durable)
        except BaseException:
            _discard(temporary)
            raise

    def _written(self, temporary: str, content: bytes, *, durable: bool = False) -> str:
        try:
            fd = os.open(temporary, _NEW, 0o666)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(temporary), exist_ok=True)
            fd = os.open(temporary, _NEW, 0o666)
        try:
            write_all(fd, content)
            if durable:
                os.fsync(fd)
        finally:
            os.close(fd)
        return temporary

    def _temporary_name(self, place: str) -> str:
        # On the same disk, and out of sight of existing clients (sync spec W-41).
        return f"{self._tree.temporaries(place)}/.{uuid4()}.tmp"

    def _sync(self, place: str) -> None:
        """Let the folder of a place outlast a power failure, as it is now."""
        if not self._tree.durable:
            return
        if self._unsynced is not None:
            self._unsynced.add(os.path.dirname(place))
        else:
            sync_folder(os.path.dirname(place))


def _discard(temporary: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(temporary)
