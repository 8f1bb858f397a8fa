"""The three sides of the diff: what was agreed, what is here, what is there."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

import msgspec

from bayou.domain.content import ContentId, Graves, Snapshot


class Base(msgspec.Struct, frozen=True):
    """What this machine last knew both sides to agree on. Losing it deletes nothing."""

    store: str
    """The store id with prefix and namespace: the base of another store says nothing about this one."""
    files: Mapping[str, ContentId] = {}
    as_of: str = ""
    """Since when all tombstones have been seen for whatever is in `files`, by the store's clock (ISO text, as
    `Remote.buried_since`): the oldest of the times at which its parts were last read. A scoped sync makes only its own
    part younger. Empty: nobody knows, which is older than any tombstone.
    """


class Local(msgspec.Struct, frozen=True):
    """What a scan found. Where it did not look, and where content is not hydrated, the base stands in for it."""

    files: Snapshot
    missing: AbstractSet[str] = frozenset()
    """Paths of the base that ought to be here, and are not."""


class Remote(msgspec.Struct, frozen=True):
    store: str
    files: Snapshot | None
    """None: there is no index."""
    buried: Graves = {}
    buried_since: str = ""
    """Deletions before this time may have no tombstone any more."""


def seed(indexed: Snapshot, local: Snapshot) -> dict[str, ContentId]:
    """A base for a cache that has none: where the index that lies in the cache agrees with the files in it."""
    return {path: content for path, content in indexed.items() if content is not None and local.get(path) == content}
