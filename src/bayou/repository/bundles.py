"""Bundles: code that was made ready to run, stored by the sha256 of its bytes and checked against it when it is read.

A bundle that is used is touched at most once a day, and its time is what retention goes by: neither who asked for it
nor how often is written down.
"""

import hashlib
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from bayou.errors import Corrupt, ErrorKind, NotFound
from bayou.layout.bundles import Bundle
from bayou.repository.walking import FileAt, walk
from bayou.storage.oserrors import translated
from bayou.tree import Tree

_FOLDER = "files/bundles"
_DAY_NS = 24 * 3600 * 1_000_000_000


class StoredBundle(NamedTuple):
    sha256: str
    size: int
    used_ns: int
    """When it was last used, to the day."""


def put(tree: Tree, source: bytes | Path) -> str:
    """Store a bundle, and say what it is called. Storing the same again stores nothing, but heals what was damaged."""
    with translated(str(source) if isinstance(source, Path) else ""):
        content = source.read_bytes() if isinstance(source, Path) else source
    sha256 = hashlib.sha256(content).hexdigest()
    path = Bundle(sha256).path
    if tree.read(path) == content:
        _touch(tree, path)
        return sha256
    with tree.change(path) as change:
        change.replace(path, content)
    return sha256


def get(tree: Tree, sha256: str) -> bytes:
    """The bytes, which are what their name says; `Corrupt` names the file that is not."""
    path = Bundle(sha256).path
    content = tree.read(path)
    if content is None:
        raise NotFound(f"no bundle {sha256}", kind=ErrorKind.CONTENT_MISSING, remedy="Make the bundle again.")
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise Corrupt(
            path,
            expected=f"bytes with the sha256 {sha256}",
            found=found,
            kind=ErrorKind.HASH_MISMATCH,
            remedy="Make the bundle again: storing it replaces the damaged file.",
        )
    _touch(tree, path)
    return content


def exists(tree: Tree, sha256: str) -> bool:
    return tree.size(Bundle(sha256).path) is not None


def listing(tree: Tree) -> list[StoredBundle]:
    """All bundles, the last used first."""
    found = []
    for file in walk(tree, _FOLDER, ""):
        name = file.path.rpartition("/")[2]
        status = file.status()
        if status and file.path == f"{_FOLDER}/{name}" and _is_bundle(name):
            found.append(StoredBundle(name, status.st_size, status.st_mtime_ns))
    return sorted(found, key=lambda bundle: (-bundle.used_ns, bundle.sha256))


def unused(tree: Tree, before_ns: int) -> list[StoredBundle]:
    """The bundles that nobody has used since."""
    return [bundle for bundle in listing(tree) if bundle.used_ns < before_ns]


def drop(tree: Tree, bundles: Iterable[StoredBundle]) -> int:
    """Remove these bundles unless somebody has used them meanwhile, and say how many bytes that gave back."""
    freed = 0
    for bundle in bundles:
        path = Bundle(bundle.sha256).path
        status = FileAt(path, str(tree.locate(path))).status()
        if status and status.st_mtime_ns == bundle.used_ns:
            with tree.removal(path) as change:
                change.remove(path)
            freed += bundle.size
    return freed


def _touch(tree: Tree, path: str) -> None:
    # Content does not change, so nobody needs to hear of it; on a disk that cannot be written it is as good unused.
    place = tree.locate(path)
    with suppress(OSError):
        if place.stat().st_mtime_ns < time.time_ns() - _DAY_NS:
            os.utime(place)


def _is_bundle(name: str) -> bool:
    return len(name) == 64 and not name.strip("0123456789abcdef")
