"""Memory of a run: what a task found is kept in the bucket, so that a run that was cut off goes on where it was.

It is kept under what was asked, down to the digests of the parts, so that nothing is taken for what has changed since.
A run is named by its job and the day: what was found yesterday is looked at again. Who may not write remembers nothing.
"""

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from bayou.errors import Denied, Unsupported
from bayou.layout.keys import Keyspace
from bayou.pipelines.reach import Reach
from bayou.remotes.objects import each, read
from bayou.storage.port import Store

_FOLDER = "bayou/pipelines"


@dataclass(frozen=True, slots=True)
class Memory:
    """Of one run, in the control plane of one namespace."""

    reach: Reach
    namespace: str
    run: str

    def recalled(
        self, question: str, schema: pa.Schema, answer: Callable[[], Iterable[pa.RecordBatch]]
    ) -> Iterator[pa.RecordBatch]:
        """The answer, found out now or earlier in this run."""
        name = f"{_FOLDER}/{self.run}/{hashlib.sha256(question.encode()).hexdigest()}.arrow"
        key = Keyspace(self.namespace).control(name)
        held = asyncio.run(self._read(key))
        if held is not None:
            yield from pa.ipc.open_stream(held)
            return
        batches = list(answer())
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
        asyncio.run(self._write(key, sink.getvalue().to_pybytes()))
        yield from batches

    async def _read(self, key: str) -> bytes | None:
        async with self.reach.store() as store:
            blob = await read(store, key)
            return None if blob is None else blob.content

    async def _write(self, key: str, body: bytes) -> None:
        async with self.reach.store() as store:
            with suppress(Denied, Unsupported):
                await store.put(key, body)


def run_of(job: str, *, now: datetime | None = None) -> str:
    return f"{job}-{(now or datetime.now(UTC)).date().isoformat()}"


async def forget(store: Store, namespaces: Iterable[str], job: str) -> None:
    """Forget all runs of a job: the last one has come to its end."""
    for namespace in namespaces:
        folder = Keyspace(namespace).control(_FOLDER)
        pages = [page async for page in store.list(folder)]
        mine = [meta.key for page in pages for meta in page if meta.key.startswith(f"{folder}/{job}-")]
        with suppress(Denied, Unsupported):
            await each(32, mine, store.delete)
