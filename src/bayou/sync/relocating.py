"""Relocating: move what an index lists from one namespace of a bucket to another, so that it can be killed at any time.

Everything is copied, then listed there, then unlisted here, then removed here. Whoever runs it again goes on: what is
listed there already is only unlisted and removed. Both global locks are held by whoever calls this.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bayou.domain.entries import Entry
from bayou.errors import Conflict, Corrupt, ErrorKind, NotFound
from bayou.layout.units import classifier
from bayou.remotes import Change, Changeset, Format, ObjectRemote, tombstones
from bayou.remotes.changes import StillHeld
from bayou.remotes.discovery import discover
from bayou.remotes.objects import each
from bayou.remotes.recording import store_time
from bayou.storage.arriving import content_of
from bayou.storage.port import ObjectMeta, Version

Takes = Callable[[str], bool]
"""Whether a path is data of the datastore that moves."""

_SOME = 5
_classify = classifier(lambda _: False)


@dataclass(frozen=True, slots=True)
class Move:
    """What is to move, as values. `left_over` is what an earlier move copied and did not come to remove."""

    entries: Mapping[str, Entry]
    left_over: Mapping[str, Entry]

    @property
    def size(self) -> int:
        return sum(entry.size for entry in self.entries.values())

    def __bool__(self) -> bool:
        return bool(self.entries or self.left_over)


async def plan(source: ObjectRemote, target: ObjectRemote, takes: Takes) -> Move:
    """What would move; a conflict where something else is in the way, before anything is changed."""
    entries = {path: entry for path, entry in (await _listed(source)).items() if takes(path)}
    found = await discover(source.place)
    there = await _listed(target)
    in_the_way = [path for path, entry in entries.items() if path in there and not _is_same(entry, there[path])]
    lying = await discover(target.place)
    unlisted = [path for path in entries if path in lying.entries and path not in there]
    contents = await each(source.place.width, unlisted, lambda path: _are_same(source, target, path))
    in_the_way += [path for path, is_same in zip(unlisted, contents, strict=True) if not is_same]
    if in_the_way:
        raise Conflict(
            f"{len(in_the_way)} files are there already, with other content: {', '.join(sorted(in_the_way)[:_SOME])}",
            kind=ErrorKind.ALREADY_EXISTS,
            remedy="Decide which is right, remove the other one, and run it again.",
        )
    lost = [path for path, entry in entries.items() if found.sizes.get(path) != entry.size]
    if lost:
        raise Corrupt(
            source.place.keys.data(min(lost)),
            expected="an object as the index lists it",
            found=f"none, or one of another size, as of {len(lost) - 1} others",
            remedy="Repair the bucket first: bayou verify names what is wrong with it.",
        )
    left_over = {
        path: there[path]
        for path, entry in found.entries.items()
        if path not in entries and takes(path) and path in there and there[path].size == entry.size
    }
    return Move(entries, left_over)


async def move(source: ObjectRemote, target: ObjectRemote, takes: Takes, still_held: StillHeld) -> Move:
    """Move it. What was copied is compared by its size, and removed here only if it is still what was copied."""
    moving = await plan(source, target, takes)
    was_sharded = (await source.head()).format is Format.SHARDED
    versions = dict(await each(source.place.width, moving.entries, lambda path: _copy(source, target, path)))
    await _tombstones(source, target, takes)
    await _commit(target, _changes(moving.entries, listed=True), still_held)
    if was_sharded and (await target.head()).format is Format.DUAL:
        await target.migrate(still_held)
    await _commit(source, _changes(moving.entries, listed=False), still_held)
    removable = {path: versions.get(path) for path in moving.entries} | dict.fromkeys(moving.left_over)
    if not still_held():
        raise Conflict("the lock was lost before the originals were removed", kind=ErrorKind.LOCK_LOST)
    await each(source.place.width, removable.items(), lambda item: _remove(source, target, *item))
    return moving


async def _listed(remote: ObjectRemote) -> dict[str, Entry]:
    """What the index lists. Where there is none nothing is ours to move: anybody may have put it there (W-33)."""
    head = await remote.head()
    return {} if head.format is Format.NONE else (await remote.load(head=head)).all()


async def _copy(source: ObjectRemote, target: ObjectRemote, path: str) -> tuple[str, Version | None]:
    before, there = await _head(source, path), await _head(target, path)
    if before is None:
        raise NotFound(f"{source.place.keys.data(path)!r} was removed while it was to be copied")
    if there is None or there.size != before.size:
        await target.place.store.copy(source.place.keys.data(path), target.place.keys.data(path))
        there = await _head(target, path)
    if there is None or there.size != before.size:
        raise Corrupt(target.place.keys.data(path), expected=f"a copy of {before.size} bytes", found=str(there))
    return path, before.version


async def _remove(source: ObjectRemote, target: ObjectRemote, path: str, version: Version | None) -> None:
    """Remove an original of which there is a copy. A left-over of an earlier move is compared byte by byte."""
    here = await _head(source, path)
    is_copied = here is not None and (
        here.version == version if version is not None else await _are_same(source, target, path)
    )
    if is_copied:
        await source.place.store.delete(source.place.keys.data(path))


async def _commit(remote: ObjectRemote, changes: tuple[Change, ...], still_held: StillHeld) -> None:
    if not changes:
        return
    done = await remote.commit(Changeset(remote.place.namespace, changes), still_held)
    if done.contested:
        paths = sorted(path for contest in done.contested for path in contest.change.paths)
        message = f"somebody changed what was to move: {', '.join(paths[:_SOME])}"
        raise Conflict(message, remedy="Run it again: it goes on where it stopped.")


def _changes(entries: Mapping[str, Entry], *, listed: bool) -> tuple[Change, ...]:
    """The files of a version together."""
    units: dict[str, dict[str, Entry]] = {}
    for path, entry in entries.items():
        units.setdefault(_classify(path).key, {})[path] = entry
    if listed:
        return tuple(Change({}, files) for files in units.values())
    return tuple(Change({path: entry.sha256 for path, entry in files.items()}) for files in units.values())


async def _tombstones(source: ObjectRemote, target: ObjectRemote, takes: Takes) -> None:
    """What was deleted stays deleted, wherever replicas meet from now on."""
    graves = (await source.all_buried()).graves
    now = store_time(target.place, await target.head())
    await tombstones.take_over(target.place, {path: graves[path] for path in graves if takes(path)}, now=now)


async def _are_same(source: ObjectRemote, target: ObjectRemote, path: str) -> bool:
    one, other = [await content_of(end.place.store, end.place.keys.data(path)) for end in (source, target)]
    return one == other


async def _head(remote: ObjectRemote, path: str) -> ObjectMeta | None:
    try:
        return await remote.place.store.head(remote.place.keys.data(path))
    except NotFound:
        return None


def _is_same(one: Entry, other: Entry) -> bool:
    return (one.size, one.sha256) == (other.size, other.sha256)
