"""The table of the diff (design/003): what follows when base, local and remote say these three things about one unit.

Everything that deletes does so because of a tombstone, of evidence, or of an object that is gone from the bucket. There
is no other way through this module.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum, auto
from typing import NamedTuple, TypeAlias

from bayou.domain.content import ContentId, Graves, State
from bayou.domain.plan import Action, Ask, Reason
from bayou.domain.units import Kind, Unit


class Case(NamedTuple):
    """All that is known about one unit."""

    unit: Unit
    base: State
    local: State
    """What was not looked at, is not hydrated or is missing counts as base."""
    remote: State
    """What is listed, without what is dead."""
    contradicted: State
    """Entries that do not say what a look at their object found."""
    is_here: bool
    """Whether all bytes of `local` are on this machine."""
    is_missing: bool
    is_deleted: bool
    """What the base holds was deleted here on purpose, even if other content took its place."""
    is_written: bool
    """Written here since the last push, even if with the bytes that it had before."""
    dead: Reason | None
    """Why what the index lists is dead, if it is: `remote` is without it."""
    buried: Graves
    objects: Mapping[str, ContentId | None]

    def is_whole(self, state: State) -> bool:
        """Half a version is none: on its way, or a rest of something. It is neither pushed nor pulled (promise 1)."""
        return all(member in state for member in self.unit.members)

    def is_buried(self, state: State) -> bool:
        """Whether tombstones name all of it. One file is not enough: two versions may well hold the same `raw`."""
        return bool(state) and all(content in self.buried.get(path, ()) for path, content in state.items())

    def in_the_way(self) -> State:
        """What a look found in our place and no push may replace: not ours, not dead, and not known to be outdated."""
        may_go = self.base if self.is_deleted or self.unit.kind is not Kind.VERSION else {}
        return {
            path: content
            for path in self.unit.members
            if (content := self.objects.get(path)) is not None
            and content not in (self.local.get(path), may_go.get(path))
            and content not in self.buried.get(path, ())
        }

    def death(self) -> Reason | None:
        """Why what the index lists is dead: tombstones name it, or half of something else lies in its place, so that
        nobody can have it from there. A marker is a number: that it says what it said before its deletion does not make
        it the same marker.
        """
        if self.unit.kind is Kind.LATEST:
            return None
        if self.is_buried(self.remote):
            return Reason.RESURRECTED
        found = self.found(self.unit.members) or {}
        there = {path: content for path, content in found.items() if content is not None}
        is_other = bool(there) and not there.items() & self.remote.items()
        return Reason.OCCUPIED if self.remote and is_other and not self.is_whole(there) else None

    def found(self, paths: Iterable[str]) -> dict[str, ContentId | None] | None:
        """What the bucket holds at these paths; None while nobody has looked."""
        paths = set(paths)
        return {path: self.objects[path] for path in paths} if paths <= self.objects.keys() else None


Verdict: TypeAlias = tuple[Action, Reason] | Ask | None
Rule: TypeAlias = Callable[[Case], Verdict]


class News(Enum):
    """What one side has to tell about a unit, against the base."""

    SAME = auto()
    WRITTEN = auto()
    GONE = auto()  # here: deleted on purpose; there: not listed, or not all of it, for whatever cause


def news(side: State, base: State) -> News:
    if side == base:
        return News.SAME
    return News.GONE if side.items() <= base.items() else News.WRITTEN


def judge(case: Case) -> Verdict:
    if case.contradicted:
        return _contradiction(case)
    verdict = _forgotten_copy(case) or _agreement(case) or TABLE[_row(case)](case)
    action = verdict[0] if isinstance(verdict, tuple) else verdict
    if action is Action.PUSH and case.in_the_way():
        return _occupied(case)
    if case.dead is not None and action not in _LISTS_SOMETHING_ELSE:
        return Action.BURY, case.dead
    return verdict


_LISTS_SOMETHING_ELSE = frozenset({Action.PUSH, Action.READD, Action.MERGE, *Ask})


def _contradiction(case: Case) -> Verdict:
    """The index and the bucket disagree. If the bucket holds what we hold, the entry was set back by a stale writer."""
    found = case.found(case.unit.members)
    if found is None:
        return Ask.OBJECT
    if case.local and found == case.local and not case.is_buried(case.local):
        return Action.READD, Reason.ENTRY_LOST
    return None  # in flight: look again at the next head


def _occupied(case: Case) -> Verdict:
    """Other bytes lie unlisted where a push would go. They are never overwritten (design 4.3), whoever put them there.

    What is whole is listed as it lies, and the next diff compares it with ours. Half of something may be on its way, so
    there is nothing to list, and ours takes another place.
    """
    found = case.found(case.unit.members)
    if found is None:
        return Ask.OBJECT
    return (Action.MERGE, Reason.OCCUPIED) if None in found.values() else (Action.READD, Reason.ENTRY_LOST)


def _row(case: Case) -> tuple[News, News]:
    return news(case.local, case.base), news(case.remote, case.base)


def _forgotten_copy(case: Case) -> Verdict:
    """Ours is a copy of something deleted, which nobody wrote again here: it must not travel (promise 4)."""
    if case.is_written and not case.unit.kind.is_written_once:
        return None
    if case.local == case.remote or case.base not in ({}, case.local):
        return None
    if not case.is_buried(case.local):
        return None
    if not case.remote:
        return Action.DELETE_LOCAL, Reason.DELETED_THERE
    return None if case.unit.kind is Kind.LATEST else (Action.PULL, Reason.DELETED_THERE)


def _agreement(case: Case) -> Verdict:
    if case.local == case.remote != case.base and case.local:
        return Action.AGREE, Reason.SAME_CONTENT
    return None


def _nothing_new(case: Case) -> Verdict:
    return (Action.RESTORE, Reason.MISSING_HERE) if case.is_missing and case.remote else None


def _written_there(case: Case) -> Verdict:
    if not case.is_whole(case.remote):
        return None
    if case.unit.kind is Kind.LATEST:
        return Action.MERGE, Reason.WRITTEN_THERE
    is_more = case.base.items() <= case.remote.items()
    if is_more or not case.is_here or not case.unit.kind.carries_id:
        return Action.PULL, Reason.WRITTEN_THERE
    if case.unit.kind is Kind.VERSION:
        # Whose bytes lie there tells a version that was overwritten from an entry that was set back.
        return (Action.MERGE, Reason.IMMUTABLE) if case.found(case.unit.members) else Ask.OBJECT
    return Action.MERGE, Reason.WRITTEN_THERE  # another id is another record, which must not displace ours


def _unlisted(case: Case) -> Verdict:
    if case.is_buried(case.base):
        return Action.DELETE_LOCAL, Reason.DELETED_THERE
    found = case.found(case.unit.members)
    if found is None:
        return Ask.OBJECT
    there = {path: content for path, content in found.items() if content is not None}
    if len(there) == len(found) and not case.is_buried(there):
        return Action.READD, Reason.ENTRY_LOST
    if not there and case.dead is None:
        return Action.DELETE_LOCAL, Reason.OBJECT_GONE
    return (Action.PUSH, Reason.ENTRY_LOST) if case.is_here else (Action.DELETE_LOCAL, Reason.OBJECT_GONE)


def _written_here(case: Case) -> Verdict:
    if not case.is_whole(case.local):
        return None
    if case.unit.kind is Kind.LATEST:
        return Action.MERGE, Reason.WRITTEN_HERE
    if case.base and case.is_deleted:
        return Action.PUSH, Reason.REPLACED
    if case.base and case.unit.kind is Kind.VERSION:
        return Action.MERGE, Reason.IMMUTABLE
    return Action.PUSH, Reason.WRITTEN_HERE


def _both_changed(case: Case) -> Verdict:
    here, there = case.is_whole(case.local), case.is_whole(case.remote)
    if there and not here:
        # Half of the very same is a pull that was cut off, however fresh it is; half of anything else is being written.
        is_theirs = case.local.items() <= case.remote.items()
        return None if case.is_written and not is_theirs else (Action.PULL, Reason.MISSING_HERE)
    if here and not there and case.remote.items() <= case.local.items():
        return Action.PUSH, Reason.ENTRY_LOST
    if not (here and there):
        return None
    return Action.MERGE, Reason.BOTH_CHANGED


def _written_here_unlisted_there(case: Case) -> Verdict:
    if not case.is_whole(case.local):
        return None
    reason = Reason.CHANGE_OVER_DELETE if case.is_buried(case.base) else Reason.ENTRY_LOST
    return (Action.MERGE if case.unit.kind is Kind.LATEST else Action.PUSH), reason


def _deleted_here(case: Case) -> Verdict:
    return (Action.BURY if case.local else Action.DELETE_REMOTE), Reason.DELETED_HERE


def _deleted_here_written_there(case: Case) -> Verdict:
    return (Action.MERGE if case.unit.kind is Kind.LATEST else Action.PULL), Reason.CHANGE_OVER_DELETE


def _deleted_here_unlisted_there(case: Case) -> Verdict:
    """Without a tombstone the entry may only have been lost, and another machine would list it again."""
    if case.is_buried(case.base) and not case.local:
        return Action.AGREE, Reason.DELETED_THERE
    return _deleted_here(case)


TABLE: Mapping[tuple[News, News], Rule] = {
    # local        remote
    (News.SAME, News.SAME): _nothing_new,
    (News.SAME, News.WRITTEN): _written_there,
    (News.SAME, News.GONE): _unlisted,
    (News.WRITTEN, News.SAME): _written_here,
    (News.WRITTEN, News.WRITTEN): _both_changed,
    (News.WRITTEN, News.GONE): _written_here_unlisted_there,
    (News.GONE, News.SAME): _deleted_here,
    (News.GONE, News.WRITTEN): _deleted_here_written_there,
    (News.GONE, News.GONE): _deleted_here_unlisted_there,
}
