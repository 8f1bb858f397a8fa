"""Relocating the files of a cache, or of a datastore in a folder, from one namespace to another, by renaming.

The one place besides `Change` where the tree is changed: whole folders move, while whoever calls this holds the
structural locks. It can be killed at any time: what has moved is not there any more, and the next run moves the rest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bayou.errors import Conflict, ErrorKind
from bayou.storage.oserrors import translated
from bayou.sync import disk

_SOME = 5


@dataclass(frozen=True, slots=True)
class Folder:
    """One folder of the runtime data, and what is in it."""

    name: str
    source: Path
    target: Path
    files: int
    size: int


def plan(source: Path, target: Path, names: Sequence[str]) -> list[Folder]:
    """Which folders would move; a conflict where a file with other content is in the way, before anything moves."""
    folders, in_the_way = [], []
    for name in names:
        files = list(_files(source / name))
        if files or (source / name).is_dir():
            folders.append(
                Folder(name, source / name, target / name, len(files), sum(f.lstat().st_size for f in files))
            )
        for file in files:
            other = target / file.relative_to(source)
            if other.exists() and not _are_same(file, other):
                in_the_way.append(str(file.relative_to(source)))
    if in_the_way:
        raise Conflict(
            f"{len(in_the_way)} files are there already, with other content: {', '.join(sorted(in_the_way)[:_SOME])}",
            kind=ErrorKind.ALREADY_EXISTS,
            remedy=f"Compare {source} with {target}, remove what is wrong, and run it again.",
        )
    return folders


def move(source: Path, target: Path, names: Sequence[str]) -> list[Folder]:
    """Move them. Where both have a folder it is merged, file by file; of two that are the same one stays."""
    folders = plan(source, target, names)
    for folder in folders:
        with translated(str(folder.source)):
            folder.target.parent.mkdir(parents=True, exist_ok=True)
            _merge(folder.source, folder.target)
    return folders


def files_of(folders: Sequence[Folder], target: Path) -> Iterator[str]:
    """The paths, relative to the namespace, of all files in these folders once they have moved."""
    for folder in folders:
        for file in _files(folder.target):
            yield file.relative_to(target).as_posix()


def _merge(source: Path, target: Path) -> None:
    if not target.exists():
        source.rename(target)
        return
    for here in sorted(source.iterdir()):
        there = target / here.name
        if here.is_dir() and not here.is_symlink():
            _merge(here, there)
        elif not there.exists():
            here.rename(there)
        elif _are_same(here, there):
            here.unlink()
        else:
            raise Conflict(f"{here} was changed while it was moved", remedy="Run it again.")
    source.rmdir()


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from (file for file in folder.rglob("*") if file.is_symlink() or not file.is_dir())


def _are_same(one: Path, other: Path) -> bool:
    first, second = (disk.read(str(file), lambda: None) for file in (one, other))
    return first is not None and second is not None and first.content == second.content
