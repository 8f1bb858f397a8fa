"""Reach: where a query has the content of versions from. Ours is in the tree, or comes there; that of other namespaces
is brought for as long as it takes to decide, and is in no cache: nothing of theirs is ours.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from bayou.domain.artifacts import ArtifactKey
from bayou.layout.artifacts import Part, VersionFile
from bayou.tree import Tree

LARGEST: Final = 2**26
"""Bytes of content that a predicate looks into: the engine holds a text of that size several times."""


class Stored(NamedTuple):
    """A version, of any namespace."""

    namespace: str
    key: ArtifactKey
    version: int


Hydrate = Callable[[Sequence[tuple[ArtifactKey, int]]], object]
"""Brings the content of these versions to this machine, as far as it can."""

Abroad = Callable[[Collection[Stored]], Mapping[Stored, bytes]]
"""Reads the content of versions of other namespaces, as far as it can be had."""


@dataclass(frozen=True, slots=True)
class Reach:
    tree: Tree
    hydrate: Hydrate | None = None
    abroad: Abroad | None = None
    _brought: dict[Stored, bytes] = field(default_factory=dict)

    def read(self, stored: Stored) -> bytes | None:
        if not self._is_ours(stored):
            return self._brought.get(stored)
        path = VersionFile(stored.key.model, stored.key.name, stored.version, Part.RAW).path
        return self.tree.read(path, at_most=LARGEST)

    def can_bring(self, stored: Stored) -> bool:
        return (self.hydrate if self._is_ours(stored) else self.abroad) is not None

    def bring(self, wanted: Sequence[Stored]) -> None:
        """Make what can be had of these readable; what was brought from abroad before is not any more."""
        self._brought.clear()
        ours = [(stored.key, stored.version) for stored in wanted if self._is_ours(stored)]
        theirs = [stored for stored in wanted if not self._is_ours(stored)]
        if ours and self.hydrate is not None:
            self.hydrate(ours)
        if theirs and self.abroad is not None:
            self._brought.update(self.abroad(theirs))

    def _is_ours(self, stored: Stored) -> bool:
        return stored.namespace == self.tree.namespace
