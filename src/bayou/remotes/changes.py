"""What somebody wants the index to say, and what came of it. Values: they say nothing of how an index is stored."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

import msgspec

from bayou.domain.content import ContentId, Snapshot
from bayou.domain.entries import Entry
from bayou.errors import UsageError

StillHeld = Callable[[], bool]
"""Whether the global lock is still ours. Asked before the first write of each attempt and right before the meta."""


class Change(msgspec.Struct, frozen=True):
    """Paths that change together or not at all, such as the files of one version.

    `before` is what the decision was made on: a path that is not in it was not listed, None is an entry without a hash.
    `after` is what is to be listed; a path of `before` that is not in it is to be listed no more.
    """

    before: Snapshot = {}
    after: Mapping[str, Entry] = {}
    buries: Mapping[str, ContentId] = {}
    revokes: Mapping[str, ContentId] = {}

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(self.before) | frozenset(self.after)


class Changeset(msgspec.Struct, frozen=True):
    """All that one push wants, as a value: it can wait for the lock, be written down, be committed by another process.

    It says where it belongs, so that nobody commits it elsewhere (sync spec W-35). `on` is the token of the head that
    it was made on.
    """

    namespace: str
    changes: tuple[Change, ...]
    on: str = ""
    store: UUID | None = None

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for change in self.changes:
            twice = seen & change.paths
            if twice:
                raise UsageError(f"{min(twice)!r} is in two changes of one commit")
            seen |= change.paths


class Contest(msgspec.Struct, frozen=True):
    """A change that was not made, as the index says something else than expected. `current` is what it says."""

    change: Change
    current: Mapping[str, Entry]


@dataclass(frozen=True, slots=True)
class Commit:
    """What came of a commit."""

    token: str
    """Of the head after it."""
    committed: tuple[Change, ...]
    """In the index now, written by this call or found there."""
    contested: tuple[Contest, ...] = ()
    imported: tuple[Change, ...] = ()
    """What writers that know no shards had put into the monolith of a sharded index (sync spec W-45)."""
    left_out: tuple[Contest, ...] = ()
    """What they had put there, where the shards say something else by now."""
    repaired: tuple[str, ...] = ()
    """Shards that did not say what they should, and now do."""
    parts: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    """The digest of each touched part as this commit found it and as it left it, as in `Snapshot.parts`."""
    alone: bool = False
    """Whether the head differs from `Changeset.on` by these changes and nothing else: only then may whoever knew that
    one say that he knows this one (sync spec W-10). Else `parts` says which parts he may say it of."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Which changes an index takes, as it is now."""

    applied: tuple[Change, ...]
    already: tuple[Change, ...]
    contested: tuple[Contest, ...]

    @property
    def committed(self) -> tuple[Change, ...]:
        return (*self.already, *self.applied)


def decide(changes: Iterable[Change], current: Mapping[str, Entry]) -> Decision:
    """Take a change whose every path is as expected. One that is made already is no contest: an answer was lost."""
    applied, already, contested = [], [], []
    for change in changes:
        found = {path: current[path] for path in change.paths if path in current}
        if _says(found, _contents(change.after)):
            already.append(change)
        elif _says(found, change.before):
            applied.append(change)
        else:
            contested.append(Contest(change, found))
    return Decision(tuple(applied), tuple(already), tuple(contested))


def _contents(entries: Mapping[str, Entry]) -> dict[str, ContentId | None]:
    return {path: entry.sha256 for path, entry in entries.items()}


def _says(found: Mapping[str, Entry], expected: Snapshot) -> bool:
    return found.keys() == expected.keys() and all(entry.sha256 == expected[path] for path, entry in found.items())
