"""Listing: what was carried becomes visible, by one commit, which everybody uses who writes.

Before it an upload is nothing to anybody. The files of a version are listed together or not at all; tombstones come
first, so that what was deleted at the source is not brought back at the target by somebody with an old copy.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from bayou.domain.entries import Entry
from bayou.errors import Conflict, ErrorKind
from bayou.migration.ends import End, classify, is_record
from bayou.migration.planning import Manifest, Plan, Source, Target, content_of
from bayou.remotes import Change, Changeset, tombstones
from bayou.remotes.changes import StillHeld
from bayou.remotes.objects import each
from bayou.remotes.recording import store_time
from bayou.storage.arriving import content_of as content_at
from bayou.wire.migration import Carried

_WIDTH = 32


class Listed(NamedTuple):
    files: int
    removed: int
    contested: frozenset[str]
    """Changed by somebody else meanwhile."""
    held_back: frozenset[str]
    """Copied, and not listed, as another file of their version was not."""


async def list_all(  # noqa: PLR0913 - both ends as they were, and what is to become of them
    target: End, plan: Plan, source: Source, before: Target, at: str, *, still_held: StillHeld
) -> Listed:
    """Let the target say what was carried."""
    manifest = await target.pages.load()
    await _sweep(target, plan.strays, manifest)
    await target.pages.add(list(_met(plan, source, manifest, at)))
    entries = {path: _entry(source.entries[path], manifest) for path in (*plan.copies, *plan.ready)}
    arrived = {path: entry for path, entry in entries.items() if entry is not None}
    if target.is_folder:
        await _sweep(target, plan.gone, manifest)
        await _settle(target, arrived.keys() | plan.done.keys(), plan, plan.gone.keys())
        return Listed(len(arrived), len(plan.gone), frozenset(), frozenset())
    units = _units(arrived)
    held_back = {
        path
        for members in units.values()
        for path in members
        if any(_lacks(other, arrived, plan, source) for other in classify(path).members)
    }
    changes = [
        Change(
            before={path: before.listed[path] for path in members if path in before.listed},
            after={path: arrived[path] for path in members},
        )
        for members in units.values()
        if not held_back.intersection(members) and not all(map(is_record, members))
    ]
    changes += [
        Change(before={path: plan.gone[path] for path in members}, buries={path: plan.gone[path] for path in members})
        for members in _units(plan.gone).values()
    ]
    if not still_held():
        raise Conflict("the lock was lost before anything was listed", kind=ErrorKind.LOCK_LOST)
    await _take_over(target, source, before, plan)
    contested: frozenset[str] = frozenset()
    if changes:
        head = await target.remote.head()
        done = await target.remote.commit(Changeset(target.namespace, tuple(changes), on=head.token), still_held)
        contested = frozenset(path for contest in done.contested for path in contest.change.paths)
    listed = arrived.keys() - held_back - contested
    await _settle(target, listed | plan.done.keys(), plan, plan.gone.keys() - contested)
    return Listed(len(listed), len(plan.gone.keys() - contested), contested, frozenset(held_back))


def _met(plan: Plan, source: Source, manifest: Manifest, at: str) -> Iterator[Carried]:
    """What both ends hold alike though nobody carried it: that is agreed on as well."""
    for path in plan.unsaid:
        last = max(manifest.of(path), key=lambda one: one.at, default=None)
        content, entry = plan.done[path], source.entries[path]
        if last is None or last.sha256 != content:
            yield Carried(path, entry.size, content, entry.last_modified, "", at)


def _entry(entry: Entry, manifest: Manifest) -> Entry | None:
    """What is to be listed: the source's entry with the hash that its bytes turned out to have."""
    content = content_of(entry, manifest)
    found = next((one for one in manifest.copied.get(entry.key, ()) if one.sha256 == content), None)
    if found is None:
        return None
    return Entry(entry.key, found.size, entry.last_modified, entry.local_mtime, found.sha256)


def _units(paths: Collection[str]) -> Mapping[str, list[str]]:
    units: dict[str, list[str]] = {}
    for path in sorted(paths):
        units.setdefault(classify(path).key, []).append(path)
    return units


def _lacks(path: str, arrived: Collection[str], plan: Plan, source: Source) -> bool:
    """Whether the source has it, and it is neither there nor has arrived now."""
    return path in source.entries and path not in arrived and path not in plan.done


async def _settle(target: End, listed: Collection[str], plan: Plan, gone: Collection[str]) -> None:
    """Write down what both ends agree on now, and what they agree on no more."""
    void = {*gone, *plan.strays, *plan.forgotten}
    await target.pages.settle(listed, void)
    if gone or plan.forgotten:
        await target.pages.forget(void)


async def _take_over(target: End, source: Source, before: Target, plan: Plan) -> None:
    graves = {
        path: {one for one in contents if one != before.listed.get(path) or path in plan.gone}
        for path, contents in source.graves.items()
    }
    now = store_time(target.remote.place, await target.remote.head())
    await tombstones.take_over(target.remote.place, graves, now=now)


async def _sweep(target: End, paths: Collection[str], manifest: Manifest) -> None:
    """Remove objects that were carried here, and that nobody needs."""

    async def one(path: str) -> None:
        if await content_at(target.store, target.key(path)) in manifest.contents(path):
            await target.store.delete(target.key(path))

    await each(_WIDTH, paths, one)
