"""The index: the monolith and the shards, which hold the same entries (sync spec 1.3, 1.5).

Decoding is strict first. What every client writes goes straight into `Entry` values; only a document with something
else in it is read a second time, entry by entry: unknown fields are kept, and a single bad entry is skipped and
reported instead of failing the whole index (sync spec W-44).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec

from bayou.domain.entries import Entry
from bayou.domain.hashes import is_sha256
from bayou.errors import Corrupt
from bayou.layout import safety
from bayou.wire.documents import (
    Void,
    converted,
    is_integer,
    name_of,
    parse_object,
    problem,
    require_shallow,
    require_version_1,
)
from bayou.wire.javascript import compact, in_key_order, pretty

_MONOLITH = "a monolithic index"
_SHARD = "a shard of the index"
_SHARD_BEGIN, _SHARD_END = b'{"version":1,"entries":{', b"}}"
_NUMBER_FIRST = re.compile(rb'"[0-9]+":')
_HEX_DIGITS = b"0123456789abcdef"
_ENTRY_FIELDS = frozenset(Entry.__struct_encode_fields__)


@dataclass(frozen=True, slots=True)
class Skipped:
    """An entry that cannot be used: it is never followed, and written back as it was found."""

    value: object
    why: str


@dataclass(frozen=True, slots=True)
class Index:
    """The entries of a monolith or of a shard, by path, with what else other writers put there.

    Existing clients carry unknown fields of an entry along until its path is uploaded again, and unknown fields of the
    monolith until it is rebuilt (sync spec L1). So do we, with entries that we cannot use as well: to leave them out
    would be a deletion that nobody asked for (promise 5).
    """

    entries: Mapping[str, Entry]
    last_pulled: str | None = None
    extra: Mapping[str, object] = field(default_factory=dict)
    entry_extra: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    skipped: Mapping[str, Skipped] = field(default_factory=dict)

    def amended(self, uploaded: Mapping[str, Entry], deleted: Iterable[str] = ()) -> "Index":
        """This index after a commit. What else was held for these paths is gone, even where it was skipped."""
        gone = frozenset(deleted)
        touched = gone | uploaded.keys()
        return replace(
            self,
            entries={path: entry for path, entry in self.entries.items() if path not in gone} | dict(uploaded),
            entry_extra={path: extra for path, extra in self.entry_extra.items() if path not in touched},
            skipped={path: skipped for path, skipped in self.skipped.items() if path not in touched},
        )


def decode_monolith(data: bytes, where: str) -> Index:
    index = _decode_strictly(data)
    if index is not None:
        return index
    document = parse_object(data, where, _MONOLITH)
    require_version_1(document.pop("version", 1), where, _MONOLITH)  # existing clients never look at it
    return _decode_tolerantly(document, where, _MONOLITH)


def decode_shard(data: bytes, where: str) -> Index | Void:
    """A shard of any other version than 1 counts as missing (sync spec 1.5), hence as `Void`."""
    index = _decode_strictly(data)
    if index is None:
        document = parse_object(data, where, _SHARD)
        version = document.pop("version", None)
        if not is_integer(version) or version != 1:
            return Void(f"{where}: not version 1 of {_SHARD}")
        index = _decode_tolerantly(document, where, _SHARD)
    # Nothing but version and entries survives in a shard: existing clients drop it with the next rewrite.
    return replace(index, last_pulled=None, extra={})


def encode_monolith(index: Index) -> bytes:
    return compact(_monolith(index))


def join_shards(
    shards: Iterable[bytes],
    write: Callable[[bytes | memoryview], object],
    *,
    extra: Mapping[str, object],
    last_pulled: str | None = None,
) -> bool:
    """Write the monolith of the entries of these shards, without a look at any of them.

    The shards must be from `encode_shard`, and no two speak of one path. False where an entry would have to move:
    JavaScript puts those whose paths are numbers before all others.
    """
    begin = compact({"version": 1} if last_pulled is None else {"version": 1, "lastPulled": last_pulled})
    write(begin.removesuffix(b"}") + b',"entries":{')
    between = b""
    for shard in shards:
        inside = memoryview(shard)[len(_SHARD_BEGIN) : -len(_SHARD_END)]
        if _NUMBER_FIRST.match(inside):
            return False
        if inside:
            write(between)
            write(inside)
            between = b","
    write(b"}")
    write(b"," + compact(dict(extra)).removeprefix(b"{") if extra else b"}")
    return True


def encode_local_copy(index: Index) -> bytes:
    """The monolith as it lies in a cache."""
    return pretty(_monolith(index))


def encode_shard(index: Index) -> bytes:
    return compact({"version": 1, "entries": _entries(index)})


class _Document(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    version: Literal[1]
    entries: dict[str, Entry]
    last_pulled: str | None = None


_DECODER = msgspec.json.Decoder(_Document)


def _decode_strictly(data: bytes) -> Index | None:
    """The index, if it holds exactly what we write; None if it takes a closer look to tell what it is."""
    try:
        document = _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    entries = document.entries
    if any(path != entry.key or safety.fault(path) for path, entry in entries.items()):
        return None
    # All hashes at once: a pattern in the type would double the time of decoding.
    hashes = "".join([entry.sha256 for entry in entries.values() if entry.sha256 is not None])
    if hashes.encode().translate(None, _HEX_DIGITS):
        return None
    return Index(entries, document.last_pulled)


def _decode_tolerantly(document: dict[str, object], where: str, noun: str) -> Index:
    found = document.pop("entries", None)
    if not isinstance(found, dict):
        # Without this object existing clients see an index with nothing in it (sync spec 1.3). It is damage.
        raise Corrupt(where, expected=f"an object `entries` in {noun}", found=name_of(found))
    last_pulled = document.pop("lastPulled", None)  # informational: nobody reads it
    entries: dict[str, Entry] = {}
    entry_extra: dict[str, dict[str, object]] = {}
    skipped: dict[str, Skipped] = {}
    for path, value in found.items():
        try:
            entries[path], extra = _entry(path, value)
        except msgspec.ValidationError as error:
            skipped[path] = Skipped(value, problem(error))
        else:
            if extra:
                entry_extra[path] = extra
    require_shallow([document, entry_extra, [entry.value for entry in skipped.values()]], where, noun)
    return Index(
        entries,
        last_pulled if isinstance(last_pulled, str) else None,
        extra=document,
        entry_extra=entry_extra,
        skipped=skipped,
    )


def _entry(path: str, value: object) -> tuple[Entry, dict[str, object]]:
    """The entry, and what else was found in it."""
    fault = safety.fault(path)
    if fault is not None:
        raise msgspec.ValidationError(f"The path must not be followed: {fault}")
    if not isinstance(value, dict):
        raise msgspec.ValidationError(f"Expected `object`, got {name_of(value)}")
    extra = {}
    if not value.keys() <= _ENTRY_FIELDS:
        extra = {name: held for name, held in value.items() if name not in _ENTRY_FIELDS}
        value = {name: held for name, held in value.items() if name in _ENTRY_FIELDS}
    # Readers use the path (sync spec 1.3). A `key` that differs could lead around the check.
    entry = converted(value | {"key": path}, Entry)
    if entry.sha256 is not None and not is_sha256(entry.sha256):
        raise msgspec.ValidationError("Expected 64 lowercase hexadecimal digits - at `$.sha256`")
    return entry, extra


def _monolith(index: Index) -> dict[str, object]:
    pulled = {} if index.last_pulled is None else {"lastPulled": index.last_pulled}
    return {"version": 1, **pulled, "entries": _entries(index), **index.extra}


def _entries(index: Index) -> Mapping[str, object]:
    entries: dict[str, object] = dict(index.entries)
    for path, extra in index.entry_extra.items():
        if path in entries:
            entries[path] = msgspec.to_builtins(index.entries[path]) | dict(extra)
    for path, skipped in index.skipped.items():
        entries.setdefault(path, skipped.value)
    return in_key_order(entries)
