"""The state of an index, for people: what it is, how large, and what is wrong with it. Nothing is written."""

from dataclasses import dataclass

from bayou.domain.scopes import EVERYTHING
from bayou.remotes.discovery import list_shards
from bayou.remotes.loading import load
from bayou.remotes.looking import Format, Head, Place, look
from bayou.remotes.parts import EMPTY, UNPARTITIONED
from bayou.remotes.snapshot import Snapshot

MANY = 10_000
"""Entries from which on a dual index costs more than it is worth: all of it is written with each commit."""


@dataclass(frozen=True, slots=True)
class Shards:
    """The shards that are not as they should be."""

    missing: tuple[str, ...]
    """Shards that are listed, or vouched for, and not there."""
    left_over: tuple[str, ...]
    """Shards that are there, hold something, and are not listed."""
    differing: tuple[str, ...]
    """Shards that are not what the meta vouches for, as far as the store lists versions."""


@dataclass(frozen=True, slots=True)
class Status:
    format: Format
    entries: int
    partitions: int
    commit_seq: int | None
    is_vouched: bool
    """Whether readers can rely on shards: the last commit was one of Bayou, and nothing was written since."""
    unpartitioned: int
    without_hash: int
    skipped: dict[str, str]
    shards: Shards

    @property
    def should_migrate(self) -> bool:
        return self.format is Format.DUAL and self.entries > MANY

    @property
    def is_sound(self) -> bool:
        return not (self.skipped or self.shards.missing or self.shards.left_over or self.shards.differing)


async def status(place: Place) -> Status:
    head = await look(place, closely=True)
    snapshot = await load(place, EVERYTHING, head)
    entries = without_hash = 0
    for part in snapshot.parts:
        listed = snapshot.entries(part)
        entries += len(listed)
        without_hash += sum(entry.sha256 is None for entry in listed.values())
    return Status(
        format=snapshot.format,
        entries=entries,
        partitions=len(snapshot.parts),
        commit_seq=head.meta.commit_seq if head.meta else None,
        is_vouched=head.is_vouched,
        unpartitioned=len(snapshot.entries(UNPARTITIONED)),
        without_hash=without_hash,
        skipped=snapshot.skipped(),
        shards=await shards(place, head, snapshot),
    )


async def shards(place: Place, head: Head, snapshot: Snapshot) -> Shards:
    there = await list_shards(place, head.meta_version)
    listed = {*(head.meta.partitions if head.meta else ()), UNPARTITIONED}
    left_over = (name for name, shard in there.items() if name not in listed and shard.size != len(EMPTY.body))
    differing = (
        name for name, version in head.vouched.items() if name in there and there[name].version not in {None, version}
    )
    missing = {*snapshot.missing, *(name for name in head.vouched if name not in there)}
    return Shards(tuple(sorted(missing)), tuple(sorted(left_over)), tuple(sorted(differing)))
