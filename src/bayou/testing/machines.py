"""A machine that shares a bucket with others: a remote with a cache of its own, and a count of what it asks for."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bayou.domain.content import ContentId
from bayou.domain.entries import Entry
from bayou.domain.namespaces import SOLO
from bayou.domain.scopes import EVERYTHING, Scope
from bayou.remotes import Change, Changeset, Commit, ObjectRemote
from bayou.storage.port import Store
from bayou.storage.record import Record, Tally

_TIME = "2026-11-02T08:15:30.120Z"


def entry_of(path: str, body: bytes) -> Entry:
    return Entry(path, len(body), _TIME, _TIME, hashlib.sha256(body).hexdigest())


def legacy_entry(path: str, body: bytes) -> dict[str, Any]:
    """The same as existing clients write it."""
    digest = hashlib.sha256(body).hexdigest()
    return {"key": path, "size": len(body), "lastModified": _TIME, "localMtime": _TIME, "sha256": digest}


async def put_objects(store: Store, files: Mapping[str, bytes], namespace: str = SOLO) -> None:
    for path, body in files.items():
        await store.put(f"{namespace}/{path}" if namespace else path, body)


class Machine:
    """What it commits it has uploaded before; what it expects is what it finds. The lock is its own, unless lost."""

    def __init__(self, store: Store, namespace: str = SOLO, cache: Path | None = None, **settings: Any) -> None:  # noqa: ANN401 - passed on
        self.tally = Tally(log=[])
        self.store = Record(store, self.tally)
        self.namespace = namespace
        self.remote = ObjectRemote(self.store, namespace, cache=cache, **settings)
        self.holds_the_lock = True
        self.lock_follows_ours = False

    async def view(self, scope: Scope = EVERYTHING) -> dict[str, ContentId | None]:
        return (await self.remote.load(scope)).contents()

    async def push(self, files: Mapping[str, bytes], deleted: Iterable[str] = ()) -> Commit:
        """Upload, and commit each file and each deletion by itself."""
        await put_objects(self.store, files, self.namespace)
        snapshot = await self.remote.load()
        listed = snapshot.contents()
        changes = [change(listed, {path: body}) for path, body in files.items()]
        changes += [change(listed, {}, [path]) for path in deleted]
        return await self.commit(Changeset(self.namespace, tuple(changes), on=snapshot.token))

    async def commit(self, changeset: Changeset) -> Commit:
        return await self.remote.commit(changeset, lambda: self.holds_the_lock, follows_ours=self.lock_follows_ours)

    def asked(self) -> list[str]:
        """The requests since the last time, as `verb key`."""
        assert self.tally.log is not None
        log = [f"{request.verb} {request.key}" for request in self.tally.log]
        self.tally.log.clear()
        return log


def change(listed: Mapping[str, ContentId | None], files: Mapping[str, bytes], deleted: Iterable[str] = ()) -> Change:
    """A change of what is listed."""
    paths = [*files, *deleted]
    return Change(
        before={path: listed[path] for path in paths if path in listed},
        after={path: entry_of(path, body) for path, body in files.items()},
    )
