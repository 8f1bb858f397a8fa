"""An existing client of an object bucket, as far as an index goes: how it reads one, and how it writes one.

Written from the description of their behaviour (sync spec 4), on plain JSON, so that it shares no code with what it is
compared with. It holds no lock and knows no conditions: tests let it run where it should not.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from bayou.domain.partitions import partition_key
from bayou.errors import NotFound
from bayou.layout.internal import legacy_internal
from bayou.layout.keys import Keyspace
from bayou.storage.port import Store

Json = dict[str, Any]
Entries = dict[str, Json]
Step = Callable[[str], Awaitable[None]]


class BrickedError(Exception):
    """What makes every operation of an existing client fail until somebody repairs the bucket."""


async def legacy_view(store: Store, keys: Keyspace) -> Entries:
    """What a full pull sees (sync spec 4.3, 4.4)."""
    meta = await _valid_meta(store, keys)
    if meta is None or meta["version"] != 2:
        return _visible((await _monolith(store, keys))["entries"])
    found: Entries = {}
    for partition in meta["partitions"]:
        shard = await _shard(store, keys, partition)
        if shard is None:
            raise BrickedError(f"the shard {partition} is listed and missing")
        found.update(shard)
    return _visible(found)


async def legacy_scoped_view(store: Store, keys: Keyspace, folder: str) -> Entries | None:
    """What a scoped pull of the model `{type}/{id}` sees (sync spec 4.5); None: it falls back to the monolith."""
    found: Entries = {}
    for tree in ("data", "outputs", "definitions-evaluated"):
        shard = await _shard(store, keys, f"{tree}--{folder.replace('/', '--')}")
        if shard is None and tree == "data":
            return None
        found.update(shard or {})
    return _visible(found)


async def legacy_commit_seq(store: Store, keys: Keyspace) -> int | None:
    meta = await _valid_meta(store, keys)
    return None if meta is None else meta.get("commitSeq")


class LegacyWriter:
    """One that commits entries whose objects are there already.

    `step` is awaited before each write, with `monolith`, `meta` or the partition: there it can be paused, or raise to
    be killed. `fails` names what is not written, in silence where existing clients swallow that (sync spec W-21).
    """

    def __init__(self, store: Store, keys: Keyspace, step: Step | None = None, fails: Iterable[str] = ()) -> None:
        self._store = store
        self._keys = keys
        self._step = step
        self._fails = set(fails)

    async def commit(self, uploaded: Mapping[str, Json], deleted: Iterable[str] = ()) -> None:
        """The second phase of a push (sync spec 4.8)."""
        gone = set(deleted)
        touched = {key for path in [*uploaded, *gone] if (key := partition_key(path)) is not None}
        meta = await _valid_meta(self._store, self._keys)
        if meta is None or meta["version"] != 2:
            index = await _monolith(self._store, self._keys)
            index["entries"] = _merged(index["entries"], uploaded, gone)
            await self._write_dual(index, touched)
            return
        listed = set(meta["partitions"])
        for key in sorted(touched):
            entries = _merged(
                await _shard(self._store, self._keys, key) or {},
                {path: entry for path, entry in uploaded.items() if partition_key(path) == key},
                gone,
            )
            await self._write_shard(key, entries)
            listed = listed | {key} if entries else listed - {key}
        await self._write_meta({"version": 2, "partitions": sorted(listed), "commitSeq": meta.get("commitSeq", 0) + 1})

    async def push_at_once(self, uploaded: Mapping[str, Json], deleted: Iterable[str] = ()) -> None:
        """A push in one phase to a sharded index: it computes the list of partitions anew (sync spec 4.6)."""
        gone = set(deleted)
        meta = await _valid_meta(self._store, self._keys)
        assert meta is not None
        entries = _merged(await legacy_view(self._store, self._keys), uploaded, gone)
        for key in sorted({key for path in [*uploaded, *gone] if (key := partition_key(path)) is not None}):
            await self._write_shard(key, {path: e for path, e in entries.items() if partition_key(path) == key})
        listed = sorted({key for path in entries if (key := partition_key(path)) is not None})
        await self._write_meta({"version": 2, "partitions": listed, "commitSeq": meta.get("commitSeq", 0) + 1})

    async def commit_to_the_monolith_alone(self, uploaded: Mapping[str, Json], deleted: Iterable[str] = ()) -> None:
        """A client from before there were partitions."""
        index = await _monolith(self._store, self._keys)
        index["entries"] = _merged(index["entries"], uploaded, set(deleted))
        await self._write("monolith", self._keys.monolith, index)

    async def migrate(self) -> None:
        """The migration of existing clients (sync spec 4.10), which does not look at the meta that is there."""
        entries = (await _monolith(self._store, self._keys))["entries"]
        groups: dict[str, Entries] = {}
        for path, entry in entries.items():
            key = partition_key(path)
            if key is None:
                raise BrickedError(f"Migration aborted: {path} has no partition")
            groups.setdefault(key, {})[path] = entry
        for key, group in groups.items():
            await self._write_shard(key, group)
        await self._write_meta({"version": 2, "partitions": sorted(groups), "commitSeq": 1})

    async def _write_dual(self, index: Json, touched: Iterable[str]) -> None:
        await self._write("monolith", self._keys.monolith, index)
        entries = index["entries"]
        for key in sorted(touched):
            group = {path: entry for path, entry in entries.items() if partition_key(path) == key}
            await self._write(key, self._keys.shard(key), {"version": 1, "entries": group})
        listed = list(dict.fromkeys(name for path in entries if (name := partition_key(path)) is not None))
        await self._write_meta({"version": 1, "partitions": listed})

    async def _write_shard(self, key: str, entries: Entries) -> None:
        if entries:
            await self._write(key, self._keys.shard(key), {"version": 1, "entries": entries})
            return
        if self._step is not None:
            await self._step(key)
        await self._store.delete(self._keys.shard(key))

    async def _write_meta(self, meta: Json) -> None:
        await self._write("meta", self._keys.meta, meta)

    async def _write(self, step: str, key: str, document: Json) -> None:
        if self._step is not None:
            await self._step(step)
        if step not in self._fails and not (step not in {"monolith", "meta"} and "shards" in self._fails):
            await self._store.put(key, json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode())


def _merged(entries: Entries, uploaded: Mapping[str, Json], deleted: set[str]) -> Entries:
    merged = entries | dict(uploaded)
    return {path: entry for path, entry in merged.items() if path not in deleted}


def _visible(entries: Entries) -> Entries:
    return {path: entry for path, entry in entries.items() if not legacy_internal(path)}


async def _valid_meta(store: Store, keys: Keyspace) -> Json | None:
    document = await _json(store, keys.meta)
    is_valid = isinstance(document, dict) and document.get("version") in {1, 2}
    return document if is_valid and isinstance(document.get("partitions"), list) else None


async def _monolith(store: Store, keys: Keyspace) -> Json:
    document = await _json(store, keys.monolith)
    return {"version": 1, "entries": {}} if document is None else document


async def _shard(store: Store, keys: Keyspace, partition: str) -> Entries | None:
    document = await _json(store, keys.shard(partition))
    if document is None or document.get("version") != 1:
        return None
    entries: Entries = document["entries"]
    return entries


async def _json(store: Store, key: str) -> Any:  # noqa: ANN401 - whatever was stored
    try:
        content = await (await store.get(key)).bytes()
    except NotFound:
        return None
    try:
        return json.loads(content)
    except ValueError as error:
        raise BrickedError(f"{key} is not JSON") from error
