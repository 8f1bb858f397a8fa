"""The two ends of a migration, and what each of them holds.

What a bucket holds its index says. Of a folder what lies in it counts: whoever works in one keeps no index, and one
that came with a copy is old. There it only says what files that never change have to be.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from bayou.domain.content import ContentId
from bayou.domain.entries import Entry
from bayou.errors import Corrupt
from bayou.layout.artifacts import VersionFile
from bayou.layout.bundles import Bundle
from bayou.layout.directories import in_datastore, is_of_this_machine, lies_in
from bayou.layout.internal import never_crosses
from bayou.layout.keys import Role
from bayou.layout.meanings import meaning
from bayou.layout.units import classifier
from bayou.migration.manifest import Pages
from bayou.migration.planning import Manifest, Source, Target
from bayou.remotes import Format, ObjectRemote
from bayou.remotes.discovery import discover
from bayou.remotes.looking import REBUILD
from bayou.storage.port import Store
from bayou.wire.times import to_text

_CONTROL = "_control/"
_OURS = "_control/bayou/"

classify = classifier(lambda _: False)


@dataclass(frozen=True, slots=True)
class End:
    """One namespace of a place. `url` shows no credentials."""

    remote: ObjectRemote
    url: str
    is_folder: bool = False

    @property
    def store(self) -> Store:
        return self.remote.place.store

    @property
    def namespace(self) -> str:
        return self.remote.place.namespace

    @property
    def pages(self) -> Pages:
        return Pages(self.store, self.remote.place.keys)

    def key(self, path: str) -> str:
        return self.remote.place.keys.data(path)


async def holdings(end: End) -> Source:
    """What is to be had: files, the records of the control plane, and what was deleted on purpose."""
    indexed = await _indexed(end)
    files = await _in_folder(end, indexed) if end.is_folder else indexed
    return Source(
        {**files, **{entry.key: entry async for entry in _records(end)}}, (await end.remote.all_buried()).graves
    )


async def held(end: End, manifest: Manifest) -> Target:
    """What is there. What no index lists is what was carried there last, if it still has that size."""
    lying = dict((await discover(end.remote.place)).sizes)
    listed: dict[str, ContentId | None] = {} if end.is_folder else (await end.remote.load()).contents()
    for path, size in lying.items():
        if is_record(path) or (end.is_folder and is_data(path)):
            last = max(manifest.of(path), key=lambda one: one.at, default=None)
            listed[path] = last.sha256 if last is not None and last.size == size else None
    return Target(listed, lying, (await end.remote.all_buried()).graves)


def is_record(path: str) -> bool:
    """Whether it is one of the control plane, but none of our own, which are about one place only."""
    return path.startswith(_CONTROL) and not path.startswith(_OURS)


def is_data(path: str) -> bool:
    """Whether a file of a folder is the datastore's."""
    return lies_in(path, in_datastore()) and not never_crosses(path) and not is_of_this_machine(path)


async def _indexed(end: End) -> dict[str, Entry]:
    head = await end.remote.head()
    if end.is_folder and head.format is Format.NONE:
        return {}
    snapshot = await end.remote.load(head=head)
    if snapshot.missing:
        where = end.remote.place.keys.shard(snapshot.missing[0])
        raise Corrupt(where, expected="a shard, as the meta lists it", found="none", remedy=REBUILD)
    return {path: entry for path, entry in snapshot.all().items() if not never_crosses(path)}


async def _in_folder(end: End, indexed: Mapping[str, Entry]) -> dict[str, Entry]:
    lying = {path: entry for path, entry in (await discover(end.remote.place)).entries.items() if is_data(path)}

    def known(path: str, entry: Entry) -> Entry:
        said = indexed.get(path)
        is_immutable = isinstance(meaning(path), VersionFile | Bundle)
        return said if said is not None and is_immutable and said.size == entry.size else entry

    return {
        path: known(path, entry)
        for path, entry in lying.items()
        # Half a version is one on its way, or the rest of one (promise 1).
        if not isinstance(meaning(path), VersionFile) or all(part in lying for part in classify(path).members)
    }


async def _records(end: End) -> AsyncIterator[Entry]:
    async for page in end.store.list(end.key(_CONTROL.rstrip("/"))):
        for meta in page:
            located = end.remote.place.keys.locate(meta.key)
            if located.role is Role.CONTROL and is_record(path := f"{_CONTROL}{located.name}"):
                yield Entry(path, meta.size, to_text(int(meta.modified.timestamp() * 1000) * 1_000_000))
