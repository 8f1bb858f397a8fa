"""The remote: all that sync asks of a bucket, bound to one namespace of it."""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Self
from uuid import UUID

from bayou.domain.namespaces import SOLO
from bayou.domain.scopes import EVERYTHING, Scope
from bayou.layout.keys import Keyspace
from bayou.remotes import discovery, dual, exports, identity, looking, migration, rebuilding, tombstones
from bayou.remotes import loading as loader
from bayou.remotes import status as state
from bayou.remotes.attempts import Attempt
from bayou.remotes.cache import Cache
from bayou.remotes.changes import Changeset, Commit, StillHeld
from bayou.remotes.committing import commit
from bayou.remotes.control import Records
from bayou.remotes.looking import Head, Place
from bayou.remotes.migration import Migrated
from bayou.remotes.rebuilding import Rebuilt
from bayou.remotes.snapshot import Snapshot
from bayou.remotes.status import Status
from bayou.remotes.tombstones import Buried
from bayou.storage.port import Fetched, Store
from bayou.wire.documents import Void
from bayou.wire.export import Row

CACHE_FILE = "_control/bayou/index.db"
"""Below the root of the cache, out of sight of existing clients."""


class ObjectRemote:
    """One namespace of a bucket. Reading takes no lock and writes nothing; whoever changes the index holds the global
    lock and hands in a check of it.
    """

    def __init__(  # noqa: PLR0913 - settings, each with a default
        self,
        store: Store,
        namespace: str = SOLO,
        *,
        cache: Path | None = None,
        conditional: bool = True,
        width: int = 25,
        now: Callable[[], int] = time.time_ns,
    ) -> None:
        """`cache` is the root of the cache; without it nothing outlasts the process. `conditional` is what a probe of
        the store found.
        """
        file = None if cache is None else cache / CACHE_FILE
        self.place = Place(store, Keyspace(namespace), Cache(file), width, conditional, now)
        self.records = Records(store, self.place.keys)
        self._identity: UUID | None = None

    def close(self) -> None:
        """Give back the cache. The store is the caller's."""
        self.place.cache.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Reading.

    async def head(self) -> Head:
        """The state of the index: one request when it did not change. Compare tokens."""
        return await looking.look(self.place)

    async def meet(self, *, pushes: bool, is_empty_here: bool) -> tuple[UUID | None, Head]:
        """Who the store is, and how its index stands. A meta of ours tells both.

        Who pushes says who it is, where nobody has; and where he has something to push, that is most often to a bucket
        in which there is nothing yet. So he lists it first: one request tells all that there is not.
        """
        if pushes and not is_empty_here:
            found, head = await asyncio.gather(identity.identity(self.place.store), discovery.look_into(self.place))
        else:
            head = await looking.look(self.place)
            found = head.store or await identity.identity(self.place.store)
        if found is None and pushes:
            found = await identity.create(self.place.store, self.place.now(), conditional=self.place.conditional)
        if self._is_another(found):
            self._recognise(found)
            return found, await self.head()
        return self._recognise(found), head

    async def load(self, scope: Scope = EVERYTHING, head: Head | None = None) -> Snapshot:
        return await loader.load(self.place, scope, head or await self.head())

    async def buried(self, partitions: Collection[str | None], head: Head | None = None) -> Buried:
        """The tombstones of these partitions; with the head of what was loaded, only of lists that are news."""
        return await tombstones.load(self.place, partitions, now=self._now(), head=head)

    async def all_buried(self) -> Buried:
        return await tombstones.load_all(self.place, now=self._now())

    async def status(self) -> Status:
        return await state.status(self.place)

    async def foreign_catalogs(self, namespaces: Iterable[str]) -> Mapping[str, list[dict[str, object]] | Void]:
        """The rows that other namespaces export, or why there are none."""
        return await exports.foreign_catalogs(self.place, namespaces)

    async def foreign_content(self, namespace: str, path: str) -> Fetched | None:
        """A file of another namespace; None if it is missing."""
        return await exports.foreign_content(self.place, namespace, path)

    async def identity(self) -> UUID | None:
        """The id of the store, None where it has none. If it is another than last time, what was remembered is void."""
        return self._recognise(await identity.identity(self.place.store))

    @property
    def owes(self) -> bool:
        """Whether a commit, even of no changes, would let others see what only we know of yet."""
        return bool(self.place.cache.note(self.place.namespace, loader.UNVOUCHED))

    # Changing. Under the global lock, but for the identity.

    async def establish(self) -> UUID:
        found = await identity.establish(self.place.store, self.place.now(), conditional=self.place.conditional)
        self._recognise(found)
        return found

    async def commit(self, changeset: Changeset, still_held: StillHeld, *, follows_ours: bool = False) -> Commit:
        """`follows_ours` is what the lock says: nobody else had it since one of us let it go."""
        return await commit(self.place, changeset, still_held, self._identity, follows_ours=follows_ours)

    async def export(self, rows: Sequence[Row]) -> bool:
        """Put rows where other namespaces find them; False where they are there already."""
        return await exports.export(self.place, rows)

    async def begin(self, still_held: StillHeld) -> None:
        """Make an index that lists nothing, where there is none: so what is put there is not taken for data."""
        await dual.begin(Attempt(self.place, still_held))

    async def migrate(self, still_held: StillHeld) -> Migrated:
        return await migration.migrate(Attempt(self.place, still_held))

    async def rebuild(self, still_held: StillHeld) -> Rebuilt:
        return await rebuilding.rebuild(Attempt(self.place, still_held))

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self.place.now() / 1e9, UTC)

    def _is_another(self, found: UUID | None) -> bool:
        known = self.place.cache.note("", looking.STORE)
        return known is not None and known != (None if found is None else str(found))

    def _recognise(self, found: UUID | None) -> UUID | None:
        if self._is_another(found):
            self.place.cache.forget_all()
        if found is not None:
            self.place.cache.write_note("", looking.STORE, str(found))
        self._identity = found
        return found
