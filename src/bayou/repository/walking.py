"""Walk through the records of a folder. What vanishes on the way, since somebody else removes it, is passed over."""

import os
from collections.abc import Iterator
from typing import NamedTuple

from bayou.storage.oserrors import translated
from bayou.tree import Tree


class FileAt(NamedTuple):
    path: str
    """Relative to the namespace."""
    place: str
    """Where it is on this machine."""

    def status(self) -> os.stat_result | None:
        with translated(self.path):
            try:
                return os.stat(self.place, follow_symlinks=False)  # noqa: PTH116 - thousands of them
            except (FileNotFoundError, NotADirectoryError):
                return None

    def read(self, most: int = -1) -> bytes | None:
        """The file, or its first bytes; None when it is gone."""
        with translated(self.path):
            try:
                with open(self.place, "rb") as file:  # noqa: PTH123 - thousands of them
                    return file.read(most)
            except (FileNotFoundError, NotADirectoryError):
                return None


def walk(tree: Tree, folder: str, ending: str) -> Iterator[FileAt]:
    """Each file below this folder whose name ends like this, in the tier that it belongs to. Links are not followed."""
    split = tree.tiers.splits(folder)
    for place in tree.places(folder):
        for file in walk_place(place, folder, ending):
            if not split or tree.place(file.path) == file.place:
                yield file


def walk_local(tree: Tree, folder: str, ending: str) -> Iterator[FileAt]:
    """The same beside the repo, whatever tier such files belong to: logs are there, and what older clients left."""
    return walk_place(f"{tree.local}/{folder}", folder, ending)


def walk_place(place: str, folder: str, ending: str) -> Iterator[FileAt]:
    open_folders = [(place, folder)]
    while open_folders:
        here, path = open_folders.pop()
        try:
            entries = os.scandir(here)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            with translated(path):
                raise error  # noqa: TRY201 - for its meaning
        with entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    open_folders.append((entry.path, f"{path}/{entry.name}"))
                elif entry.name.endswith(ending) and entry.is_file(follow_symlinks=False):
                    yield FileAt(f"{path}/{entry.name}", entry.path)
