"""Eviction: which content could leave the cache because it can be fetched again. Nothing is removed in here."""

import os
from collections.abc import Iterator
from typing import NamedTuple

from bayou.layout.internal import lazily_skippable
from bayou.sync.journal import Journal
from bayou.sync.schema import EVERYTHING
from bayou.sync.stats import Stamp
from bayou.sync.walk import Check


class Evictable(NamedTuple):
    used_ns: int
    """When it was last read or came here, as far as the disk says."""
    path: str
    stamp: Stamp
    """As it was when this was decided. Look again before you remove it."""


def evictable(journal: Journal, keep: int, *, check: Check = lambda: None) -> list[Evictable]:
    """What may go so that no more than `keep` bytes of content stay, least recently used first.

    Only artifacts' content is considered, and of that only what is as both sides know it, and nobody marked. Nothing
    may go before existing clients on this cache know that what is not here was not deleted (sync spec W-26).
    """
    if not journal.absence_is_announced():
        return []
    found = sorted(_clean(journal, check))
    surplus = sum(each.stamp.size for each in found) - keep
    chosen = []
    for each in found:
        if surplus <= 0:
            break
        chosen.append(each)
        surplus -= each.stamp.size
    return chosen


def _clean(journal: Journal, check: Check) -> Iterator[Evictable]:
    _, marks = journal.snapshot()
    namespace = journal.namespace
    dirty = {mark.path for mark in marks if not mark.lingering}
    if EVERYTHING in dirty or namespace in dirty:
        return
    intents = journal.base.intents()
    for known in journal.base.rows():
        check()
        path = known.path
        if not (known.is_here and known.content) or not lazily_skippable(path) or path in intents:
            continue
        inside = f"{namespace}/{path}" if namespace else path
        if _is_marked(inside, dirty):
            continue
        try:
            status = os.lstat(f"{journal.place.root}/{path}")
        except (FileNotFoundError, NotADirectoryError):
            continue
        stamp = Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        if journal.stats.known([(path, stamp)]).get(path) == known.content:
            yield Evictable(max(status.st_atime_ns, status.st_ctime_ns), path, stamp)


def _is_marked(path: str, dirty: set[str]) -> bool:
    while path and path not in dirty:
        path = path.rpartition("/")[0]
    return bool(path)
