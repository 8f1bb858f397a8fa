"""What was agreed on of the index: digests of parts that the base holds all of, and the head that has only such.

A part that still says what it said then holds nothing new, so nobody has to compare it; of one that changed, only what
changed in it. Every part that the base holds anything of is named here: without a digest it is open, and compared with
the base, in SQL.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from bayou.layout.scoping import covers
from bayou.remotes import Snapshot
from bayou.remotes.parts import part_name
from bayou.sync.base import BaseRows
from bayou.sync.reports import Reports

OPEN = ""
_HEAD = "head"
_PART = "part/"


@dataclass(frozen=True, slots=True)
class Agreed:
    reports: Reports

    def head(self) -> str | None:
        """The token of a head of which every part was agreed on. Most syncs find it again, and need no more."""
        found = self.reports.note(_HEAD)
        return None if found is None else found.decode()

    def parts(self) -> dict[str, str]:
        return {name: digest.hex() for name, digest in self.reports.notes(_PART).items()}

    def open(self, parts: Iterable[str]) -> None:
        """The base holds something of these; those of which nothing is known yet are open."""
        known = self.parts()
        unknown: dict[str, str | None] = {name: OPEN for name in parts if name not in known}
        if unknown:
            self.record(unknown, head=None)

    def record(self, parts: Mapping[str, str | None], *, head: str | None) -> None:
        """Remember the digests of parts, OPEN, or None for those that are no more; and the head, if nothing is open."""
        # The head goes first and comes last: it must not speak for parts that are not recorded.
        self.reports.set_notes("", {_HEAD: None})
        self.reports.set_notes(_PART, {n: None if d is None else bytes.fromhex(d) for n, d in parts.items()})
        if head is not None:
            self.reports.set_note(_HEAD, head.encode())


def changed_paths(base: BaseRows, snapshot: Snapshot, agreed: Mapping[str, str], parts: Iterable[str]) -> set[str]:
    """On which paths these parts say something else than what was agreed on: of an open part, than the base says."""
    changed: set[str] = set()
    unknown: list[str] = []
    for name in parts:
        part = snapshot.cache.find(agreed[name]) if name in agreed else None
        if part is None:
            unknown.append(name)
            continue
        before = {path: entry.sha256 for path, entry in part.index(name).entries.items()}
        after = {path: entry.sha256 for path, entry in snapshot.entries(name).items()}
        changed |= {path for path in before.keys() | after.keys() if before.get(path, "") != after.get(path, "")}
    return changed | _differing(base, snapshot, frozenset(unknown)) if unknown else changed


def _differing(base: BaseRows, snapshot: Snapshot, parts: AbstractSet[str]) -> set[str]:
    """Where the base says something else than these parts."""
    listed = ((path, entry.sha256) for name in parts for path, entry in snapshot.entries(name).items())
    return base.differing(listed, lambda path: part_name(path) in parts and covers(snapshot.scope, path))
