"""The scan: what is different here, found by looking at nothing but what is marked (design 4.2, 4.4).

A scan never concludes anything from a file that is not there. It says what it saw, what ought to be there and is not,
and what was deleted on purpose; the diff decides.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import msgspec

from bayou.domain.content import ContentId
from bayou.domain.evidence import Evidence, deletions
from bayou.domain.scopes import EVERYTHING as EVERY_MODEL
from bayou.domain.scopes import Scope
from bayou.domain.sides import Local
from bayou.errors import BayouError
from bayou.layout.collisions import collisions
from bayou.layout.relative import in_namespace
from bayou.layout.scoping import covers
from bayou.storage.oserrors import translated
from bayou.sync import disk
from bayou.sync.base import BaseRows, Known
from bayou.sync.marking import Mark, is_within
from bayou.sync.schema import EVERYTHING
from bayou.sync.stats import TICK_NS, Stamp, StatCache
from bayou.sync.walk import Check, Rules, Walk
from bayou.tree.tiers import Tiers

_BATCH = 1000
_SLACK_NS = 2_000_000_000
"""How much a file may seem to have changed before its mark was made: two clocks."""
_THREADS = 8
_WORTH_THREADS = 64 << 10
"""Bytes of a file, on average. Of smaller ones the threads wait for each other (measured: 5 KiB, half as fast)."""


class Looks(msgspec.Struct, frozen=True):
    """What a scan cost."""

    stats: int
    listings: int
    reads: int
    bytes: int


class Scan(msgspec.Struct, frozen=True):
    local: Local
    evidence: Evidence
    """Without `objects`, which are for those to find who look into the bucket."""
    stamps: Mapping[str, Stamp]
    """Of the files that are not as in the base: their size and time, and how to know that they changed since."""
    arrived: frozenset[str]
    """Known to the base as not here, and here after all, with that content."""
    failed: Mapping[str, BayouError]
    """What could not be looked at, a file or a whole folder. Its marks stay."""
    unsettled: frozenset[str]
    """Files that changed while they were read. Their marks stay."""
    skipped: Mapping[str, str]
    """What is never synced, and why: links, names that no store can hold."""
    collisions: Sequence[tuple[str, ...]]
    """Names that not every disk can hold side by side, as far as anything new is among them."""
    marks: tuple[Mark, ...]
    """What it looked at, to be acknowledged; without the marks of which the scope left something out."""
    sequence: int
    looks: Looks


@dataclass(frozen=True, slots=True)
class Place:
    """Where to look, and what is known about it."""

    cache: Path
    namespace: str
    base: BaseRows
    stats: StatCache
    tiers: Tiers

    @property
    def root(self) -> str:
        return str(self.cache / self.namespace)

    @property
    def control(self) -> Path:
        return self.cache / "_control"


def scan(  # noqa: PLR0913 - what to look at, and who may interrupt
    place: Place,
    marks: Sequence[Mark],
    sequence: int,
    *,
    scope: Scope = EVERY_MODEL,
    check: Check = lambda: None,
    pause: Callable[[float], None],
) -> Scan:
    """Look at what is marked. `check` is called for each item, and raises to cancel."""
    here = {path: mark for mark in marks if (path := _path_of(mark, place.namespace)) is not None}
    looking = _Looking(place, here, scope, check, pause)
    for root in _roots(here):
        looking.look_at(root)
    return looking.result(marks, sequence)


def missing(
    place: Place, *, scope: Scope = EVERY_MODEL, check: Check = lambda: None, after: str = "", most: int | None = None
) -> tuple[set[str], str]:
    """What ought to be here and is not, found by listing folders only: no look at any file (sync spec W-52, W-65).

    `most` limits it to so many files after a path; the answer says after which path to go on, "" being the beginning.
    """
    found: set[str] = set()
    folder: str | None = None
    listed: set[str] = set()
    last = ""
    rows = islice(place.base.rows(after=after), most)
    for number, known in enumerate(rows, 1):
        check()
        last = known.path if number == most else ""
        if not known.is_here or known.content is None or not covers(scope, known.path):
            continue
        parent, _, name = known.path.rpartition("/")
        if parent != folder:
            with translated(known.path):
                names = disk.names(f"{place.root}/{parent}" if parent else place.root) or []
            folder, listed = parent, {name for name, _ in names}
        if name not in listed:
            found.add(known.path)
    return found, last


class _Looking:
    def __init__(
        self, place: Place, marks: Mapping[str, Mark], scope: Scope, check: Check, pause: Callable[[float], None]
    ) -> None:
        self._place = place
        self._marks = marks
        self._scope = scope
        self._check = check
        self._pause = pause
        self._walk = Walk(place.root, Rules(place.tiers, place.base.knows, self._is_in_scope), check)
        self._files: dict[str, ContentId] = {}
        self._stamps: dict[str, Stamp] = {}
        self._written: set[str] = set()
        self._missing: set[str] = set()
        self._arrived: set[str] = set()
        self._unsettled: set[str] = set()
        self._left_out: set[str] = set()
        self._collisions: set[tuple[str, ...]] = set()
        self._reads = 0
        self._bytes = 0
        self._since = {path: mark.since for path, mark in marks.items() if path != EVERYTHING and not mark.lingering}

    def look_at(self, root: str) -> None:
        found: dict[str, Stamp] = {}
        files = self._walk.files(root)
        while batch := list(islice(files, _BATCH)):
            self._hash(batch)
            found.update(batch)
        self._compare(root, found)

    def result(self, marks: Sequence[Mark], sequence: int) -> Scan:
        return Scan(
            local=Local(self._files, frozenset(self._missing)),
            evidence=Evidence(self._deletions(), frozenset(self._written)),
            stamps=self._stamps,
            arrived=frozenset(self._arrived),
            failed=self._walk.failed,
            unsettled=frozenset(self._unsettled),
            skipped=self._walk.skipped,
            collisions=sorted(self._collisions),
            marks=tuple(mark for mark in marks if self._is_complete(mark)),
            sequence=sequence,
            looks=Looks(self._walk.looks, self._walk.listings, self._reads, self._bytes),
        )

    def _deletions(self) -> dict[str, ContentId]:
        intents = self._place.base.intents()
        marked = [path for path, mark in self._marks.items() if mark.bare and self._walk.rules.take(path)]
        asked = {path for path in (*intents, *marked) if self._is_in_scope(path)}
        known = self._place.base.get(asked)
        there = {path for path in asked if path in self._files or not self._walk.is_gone(path)}
        return deletions(
            # An intent for what is there again stands as long as the scan can say what is there.
            intents=[(path, intents[path]) for path in intents if path in self._files or path in asked - there],
            marked=[path for path in marked if path in asked],
            base={path: row.content for path, row in known.items() if row.content is not None},
            hydrated={path for path, row in known.items() if row.is_here},
            present=self._files.keys(),
            present_at_second_look=there,
        )

    def _is_in_scope(self, path: str) -> bool:
        if covers(self._scope, path):
            return True
        while path not in self._left_out:
            self._left_out.add(path)
            path = path.rpartition("/")[0]
        return False

    def _is_complete(self, mark: Mark) -> bool:
        path = _path_of(mark, self._place.namespace)
        return path is not None and path not in self._left_out

    # What the files hold.

    def _hash(self, batch: Sequence[tuple[str, Stamp]]) -> None:
        known = self._place.stats.known(batch)
        unknown = [path for path, _ in batch if path not in known]
        stamps = dict(batch)
        if unknown:
            read = self._read(unknown, stamps)
            known |= {path: content.content for path, content in read.items()}
            stamps |= {path: content.stamp for path, content in read.items()}
        for path, content in known.items():
            self._files[path] = content
            self._stamps[path] = stamps[path]
            if self._is_written(path, stamps[path]):
                self._written.add(path)

    def _read(self, paths: Sequence[str], stamps: Mapping[str, Stamp]) -> dict[str, disk.Content]:
        now = disk.time_ns(self._place.control)
        if any(stamps[path].is_racy(now) and stamps[path].tick_ns() == TICK_NS for path in paths):
            # Shorter than to read them all once more at the next scan.
            self._pause(2 * TICK_NS / 1e9)
            now = disk.time_ns(self._place.control)
        found = {path: content for path, content in self._contents(paths, stamps) if content is not None}
        self._place.stats.learn(
            (path, content.stamp, content.content) for path, content in found.items() if not content.stamp.is_racy(now)
        )
        self._unsettled.update(path for path in paths if path not in found and not self._walk.is_gone(path))
        return found

    def _contents(self, paths: Sequence[str], stamps: Mapping[str, Stamp]) -> Iterator[tuple[str, disk.Content | None]]:
        if len(paths) == 1 or sum(stamps[path].size for path in paths) < len(paths) * _WORTH_THREADS:
            yield from map(self._content, paths)
            return
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - 10 ms, and only where there is much to read

        with ThreadPoolExecutor(_THREADS) as pool:
            yield from pool.map(self._content, paths)

    def _content(self, path: str) -> tuple[str, disk.Content | None]:
        self._check()
        try:
            with translated(path):
                content = disk.read(f"{self._place.root}/{path}", self._check)
        except BayouError as error:
            self._walk.failed[path] = error
            return path, None
        self._reads += 1
        if content is not None:
            self._bytes += content.stamp.size
        return path, content

    def _is_written(self, path: str, stamp: Stamp) -> bool:
        """Whether it was written since it was marked, even if with the bytes that it had before."""
        if not self._since:
            return False
        here = path
        while here:
            since = self._since.get(here)
            if since is not None and stamp.ctime_ns >= since - _SLACK_NS:
                return True
            here = here.rpartition("/")[0]
        return False

    # What the base knows of the same place.

    def _compare(self, root: str, found: Mapping[str, Stamp]) -> None:
        news = len(found)
        known_here: list[str] = []
        for known in self._place.base.rows(root):
            self._check()
            if known.content is None:
                continue
            known_here.append(known.path)
            if known.path in found:
                news -= 1
                self._compare_file(known)
            elif known.is_here and self._is_in_scope(known.path) and self._is_looked_at(known.path):
                if self._walk.is_gone(known.path):
                    self._missing.add(known.path)
                else:
                    self._unsettled.add(known.path)  # it came back between two looks, or cannot be looked at
        if news:
            self._collisions.update(collisions({*found, *known_here}))

    def _compare_file(self, known: Known) -> None:
        if self._files.get(known.path) != known.content:
            return
        del self._stamps[known.path]
        if not known.is_here:
            self._arrived.add(known.path)

    def _is_looked_at(self, path: str) -> bool:
        """Whether the walk would have met it. What is skipped, excluded or failed is not missing."""
        return path not in self._unsettled and self._walk.rules.take(path) and not self._walk.met(path)


def _path_of(mark: Mark, namespace: str) -> str | None:
    """Where a mark is for this namespace; None for what is in another one."""
    if mark.path in (EVERYTHING, namespace):
        return EVERYTHING
    return in_namespace(namespace, mark.path)


def _roots(paths: Iterable[str]) -> list[str]:
    """The paths without those that are in another of them (sync spec W-67)."""
    roots: list[str] = []
    for path in sorted(paths, key=lambda path: f"{path}/"):
        if not roots or not is_within(path, roots[-1]):
            roots.append(path)
    return roots
