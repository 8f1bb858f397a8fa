"""Read a name: what its folder holds now. Versions that are known already are not read again.

Everything that the catalog knows of files comes from here, whoever asks: that is why its rows are the same whether they
were kept while writing, found by a sweep or rebuilt.
"""

# ruff: noqa: PTH116 - at each version of a rebuild: a Path costs as much as the system call

import os
import stat as modes
import time
from collections.abc import Mapping
from contextlib import suppress
from operator import attrgetter
from typing import NamedTuple

from bayou.catalog.attributes import LARGEST, First, attributes_of, first_level, has_attributes
from bayou.catalog.rows import Row, Stored, is_streaming, row_of, stored
from bayou.domain.artifacts import Artifact, ArtifactKey, Chain, latest_of_chains
from bayou.errors import BayouError, Corrupt, Denied, UsageError
from bayou.layout.artifacts import Part, name_folder
from bayou.storage.oserrors import translate, translated
from bayou.tree import Tree
from bayou.tree.names import Stamp, artifact_of, look, position

RACY_NS = 2_000_000_000
"""What changed less than this before we looked may change again without its time telling: some disks count seconds."""

# A pipe must not stop us.
_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_METADATA_AT_MOST = 2**21
UNUSABLE = (Corrupt, UsageError, Denied)
"""What lies in the files. Another failure says nothing about them: it is raised, and rows stay as they are."""
_GONE = (FileNotFoundError, NotADirectoryError)


class Known(NamedTuple):
    """A version that is in the tables."""

    stamp: int
    hydrated: bool
    streaming: bool


class Problem(NamedTuple):
    """A version, or with the number 0 a whole name, that nobody can use."""

    version: int
    path: str
    message: str


class Found(NamedTuple):
    """What a name is now, compared with what was known of it."""

    changed_ns: int
    settled: bool
    """Whether another look is spared as long as the folder does not change."""
    marker: int | None
    listed: int
    """How many version folders there are, and the sum of their numbers: which are there, in two numbers."""
    total: int
    read: tuple[Stored, ...] = ()
    kept: tuple[int, ...] = ()
    problems: tuple[Problem, ...] = ()


class Hint(NamedTuple):
    """A version that was just written, and its content, where that is at hand."""

    artifact: Artifact
    content: bytes | None


def read_name(
    tree: Tree,
    key: ArtifactKey,
    known: Mapping[int, Known],
    hints: Mapping[int, Hint] | None = None,
) -> Found | None:
    """None where there is no such folder."""
    path = name_folder(key.model, key.name)
    try:
        folder = look(tree, key)
        place = _place(tree, path)
    except UNUSABLE as error:  # a link that leads away, a folder that may not be read
        return Found(0, settled=False, marker=None, listed=0, total=0, problems=(_problem(0, path, error),))
    if folder is None:
        return None
    read: list[Stored] = []
    kept: list[int] = []
    problems: list[Problem] = []
    grows = False
    for number, stamp in folder.finished.items():
        before = known.get(number)
        mark = fingerprint(stamp)
        try:
            if before is not None and before.stamp == mark and before.hydrated == _has_raw(tree, place, path, number):
                kept.append(number)
                grows |= before.streaming
            elif found := read_version(tree, place, key, number, stamp, (hints or {}).get(number)):
                read.append(found)
                grows |= is_streaming(found)
        except UNUSABLE as error:
            problems.append(_problem(number, f"{path}/{number}/{Part.METADATA}", error))
    numbers = (*folder.finished, *folder.unfinished)
    # A stream grows, and an unfinished version is finished, without a change of the folder that we look at.
    settled = len(read) + len(kept) == len(numbers) and not grows and not is_racy(folder.changed_ns)
    return Found(
        folder.changed_ns, settled, folder.marker, len(numbers), sum(numbers), tuple(read), tuple(kept), tuple(problems)
    )


def rows_in_files(tree: Tree, key: ArtifactKey) -> list[Row]:
    """The versions of a name, newest first, without the tables: for when those cannot follow."""
    found = read_name(tree, key, {})
    if found is None:
        return []
    heads = latest_of_chains(((version.version, Chain(*version.chain)) for version in found.read), found.marker)
    of_name = (tree.namespace, key.model.type.normalised, key.model.id, key.name)
    newest_first = sorted(found.read, key=attrgetter("version"), reverse=True)
    return [row_of((0, 0, version.version in heads, *of_name, *version.columns)) for version in newest_first]


def read_version(  # noqa: PLR0913, PLR0917 - what is the same for all versions of a name is looked up once
    tree: Tree, place: str | None, key: ArtifactKey, number: int, stamp: Stamp, hint: Hint | None = None
) -> Stored | None:
    """One version, from its files but for what the hint spares; None when it is gone meanwhile.

    Its stamp was taken before, so that whatever is written meanwhile shows at the next look.
    """
    path = f"{name_folder(key.model, key.name)}/{number}"
    content: bytes | None = None
    version = _Version(tree, place, path, number)
    try:
        if hint is not None:
            artifact, content = hint
        else:
            metadata = version.read(Part.METADATA, stamp.size, _METADATA_AT_MOST)
            if metadata is None:
                return None
            artifact = artifact_of(metadata, f"{path}/{Part.METADATA}", key, number)
        known: tuple[First, ...] | None = ()
        if has_attributes(artifact.content_type):
            if content is None:
                content = version.read(Part.RAW, artifact.size, LARGEST)
            hydrated = content is not None
            known = None if content is None or len(content) > LARGEST else first_level(attributes_of(content))
        else:
            hydrated = content is not None or version.has(Part.RAW)
    except OSError as error:
        raise translate(error, path) from error
    finally:
        version.close()
    return stored(artifact, hydrated=hydrated, attributes=known, stamp=fingerprint(stamp))


def read_hinted(tree: Tree, key: ArtifactKey, hints: Mapping[int, Hint]) -> Found | None:
    """These versions alone, and which others there are; None where it takes more than that to say."""
    path = name_folder(key.model, key.name)
    try:
        changed = changed_ns(tree, key)
        numbers, marker, _ = position(tree, key)
        place = _place(tree, path)
        read = []
        for number, hint in hints.items():
            stamp = stamp_of(tree, place, path, number)
            version = read_version(tree, place, key, number, stamp, hint) if stamp is not None else None
            if version is None:
                return None
            read.append(version)
    except UNUSABLE:
        return None
    # Never settled: it has just changed.
    return Found(changed, settled=False, marker=marker, listed=len(numbers), total=sum(numbers), read=tuple(read))


def changed_ns(tree: Tree, key: ArtifactKey) -> int:
    """When a version or the marker last came or went, as `look` has it; 0 where there is no folder."""
    path = name_folder(key.model, key.name)
    changed = 0
    with translated(path):
        for place in tree.places(path):
            with suppress(*_GONE):
                changed = max(changed, os.stat(place).st_mtime_ns)
    return changed


def fingerprint(stamp: Stamp) -> int:
    """A stamp in one number. Another Python may make another of it, which costs reading once more."""
    return hash(tuple(stamp))


def is_racy(changed_ns: int) -> bool:
    return time.time_ns() - changed_ns < RACY_NS


def _problem(version: int, path: str, error: BayouError) -> Problem:
    return Problem(version, path, str(error).removeprefix(f"{path}: "))


def _place(tree: Tree, folder: str) -> str | None:
    """Where all files of a folder are; None where patterns decide for each."""
    places = tree.places(folder)
    return str(places[0]) if len(places) == 1 else None


def stamp_of(tree: Tree, place: str | None, path: str, number: int) -> Stamp | None:
    metadata = f"{number}/{Part.METADATA}"
    try:
        status = os.stat(f"{place}/{metadata}" if place is not None else tree.locate(f"{path}/{metadata}"))
    except _GONE:
        return None
    return Stamp(status.st_mtime_ns, status.st_size, status.st_ino)


class _Version:
    """The files of one version, and never through a symbolic link that leads out of the tree."""

    __slots__ = ("_folder", "_path", "_tree")

    def __init__(self, tree: Tree, place: str | None, path: str, number: int) -> None:
        self._tree = tree
        self._path = path
        self._folder = -1
        if place is not None:
            with suppress(OSError):  # a link, or gone: the slow way tells
                self._folder = os.open(f"{place}/{number}", _OPEN | os.O_DIRECTORY | os.O_NOFOLLOW)

    def close(self) -> None:
        if self._folder >= 0:
            os.close(self._folder)

    def read(self, part: Part, size: int | None, most: int) -> bytes | None:
        """The file; of one that is larger than `most` only so much that it shows. `size` is how large it should be."""
        fd = self._open(part)
        if fd < 0:
            return None
        try:
            if size is None:
                size = os.fstat(fd).st_size
            size = min(size, most)
            content = os.read(fd, size + 1)
            if len(content) > size:
                while len(content) <= most and (more := os.read(fd, 2**16)):
                    content += more
        except IsADirectoryError:
            return None
        else:
            return content
        finally:
            os.close(fd)

    def has(self, part: Part) -> bool:
        if self._folder >= 0:
            with suppress(OSError):
                mode = os.stat(part, dir_fd=self._folder, follow_symlinks=False).st_mode
                if not modes.S_ISLNK(mode):
                    return modes.S_ISREG(mode)
        fd = self._open(part)
        if fd < 0:
            return False
        try:
            return modes.S_ISREG(os.fstat(fd).st_mode)
        finally:
            os.close(fd)

    def _open(self, part: Part) -> int:
        if self._folder >= 0:
            try:
                return os.open(part, _OPEN | os.O_NOFOLLOW, dir_fd=self._folder)
            except FileNotFoundError:
                return -1
            except OSError:
                pass  # a link
        try:
            return os.open(self._tree.locate(f"{self._path}/{part}"), _OPEN)
        except _GONE:
            return -1


def _has_raw(tree: Tree, place: str | None, path: str, number: int) -> bool:
    raw = f"{place}/{number}/{Part.RAW}" if place is not None else tree.locate(f"{path}/{number}/{Part.RAW}")
    try:
        return modes.S_ISREG(os.stat(raw).st_mode)
    except _GONE:
        return False
