"""Evidence: what has to be known before anything is deleted. That a file is not there is never evidence (promise 5)."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

import msgspec

from bayou.domain.content import ContentId


class Evidence(msgspec.Struct, frozen=True):
    deleted: Mapping[str, ContentId] = {}
    """What was deleted here on purpose, from `deletions`."""
    written: AbstractSet[str] = frozenset()
    """Paths written here since the last acknowledged push: no forgotten copies of something that was deleted."""
    objects: Mapping[str, ContentId | None] = {}
    """What a look into the bucket found at a path, listed or not. None: no object."""


def deletions(  # noqa: PLR0913 - each one is another thing that must be true
    *,
    intents: Iterable[tuple[str, ContentId]],
    marked: Iterable[str],
    base: Mapping[str, ContentId],
    hydrated: AbstractSet[str],
    present: AbstractSet[str],
    present_at_second_look: AbstractSet[str],
) -> dict[str, ContentId]:
    """The deletions that are proven: by an intent row, or for callers of `mark_dirty` alone by all of its conditions.

    Only an exact path proves anything: marking a folder says nothing about files that are not in it (sync spec W-04).
    """
    gone = {path: content for path, content in intents if base.get(path) == content}
    gone |= {
        path: base[path]
        for path in marked
        if path in base and path in hydrated and path not in present and path not in present_at_second_look
    }
    return gone
