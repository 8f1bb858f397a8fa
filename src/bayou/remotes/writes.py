"""Writes under way: what a bulk writer has put aside, and what it intends to put into its place.

A bulk write has a folder of its own in the control plane, `_control/bayou/writes/{id}/`. Many processes put contents
aside there, and nobody sees them. Then one process puts them where they belong and commits; before it does, it declares
what it is about to put there. So a repair knows what became of a write that was cut off: whatever it put, and no index
lists, was never committed, and goes. The folder goes last.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from bayou.domain.content import ContentId
from bayou.layout.keys import Keyspace
from bayou.remotes.looking import Place
from bayou.remotes.objects import each, read
from bayou.storage.port import Store
from bayou.wire import intents as form
from bayou.wire.intents import Intent

_FOLDER = "bayou/writes"
_INTENT = "intent-"
_WIDTH = 32


@dataclass(frozen=True, slots=True)
class Write:
    """The folder of one write."""

    keys: Keyspace
    id: str

    @property
    def folder(self) -> str:
        return self.keys.control(f"{_FOLDER}/{self.id}")

    def key(self, name: str) -> str:
        return f"{self.folder}/{name}"

    async def intents(self, store: Store) -> list[Intent]:
        """What was declared, in that order."""
        keys = [key for key in await self.listed(store) if self._is_intent(key)]
        blobs = [await read(store, key) for key in sorted(keys)]
        return [form.decode(blob.content, key) for key, blob in zip(sorted(keys), blobs, strict=True) if blob]

    async def declare(self, store: Store, intent: Intent, number: int) -> None:
        """Say what is about to be done, before it is; after so many others."""
        await store.put(self.key(f"{_INTENT}{number:06}.json"), form.encode(intent))

    async def remove(self, store: Store) -> None:
        """What is aside goes first: as long as the intents are there, a repair can follow them."""
        keys = await self.listed(store)
        await each(_WIDTH, [key for key in keys if not self._is_intent(key)], store.delete)
        await each(_WIDTH, [key for key in keys if self._is_intent(key)], store.delete)

    async def listed(self, store: Store) -> list[str]:
        """The keys of what is in the folder."""
        return [meta.key async for page in store.list(self.folder) for meta in page]

    def _is_intent(self, key: str) -> bool:
        return key.startswith(self.key(_INTENT))


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A write that has a folder: it goes on, or was cut off."""

    write: Write
    modified: datetime
    """When somebody last put something aside."""
    intents: tuple[Intent, ...]


async def under_way(place: Place) -> list[UnderWay]:
    """All writes that have a folder: one listing, where there are none."""
    folder = place.keys.control(_FOLDER)
    last: dict[str, datetime] = {}
    for meta in [meta async for page in place.store.list(folder) for meta in page]:
        write_id = meta.key.removeprefix(f"{folder}/").partition("/")[0]
        last[write_id] = max(meta.modified, last.get(write_id, meta.modified))
    writes = [Write(place.keys, write_id) for write_id in last]
    found = await each(place.width, writes, lambda write: write.intents(place.store))
    return [UnderWay(write, last[write.id], tuple(said)) for write, said in zip(writes, found, strict=True)]


def intended(writes: Iterable[UnderWay]) -> dict[str, set[ContentId]]:
    """What may lie at a path without having been committed."""
    found: dict[str, set[ContentId]] = {}
    for intent in (intent for write in writes for intent in write.intents):
        for path, contents in intent.contents.items():
            found.setdefault(path, set()).update(contents)
    return found
