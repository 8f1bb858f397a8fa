"""The data source: every table says what the index and its objects say, and reads no more than it has to."""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from bayou.layout.keys import Keyspace
from bayou.pipelines import planning, reach
from bayou.pipelines.planning import parts_of, read_part
from bayou.pipelines.selection import NO_SELECTION, Selection
from bayou.pipelines.source import Reading
from bayou.pipelines.tables import TABLES
from bayou.remotes import Format
from bayou.remotes.namespaces import register
from bayou.storage import Record, Store, Tally
from bayou.storage.filesystem import FilesystemStore
from bayou.testing.lakes import fill, lake, latest, model, version
from bayou.testing.memory import MemoryStore

FORMATS = [Format.DUAL, Format.SHARDED]
OUTPUT = b"""
id: o-1
definitionId: id-1
methodName: create
status: failed
startedAt: 2026-04-02T09:15:00.125Z
error: {message: no such region}
artifacts: {dataArtifacts: [{dataId: d, name: state, version: 2}]}
"""
RUN = b"id: r-1\nworkflowId: w\nworkflowName: nightly\nstatus: succeeded\ntags: {team: infra}\njobs: []\n"
RECORDS = {
    "outputs/aws/vpc/create/id-1-2026-04-02T09-15-00-125Z.yaml": OUTPUT,
    "workflow-runs/w/workflow-run-r-1.yaml": RUN,
    "audit/commands-2026-04-02.jsonl": b'{"timestamp":"2026-04-02T09:15:00.125Z","command":"ls"}\nnonsense\n',
    "reports/odd.md": b"odd",
}


def put(folder: Path, files: Mapping[str, bytes], format_: Format = Format.DUAL, namespace: str = "") -> None:
    asyncio.run(_put(folder, files, format_, namespace))


async def _put(folder: Path, files: Mapping[str, bytes], format_: Format, namespace: str) -> None:
    async with FilesystemStore(folder) as store:
        if namespace:
            await register(store, namespace, f"repo-{namespace}", 0)
        await fill(store, files, format_, namespace)


def table(spark: SparkSession, folder: Path, name: str, **options: str) -> DataFrame:
    return spark.read.format("bayou").options(url=str(folder), table=name, **options).load()


def keys(frame: DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.select(*columns).collect())


@pytest.mark.parametrize("format_", FORMATS)
def test_every_version_is_a_row_and_one_of_each_name_is_the_latest(
    spark: SparkSession, tmp_path: Path, format_: Format
) -> None:
    put(tmp_path, lake(models=3, names=2, versions=3), format_)
    found = table(spark, tmp_path, "artifacts")
    assert keys(found, "model_id", "name", "version") == [
        (f"id-{m}", f"state-{n}", v) for m in range(3) for n in range(2) for v in (1, 2, 3)
    ]
    assert {row.version for row in found.filter("is_latest").collect()} == {3}
    row = found.filter("model_id = 'id-1' and version = 2").first()
    assert row is not None
    assert (row.model_name, row.tags["env"], row.garbage_collection, row.problem) == ("model-1", "prod", "10", None)
    assert row.created.isoformat() == row.created_at.rstrip("Z").removesuffix(".000")


def test_deferred_versions_and_steps_have_latests_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    one = model(1)
    files: dict[str, bytes] = {}
    for number, step in enumerate(("a", "b", "a", "b"), 1):
        files |= version(one, "n", number, {}, step=step)
    put(tmp_path, files | latest(one, "n", 3))
    assert keys(table(spark, tmp_path, "artifacts").filter("is_latest"), "version") == [(2,), (3,)]


def test_what_versions_hold_comes_as_json_text_and_bytes(spark: SparkSession, tmp_path: Path) -> None:
    one = model(1)
    files = version(one, "json", 1, {"n": 1}) | version(one, "text", 1, "süß".encode(), content_type="text/plain")
    files |= version(one, "binary", 1, b"\xff\0", content_type="application/octet-stream")
    files |= version(one, "large", 1, b"x" * 1000, content_type="text/plain")
    put(tmp_path, files)
    found = {row.name: row for row in table(spark, tmp_path, "content", maxContentBytes="999").collect()}
    assert json.loads(found["json"].attributes) == {"n": 1}
    assert (found["text"].text, found["text"].attributes) == ("süß", None)
    assert (bytes(found["binary"].content), found["binary"].text) == (b"\xff\0", None)
    assert (found["large"].size, found["large"].content) == (1000, None)


def test_records_and_logs_are_tables(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, RECORDS)
    output = table(spark, tmp_path, "outputs").first()
    assert output is not None
    assert (output.id, output.status, output.error) == ("o-1", "failed", "no such region")
    assert output.artifacts[0].asDict() == {"data_id": "d", "name": "state", "version": 2}
    assert keys(table(spark, tmp_path, "workflow_runs"), "id", "workflow_name") == [("r-1", "nightly")]
    assert keys(table(spark, tmp_path, "audit"), "day", "line", "command") == [("2026-04-02", 1, "ls")]


def test_models_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, lake(models=2, names=2, versions=3))
    assert keys(table(spark, tmp_path, "models"), "type", "model_id", "model_name", "names", "versions") == [
        ("aws/vpc", f"id-{number}", f"model-{number}", 2, 6) for number in range(2)
    ]


@pytest.mark.parametrize("format_", FORMATS)
def test_objects_are_what_the_index_lists_and_the_listing_what_lies_there(
    spark: SparkSession, tmp_path: Path, format_: Format
) -> None:
    files = lake(models=2) | RECORDS
    put(tmp_path, files, format_)
    assert keys(table(spark, tmp_path, "objects"), "path", "size") == sorted((p, len(b)) for p, b in files.items())
    kinds = Counter(row.kind for row in table(spark, tmp_path, "objects").collect())
    assert kinds == {"raw": 4, "metadata": 4, "latest": 2, "output": 1, "run": 1, "audit": 1, "other": 1}
    lying = table(spark, tmp_path, "listing")
    assert keys(lying.filter("role = 'data'"), "key") == sorted((path,) for path in files)
    assert lying.filter("role = 'monolith'").count() == 1


def test_damage_is_named_in_its_row_and_ends_nothing(spark: SparkSession, tmp_path: Path) -> None:
    files = lake(models=4, versions=1) | RECORDS
    put(tmp_path, files)
    folder = tmp_path / "data/aws/vpc"
    (folder / "id-0/state-0/1/metadata.yaml").write_bytes(b"name: [")
    (folder / "id-1/state-0/1/raw").write_bytes(b"other")
    (folder / "id-2/state-0/1/raw").unlink()
    (tmp_path / "audit/commands-2026-04-02.jsonl").write_bytes(b"more")
    (tmp_path / "workflow-runs/w/workflow-run-r-1.yaml").write_bytes(b"[")
    problems = {row.model_id: row.problem for row in table(spark, tmp_path, "content").collect()}
    assert problems["id-3"] is None
    assert all("data/aws/vpc" in problems[f"id-{number}"] for number in range(3))
    assert "run" in table(spark, tmp_path, "workflow_runs").collect()[0].problem
    verdicts = {row.path: row.verdict for row in table(spark, tmp_path, "checks").filter("verdict <> 'ok'").collect()}
    assert verdicts == {
        "data/aws/vpc/id-0/state-0/1/metadata.yaml": "corrupt",
        "data/aws/vpc/id-1/state-0/1/raw": "corrupt",
        "data/aws/vpc/id-2/state-0/1/raw": "missing",
        "audit/commands-2026-04-02.jsonl": "in-flight",
        "workflow-runs/w/workflow-run-r-1.yaml": "in-flight",
    }


def test_namespaces_are_read_together_or_alone(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, lake(models=1))
    put(tmp_path, lake(models=2), namespace="infra")
    put(tmp_path, lake(models=3), Format.SHARDED, namespace="web")
    found = table(spark, tmp_path, "models", namespaces="*")
    assert Counter(row.namespace for row in found.collect()) == {"": 1, "infra": 2, "web": 3}
    assert keys(table(spark, tmp_path, "models", namespaces="infra"), "namespace") == [("infra",)] * 2
    alone = table(spark, tmp_path, "listing")
    assert {row.key.split("/")[0] for row in alone.collect()}.isdisjoint({"infra", "web"})


def test_filters_change_no_answer(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, lake(models=4, names=2, versions=3) | lake(models=2, type_path="a"), Format.SHARDED)
    every = table(spark, tmp_path, "artifacts").cache()
    for condition in (
        "model_id = 'id-1'",
        "type = 'aws/vpc' and model_id in ('id-1', 'id-3') and version = 2",
        "type = 'a'",
        "type = 'aws'",
        "name = 'state-1' and is_latest",
        "version >= 2 and version < 3",
        "created > timestamp'2026-09-23'",
        "namespace = 'other'",
        "model_id = 'id-1' or name = 'state-1'",
        "tags.env = 'prod' and type <=> 'a'",
        "model_id is null",
    ):
        found = table(spark, tmp_path, "artifacts").filter(condition)
        assert keys(found, "id") == keys(every.filter(condition), "id"), condition
    every.unpersist()


def test_a_session_that_pushes_nothing_down_reads_all_the_same(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, lake(models=2))
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "false")
    try:
        assert table(spark, tmp_path, "artifacts").filter("model_id = 'id-1' and is_latest").count() == 1
    finally:
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")


def test_only_the_columns_that_are_asked_for_are_made(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, lake(models=2))
    reader = spark.read.format("bayou").options(url=str(tmp_path), table="artifacts")
    assert reader.schema("name string, version bigint").load().columns == ["name", "version"]
    assert reader.schema("name string, version bigint").load().count() == 4
    with pytest.raises(PySparkException, match="has no column nane"):
        reader.schema("nane string").load().count()


def test_nothing_is_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    for name in TABLES:
        assert table(spark, tmp_path, name).count() == 0, name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table": "objcts"}, 'did you mean "objects"'),
        ({"namespace": "No!"}, "is not a namespace"),
        ({"partitions": "x"}, "not a number"),
        ({"url": "s4://x"}, "did you mean"),
    ],
)
def test_options_that_make_no_sense_are_refused_on_the_driver(
    spark: SparkSession, tmp_path: Path, options: dict[str, str], message: str
) -> None:
    with pytest.raises(PySparkException, match=message):
        spark.read.format("bayou").options(**({"url": str(tmp_path)} | options)).load()


def test_the_name_alone_is_enough(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, lake(models=1))
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW here USING bayou OPTIONS (url '{tmp_path}', table 'objects')")
    assert spark.sql("SELECT sum(size) FROM here").first() is not None


# What it costs: the same code without Spark, on a store that counts.


async def held(files: Mapping[str, bytes], format_: Format) -> MemoryStore:
    store = MemoryStore()
    await fill(store, files, format_)
    return store


def connected(monkeypatch: pytest.MonkeyPatch, store: Store) -> Tally:
    """Let every reader find this store, and count what it asks."""
    tally = Tally(log=[])
    monkeypatch.setattr(reach, "connect", lambda *_, **__: Record(store, tally))
    return tally


def read_all(name: str, selection: Selection) -> list[list[dict[str, Any]]]:
    """The rows of each task."""
    reading = Reading.of({"url": "s3://bucket", "table": name})
    columns = frozenset(TABLES[name].columns)
    parts = parts_of(reading, selection)
    return [[row for rows in read_part(reading, selection, columns, part) for row in rows] for part in parts]


def asked(tally: Tally) -> Counter[str]:
    assert tally.log is not None
    return Counter(f"{request.verb} {request.key}" for request in tally.log)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("9999-12-31T23:59:59-01:00", None),
        ("0001-01-01T00:00:00+01:00", None),
        ("0001-01-01T00:00:00Z", None),
        ("9999-12-31T23:59:59Z", datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
    ],
)
def test_a_time_that_no_row_can_hold_is_none_and_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, said: str, found: datetime | None
) -> None:
    lines = f'{{"timestamp":"{said}","command":"ls"}}\n{{"timestamp":"2026-04-02T00:00:00Z","command":"rm"}}\n'
    connected(monkeypatch, asyncio.run(held({"audit/commands-2026-04-02.jsonl": lines.encode()}, Format.DUAL)))
    ((*rows,),) = read_all("audit", NO_SELECTION)
    assert [row["time"] for row in rows] == [found, datetime(2026, 4, 2, tzinfo=UTC)]


def test_a_version_of_the_year_1_can_be_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    files = version(model(1), "report", 1, {}, created_ns=-62_135_596_800 * 10**9)
    connected(monkeypatch, asyncio.run(held(files, Format.DUAL)))
    ((row,),) = read_all("artifacts", NO_SELECTION)
    assert (row["created_at"], row["created"], row["problem"]) == ("0001-01-01T00:00:00.000Z", None, None)


def test_one_model_of_many_reads_one_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    tally = connected(monkeypatch, asyncio.run(held(lake(models=10_000, versions=1), Format.SHARDED)))
    ((*rows,),) = read_all("artifacts", Selection({"type": ("aws/vpc",), "model_id": ("id-7",)}))
    shard, folder = Keyspace().shard("data--aws--vpc--id-7"), "data/aws/vpc/id-7/state-0"
    assert len(rows) == 1
    assert asked(tally) == Counter(
        [
            "get _index/_meta.json",
            f"head {shard}",
            f"get {shard}",
            f"get {folder}/latest",
            f"get {folder}/1/metadata.yaml",
        ]
    )


def test_all_objects_cost_a_listing_and_a_read_of_each_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    tally = connected(monkeypatch, asyncio.run(held(lake(models=30), Format.SHARDED)))
    assert sum(map(len, read_all("objects", NO_SELECTION))) == 150
    verbs = Counter(request.partition(" ")[0] for request in asked(tally).elements())
    assert verbs == {"get": 1 + 31, "list": 2}  # a page, and that there is no other


@pytest.mark.parametrize("format_", FORMATS)
def test_a_large_model_is_dealt_to_several_tasks_with_each_name_in_one(
    monkeypatch: pytest.MonkeyPatch, format_: Format
) -> None:
    files = lake(models=1, names=2000, versions=3) | lake(models=3, type_path="small")
    connected(monkeypatch, asyncio.run(held(files, format_)))
    tasks = read_all("artifacts", NO_SELECTION)
    names = [{(row["type"], row["model_id"], row["name"]) for row in rows} for rows in tasks]
    assert sum(map(len, names)) == len(set.union(*names)) == 2003
    assert max(map(len, names)) < 1900


def test_a_listing_is_dealt_by_ranges_of_keys_that_leave_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    files = lake(models=30)
    connected(monkeypatch, asyncio.run(held(files | {"\U0001f600": b"", "\ufb00": b""}, Format.SHARDED)))
    monkeypatch.setattr(planning, "_KEYS_AT_ONCE", 20)
    tasks = read_all("listing", NO_SELECTION)
    assert len(tasks) > 5
    paths = [row["path"] for rows in tasks for row in rows if row["role"] == "data"]
    assert sorted(paths) == sorted([*files, "\U0001f600", "\ufb00"])
