"""A computer with a cache that shares a bucket with others: what tests of sync stand on."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bayou.domain.namespaces import SOLO
from bayou.layout.directories import DEFAULT
from bayou.layout.keys import Keyspace
from bayou.locks import Locks, StoreCells
from bayou.remotes import ObjectRemote
from bayou.storage.port import Store
from bayou.storage.record import Record, Tally
from bayou.sync.ends import Ends, installing
from bayou.sync.journal import Journal
from bayou.sync.machine import THIS_MACHINE, Machine
from bayou.sync.report import Report
from bayou.sync.syncing import Job, Sync
from bayou.tree import Tree

TYPE = "aws/ec2/vpc"
MODEL = "0b2f6c1e-7a51-4c3e-9a55-1f4f0d6a1c02"


def name_of(name: str = "state", model: str = MODEL) -> str:
    return f"data/{TYPE}/{model}/{name}"


def metadata(number: int, body: bytes, *, name: str = "state", version_id: str = "", streaming: bool = False) -> bytes:
    """A metadata.yaml of the shape that every client writes."""
    digest = hashlib.sha256(body).hexdigest()
    lines = [
        f"id: {version_id or hashlib.md5(body + str(number).encode(), usedforsecurity=False).hexdigest()}",
        f"name: {name}",
        f"version: {number}",
        "contentType: application/json",
        "lifetime: infinite",
        "garbageCollection: 10",
        f"streaming: {'true' if streaming else 'false'}",
        "tags:",
        "  type: resource",
        "createdAt: '2026-11-02T08:15:30.120Z'",
        f"size: {len(body)}",
        f"checksum: {digest}",
    ]
    return "\n".join(lines).encode() + b"\n"


class Computer:
    """`tally` counts what it asks of the bucket, without its locks. Each method is what some command does."""

    def __init__(  # noqa: PLR0913 - settings, each with a default
        self,
        cache: Path,
        store: Store,
        *,
        namespace: str = SOLO,
        lazy: bool = False,
        locks: Locks | None = None,
        machine: Machine = THIS_MACHINE,
        **settings: Any,  # noqa: ANN401 - passed on
    ) -> None:
        cache.mkdir(parents=True, exist_ok=True)
        self.tally = Tally(log=[])
        self.lazy = lazy
        self.journal = Journal(cache, namespace, machine=machine)
        self.tree = Tree(cache, cache, namespace=namespace, durable=False, marks=self.journal)
        remote = ObjectRemote(Record(store, self.tally), namespace, cache=cache)
        own = locks or Locks(lambda: StoreCells(store), Keyspace(namespace))
        self.ends = Ends(self.journal, remote, own, self.tree, installing(self.tree, self.journal), **settings)
        self.engine = Sync(self.ends)

    def close(self) -> None:
        self.ends.locks.close()
        self.ends.remote.close()
        self.journal.close()

    # What people do.

    def write(self, path: str, body: bytes) -> None:
        with self.tree.change(path) as change:
            change.replace(path, body)

    def write_version(self, number: int, body: bytes, *, name: str = "state", model: str = MODEL, **more: Any) -> None:  # noqa: ANN401
        folder = f"{name_of(name, model)}/{number}"
        with self.tree.change(folder, f"{name_of(name, model)}/latest") as change:
            change.claim(folder)
            change.write(f"{folder}/raw", [body])
            change.replace(f"{folder}/metadata.yaml", metadata(number, body, name=name, **more))
            change.point(f"{name_of(name, model)}/latest", str(number).encode())

    def delete_version(self, number: int, *, name: str = "state", model: str = MODEL) -> None:
        folder = f"{name_of(name, model)}/{number}"
        with self.tree.removal(folder) as change:
            change.remove_folder(folder)

    def delete(self, path: str) -> None:
        with self.tree.removal(path) as change:
            change.remove(path)

    # What sync does.

    async def push(self, **job: Any) -> Report:  # noqa: ANN401
        return await self.engine.run(Job(pulls=False, lazy=self.lazy, **job))

    async def pull(self, **job: Any) -> Report:  # noqa: ANN401
        return await self.engine.run(Job(pushes=False, lazy=self.lazy, **job))

    async def sync(self, **job: Any) -> Report:  # noqa: ANN401
        return await self.engine.run(Job(lazy=self.lazy, **job))

    # What there is to see.

    def files(self) -> dict[str, bytes]:
        """Everything in the cache that is data."""
        root = Path(self.journal.place.root)
        found = {file.relative_to(root).as_posix(): file for file in root.rglob("*") if file.is_file()}
        return {path: file.read_bytes() for path, file in found.items() if path.partition("/")[0] in _DATA}

    def asked(self) -> list[str]:
        """The requests since the last time, as `verb key`."""
        assert self.tally.log is not None
        log = [f"{request.verb} {request.key}" for request in self.tally.log]
        self.tally.log.clear()
        return log


_DATA = DEFAULT


def without_control(objects: Mapping[str, object]) -> set[str]:
    """The keys of a bucket that are data."""
    return {key for key in objects if key.partition("/")[0] in _DATA}
