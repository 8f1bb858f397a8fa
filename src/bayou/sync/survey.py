"""The survey: write down what bucket, index, base and cache hold, all of it, and change nothing.

The bucket is listed before the index is read, since data comes before its entry: what the index lists and the listing
did not show is looked at once more. So nobody who writes meanwhile is taken for damage.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from bayou.domain.content import ContentId
from bayou.domain.namespaces import SOLO
from bayou.domain.partitions import partition_key
from bayou.domain.scopes import EVERYTHING as EVERY_MODEL
from bayou.errors import BayouError, Corrupt, NotFound
from bayou.layout import safety
from bayou.layout.keys import Role, namespace_of_manifest
from bayou.remotes import Head
from bayou.remotes.loading import load
from bayou.remotes.looking import look
from bayou.remotes.objects import each
from bayou.remotes.status import Shards, shards
from bayou.storage.arriving import content_of
from bayou.storage.oserrors import translated
from bayou.storage.port import ObjectMeta
from bayou.sync import disk
from bayou.sync.ends import Ends
from bayou.sync.ledger import DOUBTFUL, ORPHANED, STORED, Ledger, nanoseconds
from bayou.sync.walk import Rules, Walk

Seen = Callable[[int], None]
"""Told of the files and objects that were looked at."""

_Item = TypeVar("_Item")
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Findings:
    """What is not about one path."""

    head: Head | None = None
    """None: the index cannot be read, and the ledger says nothing of it."""
    damage: Corrupt | None = None
    shards: Shards = field(default_factory=lambda: Shards((), (), ()))
    bad_entries: Mapping[str, str] = field(default_factory=dict)
    now_ns: int = 0
    """The latest time that the store's clock has shown."""


async def of_bucket(ends: Ends, ledger: Ledger, *, content: bool = False, seen: Seen = lambda _: None) -> Findings:
    """Write down what lies in the bucket and what the index says of it; with `content`, reading all that is listed."""
    now_ns = await _objects(ends, ledger, seen)
    place = ends.remote.place
    try:
        head = await look(place, closely=True)
        snapshot = await load(place, EVERY_MODEL, head)
        found = await shards(place, head, snapshot)
        for part in snapshot.parts:
            ledger.list_entries(snapshot.entries(part))
    except Corrupt as damage:
        return Findings(damage=damage, now_ns=now_ns)
    await _look_again(ends, ledger)
    await _tombstones(ends, ledger)
    if content:
        await hash_objects(ends, ledger, STORED, seen)
    return Findings(head, None, found, snapshot.skipped(), now_ns)


async def of_cache(ends: Ends, ledger: Ledger, *, content: bool = False, seen: Seen = lambda _: None) -> Walk:
    """Write down what the cache holds and what the base says of it. The walk says what it could not look at.

    Without `content` a file that looks as it did when it was hashed is not read again.
    """
    ledger.list_base(ends.journal.base.rows())
    ledger.delete(ends.journal.base.intents())
    walk = Walk(ends.journal.place.root, Rules(ends.tree.tiers, ends.journal.base.knows), lambda: None)
    for page in pages(walk.files(SOLO)):
        known = {} if content else ends.journal.stats.known(page)
        unknown = [path for path, _ in page if path not in known]
        read = await each(ends.pulls, unknown, lambda path: asyncio.to_thread(_hash_of_file, walk, path))
        hashes: dict[str, ContentId | None] = {**known, **dict(zip(unknown, read, strict=True))}
        ledger.list_files((path, stamp, hashes[path]) for path, stamp in page)
        seen(len(page))
    return walk


async def hash_objects(ends: Ends, ledger: Ledger, where: str, seen: Seen = lambda _: None) -> None:
    """Read these objects, several at a time, and write down what they hold."""
    for page in pages(ledger.lines(where)):
        paths = [line.path for line in page]
        contents = await each(ends.pulls, paths, lambda path: content_of(ends.store, ends.key(path)))
        ledger.hash_objects(zip(paths, contents, strict=True))
        seen(len(page))


def pages(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    remaining = iter(items)
    while page := list(islice(remaining, _PAGE)):
        yield page


async def _objects(ends: Ends, ledger: Ledger, seen: Seen) -> int:
    keys = ends.remote.place.keys
    others: set[str] = set()
    now_ns = 0
    async for page in ends.store.list(keys.namespace):
        now_ns = max([now_ns, *map(nanoseconds, page)])
        if keys.namespace == SOLO:
            others.update(name for meta in page if (name := namespace_of_manifest(meta.key)) is not None)
        located = [(keys.locate(meta.key), meta) for meta in page]
        data: list[tuple[str, ObjectMeta]] = [
            (found.name, meta)
            for found, meta in located
            if found.role is Role.DATA and safety.fault(found.name) is None
        ]
        ledger.list_objects(data)
        seen(len(data))
    for name in others:
        ledger.leave_out(name)
    return now_ns


async def _look_again(ends: Ends, ledger: Ledger) -> None:
    """At what is not as listed: it may have come, or changed, since the listing."""

    async def head(path: str) -> tuple[str, ObjectMeta | None]:
        try:
            return path, await ends.store.head(ends.key(path))
        except NotFound:
            return path, None

    for page in pages(ledger.lines(DOUBTFUL)):
        for path, meta in await each(ends.pulls, [line.path for line in page], head):
            if meta is None:
                ledger.forget_object(path)
            else:
                ledger.list_objects([(path, meta)])


async def _tombstones(ends: Ends, ledger: Ledger) -> None:
    """Which of the objects that nobody lists were deleted on purpose."""
    partitions = {partition_key(line.path) for line in ledger.lines(ORPHANED)}
    for partition in sorted(partitions, key=lambda partition: partition or ""):
        ledger.bury((await ends.remote.buried([partition])).graves)


def _hash_of_file(walk: Walk, path: str) -> ContentId | None:
    try:
        with translated(path):
            read = disk.read(f"{walk.root}/{path}", lambda: None)
    except BayouError as error:
        walk.failed[path] = error
        return None
    return None if read is None else read.content
