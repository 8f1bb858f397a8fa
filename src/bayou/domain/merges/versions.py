"""Two versions under one number: the remote keeps it, ours gets a number that nobody knows yet."""

import uuid
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import Enum, auto

import msgspec

from bayou.domain.content import ContentId
from bayou.domain.merges.resolution import Renumber, TakeLocal, TakeRemote

_FORKS = uuid.UUID("5d3a7a0e-2f5c-5e58-9d6b-1c8e0c6f7a41")


class Version(msgspec.Struct, frozen=True):
    """What the metadata of a version says about who it is."""

    id: str
    raw: ContentId
    streaming: bool = False


class Growth(Enum):
    """How the contents of two states of one stream relate. A stream only grows, so a prefix is the past."""

    OURS_GOES_ON = auto()
    THEIRS_GOES_ON = auto()
    FORKED = auto()


def growth(local: bytes, remote: bytes) -> Growth:
    """For streams in memory; of large ones, compare hashes of the common length."""
    if remote.startswith(local):
        return Growth.THEIRS_GOES_ON
    return Growth.OURS_GOES_ON if local.startswith(remote) else Growth.FORKED


class Contest(msgspec.Struct, frozen=True):
    """One number, two contents. At least one of them is not what the base says."""

    local: Version
    remote: Version | None
    """None: half a version, of which nobody knows what it is going to be."""
    written_here: bool
    growth: Growth = Growth.FORKED
    """Only looked at where both are states of one stream."""


class Versions(msgspec.Struct, frozen=True):
    """The versions of one name, as each side knows them."""

    contested: Mapping[int, Contest]
    local: Mapping[int, str]
    """The id of every version that is here."""
    remote: Mapping[int, str]
    published: AbstractSet[int]
    """Numbers in the base."""
    buried: AbstractSet[int]
    """Numbers that tombstones name."""


def merge_versions(versions: Versions) -> dict[int, TakeRemote | TakeLocal | Renumber]:
    """What becomes of our version at each number; numbers that are not in the answer stay as they are.

    Order is kept: with the first of our unpublished versions that has to move, all later ones move, so that the newest
    of ours is still the one with the highest number.
    """
    taken = {number: _take(number, contest, versions) for number, contest in versions.contested.items()}
    resolutions: dict[int, TakeRemote | TakeLocal | Renumber] = {
        n: take for n, take in taken.items() if take is not None
    }
    moving = versions.contested.keys() - resolutions.keys()
    unpublished = versions.local.keys() - versions.published - versions.remote.keys()
    first_unpublished = min(moving - versions.published, default=None)
    if first_unpublished is not None:
        moving |= {number for number in unpublished if number > first_unpublished}
    staying = versions.local.keys() - moving
    known = versions.contested.keys() | versions.remote.keys() | versions.published | versions.buried | staying
    number = max(known, default=0)
    for old in sorted(moving):
        number += 1
        if number != old:
            resolutions[old] = Renumber(number, _fork_id(versions.contested.get(old)))
    return resolutions


def _take(number: int, contest: Contest, versions: Versions) -> TakeRemote | TakeLocal | None:
    """Where ours does not need a number of its own."""
    ours, theirs = contest.local, contest.remote
    elsewhere = {i for side in (versions.local, versions.remote) for n, i in side.items() if n != number}
    if theirs is not None and ours.id == theirs.id:
        if ours.streaming or theirs.streaming:
            is_moved = contest.growth is Growth.FORKED and _fork_id(contest) in elsewhere
            return TakeRemote() if is_moved else _GROWN[contest.growth]
        return TakeRemote(keep_aside=contest.written_here)
    # Moved before, by a sync that did not live to record it, or by another machine that held the same version.
    return TakeRemote(keep_aside=contest.written_here and ours.streaming) if ours.id in elsewhere else None


_GROWN = {Growth.OURS_GOES_ON: TakeLocal(), Growth.THEIRS_GOES_ON: TakeRemote(), Growth.FORKED: None}


def _fork_id(contest: Contest | None) -> str | None:
    """Derived from what was appended, so that a merge which is done again after a crash ends at the same version."""
    if contest is None or contest.remote is None or contest.local.id != contest.remote.id:
        return None
    return str(uuid.uuid5(_FORKS, f"{contest.local.id}/{contest.local.raw}"))
