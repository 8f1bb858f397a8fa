"""`index`: make the index say what lies in the bucket, with the hash of everything.

What is listed nowhere is hashed on the executors and listed; what is listed and gone is listed no more; hashes that
nobody wrote down are filled in. The driver commits all of it at once, through the commit that everybody uses, so that
whoever writes meanwhile loses nothing. An index that cannot be read is rebuilt first.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from bayou.domain.entries import Entry
from bayou.domain.partitions import partition_key
from bayou.domain.scopes import EVERYTHING
from bayou.errors import Corrupt
from bayou.layout.artifacts import VersionFile
from bayou.layout.meanings import meaning
from bayou.pipelines.jobs.committing import commit_to, rebuild
from bayou.pipelines.jobs.context import Context, settled
from bayou.pipelines.memory import Memory, forget, run_of
from bayou.pipelines.objectrows import hashed
from bayou.pipelines.reach import WIDTH, Reach, place_of, run_all
from bayou.pipelines.reading import Row, grouped
from bayou.pipelines.report import Listing, Report
from bayou.pipelines.slices import missing
from bayou.pipelines.spreading import spread
from bayou.remotes import Change, Commit, ObjectRemote
from bayou.remotes.loading import load
from bayou.remotes.looking import look
from bayou.remotes.objects import each
from bayou.remotes.writes import intended, under_way
from bayou.storage.port import Store
from bayou.wire.times import to_text

if TYPE_CHECKING:
    pass

JOB = "index"
_AT_ONCE = 256 * 2**20
"""Bytes that a task hashes."""
_SHOWN = 1_000
_COLUMNS = {"namespace": "string", "path": "string", "size": "bigint", "sha256": "string", "modified": "string"}

# What is written once is not listed anew where it differs: that is damage, which `scrub` tells of. Half a version may
# be on its way, or a rest of something (promise 1).
_DIFFERENCE = """
CASE
  WHEN key IS NULL THEN 'gone'
  WHEN listed_size IS NULL AND kind IN ('raw', 'metadata') AND parts < 2 THEN 'half'
  WHEN listed_size IS NULL THEN 'unlisted'
  WHEN size <> listed_size AND kind IN ('raw', 'metadata', 'bundle') THEN 'damaged'
  WHEN size <> listed_size THEN 'changed'
  WHEN sha256 IS NULL THEN 'unhashed'
END AS difference
"""
_TO_HASH = ("unlisted", "changed", "unhashed")


@dataclass(frozen=True, slots=True)
class Lying:
    """An object that has to be hashed."""

    namespace: str
    path: str
    size: int
    modified: str


@dataclass(frozen=True, slots=True)
class Batch:
    """Objects that one task hashes."""

    reach: Reach
    objects: tuple[Lying, ...]


def run(context: Context) -> Report:
    settled(context)
    rebuilt = _rebuild_what_is_broken(context)
    with context.step("comparing the index with what lies in the bucket"):
        differences = _differences(context)
        wanted = [
            Lying(row.namespace, row.path, row.size, to_text(row.modified_ms * 1_000_000))
            for row in differences
            if row.difference in _TO_HASH
        ]
    size = sum(one.size for one in wanted)
    names = ("unlisted", "half", "gone", "changed", "unhashed", "damaged")
    figures = {name: sum(row.difference == name for row in differences) for name in names}
    context.say(f"{len(wanted)} objects of {size} bytes are hashed; {figures['gone']} entries lead nowhere")
    figures |= {"hashed": len(wanted), "hashedBytes": size, "rebuilt": rebuilt}
    if context.dry_run:
        return context.report(JOB, figures)
    with context.step("hashing"):
        found = _hash_all(context, wanted)
    with context.step("committing"):
        done = [_commit(context, namespace, differences, found) for namespace in context.reach.namespaces]
    context.on_driver(lambda store: forget(store, context.reach.namespaces, JOB))
    commits = [commit for commit, _ in done if commit is not None]
    figures["committed"] = sum(len(commit.committed) for commit in commits)
    figures["contested"] = sum(len(commit.contested) for commit in commits)
    figures["buried"] = sum(buried for _, buried in done)
    rows = [(path,) for commit in commits for one in commit.contested for path in sorted(one.change.paths)][:_SHOWN]
    return context.report(JOB, figures, Listing("Changed by somebody else meanwhile", ("path",), rows))


def _rebuild_what_is_broken(context: Context) -> int:
    """How many indexes could not be read. A dry run stops at one."""
    rebuilt = 0
    for namespace in context.reach.namespaces:
        try:
            context.on_driver(partial(_readable, namespace))
        except Corrupt:
            if context.dry_run:
                raise
            with context.step(f"rebuilding the index of {namespace or 'the solo namespace'}"):
                rebuild(context, namespace)
            rebuilt += 1
    return rebuilt


async def _readable(namespace: str, store: Store) -> None:
    place = place_of(store, namespace)
    snapshot = await load(place, EVERYTHING, await look(place))
    if snapshot.missing:
        raise missing(place, snapshot.missing[0])


def _differences(context: Context) -> "list[Any]":
    """Every path of which the index and the bucket say different things; the driver holds them all."""
    from pyspark.sql import Window  # noqa: PLC0415 - with Spark
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - as everybody calls them

    # Of what the index lists, only what is compared; of a version, how many of its two files lie there.
    folder = F.regexp_replace("path", "/[^/]*$", "")
    parts = F.count("*").over(Window.partitionBy("namespace", F.when(F.col("version").isNotNull(), folder)))
    lying = context.table("listing").filter("role = 'data'").withColumn("parts", parts)
    listed = context.table("objects").select(
        "namespace", "path", F.col("kind").alias("listed_kind"), F.col("size").alias("listed_size"), "sha256"
    )
    joined = lying.join(listed, ["namespace", "path"], "full_outer")
    found = joined.selectExpr(
        "namespace", "path", "size", "sha256", "unix_millis(modified) AS modified_ms", _DIFFERENCE
    )
    return found.filter("difference IS NOT NULL").orderBy("namespace", "path").collect()


def _hash_all(context: Context, wanted: Sequence[Lying]) -> Mapping[tuple[str, str], Entry]:
    if not wanted:
        return {}
    batches = [Batch(context.reach, tuple(some)) for some in grouped([(one, one.size) for one in wanted], _AT_ONCE)]
    memory = Memory(context.reach, context.reach.namespaces[0], run_of(JOB))
    rows = spread(context.spark, hash_batch, batches, _COLUMNS, memory=memory).collect()
    return {
        (row.namespace, row.path): Entry(row.path, row.size, row.modified, sha256=row.sha256)
        for row in rows
        if row.sha256 is not None
    }


def hash_batch(batch: Batch) -> Iterator[list[Row]]:
    """On an executor: the hashes of a batch. What is gone meanwhile has none."""
    return run_all(_hashes(batch))


async def _hashes(batch: Batch) -> AsyncIterator[list[Row]]:
    async with batch.reach.store() as store:
        places = {one.namespace: place_of(store, one.namespace) for one in batch.objects}

        async def row(one: Lying) -> Row:
            place = places[one.namespace]
            found = await hashed(place.store, place.keys.data(one.path))
            size, sha256 = found or (one.size, None)
            return {
                "namespace": one.namespace,
                "path": one.path,
                "size": size,
                "sha256": sha256,
                "modified": one.modified,
            }

        yield await each(WIDTH, batch.objects, row)


def _commit(
    context: Context, namespace: str, differences: Iterable[Any], found: Mapping[tuple[str, str], Entry]
) -> tuple[Commit | None, int]:
    """What came of it, and how many were left out: deleted on purpose, or put there by a write that did not commit."""
    mine = [row for row in differences if row.namespace == namespace]
    after = {row.path: found[namespace, row.path] for row in mine if (namespace, row.path) in found}
    gone = {row.path for row in mine if row.difference == "gone"}
    before = {row.path: row.sha256 for row in mine if row.difference in ("gone", "changed", "unhashed")}
    if not after and not gone:
        return None, 0

    async def changes(remote: ObjectRemote) -> tuple[list[Change], int]:
        graves = (await remote.buried({partition_key(path) for path in after})).graves
        meant = intended(await under_way(remote.place))
        new = [(path, entry.sha256) for path, entry in after.items() if path not in before]
        dead = {path for path, sha in new if sha in graves.get(path, ()) or sha in meant.get(path, ())}
        dead |= {path for path in after if _unit(path) in {_unit(other) for other in dead}}
        still = await each(WIDTH, sorted(gone), lambda path: hashed(remote.place.store, remote.place.keys.data(path)))
        really = {path for path, there in zip(sorted(gone), still, strict=True) if there is None}
        units: dict[str, list[str]] = defaultdict(list)
        for path in sorted((after.keys() - dead) | really):
            units[_unit(path)].append(path)
        made = [
            Change(
                before={path: before[path] for path in paths if path in before},
                after={path: after[path] for path in paths if path in after},
            )
            for paths in units.values()
        ]
        return made, len(dead)

    return commit_to(context, namespace, changes)


def _unit(path: str) -> str:
    """What is listed together: the files of a version (promise 1)."""
    return path.rpartition("/")[0] if isinstance(meaning(path), VersionFile) else path
