"""Collisions: names that no disk, or not every disk, can hold side by side.

Many disks take names for one that differ only by case or by Unicode normal form, and no disk has a file and a folder
of one name, which a bucket may well have.
"""

import unicodedata
from collections.abc import Iterable


def collisions(paths: Iterable[str]) -> list[tuple[str, ...]]:
    """The groups that share one name in one folder; sorted, each group as well. Folders end with `/`.

    Only where paths part is reported: `a/x` and `A/y` are the group `("A/", "a/")`, `a` and `a/x` are `("a", "a/")`.
    """
    seen: set[str] = set()
    groups: dict[tuple[str, str], list[str]] = {}
    for path in paths:
        node = path
        while node not in seen:
            seen.add(node)
            folder, _, name = node.removesuffix("/").rpartition("/")
            groups.setdefault((folder, folded(name)), []).append(node)
            if not folder:
                break
            node = f"{folder}/"
    return sorted(tuple(sorted(group)) for group in groups.values() if len(group) > 1)


def folded(name: str) -> str:
    """The name as a disk compares it that knows no case and no normal form.

    Equal for names that match without case (Unicode 3.13, D145); at least as coarse as any disk.
    """
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())
