"""Discovery: what lies in a bucket, where no index says so. A reader uses it in memory; only a commit publishes it."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from bayou.domain.entries import Entry
from bayou.domain.namespaces import SOLO
from bayou.layout import safety
from bayou.layout.keys import Role, namespace_of_manifest
from bayou.layout.relative import in_namespace
from bayou.remotes.looking import Format, Head, Place, look, remember, remembered
from bayou.remotes.parts import Part, regroup
from bayou.storage.port import ObjectMeta
from bayou.wire.index import Index
from bayou.wire.times import to_text

_PAGE = 1000

_DISCOVERED = "discovered"

_OF_AN_INDEX = frozenset({Role.MONOLITH, Role.META, Role.SHARD, Role.TOMBSTONES})

_FEW = 2
"""Shards that are asked for by their names."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A shard as a listing shows it. Some stores leave the version out."""

    version: str | None
    size: int


@dataclass(frozen=True, slots=True)
class Found:
    entries: Mapping[str, Entry]
    """Of what is data, without hashes, as nobody has read the objects."""
    sizes: Mapping[str, int]
    """Of every object in the namespace."""
    shards: Mapping[str, Listed]
    is_new: bool
    """Whether there is nothing that an index consists of."""

    @property
    def parts(self) -> dict[str, Part]:
        return regroup(Index(self.entries))


async def discover(place: Place) -> Found:
    """List the namespace; the solo namespace is all of the bucket that belongs to no other one (sync spec 4.2)."""
    return _found(place, [meta async for page in place.store.list(place.namespace) for meta in page])


async def look_into(place: Place) -> Head:
    """Look at a bucket in which there is most likely nothing yet: then a page of its listing tells all there is."""
    known, _ = remembered(place)
    metas: list[ObjectMeta] = []
    if known is None:
        async for page in place.store.list(place.namespace):
            metas += page
            if len(metas) >= _PAGE:
                break
    found = _found(place, metas) if known is None and len(metas) < _PAGE else None
    if found is None or not found.is_new:
        return await look(place)
    remember_found(place, found)
    head = Head(Format.NONE, is_listed=True)
    remember(place, head)
    return head


def remember_found(place: Place, found: Found) -> dict[str, str]:
    """Keep the parts of what was found, for a commit to build upon. Gives their digests."""
    parts = found.parts
    for part in parts.values():
        place.cache.keep(part)
    digests = {name: part.digest for name, part in parts.items()}
    place.cache.write_note(place.namespace, _DISCOVERED, digests if found.is_new else None)
    return digests


def remembered_found(place: Place) -> dict[str, str] | None:
    """What was found when the bucket was last looked into, if it had nothing of an index then."""
    digests: dict[str, str] | None = place.cache.note(place.namespace, _DISCOVERED)
    return digests


def _found(place: Place, metas: Sequence[ObjectMeta]) -> Found:
    if place.namespace == SOLO:
        others = {namespace_of_manifest(meta.key) for meta in metas}
        metas = [meta for meta in metas if meta.key.partition("/")[0] not in others]
    entries, shards, roles = {}, {}, set()
    for meta in metas:
        located = place.keys.locate(meta.key)
        roles.add(located.role)
        if located.role is Role.DATA and safety.fault(located.name) is None:
            entries[located.name] = Entry(located.name, meta.size, _text(meta))
        elif located.role is Role.SHARD:
            shards[located.name] = Listed(None, meta.size)
    sizes = {path: meta.size for meta in metas if (path := in_namespace(place.namespace, meta.key)) is not None}
    return Found(entries, sizes, shards, roles.isdisjoint(_OF_AN_INDEX))


async def list_shards(place: Place, like: str | None) -> dict[str, Listed]:
    """The shards that exist, listed in the meta or not.

    Versions are spelled `like` one that came with an object: Azure quotes them there, and leaves the quotes out of its
    listings.
    """
    pages: list[Sequence[ObjectMeta]] = [page async for page in place.store.list(place.keys.data("_index"))]
    located = ((place.keys.locate(meta.key), meta) for page in pages for meta in page)
    return {
        found.name: Listed(spelled(meta.version, like), meta.size)
        for found, meta in located
        if found.role is Role.SHARD
    }


async def leftovers(place: Place, names: Iterable[str]) -> AbstractSet[str]:
    """Which of these shards, that nobody lists, may be there all the same. Of many, one listing tells."""
    names = set(names)
    return names if len(names) <= _FEW else names & (await list_shards(place, None)).keys()


def spelled(version: str | None, like: str | None) -> str | None:
    if version is None or like is None:
        return None
    bare = version.strip('"')
    return f'"{bare}"' if like.startswith('"') else bare


def _text(meta: ObjectMeta) -> str:
    return to_text(int(meta.modified.timestamp() * 1000) * 1_000_000)
