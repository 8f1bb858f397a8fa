"""Repair: make index and bucket say the same again, under the structural lock. A dry run gives the plan of the run."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple

from bayou.domain.content import ContentId
from bayou.domain.entries import Entry
from bayou.domain.partitions import partition_key
from bayou.errors import BayouError, Conflict, ErrorKind, NotFound
from bayou.locks import Hold
from bayou.remotes import Change, Changeset
from bayou.remotes.objects import each
from bayou.remotes.rebuilding import Rebuilt
from bayou.remotes.writes import Write, intended, under_way
from bayou.storage.port import ABSENT, CHUNK, Body, ObjectMeta, Version
from bayou.sync import repairs, survey
from bayou.sync.ends import Ends
from bayou.sync.here import content_here
from bayou.sync.ledger import Ledger, nanoseconds
from bayou.sync.repairs import Action, Fix
from bayou.sync.survey import Seen
from bayou.sync.verifying import Difference, Kind, of_index
from bayou.wire.times import to_text

GRACE = timedelta(days=1)
"""Longer than any push takes from its first upload to its commit."""

_NOT_LISTED = frozenset({Action.SWEEP, Action.CLEAR, Action.LEAVE})
"""What changes no index."""

_CHANGED = "it changed meanwhile: run the repair again"


@dataclass(slots=True)
class Repair:
    index: tuple[Difference, ...] = ()
    """Why the index has to be rebuilt, if it has to."""
    fixes: list[Fix] = field(default_factory=list)
    """What there is to do, and what is left alone; of a run also what was done."""
    rebuilt: Rebuilt | None = None
    failed: dict[str, str] = field(default_factory=dict)
    """What could not be done, and why."""

    @property
    def is_needed(self) -> bool:
        return bool(self.index) or any(fix.action is not Action.LEAVE for fix in self.fixes)


async def plan(ends: Ends, *, grace: timedelta = GRACE, content: bool = False, seen: Seen = lambda _: None) -> Repair:
    """What `repair` would do now. Where the index is damaged, what else is wrong shows when it is rebuilt."""
    with Ledger() as ledger:
        return await _plan(ends, ledger, grace, 0, content=content, seen=seen)


async def repair(ends: Ends, *, grace: timedelta = GRACE, content: bool = False, seen: Seen = lambda _: None) -> Repair:
    """Carry the plan out. What changes under it is left alone and said to have failed; running it again is safe."""
    async with ends.locks.structure() as hold:
        now_ns = await _store_time(ends)
        with Ledger() as ledger:
            done = await _plan(ends, ledger, grace, now_ns, content=content, seen=seen)
        await _carry_out(ends, done, hold, now_ns - _nanoseconds(grace))
        if done.index:
            done.rebuilt = await ends.remote.rebuild(lambda: hold.seems_held)
            await _bring_back(ends, done, hold)
            with Ledger() as ledger:
                rest = await _plan(ends, ledger, grace, now_ns, content=content, seen=seen)
            rest.failed = done.failed
            await _carry_out(ends, rest, hold, now_ns - _nanoseconds(grace))
            done.fixes = [*(fix for fix in done.fixes if fix.action is not Action.LEAVE), *rest.fixes]
        return done


async def _plan(  # noqa: PLR0913 - what to look at, and when
    ends: Ends, ledger: Ledger, grace: timedelta, now_ns: int, *, content: bool, seen: Seen
) -> Repair:
    findings = await survey.of_bucket(ends, ledger, content=content, seen=seen)
    await survey.of_cache(ends, ledger, seen=seen)
    # A bad entry stays what it is: nobody knows what it was to be.
    wrong = (difference for difference in of_index(ends, ledger, findings) if difference.kind is not Kind.BAD_ENTRY)
    found = Repair(tuple(wrong))
    if findings.head is not None:
        settled = max(now_ns, findings.now_ns) - _nanoseconds(grace)
        found.fixes = [fix async for fix in repairs.fixes(ends, ledger, settled)]
    return found


async def _carry_out(ends: Ends, plan: Repair, hold: Hold, settled_ns: int) -> None:
    """Objects first, then the index, then what nobody lists any more: whoever is killed in between left no damage."""
    surgeon = _Surgeon(ends, hold, settled_ns, plan.failed)
    changes = await surgeon.prepare([fix for fix in plan.fixes if fix.action not in _NOT_LISTED])
    if changes:
        done = await ends.remote.commit(Changeset(ends.namespace, tuple(changes)), lambda: hold.seems_held)
        for contest in done.contested:
            plan.failed.update(dict.fromkeys(contest.change.paths, _CHANGED))
    for fix in plan.fixes:
        if fix.action is Action.SWEEP:
            await surgeon.sweep(fix)
        elif fix.action is Action.UNLIST:
            await surgeon.put_aside(fix)
        elif fix.action is Action.CLEAR:
            await surgeon.clear(fix)


class _Lying(NamedTuple):
    """An object as it lies there at this moment."""

    content: ContentId
    version: Version
    meta: ObjectMeta


@dataclass(slots=True)
class _Surgeon:
    ends: Ends
    hold: Hold
    settled_ns: int
    failed: dict[str, str]
    intended: Mapping[str, AbstractSet[ContentId]] | None = None

    async def prepare(self, fixes: Sequence[Fix]) -> list[Change]:
        """Put objects in place, and say what the index is to list. A marker goes with the versions beside it."""
        found = await each(self.ends.pushes, fixes, self._prepare)
        families: dict[str, list[Change]] = {}
        for fix, change in zip(fixes, found, strict=True):
            if change is not None:
                is_of_name = fix.action in (Action.UNLIST, Action.POINT)
                families.setdefault(fix.path.rpartition("/")[0] if is_of_name else fix.path, []).append(change)
        return [_together(changes) for changes in families.values()]

    async def _prepare(self, fix: Fix) -> Change | None:
        try:
            match fix.action:
                case Action.UPLOAD:
                    await self._upload(fix)
                    return None
                case Action.POINT:
                    return await self._point(fix)
                case Action.UNLIST:
                    return Change({line.path: line.listed for line in fix.lines if line.listed_size is not None})
                case _:
                    return await self._list(fix)
        except (BayouError, OSError) as error:
            self.failed[fix.path] = str(error)
            return None

    async def _upload(self, fix: Fix) -> None:
        (line,) = fix.lines
        await self._put(line.path, _body(self.ends, line.path, line.listed), await self._lies(line.path))

    async def _point(self, fix: Fix) -> Change | None:
        (line,) = fix.lines
        before = {} if line.listed_size is None else {line.path: line.listed}
        if fix.body is None:
            return Change(before)
        content = hashlib.sha256(fix.body).hexdigest()
        lies = await self._lies(line.path)
        if lies is None or lies.content != content:
            await self._put(line.path, fix.body, lies)
        if content == line.listed:
            return None
        now = to_text(self.ends.now())
        return Change(before, {line.path: Entry(line.path, len(fix.body), now, None, content)})

    async def _list(self, fix: Fix) -> Change:
        after = {}
        for path, content in fix.contents.items():
            lies = await self._lies(path)
            if lies is None or lies.content != content:
                raise Conflict(_CHANGED)
            after[path] = Entry(path, lies.meta.size, to_text(nanoseconds(lies.meta)), None, content)
        listed = {line.path: line.listed for line in fix.lines if line.listed_size is not None}
        return Change({path: listed[path] for path in after if path in listed}, after)

    async def sweep(self, fix: Fix) -> None:
        """Remove what was deleted, or never committed, if by now it still is: not listed, and as old as it was."""
        if self.intended is None:
            self.intended = intended(await under_way(self.ends.remote.place))
        listed = await self.ends.remote.load()
        buried = await self.ends.remote.buried({partition_key(line.path) for line in fix.lines})
        for line in fix.lines:
            lies = await self._lies(line.path)
            if lies is None:
                continue
            is_buried = lies.content in buried.graves.get(line.path, ())
            is_dead = is_buried or lies.content in self.intended.get(line.path, ())
            if not is_dead or nanoseconds(lies.meta) > self.settled_ns or listed.find(line.path) is not None:
                self.failed[fix.path] = _CHANGED
                return
        await self._remove(line.path for line in fix.lines)

    async def clear(self, fix: Fix) -> None:
        """Remove what a bulk write has left behind. Its intents have to outlive whatever it put in place."""
        if not self.failed and await self.hold.still_held():
            await Write(self.ends.remote.place.keys, fix.path.rpartition("/")[2]).remove(self.ends.store)

    async def put_aside(self, fix: Fix) -> None:
        """What is left of a unit of which a part is lost: out of everybody's way, where it can be found again. What is
        young stays: it may be the first half of a push.
        """
        listed = await self.ends.remote.load()
        paths = [line.path for line in fix.lines]
        left = {path: lies for path in paths if (lies := await self._lies(path)) is not None}
        is_young = any(nanoseconds(lies.meta) > self.settled_ns for lies in left.values())
        if is_young or any(listed.find(path) is not None for path in left):
            return
        for path, lies in left.items():
            aside = self.ends.remote.place.keys.control(f"bayou/quarantine/{lies.content[:16]}/{path}")
            await self.ends.store.copy(self.ends.key(path), aside)
        await self._remove(left)

    async def _remove(self, paths: Iterable[str]) -> None:
        for path in sorted(paths):  # metadata before raw
            if not await self.hold.still_held():
                raise Conflict("the lock was lost during the repair", kind=ErrorKind.LOCK_LOST)
            await self.ends.store.delete(self.ends.key(path))

    async def _put(self, path: str, body: Body, over: _Lying | None) -> None:
        await self.ends.store.put(self.ends.key(path), body, when=ABSENT if over is None else over.version)

    async def _lies(self, path: str) -> _Lying | None:
        try:
            fetched = await self.ends.store.get(self.ends.key(path))
        except NotFound:
            return None
        digest = hashlib.sha256()
        async for chunk in fetched.chunks():
            digest.update(chunk)
        return _Lying(digest.hexdigest(), fetched.version, fetched.meta)


async def _bring_back(ends: Ends, plan: Repair, hold: Hold) -> None:
    """Entries that the rebuilding dropped as their objects are lost, and that this cache has all of."""
    dropped = () if plan.rebuilt is None else plan.rebuilt.dropped
    units = {path.rpartition("/")[0] if path.startswith("data/") else path for path in dropped}
    known = ends.journal.base.get(dropped)
    changes = []
    for unit in sorted(units):
        paths = [path for path in dropped if path == unit or path.rpartition("/")[0] == unit]
        contents = {path: known[path].content for path in paths if path in known}
        if len(contents) < len(paths) or any(content_here(ends.tree.root, path) != contents[path] for path in paths):
            continue
        after = {}
        for path in paths:
            with suppress(Conflict):  # whether it is the same that lies there, the next look tells
                await ends.store.put(ends.key(path), _body(ends, path, contents[path]), when=ABSENT)
            now = to_text(ends.now())
            after[path] = Entry(path, ends.tree.size(path) or 0, now, now, contents[path])
        changes.append(Change({}, after))
    if changes:
        await ends.remote.commit(Changeset(ends.namespace, tuple(changes)), lambda: hold.seems_held)


def _body(ends: Ends, path: str, content: ContentId | None) -> Body:
    """A file of the cache, if it still holds this: in memory where it is small."""
    file = ends.file(path)
    body: Body
    found: ContentId | None
    if file.stat().st_size <= CHUNK:
        body = file.read_bytes()
        found = hashlib.sha256(body).hexdigest()
    else:
        body, found = file, content_here(ends.tree.root, path)
    if found != content:
        raise Conflict(_CHANGED)
    return body


def _together(changes: Sequence[Change]) -> Change:
    before: dict[str, ContentId | None] = {}
    after: dict[str, Entry] = {}
    for change in changes:
        before.update(change.before)
        after.update(change.after)
    return Change(before, after)


async def _store_time(ends: Ends) -> int:
    """What time it is for the store, which has just written our lock. Where it has not, only listings tell."""
    try:
        return nanoseconds(await ends.store.head(ends.remote.place.keys.global_lock))
    except NotFound:
        return 0


def _nanoseconds(span: timedelta) -> int:
    return int(span.total_seconds() * 1e9)
