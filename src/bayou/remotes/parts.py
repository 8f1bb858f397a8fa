"""Parts: the entries of an index that have one partition key. In a sharded index each is a shard; a monolith holds all.

Both formats are read and changed part by part, so that work follows what differs. A part is known by the digest of its
form as a shard, wherever it came from.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bayou.domain.entries import Entry
from bayou.domain.partitions import partition_key
from bayou.errors import Corrupt
from bayou.layout.keys import partition_fault
from bayou.wire.documents import Void
from bayou.wire.index import Index, Skipped, decode_shard, encode_shard

UNPARTITIONED = "_unpartitionable"
"""The shard of what has no partition key. Existing clients read whatever shard a meta lists (sync spec L4, W-38)."""

NOTHING = Index({})


@dataclass(frozen=True, slots=True)
class Part:
    """A part in the form of a shard."""

    body: bytes
    digest: str

    def index(self, where: str = "") -> Index:
        return shard(self.body, where)


def part_of(index: Index) -> Part:
    return stored(encode_shard(index))


def stored(body: bytes) -> Part:
    return Part(body, hashlib.sha256(body).hexdigest())


EMPTY = part_of(NOTHING)


def shard(body: bytes, where: str) -> Index:
    index = decode_shard(body, where)
    if isinstance(index, Void):
        # Existing clients take it for missing, hence the whole index for broken. It is damage to us as well.
        raise Corrupt(where, expected="a shard of the index", found=index.why, remedy="Run `bayou index rebuild`.")
    return index


def part_name(path: str) -> str:
    """The part that a path is in."""
    return partition_key(path) or UNPARTITIONED


def regroup(index: Index) -> dict[str, Part]:
    """The parts of a monolith, each with its entries in their order: so existing clients write them too."""
    return {name: part_of(part) for name, part in grouped(index).items()}


def grouped(index: Index) -> dict[str, Index]:
    """The entries of each part."""
    entries: dict[str, dict[str, Entry]] = {}
    extra: dict[str, dict[str, Mapping[str, object]]] = {}
    skipped: dict[str, dict[str, Skipped]] = {}
    for path, entry in index.entries.items():
        entries.setdefault(part_name(path), {})[path] = entry
    for path, more in index.entry_extra.items():
        extra.setdefault(part_name(path), {})[path] = more
    for path, bad in index.skipped.items():
        partition = part_name(path)
        # A hostile path makes a hostile name. It stays what it is, where it leads nowhere.
        skipped.setdefault(UNPARTITIONED if partition_fault(partition) else partition, {})[path] = bad
    return {
        partition: Index(
            entries.get(partition, {}),
            entry_extra=extra.get(partition, {}),
            skipped=skipped.get(partition, {}),
        )
        for partition in dict.fromkeys([*entries, *skipped])
    }


def joined(parts: Iterable[Index]) -> Index:
    """One index of several parts. Where a path is in two, the later one counts (sync spec 4.3)."""
    entries: dict[str, Entry] = {}
    extra: dict[str, Mapping[str, object]] = {}
    skipped: dict[str, Skipped] = {}
    for part in parts:
        entries.update(part.entries)
        for path in part.entries.keys() & extra.keys():
            del extra[path]
        extra.update(part.entry_extra)
        skipped.update(part.skipped)
    return Index(entries, entry_extra=extra, skipped={p: bad for p, bad in skipped.items() if p not in entries})
