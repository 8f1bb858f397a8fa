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

from bayou.catalog import alike
from bayou.catalog.attributes import LARGEST, First, attributes_of, first_level, has_attributes
from bayou.catalog.rows import Described, Row, Stored, described, is_streaming, row_of, stored
from bayou.domain.artifacts import Artifact, ArtifactKey, Chain, latest_of_chains
from bayou.errors import BayouError, Corrupt, Denied, UsageError
from bayou.layout.artifacts import Part, name_folder
from bayou.storage.oserrors import translate, translated
from bayou.tree import Tree
from bayou.tree.names import Listing, Stamp, listing, position, stamp_from

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


def read_name(tree: Tree, key: ArtifactKey, known: Mapping[int, Known]) -> Found | None:
    """None where there is no such folder."""
    path = name_folder(key.model, key.name)
    try:
        folder = listing(tree, key)
    except UNUSABLE as error:  # a link that leads away, a folder that may not be read
        return Found(0, settled=False, marker=None, listed=0, total=0, problems=(_problem(0, path, error),))
    if folder is None:
        return None
    read: list[Stored] = []
    kept: list[int] = []
    problems: list[Problem] = []
    grows = False
    for number in folder.numbers:
        version = _version(tree, path, folder, number)
        try:
            before = known.get(number)
            if before is not None and version.is_still(before):
                kept.append(number)
                grows |= before.streaming
            elif found := version.read(key, number):
                read.append(found)
                grows |= is_streaming(found)
        except UNUSABLE as error:
            problems.append(_problem(number, f"{path}/{number}/{Part.METADATA}", error))
    # A stream grows, and an unfinished version is finished, without a change of the folder that we look at.
    settled = len(read) + len(kept) == len(folder.numbers) and not grows and not is_racy(folder.changed_ns)
    listed, total = len(folder.numbers), sum(folder.numbers)
    return Found(folder.changed_ns, settled, folder.marker, listed, total, tuple(read), tuple(kept), tuple(problems))


def read_hinted(tree: Tree, key: ArtifactKey, hints: Mapping[int, Hint]) -> Found | None:
    """These versions alone, and which others there are; None where it takes more than that to say."""
    path = name_folder(key.model, key.name)
    read = []
    try:
        changed = changed_ns(tree, key)
        numbers, marker, _ = position(tree, key)
        for number, hint in hints.items():
            version = _Version(tree, f"{path}/{number}", None)
            stamp = version.stamp()
            if stamp is None:
                return None
            read.append(version.with_content(described(hint.artifact), stamp, hint.content))
    except UNUSABLE:
        return None
    except OSError as error:
        raise translate(error, path) from error
    # Never settled: it has just changed.
    return Found(changed, settled=False, marker=marker, listed=len(numbers), total=sum(numbers), read=tuple(read))


def rows_in_files(tree: Tree, key: ArtifactKey) -> list[Row]:
    """The versions of a name, newest first, without the tables: for when those cannot follow."""
    found = read_name(tree, key, {})
    if found is None:
        return []
    heads = latest_of_chains(((version.version, Chain(*version.chain)) for version in found.read), found.marker)
    of_name = (tree.namespace, key.model.type.normalised, key.model.id, key.name)
    newest_first = sorted(found.read, key=attrgetter("version"), reverse=True)
    return [row_of((0, 0, version.version in heads, *of_name, *version.columns)) for version in newest_first]


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


def _version(tree: Tree, path: str, folder: Listing, number: int) -> "_Version":
    is_plain = folder.place is not None and str(number) not in folder.links
    return _Version(tree, f"{path}/{number}", f"{folder.place}/{number}" if is_plain else None)


class _Version:
    """The files of one version, and never through a symbolic link that leads out of the tree.

    `place` is its folder, where that was found to be one; otherwise each file has to be located.
    """

    __slots__ = ("_path", "_place", "_tree")

    def __init__(self, tree: Tree, path: str, place: str | None) -> None:
        self._tree = tree
        self._path = path
        self._place = place

    def read(self, key: ArtifactKey, number: int) -> Stored | None:
        """What its files say; None where it is gone meanwhile, or not finished."""
        try:
            fd = self._open(Part.METADATA)
            if fd < 0:
                return None
            try:
                # Before its content, so that whatever is written meanwhile shows at the next look.
                stamp = stamp_from(os.fstat(fd))
                content = _content(fd, stamp.size, _METADATA_AT_MOST)
            finally:
                os.close(fd)
            if content is None:
                return None
            version = alike.read(content, f"{self._path}/{Part.METADATA}", key, number)
            return self.with_content(version, stamp, None)
        except OSError as error:
            raise translate(error, self._path) from error

    def with_content(self, version: Described, stamp: Stamp, content: bytes | None) -> Stored:
        """The version whose metadata says this, with its content, where that is not at hand."""
        known: tuple[First, ...] | None = ()
        if has_attributes(version.content_type):
            if content is None:
                content = self._raw(version.size)
            hydrated = content is not None
            known = None if content is None or len(content) > LARGEST else first_level(attributes_of(content))
        else:
            hydrated = content is not None or self._has_raw()
        return stored(version, hydrated=hydrated, attributes=known, stamp=fingerprint(stamp))

    def stamp(self) -> Stamp | None:
        """Of its metadata; None where it is not finished."""
        try:
            return stamp_from(os.stat(self._locate(Part.METADATA)))
        except _GONE:
            return None

    def is_still(self, known: Known) -> bool:
        try:
            stamp = self.stamp()
            return stamp is not None and known.stamp == fingerprint(stamp) and known.hydrated == self._has_raw()
        except OSError as error:
            raise translate(error, self._path) from error

    def _raw(self, size: int | None) -> bytes | None:
        fd = self._open(Part.RAW)
        if fd < 0:
            return None
        try:
            return _content(fd, os.fstat(fd).st_size if size is None else size, LARGEST)
        finally:
            os.close(fd)

    def _has_raw(self) -> bool:
        try:
            if self._place is not None:
                mode = os.lstat(f"{self._place}/{Part.RAW}").st_mode
                if not modes.S_ISLNK(mode):
                    return modes.S_ISREG(mode)
            return modes.S_ISREG(os.stat(self._tree.place(f"{self._path}/{Part.RAW}")).st_mode)
        except _GONE:
            return False

    def _open(self, part: Part) -> int:
        if self._place is not None:
            try:
                return os.open(f"{self._place}/{part}", _OPEN | os.O_NOFOLLOW)
            except _GONE:
                return -1
            except OSError:
                pass  # a link
        try:
            return os.open(self._tree.place(f"{self._path}/{part}"), _OPEN)
        except _GONE:
            return -1

    def _locate(self, part: Part) -> str:
        return self._tree.place(f"{self._path}/{part}") if self._place is None else f"{self._place}/{part}"


def _content(fd: int, size: int, most: int) -> bytes | None:
    """All of a file; of one that is larger than `most` only so much that it shows. `size` is how large it should be."""
    size = min(size, most)
    try:
        content = os.read(fd, size + 1)
        if len(content) > size:
            while len(content) <= most and (more := os.read(fd, 2**16)):
                content += more
    except IsADirectoryError:
        return None
    return content
