"""`catalog`: bring the catalog in Parquet up to date. What did not change since the last time is not read again."""

import io
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from bayou.errors import Conflict
from bayou.pipelines import catalogs
from bayou.pipelines.artifactrows import artifacts
from bayou.pipelines.batches import batch_of
from bayou.pipelines.catalogs import File, Manifest, PartNow
from bayou.pipelines.jobs.context import Context, settled
from bayou.pipelines.reach import WIDTH, Reach, place_of, run_all
from bayou.pipelines.reading import Row, Task, chunks
from bayou.pipelines.report import Listing, Report
from bayou.pipelines.selection import NO_SELECTION
from bayou.pipelines.slices import Slice, entries_of
from bayou.pipelines.spreading import spread
from bayou.pipelines.tables import table_of
from bayou.remotes.objects import each, read
from bayou.remotes.parts import part_name
from bayou.storage.port import ABSENT, Store, Version

if TYPE_CHECKING:
    import pyarrow as pa

JOB = "catalog"
_COLUMNS = {"namespace": "string", "bucket": "string", "file": "string", "rows": "bigint", "read": "bigint"}
_TABLE = table_of("artifacts").columns | {"part": "string"}
_KEPT = timedelta(hours=1)
"""How long a file that no manifest names is left alone."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """A file that has to be made: which rows come from the one before it, and which parts are read."""

    reach: Reach
    namespace: str
    bucket: str
    file: str
    before: str | None
    kept: frozenset[str]
    changed: tuple[Slice, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What there is to do in one namespace."""

    manifest: Manifest
    version: Version | None
    parts: Mapping[str, Mapping[str, str]]
    """The states of the parts of each bucket."""
    todo: tuple[Bucket, ...]
    unchanged: bool


def run(context: Context) -> Report:
    settled(context)
    with context.step("comparing the catalog with the index"):
        plans = [context.on_driver(partial(plan_of, context.reach, name)) for name in context.reach.namespaces]
    todo = [bucket for plan in plans for bucket in plan.todo]
    changed = sum(len(bucket.changed) for bucket in todo)
    total = sum(len(parts) for plan in plans for parts in plan.parts.values())
    context.say(f"{changed} of {total} parts of the index are read, and {len(todo)} files written")
    figures: dict[str, Any] = {"parts": total, "partsRead": changed, "files": len(todo)}
    if context.dry_run:
        return context.report(JOB, figures)
    with context.step("reading metadata and writing files"):
        made = spread(context.spark, make, todo, _COLUMNS).collect() if todo else []
    with context.step("committing"):
        found = {(row.namespace, row.bucket): row for row in made}
        manifests = [
            context.on_driver(partial(commit, name, plan, found))
            for name, plan in zip(context.reach.namespaces, plans, strict=True)
        ]
    figures["versionsRead"] = sum(row.read for row in made)
    figures["versions"] = sum(file.rows for one in manifests for file in one.files.values())
    rows = [
        (namespace, len(one.files), sum(file.rows for file in one.files.values()))
        for namespace, one in zip(context.reach.namespaces, manifests, strict=True)
    ]
    return context.report(JOB, figures, Listing("Catalogs", ("namespace", "files", "versions"), rows, "versions"))


async def plan_of(reach: Reach, namespace: str, store: Store) -> Plan:
    before, version = await catalogs.manifest(store, namespace)
    token, parts = await catalogs.parts_now(place_of(store, namespace))
    return _plan(reach, namespace, before or Manifest(catalogs.buckets_for(len(parts)), {}), version, token, parts)


def _plan(  # noqa: PLR0913, PLR0917 - all that a plan follows from
    reach: Reach, namespace: str, before: Manifest, version: Version | None, token: str, parts: Mapping[str, PartNow]
) -> Plan:
    states: dict[str, dict[str, str]] = defaultdict(dict)
    for name, part in parts.items():
        states[catalogs.bucket_of(name, before.buckets)][name] = part.state
    todo = []
    for bucket, now in states.items():
        old = before.files.get(bucket)
        if old is not None and old.parts == now:
            continue
        known = {} if old is None else old.parts
        kept = frozenset(name for name, state in now.items() if known.get(name) == state)
        changed = tuple(parts[name].slice for name in sorted(now.keys() - kept))
        file = catalogs.file_of(bucket, now)
        todo.append(Bucket(reach, namespace, bucket, file, old.file if old else None, kept, changed))
    unchanged = not todo and before.files.keys() == states.keys()
    return Plan(msgspec.structs.replace(before, token=token), version, states, tuple(todo), unchanged)


def make(bucket: Bucket) -> Iterator[list[Row]]:
    """On an executor: write the file of a bucket, if nobody has."""
    return run_all(_made(bucket))


async def _made(bucket: Bucket) -> AsyncIterator[list[Row]]:
    import pyarrow as pa  # noqa: PLC0415 - an extra
    import pyarrow.parquet as pq  # noqa: PLC0415 - the same

    said: Row = {"namespace": bucket.namespace, "bucket": bucket.bucket, "file": bucket.file, "read": 0}
    async with bucket.reach.store() as store:
        key = catalogs.key_of(bucket.namespace, bucket.file)
        there = await read(store, key)
        if there is not None:
            yield [said | {"rows": pq.read_metadata(io.BytesIO(there.content)).num_rows}]
            return
        schema = _schema()
        tables = [await _kept(store, bucket, schema)] if bucket.before and bucket.kept else []
        task = Task(place_of(store, bucket.namespace), NO_SELECTION, frozenset(_TABLE), 0)
        for some in chunks(bucket.changed, WIDTH):
            found = await each(WIDTH, some, lambda one: entries_of(task.place, one))
            entries = {path: entry for listed in found for path, entry in listed.items()}
            async for rows in artifacts(task, entries):
                for row in rows:
                    row["part"] = _part_of(row)
                tables.append(pa.Table.from_batches([batch_of(rows, schema)]))
                said["read"] += len(rows)
        table = pa.concat_tables(tables or [schema.empty_table()])
        table = table.sort_by([(name, "ascending") for name in ("type", "model_id", "name", "version")])
        sink = io.BytesIO()
        pq.write_table(table, sink, compression="zstd")
        await store.put(key, sink.getvalue())
        yield [said | {"rows": table.num_rows}]


async def _kept(store: Store, bucket: Bucket, schema: "pa.Schema") -> "pa.Table":
    import pyarrow.compute as pc  # noqa: PLC0415 - an extra
    import pyarrow.parquet as pq  # noqa: PLC0415 - the same

    key = catalogs.key_of(bucket.namespace, str(bucket.before))
    blob = await read(store, key)
    if blob is None:
        raise Conflict(f"{key!r} is gone: the catalog was changed by somebody else meanwhile")
    table = pq.read_table(io.BytesIO(blob.content))
    return (
        table.filter(pc.is_in(table["part"], value_set=_array(sorted(bucket.kept)))).select(schema.names).cast(schema)
    )


def _array(texts: list[str]) -> "pa.Array":
    import pyarrow as pa  # noqa: PLC0415 - an extra

    return pa.array(texts, type=pa.string())


def _schema() -> "pa.Schema":
    import pyarrow as pa  # noqa: PLC0415 - an extra

    types = {
        "string": pa.string(),
        "bigint": pa.int64(),
        "boolean": pa.bool_(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "map<string,string>": pa.map_(pa.string(), pa.string()),
    }
    return pa.schema([(name, types[kind]) for name, kind in _TABLE.items()])


def _part_of(row: Row) -> str:
    return part_name(f"data/{row['type']}/{row['model_id']}/{row['name']}/{row['version']}/raw")


async def commit(namespace: str, plan: Plan, made: Mapping[tuple[str, str], Any], store: Store) -> Manifest:
    """Let the manifest name the files that were made."""
    if plan.unchanged:
        return plan.manifest
    files = {}
    for bucket, parts in plan.parts.items():
        row = made.get((namespace, bucket))
        old = plan.manifest.files.get(bucket)
        if row is not None:
            files[bucket] = File(row.file, row.rows, dict(parts))
        elif old is not None:
            files[bucket] = old
    after = msgspec.structs.replace(plan.manifest, files=files)
    key = catalogs.key_of(namespace, "manifest.json")
    try:
        await store.put(key, msgspec.json.encode(after), when=ABSENT if plan.version is None else plan.version)
    except Conflict:
        raise Conflict(
            "somebody else brought the catalog up to date meanwhile",
            remedy="Nothing is lost; run it again if you like.",
        ) from None
    await _sweep(store, namespace, (plan.manifest, after))
    return after


async def _sweep(store: Store, namespace: str, manifests: Iterable[Manifest]) -> None:
    """Remove files that neither this manifest names nor the one before, which somebody may be reading. What is young,
    by the store's clock, may be about to be named.
    """
    named = {catalogs.key_of(namespace, file.file) for one in manifests for file in one.files.values()}
    key = catalogs.key_of(namespace, "manifest.json")
    now = (await store.head(key)).modified
    pages = [page async for page in store.list(key.rpartition("/")[0])]
    metas = [meta for page in pages for meta in page if meta.key != key and meta.key not in named]
    await each(WIDTH, [meta.key for meta in metas if now - meta.modified > _KEPT], store.delete)
