"""Verify: compare bucket, index and cache, and name each difference. It changes none of them."""

from collections.abc import AsyncIterator, Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum

from bayou.layout.keys import CATALOG_EXPORT
from bayou.remotes import Format
from bayou.sync import survey
from bayou.sync.ends import Ends
from bayou.sync.ledger import Ledger, Line
from bayou.sync.planning import crosses
from bayou.sync.survey import Findings, Seen


class Kind(StrEnum):
    # Of the index itself.
    DAMAGED_INDEX = "damaged-index"
    NO_INDEX = "no-index"
    BAD_ENTRY = "bad-entry"
    MISSING_SHARD = "missing-shard"
    ORPHAN_SHARD = "orphan-shard"
    STALE_SHARD = "stale-shard"
    # Of the index and the bucket.
    DANGLING = "dangling"
    WRONG_SIZE = "wrong-size"
    WRONG_CONTENT = "wrong-content"
    ORPHAN = "orphan"
    # Of the cache.
    ALTERED = "altered"
    MISSING = "missing"
    UNPUSHED = "unpushed"
    CONFLICTING = "conflicting"
    UNREADABLE = "unreadable"
    # What the next pull, or the sweep, sees to.
    UNPULLED = "unpulled"
    BURIED = "buried"

    @property
    def is_pending(self) -> bool:
        """Whether it is no difference that anybody has to care about."""
        return self in {Kind.UNPULLED, Kind.BURIED}


@dataclass(frozen=True, slots=True)
class Difference:
    kind: Kind
    path: str
    """Of a file; of the index itself the name of a shard or the key of an object."""
    why: str


async def verify(ends: Ends, *, content: bool = False, seen: Seen = lambda _: None) -> AsyncIterator[Difference]:
    """Name the differences: of the index itself first, then in the order of the paths.

    Existence and sizes are compared, and of the cache all hashes that are known or quickly found out; with `content`
    every object that is listed and every file of the cache is read.
    """
    with Ledger() as ledger:
        findings = await survey.of_bucket(ends, ledger, content=content, seen=seen)
        walk = await survey.of_cache(ends, ledger, content=content, seen=seen)
        for difference in of_index(ends, ledger, findings):
            yield difference
        for path, error in sorted(walk.failed.items()):
            yield Difference(Kind.UNREADABLE, path, str(error))
        if findings.head is None:
            return
        marks = _marks(ends)
        for line in ledger.lines():
            in_bucket = of_object(line)
            if in_bucket is not None and (line.listed_size is not None or is_ours(ends, line.path)):
                yield in_bucket
            if crosses(ends.tree.tiers, line.path) and not walk.met(line.path):
                in_cache = _of_file(line, is_marked=_is_marked(f"{_prefix(ends)}{line.path}", marks))
                if in_cache is not None:
                    yield in_cache


def of_index(ends: Ends, ledger: Ledger, findings: Findings) -> Iterator[Difference]:
    if findings.damage is not None:
        yield Difference(Kind.DAMAGED_INDEX, findings.damage.where, str(findings.damage))
        return
    if findings.head is not None and findings.head.format is Format.NONE:
        if next(ledger.lines("object_size IS NOT NULL OR base IS NOT NULL"), None) is not None:
            yield Difference(Kind.NO_INDEX, ends.remote.place.keys.monolith, "there is no index")
        return
    for name in findings.shards.missing:
        yield Difference(Kind.MISSING_SHARD, name, "the index lists this shard, and it is not there")
    for name in findings.shards.left_over:
        yield Difference(Kind.ORPHAN_SHARD, name, "this shard is there, and the index does not list it")
    for name in findings.shards.differing:
        yield Difference(Kind.STALE_SHARD, name, "somebody wrote this shard and said so nowhere")
    for path, why in sorted(findings.bad_entries.items()):
        yield Difference(Kind.BAD_ENTRY, path, why)


def of_object(line: Line) -> Difference | None:
    """How index and bucket differ over one path. A catalog export is put there by itself as well as by pushes."""
    if line.path == CATALOG_EXPORT:
        return None
    listed, there = line.listed_size, line.object_size
    if listed is None and there is not None and line.is_buried:
        kind, why = Kind.BURIED, f"{there} bytes that were deleted, and not yet swept away"
    elif listed is None and there is not None:
        kind, why = Kind.ORPHAN, f"an object of {there} bytes that the index does not list"
    elif listed is not None and there is None:
        kind, why = Kind.DANGLING, f"the index lists {listed} bytes, and there is no object"
    elif listed != there:
        kind, why = Kind.WRONG_SIZE, f"the index says {listed} bytes, its object has {there}"
    elif line.listed and line.object and line.listed != line.object:
        kind, why = Kind.WRONG_CONTENT, f"the index says sha256 {line.listed}, its object has {line.object}"
    else:
        return None
    return Difference(kind, line.path, why)


def is_ours(ends: Ends, path: str) -> bool:
    """Whether an object that nobody lists lies where the files of a datastore do."""
    return ends.tree.tiers.is_shared(path)


def _of_file(line: Line, *, is_marked: bool) -> Difference | None:
    """How cache and index differ over one path, by what the base knows of both."""
    if line.file_size is None:
        return _of_absent(line)
    is_listed = line.listed_size is not None
    is_same = is_listed and line.file_size == line.listed_size and line.listed in (None, line.file)
    if is_same or line.file is None:  # without a hash, it went or changes at this moment
        return None
    is_news_there = line.listed != line.base if is_listed else line.base is not None
    if line.file == line.base:
        kind, why = Kind.UNPULLED, "somebody else changed or deleted it"
    elif is_news_there:
        kind, why = Kind.CONFLICTING, "the file here and the index both say something new"
    elif is_marked:
        kind, why = Kind.UNPUSHED, "it was written here, and not pushed yet"
    else:
        kind, why = Kind.ALTERED, "it was written here, and no mark says so: no sync will see it"
    return Difference(kind, line.path, why)


def _of_absent(line: Line) -> Difference | None:
    is_listed = line.listed_size is not None
    if line.is_deleted and is_listed:
        kind, why = Kind.UNPUSHED, "it was deleted here, and not yet there"
    elif line.base is not None and line.is_here and not line.is_deleted:
        kind, why = Kind.MISSING, "it ought to be in the cache, and is not"
    elif is_listed and (line.base is None or line.listed not in (None, line.base)):
        kind, why = Kind.UNPULLED, "it was never pulled, or changed since"
    else:
        return None
    return Difference(kind, line.path, why)


def _prefix(ends: Ends) -> str:
    return f"{ends.namespace}/" if ends.namespace else ""


def _marks(ends: Ends) -> Collection[str]:
    _, marks = ends.journal.snapshot()
    return {mark.path for mark in marks}


def _is_marked(path: str, marks: Collection[str]) -> bool:
    while path and path not in marks:
        path = path.rpartition("/")[0]
    return path in marks  # the mark of everything has no path
