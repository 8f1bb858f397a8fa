"""Jobs: what they find, what they put right, that a dry run changes nothing and a second run finds nothing to do."""

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from bayou.layout.keys import Keyspace
from bayou.pipelines.jobs import index, scrub, stats
from bayou.pipelines.jobs.context import Context
from bayou.pipelines.memory import run_of
from bayou.pipelines.reach import reach_of
from bayou.pipelines.report import html
from bayou.remotes import Format
from bayou.remotes.tombstones import publish
from bayou.storage.filesystem import FilesystemStore
from bayou.testing.lakes import fill, lake, model, version
from bayou.testing.machines import Machine, put_objects

FORMATS = [Format.DUAL, Format.SHARDED]


def put(folder: Path, files: Mapping[str, bytes], format_: Format = Format.DUAL) -> None:
    async def work() -> None:
        async with FilesystemStore(folder) as store:
            await fill(store, files, format_)

    asyncio.run(work())


def context(spark: SparkSession, folder: Path, *, dry_run: bool = False) -> Context:
    return Context(spark, reach_of({"url": str(folder)}), dry_run, say=lambda _: None)


def contents(folder: Path) -> dict[str, bytes]:
    """Every object, without what a store in a folder keeps for itself."""
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {key: path.read_bytes() for key, path in found.items() if "/folder-store/" not in key}


def listed(folder: Path) -> dict[str, str | None]:
    async def work() -> dict[str, str | None]:
        async with FilesystemStore(folder) as store:
            return await Machine(store).view()

    return asyncio.run(work())


def rows(report: Any, title: str) -> list[dict[str, Any]]:  # noqa: ANN401 - a report
    (found,) = (one for one in report.to_dict()["listings"] if one["title"] == title)
    return list(found["rows"])


# stats


def test_stats_count_what_the_index_lists(spark: SparkSession, tmp_path: Path) -> None:
    twice = version(model(9), "copy", 1, {"model": 0, "version": 1})
    files = lake(models=3, names=2, versions=4) | twice | version(model(8), "big", 1, b"x" * 5000)
    put(tmp_path, files)
    report = stats.run(context(spark, tmp_path))
    raw = [body for path, body in files.items() if path.endswith("/raw")]
    assert {name: report.figures[name] for name in ("objects", "versions", "models", "artifacts")} == {
        "objects": len(files),
        "versions": 26,
        "models": 5,
        "artifacts": 8,
    }
    assert report.figures["duplicateBytes"] == sum(map(len, raw)) - sum(map(len, set(raw)))
    assert rows(report, "Largest versions")[0]["size"] == 5000
    assert rows(report, "Largest models")[0]["model"] == "model-8"
    assert rows(report, "Versions per artifact") == [
        {"versions": "1", "artifacts": 2},
        {"versions": "4 to 10", "artifacts": 6},
    ]


def test_a_report_is_one_page_that_needs_nothing_else_and_trusts_no_name(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, version(model(1), "<script>", 1, {}))
    report = stats.run(context(spark, tmp_path))
    page = html(report)
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert "http" not in page
    json.dumps(report.to_dict())


def test_of_nothing_there_are_no_stats(spark: SparkSession, tmp_path: Path) -> None:
    assert stats.run(context(spark, tmp_path)).figures["objects"] == 0


# scrub


def damaged(folder: Path) -> dict[str, bytes]:
    files = lake(models=3, versions=1)
    put(folder, files)
    (folder / "data/aws/vpc/id-0/state-0/1/raw").write_bytes(b"rotten")
    (folder / "data/aws/vpc/id-1/state-0/1/metadata.yaml").unlink()
    (folder / "data/aws/vpc/id-2/state-0/7").mkdir()
    (folder / "data/aws/vpc/id-2/state-0/7/raw").write_bytes(b"nobody's")
    return files


def test_a_scrub_names_what_is_missing_corrupt_and_listed_nowhere(spark: SparkSession, tmp_path: Path) -> None:
    files = damaged(tmp_path)
    before = contents(tmp_path)
    report = scrub.run(context(spark, tmp_path))
    named = {key: report.figures[key] for key in ("objects", "ok", "missing", "corrupt", "orphans", "damaged")}
    assert named == {
        "objects": len(files),
        "ok": len(files) - 2,
        "missing": 1,
        "corrupt": 1,
        "orphans": 1,
        "damaged": 2,
    }
    assert {row["path"].partition("aws/vpc/")[2]: row["verdict"] for row in rows(report, "Damage")} == {
        "id-0/state-0/1/raw": "corrupt",
        "id-1/state-0/1/metadata.yaml": "missing",
    }
    assert contents(tmp_path) == before


def test_of_nothing_and_of_one_version_there_is_nothing_to_put_right(spark: SparkSession, tmp_path: Path) -> None:
    for job in (scrub, index):
        assert set(job.run(context(spark, tmp_path)).figures.values()) == {0}
    files = version(model(1), "only", 1, {})
    put(tmp_path, files, Format.SHARDED)
    found = scrub.run(context(spark, tmp_path)).figures
    assert (found["ok"], found["damaged"], found["orphans"]) == (2, 0, 0)
    assert index.run(context(spark, tmp_path)).figures["hashed"] == 0
    assert listed(tmp_path).keys() == files.keys()


def test_a_dry_scrub_reads_no_object(spark: SparkSession, tmp_path: Path) -> None:
    files = damaged(tmp_path)
    report = scrub.run(context(spark, tmp_path, dry_run=True))
    assert report.figures == {"objects": len(files), "bytes": sum(map(len, files.values()))}


def test_what_is_corrupt_is_kept_aside_and_stays(spark: SparkSession, tmp_path: Path) -> None:
    damaged(tmp_path)
    before = contents(tmp_path)
    report = scrub.run(context(spark, tmp_path), quarantine=True)
    assert (report.figures["quarantined"], report.figures["damaged"]) == (1, 2)
    after = contents(tmp_path)
    assert before.items() <= after.items()
    (kept,) = after.keys() - before.keys()
    assert kept.startswith("_control/bayou/quarantine/")
    assert after[kept] == b"rotten"


def test_damage_is_repaired_from_a_replica_that_has_the_right_bytes(spark: SparkSession, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    files = damaged(here)
    put(there, files)
    (there / "data/aws/vpc/id-1/state-0/1/metadata.yaml").write_bytes(b"rotten too")
    report = scrub.run(context(spark, here), replica=reach_of({"url": str(there)}))
    assert (report.figures["repaired"], report.figures["damaged"]) == (1, 1)
    assert (here / "data/aws/vpc/id-0/state-0/1/raw").read_bytes() == files["data/aws/vpc/id-0/state-0/1/raw"]
    assert not (here / "data/aws/vpc/id-1/state-0/1/metadata.yaml").exists()
    (there / "data/aws/vpc/id-1/state-0/1/metadata.yaml").write_bytes(
        files["data/aws/vpc/id-1/state-0/1/metadata.yaml"]
    )
    report = scrub.run(context(spark, here), replica=reach_of({"url": str(there)}))
    assert (report.figures["repaired"], report.figures["damaged"]) == (1, 0)
    assert contents(here).items() >= files.items()


def test_a_scrub_that_was_cut_off_goes_on_and_leaves_nothing_behind(spark: SparkSession, tmp_path: Path) -> None:
    files = lake(models=3, versions=1)
    put(tmp_path, files)
    told = {"url": str(tmp_path), "table": "checks", "run": run_of(scrub.JOB), "partitions": "3"}
    checks = spark.read.format("bayou").options(**told).load()
    assert checks.count() == len(files)
    kept = [key for key in contents(tmp_path) if "/pipelines/" in key]
    assert len(kept) == 3
    # Only what is not known yet is read: nobody notices what happened to the rest meanwhile.
    (tmp_path / kept[0]).unlink()
    for path in files:
        (tmp_path / path).write_bytes(b"rotten")
    again = spark.read.format("bayou").options(**told).load()
    verdicts = {row.verdict for row in again.collect()}
    assert "ok" in verdicts
    assert verdicts - {"ok"}
    scrub.run(context(spark, tmp_path))
    assert not [key for key in contents(tmp_path) if "/pipelines/" in key]


# index


@pytest.mark.parametrize("format_", FORMATS)
def test_the_index_is_made_to_say_what_lies_there(spark: SparkSession, tmp_path: Path, format_: Format) -> None:
    files = lake(models=3)
    put(tmp_path, files, format_)
    added = version(model(7), "new", 1, {"n": 1}) | {"reports/odd.md": b"odd"}
    half = {"data/aws/vpc/id-8/half/1/raw": b"half"}
    asyncio.run(put_objects(FilesystemStore(tmp_path), added | half))
    gone = "data/aws/vpc/id-0/state-0/1"
    for path in (tmp_path / gone).iterdir():
        path.unlink()
    (tmp_path / "data/aws/vpc/id-1/state-0/latest").write_bytes(b"1 ")

    before = listed(tmp_path)
    planned = index.run(context(spark, tmp_path, dry_run=True))
    assert listed(tmp_path) == before
    report = index.run(context(spark, tmp_path))
    assert planned.figures.items() <= report.figures.items()
    expected = {"unlisted": 3, "half": 1, "gone": 2, "changed": 1, "hashed": 4, "contested": 0}
    assert {name: report.figures[name] for name in expected} == expected
    after = listed(tmp_path)
    assert after.keys() == {path for path in files if not path.startswith(gone)} | added.keys()
    again = index.run(context(spark, tmp_path))
    assert {again.figures[name] for name in ("unlisted", "gone", "changed", "hashed")} == {0}
    assert scrub.run(context(spark, tmp_path)).figures["damaged"] == 0


def test_an_index_is_made_where_there_was_none(spark: SparkSession, tmp_path: Path) -> None:
    files = lake(models=3)
    asyncio.run(put_objects(FilesystemStore(tmp_path), files))
    report = index.run(context(spark, tmp_path))
    assert report.figures["hashed"] == len(files)
    found = listed(tmp_path)
    assert found.keys() == files.keys()
    assert None not in found.values()


def test_a_broken_index_is_rebuilt_first(spark: SparkSession, tmp_path: Path) -> None:
    files = lake(models=3)
    put(tmp_path, files, Format.SHARDED)
    (tmp_path / Keyspace().meta).write_bytes(b"{")
    (tmp_path / Keyspace().shard("data--aws--vpc--id-1")).write_bytes(b"{")
    report = index.run(context(spark, tmp_path))
    assert report.figures["rebuilt"] == 1
    found = listed(tmp_path)
    assert found.keys() == files.keys()
    assert None not in found.values()


def test_what_was_deleted_on_purpose_is_not_listed_again(spark: SparkSession, tmp_path: Path) -> None:
    files = lake(models=2, versions=1)
    put(tmp_path, files)
    deleted = [path for path in files if "/id-1/" in path]

    async def delete() -> None:
        async with FilesystemStore(tmp_path) as store:
            machine = Machine(store)
            known = await machine.view()
            await machine.push({}, deleted)
            buries = {path: digest for path in deleted if (digest := known[path]) is not None}
            await publish(machine.remote.place, buries, {}, now=datetime.now(UTC))

    asyncio.run(delete())
    report = index.run(context(spark, tmp_path))
    assert (report.figures["unlisted"], report.figures["buried"]) == (len(deleted), len(deleted))
    assert listed(tmp_path).keys() == files.keys() - set(deleted)
