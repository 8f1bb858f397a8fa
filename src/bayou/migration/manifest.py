"""The manifest in the bucket: written while a migration runs, so that whoever goes on need not look at what it names.

Pieces are named by what is in them: a task that runs twice writes one. `begun/` is what is about to be put, and stays
only where a parcel was cut off; `copied/` is what was; once the index lists it, it is in `listed/`.
"""

import hashlib
from collections.abc import Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from bayou.errors import Conflict
from bayou.layout.keys import Keyspace
from bayou.migration.planning import Manifest
from bayou.remotes.objects import each, read
from bayou.storage.port import ABSENT, Store
from bayou.wire import migration as form
from bayou.wire.migration import Carried, Origin

_WIDTH = 32
_FOLDER = "bayou/migration"
_BEGUN, _COPIED, _LISTED = "begun", "copied", "listed"
_MOST = 10_000
"""Files in one piece of what is listed."""


@dataclass(frozen=True, slots=True)
class Pages:
    """Where the manifest of one namespace is."""

    store: Store
    keys: Keyspace

    async def origin(self) -> Origin | None:
        key = self.keys.control(f"{_FOLDER}/origin.json")
        blob = await read(self.store, key)
        return None if blob is None else form.decode_origin(blob.content, key)

    async def begin(self, origin: Origin) -> None:
        with suppress(Conflict):  # whoever was faster is looked at
            await self.store.put(self.keys.control(f"{_FOLDER}/origin.json"), form.encode_origin(origin), when=ABSENT)

    async def begun(self, carried: Sequence[Carried]) -> str:
        """Say what is about to lie there."""
        return await self._write(_BEGUN, carried)

    async def end(self, begun: str) -> None:
        await self.store.delete(begun)

    async def add(self, carried: Sequence[Carried]) -> None:
        if carried:
            await self._write(_COPIED, carried)

    async def load(self) -> Manifest:
        begun, copied, listed = [
            _by_path(await self._read(await self._names(folder))) for folder in (_BEGUN, _COPIED, _LISTED)
        ]
        return Manifest(copied, listed, begun)

    async def settle(self, listed: Container[str], void: Container[str]) -> None:
        """These are listed now; what else was copied still waits, but for what is void."""
        for name in await self._names(_BEGUN):
            if all(one.path in listed or one.path in void for one in await self._read([name])):
                await self.store.delete(name)
        names = await self._names(_COPIED)
        rows = [one for one in await self._read(names) if one.path not in void]
        kept = await self._write_all(_LISTED, [one for one in rows if one.path in listed])
        kept |= await self._write_all(_COPIED, [one for one in rows if one.path not in listed])
        await each(_WIDTH, set(names) - kept, self.store.delete)

    async def forget(self, void: Container[str]) -> None:
        """What was listed of these is at neither end any more."""
        for name in await self._names(_LISTED):
            rows = await self._read([name])
            rest = [one for one in rows if one.path not in void]
            if len(rest) < len(rows):
                await self._write_all(_LISTED, rest)
                await self.store.delete(name)

    async def _write_all(self, folder: str, carried: Sequence[Carried]) -> set[str]:
        rows = sorted(carried, key=lambda one: one.path)
        return {await self._write(folder, rows[start : start + _MOST]) for start in range(0, len(rows), _MOST)}

    async def _write(self, folder: str, carried: Sequence[Carried]) -> str:
        body = form.encode_piece(carried)
        key = self.keys.control(f"{_FOLDER}/{folder}/{hashlib.sha256(body).hexdigest()[:32]}.json")
        await self.store.put(key, body)
        return key

    async def _names(self, folder: str) -> list[str]:
        below = self.keys.control(f"{_FOLDER}/{folder}")
        return [meta.key async for page in self.store.list(below) for meta in page]

    async def _read(self, names: Iterable[str]) -> list[Carried]:
        async def one(key: str) -> tuple[Carried, ...]:
            blob = await read(self.store, key)
            return () if blob is None else form.decode_piece(blob.content, key)

        return [carried for piece in await each(_WIDTH, names, one) for carried in piece]


def _by_path(carried: Iterable[Carried]) -> dict[str, tuple[Carried, ...]]:
    rows: dict[str, list[Carried]] = {}
    for one in carried:
        rows.setdefault(one.path, []).append(one)
    return {path: tuple(sorted(some, key=lambda one: one.at)) for path, some in rows.items()}
