"""Find, read and list files of the tree. Nothing in here changes any: that is `Change`."""

# ruff: noqa: PTH114, PTH116, PTH208 - at each write and read: a Path costs as much as the system call

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from bayou.domain.namespaces import SOLO
from bayou.layout.places import TEMPORARY
from bayou.layout.safety import check_path
from bayou.storage.confine import confined
from bayou.storage.keylocks import KeyLocks
from bayou.storage.oserrors import translated
from bayou.tree.change import Change
from bayou.tree.marks import UNMARKED, Marks
from bayou.tree.tiers import Tiers

_LOCKS = ("_control", "bayou", "locks")
_PIECE = 2**20


class Tree:
    """Paths are relative to the namespace, as `bayou.layout` makes them.

    `shared` is the folder of the datastore (or the cache of a remote one), `local` the `.swamp` of the repo; where no
    datastore is configured they are the same. `durable=False` leaves out the syncs to disk: what was acknowledged may
    then be lost when the machine (not just the process) dies.
    """

    def __init__(  # noqa: PLR0913 - all that makes two trees different
        self,
        shared: Path,
        local: Path,
        *,
        namespace: str = SOLO,
        tiers: Tiers = Tiers(),  # noqa: B008 - a frozen value
        durable: bool = True,
        marks: Marks = UNMARKED,
    ) -> None:
        self.namespace = namespace
        self.root = shared / namespace if namespace else shared
        self.local = local
        self.tiers = tiers
        self.durable = durable
        self._marks = marks
        self._base = shared
        self._root, self._local = str(self.root), str(local)
        self._shared_prefix = f"{self.root}/"
        self._shared_temporaries, self._local_temporaries = f"{shared}/{TEMPORARY}", f"{local}/{TEMPORARY}"
        self._locks: KeyLocks | None = None
        self._seen = _Seen()

    def locate(self, path: str) -> Path:
        """The file of a path, which need not exist. Symbolic links that lead out of its tier are refused."""
        return Path(self.place(path))

    def place(self, path: str) -> str:
        """What `locate` says, as text: a Path takes as long as all the looks on the way."""
        root = self._root if self.tiers.is_shared(check_path(path)) else self._local
        place = f"{root}/{path}"
        seen = self._seen.places
        if seen is None or place not in seen:
            folder = place.rpartition("/")[0]
            is_linked = os.path.islink(place) if seen and folder in seen else _meets_link(root, path)
            if is_linked:
                confined(Path(root), path)
            elif seen is not None:
                seen |= {folder, place}
        return place

    def places(self, folder: str) -> tuple[str, ...]:
        """Where files of this folder can be: in one place, unless patterns keep some of its files on this machine."""
        if self._root == self._local or not self.tiers.splits(folder):
            return (self.place(folder),)
        return (str(confined(self.root, folder)), str(confined(self.local, folder)))

    def temporaries(self, place: str) -> str:
        """Where files are before they are in place, and folders after: at the root of the tier of this place."""
        return self._shared_temporaries if place.startswith(self._shared_prefix) else self._local_temporaries

    def read(self, path: str, *, at_most: int | None = None) -> bytes | None:
        """The whole file, or None where there is none, or one that is larger."""
        place = self.place(path)
        with translated(path):
            try:
                fd = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
            except (FileNotFoundError, NotADirectoryError):
                return None
            try:
                size = os.fstat(fd).st_size
                if at_most is not None and size > at_most:
                    return None
                content = os.read(fd, size + 1)
                while piece := os.read(fd, _PIECE):  # it grew, or it is of those that do not tell their size
                    content += piece
                return content
            finally:
                os.close(fd)

    @contextmanager
    def open(self, path: str) -> Iterator[BinaryIO | None]:
        """The file, open for reading, or None where there is none."""
        found = self.locate(path)
        with translated(path):
            try:
                file = found.open("rb")
            except (FileNotFoundError, NotADirectoryError):
                file = None
        if file is None:
            yield None
            return
        with file:
            yield file

    def size(self, path: str) -> int | None:
        """How many bytes are in a file, or None where there is none."""
        found = self.locate(path)
        with translated(path):
            try:
                status = os.stat(found)
            except (FileNotFoundError, NotADirectoryError):
                return None
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def names(self, folder: str) -> list[str]:
        """What is in a folder, unsorted; nothing where there is none."""
        found: list[str] = []
        for place in self.places(folder):
            with translated(folder):
                try:
                    found += os.listdir(place)
                except (FileNotFoundError, NotADirectoryError):
                    continue
        return found if len(found) < 2 or not self.tiers.splits(folder) else list(dict.fromkeys(found))

    @contextmanager
    def lock(self, *names: str) -> Iterator[None]:
        """Keep other threads and processes of this machine from changing what goes by these names. Not reentrant."""
        with ExitStack() as held:
            with translated(names[0]):  # but not what is done under the lock
                if self._locks is None:
                    self._base.mkdir(parents=True, exist_ok=True)
                    self._locks = KeyLocks(self._base, _LOCKS)
                held.enter_context(self._locks.hold(*(f"{self.namespace}/{name}" for name in names)))
            held.enter_context(self._seen.once())
            yield

    @contextmanager
    def change(self, *paths: str) -> Iterator[Change]:
        """The one way to write: these files and folders, which are marked before and until it is done."""
        done = self._marks.changing(paths) if (paths := self._heard(paths)) else None
        try:
            yield Change(self)
        finally:
            if done:
                done()

    @contextmanager
    def removal(self, *paths: str) -> Iterator[Change]:
        """The one way to remove: these files and folders."""
        done = self._marks.removing(paths) if (paths := self._heard(paths)) else None
        try:
            yield Change(self)
        finally:
            if done:
                done()

    def _heard(self, paths: tuple[str, ...]) -> tuple[str, ...]:
        """Those that a sync can be about: what only this machine has is nobody's business."""
        return tuple(path for path in paths if self.tiers.is_shared(path) or self.tiers.splits(path))


class _Seen(threading.local):
    """Where this thread has found no link since it locked a name: a writer asks for its folder again and again."""

    places: set[str] | None = None

    @contextmanager
    def once(self) -> Iterator[None]:
        outer, self.places = self.places, set()
        try:
            yield
        finally:
            self.places = outer


def _meets_link(root: str, path: str) -> bool:
    """Whether some existing part of the path is a symbolic link. Cheap, since it is asked at every access."""
    here = root
    for segment in path.split("/"):
        here = f"{here}/{segment}"
        try:
            mode = os.lstat(here).st_mode
        except OSError:
            return False  # nothing is there, or beyond it; or whoever uses the path is told what is wrong
        if stat.S_ISLNK(mode):
            return True
    return False
