"""The catalog in Parquet: the same rows as the data source has, kept up to date by reading only what changed."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import bayou
from bayou.pipelines import catalogs
from bayou.pipelines.jobs import catalog
from bayou.pipelines.jobs.context import Context
from bayou.pipelines.reach import reach_of
from bayou.remotes import Format
from bayou.remotes.namespaces import register
from bayou.storage.filesystem import FilesystemStore
from bayou.testing.lakes import fill, lake, latest, model, version
from bayou.testing.machines import Machine

FORMATS = [Format.DUAL, Format.SHARDED]
FILES = lake(models=6, names=2, versions=2) | lake(models=3, type_path="a")


def put(folder: Path, files: dict[str, bytes], format_: Format | None = None) -> None:
    async def work() -> None:
        async with FilesystemStore(folder) as store:
            await (Machine(store).push(files) if format_ is None else fill(store, files, format_))

    asyncio.run(work())


def run(spark: SparkSession, folder: Path, *, dry_run: bool = False) -> dict[str, Any]:
    return dict(catalog.run(Context(spark, reach_of({"url": str(folder)}), dry_run, lambda _: None)).figures)


def held(folder: Path) -> list[dict[str, Any]]:
    async def work() -> list[dict[str, Any]]:
        async with FilesystemStore(folder) as store:
            return [row async for rows in catalogs.rows(store, "") for row in rows]

    return sorted(asyncio.run(work()), key=_place)


def direct(spark: SparkSession, folder: Path) -> list[dict[str, Any]]:
    found = spark.read.format("bayou").options(url=str(folder)).load().toArrow().to_pylist()
    return sorted(found, key=_place)


def _place(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["type"], row["model_id"], row["name"], row["version"]


@pytest.fixture
def many_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogs, "_PARTS_OF_FILE", 1)


@pytest.mark.usefixtures("many_buckets")
@pytest.mark.parametrize("format_", FORMATS)
def test_it_is_what_the_data_source_reads_and_follows_each_change(
    spark: SparkSession, tmp_path: Path, format_: Format
) -> None:
    put(tmp_path, FILES, format_)
    first = run(spark, tmp_path)
    assert first["versions"] == 30
    assert held(tmp_path) == direct(spark, tmp_path)

    assert run(spark, tmp_path)["partsRead"] == 0
    put(tmp_path, version(model(4), "state-1", 3, {"n": 3}) | latest(model(4), "state-1", 3))
    assert run(spark, tmp_path, dry_run=True)["partsRead"] == 1
    changed = run(spark, tmp_path)
    assert (changed["partsRead"], changed["versionsRead"]) == (1, 5)
    assert held(tmp_path) == direct(spark, tmp_path)


@pytest.mark.usefixtures("many_buckets")
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("type_path", ["aws/vpc", "a"])
def test_a_marker_that_moves_is_a_change_of_its_model(
    spark: SparkSession, tmp_path: Path, format_: Format, type_path: str
) -> None:
    put(tmp_path, FILES, format_)
    run(spark, tmp_path)
    put(tmp_path, latest(model(1, type_path), "state-0", 1))
    changed = run(spark, tmp_path)
    assert 1 <= changed["partsRead"] <= 2
    assert held(tmp_path) == direct(spark, tmp_path)


def test_models_that_are_gone_leave_it(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, FILES, Format.SHARDED)
    run(spark, tmp_path)

    async def delete() -> None:
        async with FilesystemStore(tmp_path) as store:
            await Machine(store).push({}, [path for path in FILES if "/id-1/" in path])

    asyncio.run(delete())
    run(spark, tmp_path)
    assert {row["model_id"] for row in held(tmp_path)} == {"id-0", "id-2", "id-3", "id-4", "id-5"}


def test_a_run_that_was_cut_off_leaves_the_last_catalog_and_is_gone_on_with(
    spark: SparkSession, tmp_path: Path
) -> None:
    put(tmp_path, FILES)
    run(spark, tmp_path)
    before = held(tmp_path)
    put(tmp_path, version(model(4), "state-1", 3, {"n": 3}))
    reach = reach_of({"url": str(tmp_path)})

    async def plan() -> catalog.Plan:
        async with reach.store() as store:
            found = await catalog.plan_of(reach, "", store)
            assert isinstance(found, catalog.Plan)
            return found

    # All files are written, and whoever should have committed them is dead.
    todo = asyncio.run(plan()).todo
    written = [row for bucket in todo for rows in catalog.make(bucket) for row in rows]
    assert held(tmp_path) == before
    assert run(spark, tmp_path)["versionsRead"] == 0
    assert len(held(tmp_path)) == len(before) + 1
    assert sum(row["read"] for row in written) > 0


def test_other_tools_read_it(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, FILES)
    run(spark, tmp_path)
    folder = tmp_path / "_control/bayou/catalog/rows"
    table = pq.read_table(folder, columns=["model_name", "version", "created"])
    assert table.num_rows == len(direct(spark, tmp_path))
    assert spark.read.parquet(str(folder)).filter("is_latest").count() == 15


def test_a_file_outlives_the_manifest_that_named_it_by_one_more(spark: SparkSession, tmp_path: Path) -> None:
    def files() -> set[Path]:
        return set((tmp_path / "_control/bayou/catalog").rglob("*.parquet"))

    put(tmp_path, FILES, Format.DUAL)
    run(spark, tmp_path)
    (first,) = files()
    os.utime(first, (0, 0))
    put(tmp_path, version(model(1), "new", 1, {"n": 1}))
    run(spark, tmp_path)
    assert first in files()
    assert len(files()) == 2
    put(tmp_path, version(model(1), "new", 2, {"n": 2}))
    run(spark, tmp_path)
    assert first not in files()


def test_damaged_metadata_is_a_row_that_says_so(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, FILES, Format.SHARDED)
    (tmp_path / "data/aws/vpc/id-1/state-0/1/metadata.yaml").write_bytes(b"rotten")
    (tmp_path / "data/aws/vpc/id-2/state-0/1/metadata.yaml").unlink()
    run(spark, tmp_path)
    damaged = [(row["model_id"], row["version"]) for row in held(tmp_path) if row["problem"] is not None]
    assert damaged == [("id-1", 1), ("id-2", 1)]
    assert held(tmp_path) == direct(spark, tmp_path)


def test_of_nothing_there_is_an_empty_catalog(spark: SparkSession, tmp_path: Path) -> None:
    assert run(spark, tmp_path)["versions"] == 0
    assert held(tmp_path) == []


def test_a_fresh_machine_takes_it_over_and_reads_no_metadata(spark: SparkSession, tmp_path: Path) -> None:
    shared, here = tmp_path / "shared", tmp_path / "here"
    for folder in (shared, here):
        folder.mkdir()

    async def fill_infra() -> None:
        async with FilesystemStore(shared) as store:
            await register(store, "infra", "repo", 0)
            await fill(store, FILES, namespace="infra")

    asyncio.run(fill_infra())
    reach = reach_of({"url": str(shared), "namespaces": "infra"})
    catalog.run(Context(spark, reach, say=lambda _: None))
    for file in shared.rglob("metadata.yaml"):
        file.unlink()
    with bayou.open(here, writable=True) as datastore:
        assert datastore.cataloguing.pull_from(str(shared), ["infra", "web"]) == ({"infra": 30}, ["web"])
        found = datastore.query('ns == "infra" && tags.env == "prod" && modelType == "aws/vpc"')
        assert len(list(found)) == 6
