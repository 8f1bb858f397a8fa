"""Migrating: copy what a datastore shares into another folder, which may be done again and again until it is done.

A copy keeps the time of its original, so that the next round sees at a glance what it need not copy again. Nothing that
somebody else put there is overwritten.
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from bayou.errors import Unavailable
from bayou.layout.artifacts import LATEST, Part, VersionFile
from bayou.layout.directories import is_of_this_machine
from bayou.layout.internal import never_crosses
from bayou.layout.meanings import meaning
from bayou.storage.oserrors import translated
from bayou.tree import Change, Tree

Progress = Callable[[int, int | None], None]

_CHUNK = 1 << 20
_TRIES = 5


class Migrated(NamedTuple):
    files: int
    """How many were copied this time."""
    bytes: int
    folders: tuple[str, ...]
    """The top folders that there are."""
    conflicts: tuple[str, ...]
    """What the other folder holds otherwise, and is left alone."""


class _Found(Enum):
    SAME = auto()
    OLDER = auto()
    OTHER = auto()


def migrate(source: Tree, target: Tree, progress: Progress | None = None) -> Migrated:
    """Bring all that `source` shares into `target`. Content goes first and markers last, as writers do."""
    paths = sorted(_paths(source), key=_turn)
    found: dict[_Found, list[str]] = {kind: [] for kind in _Found}
    for path in paths:
        with translated(path):
            found[_compare(source.root / path, target.root / path, path)].append(path)
    stale, size = found[_Found.OLDER], 0
    if stale:
        with target.change(*_folders(stale)) as change:
            for done, path in enumerate(stale, start=1):
                with translated(path):
                    size += _copy(source.root / path, target, change, path)
                if progress is not None:
                    progress(done, len(stale))
    return Migrated(len(stale), size, _folders(paths), tuple(found[_Found.OTHER]))


def _folders(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({path.partition("/")[0] for path in paths}))


def set_aside(source: Tree, target: Tree, aside: Path) -> Migrated:
    """Move out of the way what was migrated, with one more look at each file: somebody may have written meanwhile."""
    late = migrate(source, target)
    left = set(late.conflicts)
    for path in _paths(source):
        if path in left:
            continue
        with translated(path):
            (aside / path).parent.mkdir(parents=True, exist_ok=True)
            (source.root / path).replace(aside / path)
    for folder in late.folders:
        _prune(source.root / folder)
    return late


def _paths(source: Tree) -> Iterator[str]:
    root = str(source.root)
    for first in source.tiers.directories:
        for folder, folders, names in os.walk(f"{root}/{first}"):
            inside = folder[len(root) + 1 :]
            # An older form of a marker is a link to the folder of its version.
            for name in (*names, *(LATEST for name in folders if name == LATEST)):
                path = f"{inside}/{name}"
                if source.tiers.is_shared(path) and not never_crosses(path) and not is_of_this_machine(path):
                    yield path


def _turn(path: str) -> tuple[int, str]:
    name = path.rpartition("/")[2]
    return (2 if name == LATEST else 1 if name == Part.METADATA else 0), path


def _compare(here: Path, there: Path, path: str) -> _Found:
    try:
        copy = there.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return _Found.OLDER
    original = here.lstat()
    if (copy.st_size, copy.st_mtime_ns) == (original.st_size, original.st_mtime_ns):
        return _Found.SAME
    ours, theirs = _digest(here), _digest(there)
    if ours == theirs:
        return _Found.SAME
    if isinstance(meaning(path), VersionFile):
        # A version never changes; only a stream grows.
        return (
            _Found.OLDER if copy.st_size < original.st_size and _digest(here, copy.st_size) == theirs else _Found.OTHER
        )
    return _Found.OLDER if copy.st_mtime_ns < original.st_mtime_ns else _Found.OTHER


def _copy(here: Path, target: Tree, change: Change, path: str) -> int:
    temporary = Path(target.temporaries(f"{target.root}/{path}")) / f".{uuid4()}.tmp"
    temporary.parent.mkdir(parents=True, exist_ok=True)
    try:
        for _ in range(_TRIES):
            before = here.lstat()
            if here.is_symlink():
                temporary.write_text(here.readlink().name)
            else:
                shutil.copyfile(here, temporary)
            after = here.lstat()
            if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
                break
        else:
            raise Unavailable(f"{path} changes faster than it can be copied", remedy="Run it again when nobody writes.")
        os.utime(temporary, ns=(after.st_atime_ns, after.st_mtime_ns))
        size = temporary.stat().st_size
        change.adopt(path, str(temporary))
        return size
    finally:
        temporary.unlink(missing_ok=True)


def _digest(file: Path, most: int | None = None) -> bytes:
    """The hash of a file, or of its beginning; of a link, of what a marker says."""
    if file.is_symlink():
        return hashlib.sha256(file.readlink().name.encode()).digest()
    digest, left = hashlib.sha256(), most
    with file.open("rb") as content:
        while chunk := content.read(_CHUNK if left is None else min(_CHUNK, left)):
            digest.update(chunk)
            left = None if left is None else left - len(chunk)
    return digest.digest()


def _prune(folder: Path) -> None:
    for here, _, _ in os.walk(folder, topdown=False):
        with suppress(OSError):  # what is not empty stays
            Path(here).rmdir()
