"""Leftovers: what writers left behind that died: folders of versions without metadata, and temporary files."""

# ruff: noqa: PTH108, PTH110, PTH116 - of each version of a datastore: a Path costs as much as the system call

import os
from collections.abc import Iterator
from contextlib import suppress

from bayou.domain.artifacts import ArtifactKey
from bayou.errors import UsageError
from bayou.layout.artifacts import Part, VersionFile, read_artifact, version_of
from bayou.repository.holdings import Holdings, folder_of
from bayou.repository.versions import discard
from bayou.tree import Tree

_DATA = "data"
OLD_NS = 24 * 3600 * 1_000_000_000
"""Nobody writes at one version for this long without adding a byte."""


def unfinished(tree: Tree, now_ns: int) -> list[str]:
    """The folders of versions that nobody has finished for a day."""
    found = {
        folder
        for place in tree.places(_DATA)
        for folder in _abandoned(place, _DATA, now_ns - OLD_NS)
        if _version_at(folder) is not None
    }
    return sorted(found)


def remove_unfinished(holdings: Holdings, folder: str) -> bool:
    """Remove one, unless it was finished after all, or somebody writes to it."""
    version = _version_at(folder)
    if version is None:
        return False
    key = ArtifactKey(version.model, version.name)
    with holdings.tree.lock(folder_of(key)):
        before = holdings.clock() - OLD_NS
        if not any(_is_abandoned(place, before) for place in holdings.tree.places(folder)):
            return False
        with holdings.tree.removal(folder) as removal:
            discard(removal, key, version.version)
    return True


def remove_temporaries(tree: Tree, now_ns: int) -> int:
    """Remove what is only of use to a writer or a remover at work. No client takes it for data."""
    folders = {tree.temporaries(place) for place in tree.places(_DATA)}
    return sum(_remove_old(folder, now_ns - OLD_NS) for folder in folders)


def _version_at(folder: str) -> VersionFile | None:
    try:
        found = read_artifact([*folder.split("/"), Part.RAW])
    except UsageError:
        return None
    return found if isinstance(found, VersionFile) else None


def _abandoned(place: str, path: str, before_ns: int) -> Iterator[str]:
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(place) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                inner = f"{path}/{entry.name}"
                if version_of(entry.name) and os.path.exists(f"{entry.path}/{Part.METADATA}"):
                    continue
                if version_of(entry.name) and _is_abandoned(entry.path, before_ns):
                    yield inner
                else:
                    yield from _abandoned(entry.path, inner, before_ns)


def _is_abandoned(place: str, before_ns: int) -> bool:
    """Whether nothing but content is in it, and that is old. Names of data may be numbers too, but hold folders."""
    try:
        with os.scandir(place) as entries:
            times = [os.stat(place).st_mtime_ns]
            for entry in entries:
                if entry.name != Part.RAW or not entry.is_file(follow_symlinks=False):
                    return False
                times.append(entry.stat().st_mtime_ns)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return max(times) < before_ns


def _remove_old(folder: str, before_ns: int) -> int:
    import shutil  # noqa: PLC0415 - for a sweep only

    removed = 0
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in list(entries):
            with suppress(FileNotFoundError):
                if entry.stat(follow_symlinks=False).st_mtime_ns >= before_ns:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path)
                else:
                    os.unlink(entry.path)
                removed += 1
    return removed
