"""Collisions: names that a disk may take for one, because they differ only by case or by Unicode normal form."""

import unicodedata
from collections.abc import Iterable


def collisions(paths: Iterable[str]) -> list[tuple[str, ...]]:
    """The groups of files or folders in one folder that share a name on such a disk; sorted, each group as well.

    Only where paths part is reported: `a/x` and `A/y` are the group `("A", "a")`.
    """
    seen: set[str] = set()
    groups: dict[tuple[str, str], list[str]] = {}
    for path in paths:
        while path and path not in seen:
            seen.add(path)
            folder, _, name = path.rpartition("/")
            groups.setdefault((folder, _folded(name)), []).append(path)
            path = folder  # noqa: PLW2901 - the walk up ends at the first folder that was seen
    return sorted(tuple(sorted(group)) for group in groups.values() if len(group) > 1)


def _folded(name: str) -> str:
    """What such disks compare, or a little coarser: no two of them fold alike."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
