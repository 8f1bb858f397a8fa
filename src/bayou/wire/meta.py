"""The partition meta, `_index/_meta.json`: which shards there are, and in version 2 the number of the commit."""

from typing import Literal
from uuid import UUID

import msgspec

from bayou.domain.entries import Count
from bayou.layout.keys import partition_fault
from bayou.wire.documents import Void, converted, is_integer, parse_object, refuse_version, shape
from bayou.wire.javascript import compact, utf16_order

_NOUN = "a partition meta"


class Fingerprints(msgspec.Struct, frozen=True, omit_defaults=True):
    """The version (ETag or generation) of each index object as this commit left it.

    A shard is only as good as its fingerprint: a writer that does not know of them drops the field, and a change of
    the object behind our back changes its version (design 4.3).
    """

    monolith: str | None = None
    shards: dict[str, str] = {}
    store: UUID | None = None
    """The id of the store, so that whoever reads this need not ask for it."""
    tombstones: dict[str, str] | None = None
    """Of the lists of tombstones, by partition: so nobody asks for one that is not there, or that he knows. None: it is
    not said which there are."""


class Meta(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Version 1: advice beside the monolith. Version 2: the truth, with a `commitSeq` (sync spec 1.4)."""

    version: Literal[1, 2]
    partitions: tuple[str, ...]
    commit_seq: Count | None = None
    last_compacted: str | None = None
    # Ours, all of it below one name that nobody else will take. Existing clients ignore it when they read and drop it
    # when they write (sync spec L1), and so do we with any field that we do not know: it spoke of another commit.
    fingerprints: Fingerprints | None = msgspec.field(default=None, name="bayou")
    skipped: tuple[str, ...] = ()
    """Partitions whose names must not become keys (promise 7). Never followed, and written back as they were found: one
    odd name of somebody else's must not lock anybody out. What lies in them has names just as odd."""


def decode(data: bytes, where: str) -> Meta | Void:
    """`Void` is what existing clients treat as absent: no version they know, or no list of partitions."""
    document = parse_object(data, where, _NOUN)
    version = document.get("version")
    if not is_integer(version) or version < 1:
        return Void(f"{where}: {_NOUN} without a version")
    if version > 2:
        # To existing clients this is absent, hence version 1. Taking a newer store for an older one loses data.
        refuse_version(version, where, _NOUN)
    if not isinstance(document.get("partitions"), list):
        return Void(f"{where}: {_NOUN} without a list of partitions")
    fingerprints = _fingerprints(document.pop("bayou", None))
    document.pop("skipped", None)  # a field of ours that is not on the wire
    meta = shape(document, Meta, where, _NOUN)
    faults = [partition_fault(partition) for partition in meta.partitions]
    return msgspec.structs.replace(
        meta,
        partitions=tuple(name for name, fault in zip(meta.partitions, faults, strict=True) if fault is None),
        fingerprints=fingerprints,
        skipped=tuple(name for name, fault in zip(meta.partitions, faults, strict=True) if fault is not None),
    )


def encode(meta: Meta) -> bytes:
    """Version 2 lists its partitions in JavaScript's order; version 1 as they come (sync spec 1.4)."""
    partitions = (*meta.partitions, *meta.skipped)
    if meta.version == 2:
        partitions = tuple(sorted(partitions, key=utf16_order))
    return compact(msgspec.structs.replace(meta, partitions=partitions, skipped=()))


def _fingerprints(value: object) -> Fingerprints | None:
    """None for what cannot be read as well: then nothing vouches for a shard, and that is all they are for."""
    try:
        return None if value is None else converted(value, Fingerprints)
    except msgspec.ValidationError:
        return None
