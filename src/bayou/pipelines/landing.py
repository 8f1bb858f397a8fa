"""Landing: from what tasks put aside to versions that everybody sees, in one commit.

It is what a push does, for contents that are in the bucket already. Each name gets the next numbers above all that the
index and the tombstones know; what goes to their places goes there on the condition that nothing lies there, and a
number that turns out to be taken is left to whoever has it. Then, under the global lock, all is looked at again, and
what has to moves on. So nobody who takes locks comes in between, and a commit that somebody contests all the same is
made again. What is about to be put is declared before (`remotes.writes`): if a
write is cut off, a repair removes it.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from bayou.domain.artifacts import ArtifactKey
from bayou.domain.content import ContentId
from bayou.domain.entries import Entry
from bayou.domain.models import Model
from bayou.domain.partitions import partition_key
from bayou.domain.scopes import EVERYTHING, scope_of
from bayou.errors import Conflict, Unavailable
from bayou.layout.artifacts import Part, versions_among
from bayou.locks import Hold, Locks
from bayou.pipelines.aside import Row, Told, all_there, rows_of, with_contents
from bayou.pipelines.naming import Name, Piece, names_of, numbers_among
from bayou.pipelines.owning import Whose, check_owners, models_of, whose
from bayou.pipelines.reading import whole
from bayou.pipelines.slices import missing
from bayou.pipelines.writerecord import TYPE, Job, paths, record
from bayou.remotes import Change, Changeset, Commit, Head, ObjectRemote, Snapshot
from bayou.remotes.objects import each, read
from bayou.remotes.tombstones import Buried
from bayou.remotes.writes import Write
from bayou.storage.arriving import content_of
from bayou.storage.port import Store
from bayou.sync.uploading import Occupants, Occupied, put
from bayou.tree.names import marker_of
from bayou.wire import outputs
from bayou.wire.intents import Intent
from bayou.wire.times import to_text

_TRIES = 8


@dataclass(frozen=True, slots=True)
class Planned:
    """What is to be there, as the index was at a look."""

    there: Snapshot
    listed: Mapping[str, ContentId | None]
    buried: Buried
    taken: Mapping[str, set[int]]
    """The numbers that are listed or were deleted, by the folders of names."""
    names: Sequence[Name]
    job: Model
    definitions: Mapping[str, bytes]
    """Those that are missing."""


async def land(remote: ObjectRemote, locks: Locks, job: Job, told: Sequence[Told]) -> Commit | None:
    """Let the rows be versions. None: there were none, or they were versions already. It may be run again after any
    failure.
    """
    store, write = remote.place.store, Write(remote.place.keys, job.id)
    done = None
    if any(one.count for one in told) and not await _is_recorded(remote, write, job, told):
        landing = _Landing(remote, write, job, await rows_of(store, write, told), await write.intents(store))
        await landing.prepare(rounds=1)  # whom somebody is in the way of, waits for the lock instead of running a race
        async with locks.commit() as hold:
            done = await landing.commit(hold)
    await write.remove(store)
    return done


async def _is_recorded(remote: ObjectRemote, write: Write, job: Job, told: Iterable[Told]) -> bool:
    """Whether nothing is left to do: what is aside goes when everything else is done."""
    if await all_there(remote.place.store, write, told):
        return False
    models, _ = await models_of(remote, await remote.head(), {_own(job): job.name})
    snapshot = await remote.load(scope_of(models.values()))
    for _, path in paths(job, models[_own(job)]):
        entry = snapshot.find(path)
        if entry is None:
            return False
        if outputs.decode(await whole(remote.place, entry), path).id == job.id:
            return True
    return False


@dataclass(slots=True)
class _Landing:
    remote: ObjectRemote
    write: Write
    job: Job
    rows: Sequence[Row]
    intents: list[Intent]
    planned: Planned | None = None
    names: dict[ArtifactKey, Name] = field(default_factory=dict)
    found: dict[str, ContentId] = field(default_factory=dict)
    """What lies in the bucket otherwise than the index says, of files that may change."""

    # Where uploads go, as `uploading.put` has it.

    @property
    def store(self) -> Store:
        return self.remote.place.store

    @property
    def conditional(self) -> bool:
        return self.remote.place.conditional

    def key(self, path: str) -> str:
        return self.remote.place.keys.data(path)

    async def prepare(self, *, rounds: int) -> Planned | None:
        """Put everything in its place, as far as it is not there yet. None: others were faster each time."""
        for _ in range(rounds):
            planned = await self._plan()
            waiting = [name for name in planned.names if not name.is_there]
            if not waiting:
                return planned
            await self._declare(waiting)
            await self._put_all(waiting)
        return None

    async def commit(self, hold: Hold) -> Commit:
        """List all of it, under the lock."""
        for _ in range(_TRIES):
            planned = await self.prepare(rounds=_TRIES)
            if planned is None or not await self._fulfil(planned.names):
                continue
            changes = [*await self._of_names(planned), *await self._of_files(planned)]
            changeset = Changeset(self.remote.place.namespace, tuple(changes), on=planned.there.token)
            done = await self.remote.commit(changeset, lambda: hold.seems_held)
            if not done.contested:
                await self._clear({path for change in changes for path in change.after})
                return done
        raise Conflict(
            f"a write lost its version numbers {_TRIES} times to somebody who holds no lock",
            remedy="Find out who, then run the write again. What is left of this one goes with the next repair.",
        )

    # Planning.

    async def _plan(self) -> Planned:
        head = await self.remote.head()
        if self.planned is None or self.planned.there.token != head.token:
            self.planned = await self._look(head)
        for name in self.planned.names:
            if not self._is_listed(name, self.planned):
                name.take_numbers(self.planned.taken.get(name.folder, ()))
        return self.planned

    async def _look(self, head: Head) -> Planned:
        own = _own(self.job)
        wanted = {whose(row.version): row.version.model_name for row in self.rows} | {own: self.job.name}
        models, definitions = await models_of(self.remote, head, wanted)
        there = await self.remote.load(scope_of(models.values()), head)
        if there.missing:
            raise missing(self.remote.place, there.missing[0])
        listed = there.contents()
        found = names_of(self.rows, lambda version: models[whose(version)], self.job.id, self.job.started)
        names = [self._known(name) for name in found]
        paths_ = [path for name in names for path in (name.path(1, Part.RAW), name.marker)]
        buried = await self.remote.buried({partition_key(path) for path in [*paths_, *definitions]})
        taken = numbers_among([*listed, *buried.graves])
        written = [(name, taken[name.folder]) for name in names if name.folder in taken]
        await check_owners(self.remote.place, there, written)
        return Planned(there, listed, buried, taken, names, models[own], definitions)

    def _known(self, name: Name) -> Name:
        """The same name as it was planned before, by this process or by one that was cut off."""
        if name.key not in self.names:
            tried = [intent.firsts[name.folder] for intent in self.intents if name.folder in intent.firsts]
            name.first = tried[-1] if tried else 0
            self.names[name.key] = name
        return self.names[name.key]

    def _is_listed(self, name: Name, planned: Planned) -> bool:
        """Whether a commit whose answer was lost has listed it."""
        return name.first > 0 and all(
            planned.listed.get(piece.metadata_path) == _hash(piece.metadata) for piece in name.pieces
        )

    # Putting.

    async def _declare(self, names: Sequence[Name]) -> None:
        contents: dict[str, tuple[ContentId, ...]] = {}
        for name in names:
            for piece in name.pieces:
                sha256 = piece.row.sha256
                contents[piece.raw_path] = (sha256, self._claim_id) if piece.row.is_large else (sha256,)
                contents[piece.metadata_path] = (_hash(piece.metadata),)
        firsts = {name.folder: name.first for name in names}
        await self._intend(Intent(at=self._now(), firsts=firsts, contents=contents))

    async def _intend(self, intent: Intent) -> None:
        await self.write.declare(self.store, intent, len(self.intents))
        self.intents.append(intent)

    async def _put_all(self, names: Sequence[Name]) -> None:
        """A name that finds a place taken takes the numbers above all that lies there, in the next round."""
        pieces = {id(piece.row): (name, piece) for name in names for piece in name.pieces}
        for name in names:
            name.is_there = True

        async def put_one(pair: tuple[Row, bytes]) -> None:
            row, raw = pair
            name, piece = pieces[id(row)]
            try:
                # Whose raw lies there owns the number.
                await self._put_raw(piece, raw)
                await self._put(piece.metadata_path, piece.metadata)
            except Occupied:
                name.give_up(piece.number)

        async for some in with_contents(self.store, self.write, [piece.row for _, piece in pieces.values()]):
            await each(self.remote.place.width, some, put_one)
        for name in names:
            if not name.is_there:
                name.give_up(await self._highest(name))

    async def _highest(self, name: Name) -> int:
        folder = f"{self.key(name.folder)}/"
        keys = [meta.key async for page in self.store.list(folder.rstrip("/")) for meta in page]
        return max(versions_among(key.removeprefix(folder).partition("/")[0] for key in keys), default=0)

    async def _put_raw(self, piece: Piece, raw: bytes) -> None:
        try:
            await self._put(piece.raw_path, self._claim if piece.row.is_large else raw)
        except Occupied as occupied:
            if occupied.found != piece.row.sha256:
                raise

    async def _put(self, path: str, body: bytes, *, over: ContentId | None = None) -> None:
        expected = {} if over is None else {path: over}
        await put(self, path, _hash(body), body, Occupants(expected, {}, {}))

    async def _fulfil(self, names: Iterable[Name]) -> bool:
        """Let the store copy large contents over our claims; under the lock, so that what is ours stays ours."""
        wanted = [(name, piece) for name in names for piece in name.pieces if piece.row.is_large]

        async def copy(one: tuple[Name, Piece]) -> None:
            name, piece = one
            key = self.key(piece.raw_path)
            lies = await content_of(self.store, key)
            if lies == self._claim_id:
                await self.store.copy(self.write.key(piece.row.object), key)
            elif lies != piece.row.sha256:
                name.give_up(piece.number)

        await each(self.remote.place.width, wanted, copy)
        return all(name.is_there for name, _ in wanted)

    async def _clear(self, listed: Iterable[str]) -> None:
        """Remove what was put under numbers that were given up."""
        intended: dict[str, set[ContentId]] = {}
        for intent in self.intents:
            for path, contents in intent.contents.items():
                intended.setdefault(path, set()).update(contents)
        left = intended.keys() - set(listed)
        if left:
            there = await self.remote.load(EVERYTHING)
            for path in sorted(left):
                if there.find(path) is None and await content_of(self.store, self.key(path)) in intended[path]:
                    await self.store.delete(self.key(path))

    @property
    def _claim(self) -> bytes:
        """What keeps the place of a large content until it is copied there."""
        return msgspec.json.encode({"bayouClaim": self.job.id})

    @property
    def _claim_id(self) -> ContentId:
        return _hash(self._claim)

    # Listing.

    async def _of_names(self, planned: Planned) -> list[Change]:
        """The versions of a name and its marker are listed together."""
        return await each(self.remote.place.width, planned.names, lambda name: self._of_name(planned, name))

    async def _of_name(self, planned: Planned, name: Name) -> Change:
        after: dict[str, Entry] = {}
        for piece in name.pieces:
            after |= self._entry(piece.raw_path, piece.row.size, piece.row.sha256)
            after |= self._entry(piece.metadata_path, len(piece.metadata), _hash(piece.metadata))
        if not (self._is_listed(name, planned) and await self._points_at(name.marker) >= name.last):
            body = str(name.last).encode()
            await self._replace(name.marker, body, planned)
            after |= self._entry(name.marker, len(body), _hash(body))
        return _change(planned, after)

    async def _points_at(self, marker: str) -> int:
        blob = await read(self.store, self.key(marker))
        return (marker_of(blob.content) or 0) if blob is not None else 0

    async def _of_files(self, planned: Planned) -> list[Change]:
        """The definitions of models that had none, and the record of the write."""
        contents = {path: (_hash(body),) for path, body in planned.definitions.items()}
        await self._intend(Intent(at=self._now(), contents=contents))
        changes = [await self._record(planned)]
        for path, body in planned.definitions.items():
            await self._replace(path, body, planned)
            changes.append(_change(planned, self._entry(path, len(body), _hash(body))))
        return changes

    async def _record(self, planned: Planned) -> Change:
        for started, path in paths(self.job, planned.job):
            body = record(self.job, planned.job, planned.names, started=started, at=self.intents[0].at)
            if planned.listed.get(path) in (None, _hash(body)):
                await self._intend(Intent(at=self._now(), contents={path: (_hash(body),)}))
                with suppress(Occupied):
                    await self._put(path, body)
                    return _change(planned, self._entry(path, len(body), _hash(body)))
        raise Conflict("more writes of one job began at one moment than can be recorded")

    async def _replace(self, path: str, body: bytes, planned: Planned) -> None:
        """Put a file that may change over what the index lists, or whatever else lies there that nobody lists."""
        over = self.found.get(path, planned.listed.get(path))
        for _ in range(_TRIES):
            try:
                await self._put(path, body, over=over)
            except Occupied as occupied:
                over = occupied.found
            else:
                self.found[path] = _hash(body)
                return
        raise Unavailable(f"{path!r} changes faster in the bucket than it can be replaced")

    def _entry(self, path: str, size: int, content: ContentId) -> dict[str, Entry]:
        now = self._now()
        return {path: Entry(path, size, now, now, content)}

    def _now(self) -> str:
        return to_text(self.remote.place.now())


def _own(job: Job) -> Whose:
    """The model that stands for the job."""
    return TYPE.raw, None, job.name


def _change(planned: Planned, after: Mapping[str, Entry]) -> Change:
    graves = planned.buried.graves
    hashes = {path: entry.sha256 for path, entry in after.items() if entry.sha256 is not None}
    return Change(
        before={path: planned.listed[path] for path in after if path in planned.listed},
        after=after,
        revokes={path: content for path, content in hashes.items() if content in graves.get(path, ())},
    )


def _hash(body: bytes) -> ContentId:
    return hashlib.sha256(body).hexdigest()
