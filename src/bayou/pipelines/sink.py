"""The sink: `df.write.format("bayou").mode("append").option("url", URL).save()`. Rows become versions of artifacts.

Tasks put contents aside, and the driver lets them land (`landing`). Spark calls `abort` with whatever there is when a
task failed for good; then nothing has left the folder of the write, and that goes.
"""

import asyncio
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from bayou.domain.names import check_model_name
from bayou.errors import UsageError
from bayou.layout.keys import Keyspace
from bayou.pipelines.aside import Attempt, Told
from bayou.pipelines.frames import check_frame, version_of
from bayou.pipelines.landing import land
from bayou.pipelines.locking import locks_of
from bayou.pipelines.reach import ALL, Reach, reach_of
from bayou.pipelines.writerecord import Job
from bayou.remotes import ObjectRemote
from bayou.remotes.writes import Write
from bayou.storage.port import ABSENT
from bayou.storage.probing import Ability, probe
from bayou.wire.times import to_text

_ROWS = 64
"""Rows that are plain values at a time."""


def begin(options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> "Sink":
    """On the driver, before any task: refuse what cannot end well, and open the folder of the write."""
    if overwrite:
        raise UsageError("versions are never overwritten", remedy='Say .mode("append"): rows become new versions.')
    check_frame(schema)
    reach = reach_of(options)
    if len(reach.namespaces) != 1 or ALL in reach.namespaces:
        raise UsageError("a write goes to one namespace", remedy='Name it: .option("namespace", "infra").')
    job = Job(str(uuid.uuid4()), check_model_name(options.get("job") or "spark"), to_text(time.time_ns()))

    async def begun() -> Ability:
        async with reach.store() as store:
            # Whoever may not write hears it now.
            await store.put(Write(Keyspace(reach.namespaces[0]), job.id).key("begun"), b"", when=ABSENT)
            return (await probe(store)).several_writers

    return Sink(reach, job, schema, asyncio.run(begun()))


@dataclass
class Message(WriterCommitMessage):
    told: Told


@dataclass
class Sink(DataSourceArrowWriter):
    reach: Reach
    job: Job
    schema: StructType
    several: Ability

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        context = TaskContext.get()
        return Message(asyncio.run(self._put_aside(iterator, 0 if context is None else context.partitionId())))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        asyncio.run(self._land([one.told for one in messages if isinstance(one, Message)]))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:  # noqa: ARG002 - what is aside says it all
        asyncio.run(self._leave())

    @property
    def _namespace(self) -> str:
        return self.reach.namespaces[0]

    @property
    def _write(self) -> Write:
        return Write(Keyspace(self._namespace), self.job.id)

    async def _put_aside(self, batches: Iterator[pa.RecordBatch], partition: int) -> Told:
        async with self.reach.store() as store:
            attempt = Attempt(store, self._write, partition)
            for number, row in enumerate(_rows(batches), 1):
                try:
                    version, content = version_of(row, self.schema)
                except UsageError as error:
                    where = f"row {number} of partition {partition}"
                    raise UsageError(f"{where}: {error.message}", kind=error.kind, remedy=error.remedy) from None
                await attempt.add(version, content)
            return await attempt.finish()

    async def _land(self, told: list[Told]) -> None:
        conditional = self.several is not Ability.NO
        with locks_of(self.reach, self._namespace, self.several) as locks:
            async with self.reach.store() as store:
                with ObjectRemote(store, self._namespace, conditional=conditional) as remote:
                    await land(remote, locks, self.job, told)

    async def _leave(self) -> None:
        """What was put in its place already, a repair has to follow."""
        async with self.reach.store() as store:
            if not await self._write.intents(store):
                await self._write.remove(store)


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[dict[str, object]]:
    for batch in batches:
        for start in range(0, batch.num_rows, _ROWS):
            yield from batch.slice(start, _ROWS).to_pylist()
