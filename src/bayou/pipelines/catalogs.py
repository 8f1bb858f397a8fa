"""The catalog in Parquet, beside the data: every version of a namespace as a row, for whoever reads Parquet.

It lies in `_control/bayou/catalog/`: a manifest, and files whose names follow from what is in them. The parts of the
index are dealt to buckets by their names, each bucket is one file, and the manifest says for each part in which state
the file has it. So whoever brings the catalog up to date reads what changed, and copies the other rows of that bucket.
A reader takes the manifest and the files that it names; files that it does not name are on their way, or old.
"""

import asyncio
import hashlib
import io
import zlib
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from bayou.domain.entries import Entry
from bayou.domain.scopes import EVERYTHING
from bayou.errors import Corrupt
from bayou.layout.artifacts import LatestMarker, Part, VersionFile
from bayou.layout.keys import Keyspace
from bayou.layout.meanings import meaning
from bayou.pipelines.reach import Reach, absolute
from bayou.pipelines.slices import Slice, body_of
from bayou.remotes.loading import load, shard_now
from bayou.remotes.looking import Format, Place, look
from bayou.remotes.objects import each, read
from bayou.remotes.parts import part_name
from bayou.storage.port import Store, Version

FOLDER = "bayou/catalog"
_PARTS_OF_FILE = 100
_MOST_BUCKETS = 1024
_VERSIONS = "data--"


class File(msgspec.Struct, frozen=True):
    """A bucket, and the state of each part that is in it."""

    file: str
    rows: int
    parts: dict[str, str]


class Manifest(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    buckets: int
    files: dict[str, File]
    token: str = ""
    """Of the index that it was made from."""
    version: int = 1


@dataclass(frozen=True, slots=True)
class PartNow:
    """A part of the index with versions: in which state it is, and how to read it."""

    state: str
    slice: Slice


def key_of(namespace: str, name: str) -> str:
    return Keyspace(namespace).control(f"{FOLDER}/{name}")


async def manifest(store: Store, namespace: str) -> tuple[Manifest | None, Version | None]:
    key = key_of(namespace, "manifest.json")
    blob = await read(store, key)
    if blob is None:
        return None, None
    try:
        found = msgspec.json.decode(blob.content, type=Manifest)
    except msgspec.MsgspecError as error:
        raise Corrupt(
            key, expected="the manifest of a catalog", found=str(error), remedy="Remove it; it can be made again."
        ) from None
    return found, blob.version


async def rows(store: Store, namespace: str) -> AsyncIterator[list[dict[str, Any]]]:
    """The rows of a namespace's catalog, file by file."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    found, _ = await manifest(store, namespace)
    for file in found.files.values() if found else ():
        blob = await read(store, key_of(namespace, file.file))
        if blob is None:
            raise Corrupt(key_of(namespace, file.file), expected="a file of the catalog", found="none")
        yield pq.read_table(io.BytesIO(blob.content)).drop_columns(["part"]).to_pylist()


def exported_rows(url: str, namespace: str) -> list[dict[str, object]] | None:
    """The rows of the catalog at this URL, for a catalog in SQLite; None where there is none."""
    reach = Reach(absolute(url))

    async def work() -> list[dict[str, object]] | None:
        async with reach.store() as store:
            if (await manifest(store, namespace))[0] is None:
                return None
            return [_exported(row) async for some in rows(store, namespace) for row in some if row["problem"] is None]

    return asyncio.run(work())


def _exported(row: Mapping[str, Any]) -> dict[str, object]:
    """A row as a catalog export has it, which is how catalogs in SQLite take rows over."""
    names = {"type": "type_normalized", "name": "data_name"}
    kept = {names.get(name, name): value for name, value in row.items() if value is not None}
    tags = msgspec.json.encode(dict(row["tags"] or ())).decode()
    return kept | {"is_latest": int(row["is_latest"]), "streaming": int(bool(row["streaming"])), "tags": tags}


async def parts_now(place: Place) -> tuple[str, dict[str, PartNow]]:
    """The token of the index, and its parts with versions.

    Which version is the latest is said by objects that are listed in other parts, most of them in one for each type.
    Those are read here, so that a change of one model is not taken for a change of all of its type.
    """
    head = await look(place)
    if head.format is Format.SHARDED and head.is_vouched and head.meta is not None:
        states = {name: head.vouched.get(name, "") for name in head.meta.partitions if name.startswith(_VERSIONS)}
        above = sorted(_above(states))
        seen = await each(place.width, above, lambda name: shard_now(place, name, known_good=states[name]))
        known = {name: one.part.index(name).entries for name, one in zip(above, seen, strict=True)}
        slices = {name: Slice(place.namespace, name) for name in states}
    else:
        snapshot = await load(place, EVERYTHING, head)
        states = {name: digest for name, digest in snapshot.parts.items() if name.startswith(_VERSIONS)}
        known = {name: snapshot.entries(name) for name in states}
        carried = snapshot.format is not Format.SHARDED
        slices = {
            name: Slice(place.namespace, name, body=body_of(entries) if carried else None)
            for name, entries in known.items()
        }
    markers = _markers(known.values())
    below: dict[str, list[str]] = defaultdict(list)
    for name in sorted(states):
        for above_it in _ancestors(name) & states.keys():
            below[above_it].append(states[name])
    return head.token, {
        name: PartNow(_digest([state, markers.get(name, ""), *below[name]]), slices[name])
        for name, state in states.items()
        if name not in known or any(path.endswith(f"/{Part.METADATA}") for path in known[name])
    }


def bucket_of(part: str, buckets: int) -> str:
    return str(zlib.crc32(part.encode()) % buckets)


def buckets_for(parts: int) -> int:
    """A power of two: some hundred parts a file, so that a change of one model costs little, and files are few."""
    return 1 << min(max(parts // _PARTS_OF_FILE, 0).bit_length(), _MOST_BUCKETS.bit_length() - 1)


def file_of(bucket: str, parts: Mapping[str, str]) -> str:
    """Its name follows from the states of its parts: who makes it twice makes the same."""
    return f"rows/bucket={bucket}/{_digest(f'{name} {state}' for name, state in sorted(parts.items()))[:24]}.parquet"


def _above(names: Iterable[str]) -> set[str]:
    """The parts under whose names others are: of types, and of models whose names have parts of their own."""
    known = set(names)
    return {above for name in known for above in _ancestors(name) & known}


def _ancestors(name: str) -> set[str]:
    pieces = name.split("--")
    return {"--".join(pieces[:count]) for count in range(2, len(pieces))}


def _markers(parts: Iterable[Mapping[str, Entry]]) -> dict[str, str]:
    """For each part with versions, a digest of what `latest` says of its names."""
    said: dict[str, list[str]] = defaultdict(list)
    for entries in parts:
        for path, entry in entries.items():
            what = meaning(path)
            if isinstance(what, LatestMarker):
                part = part_name(VersionFile(what.model, what.name, 1, Part.RAW).path)
                said[part].append(f"{path} {entry.sha256}")
    return {part: _digest(sorted(lines)) for part, lines in said.items()}


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
