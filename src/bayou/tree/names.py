"""Folders of names, as they are on disk: which versions there are, where `latest` points, and what each metadata says.

Metadata is the commit record of a version (design 3): it is written last, and a folder without it is no version yet.
"""

# ruff: noqa: PTH115, PTH116, PTH208 - at each write and read: a Path costs as much as the system call

import errno
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from bayou.domain.artifacts import Artifact, ArtifactKey
from bayou.errors import Corrupt
from bayou.layout.artifacts import LATEST, Part, VersionFile, name_folder, versions_among
from bayou.storage.oserrors import translated
from bayou.tree.tree import Tree
from bayou.wire import metadata

# As existing clients read it: what follows the number says nothing.
_MARKER = re.compile(rb"\s*([0-9]{1,15})(?![0-9])")
_LINK = re.compile(r"([0-9]{1,15})/?")


class Stamp(NamedTuple):
    """Changes whenever a file was replaced, as long as the clock of the disk ticks in between."""

    mtime_ns: int
    size: int
    inode: int


class Listing(NamedTuple):
    """What lies in the folder of a name; no version has been looked at."""

    changed_ns: int
    """When a version or the marker last came or went: the mtime of the folder, read before its content."""
    numbers: frozenset[int]
    """All that are taken, by versions and by folders that are none yet."""
    marker: int | None
    """Where `latest` points; None where there is no marker, or none that can be read."""
    place: str | None
    """Where all its files are; None where patterns decide for each."""
    links: frozenset[str]
    """What is a symbolic link, and may lead out of the tree."""


class NameFolder(NamedTuple):
    """What a look at the folder of a name finds."""

    finished: Mapping[int, Stamp]
    """The versions, each with the stamp of its metadata."""
    unfinished: frozenset[int]
    """Numbers that are taken: their writers have not finished, or never will."""
    marker: int | None
    changed_ns: int
    """As in `Listing`, both of them."""

    @property
    def latest(self) -> int | None:
        return _latest(self.finished, self.marker, self.finished.__contains__)


class Position(NamedTuple):
    """What a writer or a reader of the latest needs to know; it takes no look at each version."""

    numbers: Collection[int]
    """All that are taken, by versions and by folders that are none yet."""
    marker: int | None
    latest: int | None
    """The version that a reader without a number gets."""

    @property
    def highest(self) -> int:
        return max(self.numbers, default=0)


def listing(tree: Tree, key: ArtifactKey) -> Listing | None:
    """List the folder of a name; None where there is none."""
    folder = name_folder(key.model, key.name)
    places, where = _places(tree, folder)
    names, links = set[str](), set[str]()
    with translated(folder):
        changed_ns = max(map(_changed_ns, places))
        if not changed_ns:
            return None
        for place in places:
            with suppress(FileNotFoundError, NotADirectoryError), os.scandir(place) as entries:
                for entry in entries:
                    names.add(entry.name)
                    if entry.is_symlink():
                        links.add(entry.name)
        marker = _marker(where(LATEST)) if LATEST in names else None
    only = places[0] if len(places) == 1 else None
    return Listing(changed_ns, versions_among(names), marker, only, frozenset(links))


def look(tree: Tree, key: ArtifactKey) -> NameFolder | None:
    """Look at the folder of a name; None where there is none."""
    listed = listing(tree, key)
    if listed is None:
        return None
    folder = name_folder(key.model, key.name)
    _, where = _places(tree, folder)
    finished = {}
    with translated(folder):
        for number in listed.numbers:
            stamp = _stamp(where(f"{number}/{Part.METADATA}"))
            if stamp is not None:
                finished[number] = stamp
    return NameFolder(finished, listed.numbers - finished.keys(), listed.marker, listed.changed_ns)


def position(tree: Tree, key: ArtifactKey) -> Position:
    """Look only at what says which version is the latest, and which numbers are taken."""
    folder = name_folder(key.model, key.name)
    places, where = _places(tree, folder)
    with translated(folder):
        names = _names(places)
        numbers = versions_among(names)
        marker = _marker(where(LATEST)) if LATEST in names else None
        latest = _latest(numbers, marker, lambda number: _stamp(where(f"{number}/{Part.METADATA}")) is not None)
    return Position(numbers, marker, latest)


def read_artifact(tree: Tree, key: ArtifactKey, version: int) -> Artifact | None:
    """What the metadata of a version says; None where there is no such version. `Corrupt` names what nobody can use."""
    path = VersionFile(key.model, key.name, version, Part.METADATA).path
    content = tree.read(path)
    return None if content is None else artifact_of(content, path, key, version)


def artifact_of(content: bytes, path: str, key: ArtifactKey, version: int) -> Artifact:
    """What the metadata at this path says, which must be about the version that it lies with."""
    artifact = metadata.decode(content, path)
    if (artifact.name, artifact.version) != (key.name, version):
        raise Corrupt(
            path,
            expected=f"version {version} of {key.name!r}",
            found=f"version {artifact.version} of {artifact.name!r}",
        )
    return artifact


def _latest(numbers: Collection[int], marker: int | None, is_finished: Callable[[int], bool]) -> int | None:
    """Where the marker points, or else the highest below it. Without one, as very old clients left it, the highest."""
    if marker is not None and marker in numbers and is_finished(marker):
        return marker
    below: Iterable[int] = numbers if marker is None else (number for number in numbers if number < marker)
    return next(filter(is_finished, sorted(below, reverse=True)), None)


def _places(tree: Tree, folder: str) -> tuple[tuple[str, ...], Callable[[str], str]]:
    """Where the folder is, and where each file in it is: in one place, unless patterns decide for each file."""
    places = tree.places(folder)
    if len(places) == 1:
        return places, lambda rel: f"{places[0]}/{rel}"
    return places, lambda rel: tree.place(f"{folder}/{rel}")


def _names(places: Iterable[str]) -> set[str]:
    names = set[str]()
    for place in places:
        with suppress(FileNotFoundError, NotADirectoryError):
            names.update(os.listdir(place))
    return names


def _changed_ns(place: str) -> int:
    try:
        return os.stat(place).st_mtime_ns
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _stamp(path: str) -> Stamp | None:
    try:
        return stamp_from(os.stat(path))
    except (FileNotFoundError, NotADirectoryError):
        return None


def stamp_from(status: os.stat_result) -> Stamp:
    return Stamp(status.st_mtime_ns, status.st_size, status.st_ino)


def _marker(path: str) -> int | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        link = _LINK.fullmatch(os.readlink(path))  # the older form
        return int(link[1]) if link else None
    try:
        return marker_of(os.read(fd, 64))
    except IsADirectoryError:
        return None
    finally:
        os.close(fd)


def marker_of(content: bytes) -> int | None:
    """Which version `latest` says; None where it says none that can be read."""
    found = _MARKER.match(content)
    return int(found[1]) if found else None
