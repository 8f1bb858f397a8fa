"""Discovery: what lies in a bucket, where no index says so. A reader uses it in memory; only a commit publishes it."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from bayou.domain.entries import Entry
from bayou.domain.namespaces import SOLO
from bayou.layout import safety
from bayou.layout.keys import Role, namespace_of_manifest
from bayou.layout.relative import in_namespace
from bayou.remotes.looking import Place
from bayou.remotes.parts import Part, regroup
from bayou.storage.port import ObjectMeta
from bayou.wire.index import Index
from bayou.wire.times import to_text

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

    @property
    def parts(self) -> dict[str, Part]:
        return regroup(Index(self.entries))


async def discover(place: Place) -> Found:
    """List the namespace; the solo namespace is all of the bucket that belongs to no other one (sync spec 4.2)."""
    metas = [meta async for page in place.store.list(place.namespace) for meta in page]
    if place.namespace == SOLO:
        others = {namespace_of_manifest(meta.key) for meta in metas}
        metas = [meta for meta in metas if meta.key.partition("/")[0] not in others]
    entries, shards = {}, {}
    for meta in metas:
        located = place.keys.locate(meta.key)
        if located.role is Role.DATA and safety.fault(located.name) is None:
            entries[located.name] = Entry(located.name, meta.size, _text(meta))
        elif located.role is Role.SHARD:
            shards[located.name] = Listed(None, meta.size)
    sizes = {path: meta.size for meta in metas if (path := in_namespace(place.namespace, meta.key)) is not None}
    return Found(entries, sizes, shards)


async def list_shards(place: Place, like: str | None) -> dict[str, Listed]:
    """The shards that exist, listed in the meta or not.

    Versions are spelled `like` one that came with an object: Azure quotes them there, and leaves the quotes out of its
    listings.
    """
    pages: list[Sequence[ObjectMeta]] = [page async for page in place.store.list(place.keys.data("_index"))]
    located = ((place.keys.locate(meta.key), meta) for page in pages for meta in page)
    return {
        found.name: Listed(_spelled(meta.version, like), meta.size)
        for found, meta in located
        if found.role is Role.SHARD
    }


async def leftovers(place: Place, names: Iterable[str]) -> AbstractSet[str]:
    """Which of these shards, that nobody lists, may be there all the same. Of many, one listing tells."""
    names = set(names)
    return names if len(names) <= _FEW else names & (await list_shards(place, None)).keys()


def _spelled(version: str | None, like: str | None) -> str | None:
    if version is None or like is None:
        return None
    bare = version.strip('"')
    return f'"{bare}"' if like.startswith('"') else bare


def _text(meta: ObjectMeta) -> str:
    return to_text(int(meta.modified.timestamp() * 1000) * 1_000_000)
