"""Evicting: let go of content that can be fetched again, so that a cache fits on its disk."""

import os
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from bayou.layout.places import CONFLICTS
from bayou.sync import disk
from bayou.sync.eviction import Evictable, evictable
from bayou.sync.installing import lock_name
from bayou.sync.journal import Journal
from bayou.sync.walk import Check
from bayou.tree import Change, Tree

_AT_ONCE = 500


class Evicted(NamedTuple):
    files: int = 0
    bytes: int = 0
    waits: bool = False
    """Nothing could go yet: existing clients on this cache were only now told that files may be missing."""


class Size(NamedTuple):
    files: int
    bytes: int
    evictable_files: int
    evictable_bytes: int
    absent: int
    """Files that both sides know and whose content is not here."""


def _unchecked() -> None:
    pass


def evict(journal: Journal, installs: Tree, keep: int, *, check: Check = _unchecked) -> Evicted:
    """Remove the content that was not read for longest, until no more than `keep` bytes of it are left.

    Nothing goes that the other side does not have. What goes is not wanted any more, until somebody asks for it.
    """
    if not journal.absence_is_announced():
        journal.announce_absence()
        if not journal.absence_is_announced():
            return Evicted(waits=True)
    chosen = iter(evictable(journal, keep, check=check))
    files = size = 0
    while batch := list(islice(chosen, _AT_ONCE)):
        check()
        gone = _remove(journal, installs, batch)
        files += len(gone)
        size += sum(each.stamp.size for each in gone)
    return Evicted(files, size)


def size(journal: Journal) -> Size:
    """How large a cache is, and how much of it could go."""
    files = total = 0
    aside = str(journal.place.cache / CONFLICTS)
    for folder, _, names in os.walk(journal.place.cache):
        if folder.startswith(str(journal.place.control)) and not folder.startswith(aside):
            continue
        for name in names:
            seen = disk.look(f"{folder}/{name}")
            if seen is not None and seen.form is disk.Form.FILE:
                files, total = files + 1, total + seen.stamp.size
    could_go = evictable(journal, 0)
    return Size(files, total, len(could_go), sum(each.stamp.size for each in could_go), journal.base.absent_count())


def _remove(journal: Journal, installs: Tree, batch: Sequence[Evictable]) -> list[Evictable]:
    paths = [each.path for each in batch]
    with installs.change(*paths) as change:
        # First of all, so that whatever dies in between never looks like a file that vanished.
        journal.base.want(paths, wanted=False)
        journal.base.set_here(paths, is_here=False)
        gone = [each for each in batch if _remove_one(journal, installs, change, each)]
        journal.base.set_here(set(paths) - {each.path for each in gone}, is_here=True)
        journal.stats.forget(each.path for each in gone)
        journal.changes.record(each.path for each in gone)
    return gone


def _remove_one(journal: Journal, installs: Tree, change: Change, each: Evictable) -> bool:
    """Unless somebody changed it since it was chosen."""
    with installs.lock(lock_name(each.path)):
        seen = disk.look(f"{journal.place.root}/{each.path}")
        if seen is None or seen.stamp != each.stamp:
            return False
        change.remove(each.path)
        return True
