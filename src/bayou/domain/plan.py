"""The plan: what one sync is to do, and why. A value; whoever executes it decides nothing."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from bayou.domain.content import ContentId, Snapshot, State
from bayou.domain.units import Unit


class Action(StrEnum):
    """What to do about a unit. Each one ends with the base saying what both sides then hold."""

    PUSH = "push"  # local replaces remote; revokes tombstones of what it pushes
    PULL = "pull"  # remote replaces local; where content is lazy, only the base learns of it
    RESTORE = "restore"  # fetch again what is missing here and was never deleted
    READD = "readd"  # list an object that the index lost, as it lies there
    DELETE_LOCAL = "delete_local"
    DELETE_REMOTE = "delete_remote"  # unlist; the object is queued for the sweep
    BURY = "bury"  # delete on both sides: the index lists what is dead
    AGREE = "agree"  # no transfer; only the base learns
    MERGE = "merge"  # `bayou.domain.merges` says what becomes of it


class Reason(StrEnum):
    WRITTEN_HERE = "written_here"
    WRITTEN_THERE = "written_there"
    DELETED_HERE = "deleted_here"
    DELETED_THERE = "deleted_there"  # a tombstone names it
    OBJECT_GONE = "object_gone"  # somebody who writes no tombstones deleted it
    REPLACED = "replaced"  # deleted on purpose, then written again with other content
    CHANGE_OVER_DELETE = "change_over_delete"  # one side deleted what the other side changed
    ENTRY_LOST = "entry_lost"  # a stale index was written over it
    RESURRECTED = "resurrected"  # an old copy was listed again after its deletion
    MISSING_HERE = "missing_here"
    SAME_CONTENT = "same_content"
    IMMUTABLE = "immutable"  # one side changed what must not change
    BOTH_CHANGED = "both_changed"
    OCCUPIED = "occupied"  # half of something else lies where ours was to go, or what the index lists
    VERSIONS_CHANGED = "versions_changed"  # the marker's versions were deleted or are contested


class Step(msgspec.Struct, frozen=True):
    unit: Unit
    action: Action
    reason: Reason
    base: State = {}
    local: State = {}
    remote: Snapshot = {}
    lists: State = {}
    """Of a re-add: what lies in the bucket. Where it is not what the base says, the next diff decides about it."""
    replaces: State = {}
    """Of a push: what lies where it goes, for all that is known. Each upload is made on that condition; one that is
    refused is a fact, `Evidence.objects`, to diff with again."""
    buries: Mapping[str, ContentId] = {}
    """Tombstones to publish in the same commit."""
    revokes: Mapping[str, ContentId] = {}
    """Tombstones to take back in the same commit: this content was written again."""


class Ask(StrEnum):
    LOCAL_HASH = "local_hash"
    REMOTE_HASH = "remote_hash"
    OBJECT = "object"  # is the object in the bucket, and with which content?


class Question(msgspec.Struct, frozen=True, order=True):
    """A fact that the diff needs before it decides about a path's unit. The other steps stand without it."""

    path: str
    ask: Ask


class Stop(StrEnum):
    """Why a plan is not to be executed as it is."""

    TOO_MANY_DELETIONS = "too_many_deletions"
    INDEX_VANISHED = "index_vanished"
    BASE_TOO_OLD = "base_too_old"  # tombstones that it has not seen may have expired (promise 4)

    @property
    def can_be_accepted(self) -> bool:
        return self is not Stop.BASE_TOO_OLD


class Plan(msgspec.Struct, frozen=True):
    steps: tuple[Step, ...] = ()
    questions: tuple[Question, ...] = ()
    stop: Stop | None = None

    def is_stopped(self, *, accept_deletions: bool = False) -> bool:
        return self.stop is not None and not (accept_deletions and self.stop.can_be_accepted)
