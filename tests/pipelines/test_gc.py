"""gc on Spark: it decides what the local gc decides, commits it once, and leaves the bytes to the sweep."""

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import bayou
from bayou.domain.artifacts import ArtifactKey
from bayou.domain.partitions import partition_key
from bayou.pipelines.jobs import gc
from bayou.pipelines.jobs.context import Context
from bayou.pipelines.reach import reach_of
from bayou.pipelines.retention import SURPLUS, decided
from bayou.pipelines.retentionrows import asked
from bayou.pipelines.tables import table_of
from bayou.remotes import Format
from bayou.repository.inventory import Inventory, Version
from bayou.repository.retention import judge, plan_gc
from bayou.storage.filesystem import FilesystemStore
from bayou.testing.lakes import EPOCH_NS, fill, latest, model, version
from bayou.testing.machines import Machine, put_objects

NOW = datetime.fromtimestamp(EPOCH_NS / 1e9, UTC) + timedelta(days=30)
DAY = 86_400 * 10**9


def some_files(random: Random) -> dict[str, bytes]:
    """Names with all that retention looks at: policies, lifetimes, steps, markers, clocks that were wrong."""
    files: dict[str, bytes] = {}
    for number in range(40):
        owner, name = model(number % 7), f"name-{number}"
        count = random.randrange(1, 8)
        for one in range(1, count + 1):
            created = EPOCH_NS + random.randrange(40 if random.random() < 0.1 else 29) * DAY
            files |= version(
                owner,
                name,
                one,
                {"n": one},
                keep=random.choice((1, 2, 3, 10, "1d", "10d", "nonsense")),
                step=random.choice((None, None, "a", "b")),
                lifetime=random.choice(("infinite", "infinite", "infinite", "5d", "20d", "workflow")),
                created_ns=created,
            )
        if random.random() < 0.9:
            files |= latest(owner, name, random.randrange(1, count + 1))
    return files


def run(spark: SparkSession, folder: Path, *, dry_run: bool = False) -> Any:  # noqa: ANN401 - a report
    context = Context(spark, reach_of({"url": str(folder)}), dry_run, say=lambda _: None)
    return gc.run(context, now=NOW)


def planned(spark: SparkSession, folder: Path) -> set[tuple[str, str, int]]:
    reader = spark.read.format("bayou").options(url=str(folder), table="retention", now=NOW.isoformat())
    rows = decided(reader.load(), NOW).collect()
    return {(row.model_id, row.name, version) for row in rows for version in row.versions}


def index_of(folder: Path) -> set[str]:
    async def work() -> set[str]:
        async with FilesystemStore(folder) as store:
            return set(await Machine(store).view())

    return asyncio.run(work())


def put(folder: Path, files: dict[str, bytes], format_: Format = Format.DUAL) -> None:
    asyncio.run(fill(FilesystemStore(folder), files, format_))


@st.composite
def histories(draw: st.DrawFn) -> list[dict[str, Any]]:
    """The versions of one name, as tables have them; whatever they say, and however unlikely."""
    numbers = draw(st.lists(st.integers(1, 12), min_size=1, max_size=7, unique=True).map(sorted))
    milliseconds = int(NOW.timestamp() * 1_000)
    edges = [0, 1, -1, DAY // 10**6, DAY // 10**6 + 1, -5 * DAY // 10**6, -5 * DAY // 10**6 - 1, 10**18]
    ages = st.sampled_from(edges) | st.integers(-40 * DAY // 10**6, DAY // 10**6)
    return [
        {
            "namespace": "",
            "type": "aws/vpc",
            "model_id": "id",
            "version": number,
            "is_latest": draw(st.booleans()),
            "lifetime": draw(st.sampled_from(("infinite", "5d", "1m", "workflow", "job", "ephemeral", "999999999y"))),
            "policy": draw(st.sampled_from((1, 2, 3, 100, "1d", "5d", "999999999y", "nonsense", "5", 0))),
            "created_ms": draw(st.none() | ages.map(lambda age: milliseconds + age)),
            "size": draw(st.none() | st.integers(0, 9)),
            "lifecycle": draw(st.sampled_from(("active", "active", "deleted"))),
            "workflow_id": draw(st.sampled_from(("", "flow"))),
            "workflow_run_id": draw(st.sampled_from(("", "there", "gone"))),
        }
        for number in numbers
    ]


@settings(max_examples=settings().max_examples // 20, deadline=None)
@given(st.lists(histories(), min_size=1, max_size=40))
def test_the_windows_say_what_the_rule_says(spark: SparkSession, names: list[list[dict[str, Any]]]) -> None:
    """Of each name by itself, whatever others there are. Most of the time goes into Spark, so there are many names."""
    rows, expected = [], {}
    for number, history in enumerate(names):
        versions = [version | {"name": f"name-{number}"} for version in history]
        rows += [asked(one, NOW, run_is_gone=is_gone(one["workflow_id"], one["workflow_run_id"])) for one in versions]
        judged = judge(inventory(versions), NOW, is_gone)
        if judged.skewed or judged.going:
            going = judged.going
            reason = SURPLUS if judged.expired is None else judged.expired.value
            expected[f"name-{number}"] = (
                (list(going.versions), going.size, reason, going.whole) if going else ([], 0, SURPLUS, False),
                judged.skewed,
            )
    schema = ", ".join(f"{name} {kind}" for name, kind in table_of("retention").columns.items())
    found = decided(spark.createDataFrame(rows, schema), NOW).collect()
    assert {row.name: ((row.versions, row.bytes, row.reason, row.whole), row.skewed) for row in found} == expected
    assert {row.name: (row["count"], row.total) for row in found} == {
        f"name-{number}": (len(history), sum(version["version"] for version in history))
        for number, history in enumerate(names)
        if f"name-{number}" in expected
    }


def is_gone(workflow_id: str, run_id: str) -> bool:
    return bool(workflow_id) and run_id == "gone"


def inventory(versions: list[dict[str, Any]]) -> Inventory:
    known = [name for name in Version._fields if name not in ("name_row", "garbage_collection", "size", "model_name")]
    return Inventory(
        ArtifactKey(model(1), versions[0]["name"]),
        [
            Version(
                name_row=0,
                model_name="",
                garbage_collection=one["policy"],
                size=one["size"] or 0,
                **{name: one[name] for name in known},
            )
            for one in versions
        ],
    )


@pytest.mark.parametrize("seed", range(3))
def test_it_decides_what_the_local_gc_decides(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    put(tmp_path, some_files(Random(seed)))  # noqa: S311 - the same each time
    with bayou.open(tmp_path, writable=True) as datastore:
        holdings = datastore.holdings
        object.__setattr__(holdings, "clock", lambda: int(NOW.timestamp() * 1e9))
        holdings.catalog.current()
        plan = plan_gc(holdings, lambda *_: True)
    expected = {(one.key.model.id, one.key.name, number) for one in plan.going for number in one.versions}
    assert expected
    assert planned(spark, tmp_path) == expected


@pytest.mark.parametrize("format_", [Format.DUAL, Format.SHARDED])
def test_what_goes_is_listed_no_more_and_buried_and_its_bytes_stay(
    spark: SparkSession, tmp_path: Path, format_: Format
) -> None:
    files = some_files(Random(1))  # noqa: S311 - the same each time
    put(tmp_path, files, format_)
    going = planned(spark, tmp_path)
    dry = run(spark, tmp_path, dry_run=True)
    assert index_of(tmp_path) == files.keys()
    done = run(spark, tmp_path)
    assert dry.figures.items() <= done.figures.items()
    assert done.figures["versions"] == len(going)
    gone = files.keys() - index_of(tmp_path)
    assert {path for path in gone if path.endswith("/raw")} == set(_raw(going))
    assert all((tmp_path / path).is_file() for path in gone)
    assert buried(tmp_path, gone) == gone
    assert run(spark, tmp_path).figures["versions"] == 0


def test_a_name_that_was_written_meanwhile_is_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    files: dict[str, bytes] = {}
    for name in ("one", "two"):
        for number in (1, 2):
            files |= version(model(1), name, number, {}, keep=1)
    put(tmp_path, files)
    context = Context(spark, reach_of({"url": str(tmp_path)}), say=lambda _: None)
    added = version(model(1), "two", 3, {}, keep=1)

    def write(what: str) -> None:
        if what.startswith("committing"):
            asyncio.run(put_objects(FilesystemStore(tmp_path), added))
            asyncio.run(Machine(FilesystemStore(tmp_path)).push(added))

    context.say = write
    done = gc.run(context, now=NOW)
    assert (done.figures["versions"], done.figures["changedMeanwhile"]) == (2, 1)
    left = {path for path in index_of(tmp_path) if path.endswith("/raw")}
    assert left == {f"data/aws/vpc/id-1/{place}/raw" for place in ("one/2", "two/1", "two/2", "two/3")}


def test_a_name_with_a_version_that_cannot_be_read_is_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    files: dict[str, bytes] = {}
    for name in ("one", "two"):
        for number in (1, 2, 3):
            files |= version(model(1), name, number, {}, keep=1)
    put(tmp_path, files)
    (tmp_path / "data/aws/vpc/id-1/two/1/metadata.yaml").write_bytes(b"rotten")
    done = run(spark, tmp_path)
    assert (done.figures["versions"], done.figures["committed"], done.figures["changedMeanwhile"]) == (3, 2, 1)
    assert {path for path in files if "/two/" in path} <= index_of(tmp_path)


def test_of_nothing_nothing_goes(spark: SparkSession, tmp_path: Path) -> None:
    assert set(run(spark, tmp_path).figures.values()) == {0}


def _raw(going: Iterable[tuple[str, str, int]]) -> list[str]:
    return [f"data/aws/vpc/{model_id}/{name}/{number}/raw" for model_id, name, number in going]


def buried(folder: Path, paths: set[str]) -> set[str]:
    async def work() -> set[str]:
        async with FilesystemStore(folder) as store:
            found = await Machine(store).remote.buried({partition_key(path) for path in paths})
            return paths & found.graves.keys()

    return asyncio.run(work())
