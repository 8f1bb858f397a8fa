"""Walk the tree for models: types are folders of any depth, so it takes a look at what is below to know one.

A folder is a model's where a folder in it holds a finished version, and a type is above it (repository spec 1.3). What
was a model before, and has not changed, is taken to be one still.
"""

# ruff: noqa: PTH113, PTH116 - at each folder of a sweep: a Path costs as much as the system call

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from bayou.catalog.reading import is_racy
from bayou.domain.models import Model
from bayou.domain.names import check_data_name
from bayou.errors import UsageError
from bayou.layout.artifacts import Part, version_of
from bayou.layout.typefolders import type_at
from bayou.storage.oserrors import translated
from bayou.tree import Tree

_GONE = (FileNotFoundError, NotADirectoryError)
_DATA = "data"
_DEEPEST = 64  # folders; a path that fits the limits of stores has fewer


class ModelState(NamedTuple):
    """What the tables say about the folder of a model."""

    changed_ns: int
    settled: bool
    has_numbers: bool
    """Whether data in it is called like a version, which makes it look like a name itself."""


class ModelFolder(NamedTuple):
    model: Model
    path: str
    """Below `data`."""
    names: tuple[str, ...] | None
    """None where they are those that are known."""
    state: ModelState


class Walk:
    def __init__(self, tree: Tree, known: Mapping[str, ModelState]) -> None:
        with translated(_DATA):
            self._bases = tree.places(_DATA)
        self._known = known
        self._quiet: dict[str, bool] = {}

    def __iter__(self) -> Iterator[ModelFolder]:
        with translated(_DATA):
            yield from self._below("", [])

    def changed_ns(self, path: str) -> int:
        changed = 0
        for base in self._bases:
            with suppress(*_GONE):
                changed = max(changed, os.stat(f"{base}/{path}").st_mtime_ns)
        return changed

    def _below(self, path: str, segments: list[str]) -> Iterator[ModelFolder]:
        if self._is_quiet(path):
            if model := _model(segments):
                yield ModelFolder(model, path, None, self._known[path])
            return
        changed_ns = self.changed_ns(path)  # before the look
        folders = self._folders(path)
        if len(segments) > 1 and self._is_model(path, folders):
            if model := _model(segments):
                has_numbers = any(version_of(name) is not None for name in folders)
                state = ModelState(changed_ns, not is_racy(changed_ns), has_numbers)
                yield ModelFolder(model, path, tuple(filter(_is_name, folders)), state)
            return
        if len(segments) < _DEEPEST:
            for folder in folders:
                yield from self._below(f"{path}/{folder}" if path else folder, [*segments, folder])

    def _is_model(self, path: str, folders: list[str]) -> bool:
        for name in folders:
            inner = f"{path}/{name}"
            if self._is_quiet(inner) and not self._known[inner].has_numbers:
                continue
            for number in self._folders(inner):
                if version_of(number) is not None and self._is_file(f"{inner}/{number}/{Part.METADATA}"):
                    return True
        return False

    def _is_quiet(self, path: str) -> bool:
        """Whether this is a model that has not changed. Each is asked about for its parent's sake and its own."""
        known = self._known.get(path)
        if known is None or not known.settled:
            return False
        quiet = self._quiet.get(path)
        if quiet is None:
            quiet = self._quiet[path] = self.changed_ns(path) == known.changed_ns
        return quiet

    def _folders(self, path: str) -> list[str]:
        """Never through a symbolic link: it could lead round in a circle, or out of the tree."""
        found: dict[str, None] = {}
        for base in self._bases:
            with suppress(*_GONE), os.scandir(f"{base}/{path}") as entries:
                found.update((entry.name, None) for entry in entries if entry.is_dir(follow_symlinks=False))
        return sorted(found)

    def _is_file(self, path: str) -> bool:
        return any(os.path.isfile(f"{base}/{path}") for base in self._bases)


def _model(segments: list[str]) -> Model | None:
    """None for what no client can reach, such as types in upper case."""
    model_type = type_at("/".join(segments[:-1]))
    if model_type is None:
        return None
    try:
        return Model(model_type, segments[-1])
    except UsageError:
        return None


def _is_name(folder: str) -> bool:
    try:
        check_data_name(folder)
    except UsageError:
        return False
    return True
