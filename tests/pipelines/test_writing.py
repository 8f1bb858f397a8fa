"""Writing frames: what rows become, what is refused and where, and that a job that fails leaves nothing to be seen."""

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

import bayou
from bayou.config import newrepo, urls
from bayou.datastore.setup import Wishes, set_up
from bayou.layout.keys import Keyspace
from bayou.pipelines.jobs import index
from bayou.pipelines.jobs.context import Context
from bayou.pipelines.reach import reach_of
from bayou.remotes.objects import each
from bayou.remotes.objects import read as read_object
from bayou.remotes.writes import Write
from bayou.storage import connect
from bayou.storage.filesystem import FilesystemStore
from bayou.testing.legacy import legacy_view
from bayou.testing.machines import Machine
from bayou.testing.servers import Server
from bayou.testing.servers.s3 import CREDENTIALS
from bayou.wire.intents import Intent

COLUMNS = "type string, model_name string, name string, content string"


def write(frame: DataFrame, url: Path | str, **options: str) -> None:
    frame.write.format("bayou").mode("append").options(url=str(url), **options).save()


def beside(frame: DataFrame, url: str, job: str) -> None:
    """Write in a thread of its own, where Spark knows of no session unless it is told."""
    session: Any = frame.sparkSession
    session._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)
    write(frame, url, job=job)


def read(spark: SparkSession, url: Path | str, table: str = "content", **options: str) -> DataFrame:
    return spark.read.format("bayou").options(url=str(url), table=table, **options).load()


def rows(spark: SparkSession, *values: tuple[Any, ...], columns: str = COLUMNS) -> DataFrame:
    return spark.createDataFrame([("aws/vpc", "prod", *rest) for rest in values], columns)


def objects(folder: Path) -> dict[str, bytes]:
    """Every object, without what a store in a folder and its locks keep for themselves."""
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {k: path.read_bytes() for k, path in found.items() if "/folder-store/" not in k and "/leases/" not in k}


def test_rows_become_versions_with_all_that_their_columns_say(spark: SparkSession, tmp_path: Path) -> None:
    frame = rows(
        spark,
        ("a", b"\xff\0", None, {"env": "prod"}, "application/x-thing", "30d", "5", datetime(2026, 3, 1, tzinfo=UTC)),
        ("b", None, (1, "süß", [1.5, None], {"k": "v"}), None, None, None, None, None),
        ("b", b"", None, {"type": "log"}, None, None, "10d", datetime(2026, 2, 1, tzinfo=UTC)),
        columns="type string, model_name string, name string, content binary,"
        " attributes struct<n: int, text: string, list: array<double>, map: map<string, string>>,"
        " tags map<string, string>, content_type string, lifetime string, garbage_collection string, created timestamp",
    )
    write(frame, tmp_path, job="nightly")
    found = {(row.name, row.version): row for row in read(spark, tmp_path).collect()}
    assert {row.problem for row in found.values()} == {None}
    a = found["a", 1]
    assert (bytes(a.content), a.content_type, a.lifetime, a.garbage_collection) == (
        b"\xff\0",
        "application/x-thing",
        "30d",
        "5",
    )
    assert a.tags == {"type": "resource", "modelName": "prod", "env": "prod"}
    assert (a.created_at, a.source, a.owner_ref) == ("2026-03-01T00:00:00.000Z", "spark", a.model_id)
    # Of one name, the earlier one first.
    assert (bytes(found["b", 1].content), found["b", 1].tags["type"]) == (b"", "log")
    assert json.loads(found["b", 2].attributes) == {"n": 1, "text": "süß", "list": [1.5, None], "map": {"k": "v"}}
    assert [row.is_latest for row in (found["b", 1], found["b", 2])] == [False, True]
    (record,) = read(spark, tmp_path, "outputs").collect()
    assert sorted((one.name, one.version) for one in record.artifacts) == [("a", 1), ("b", 1), ("b", 2)]
    assert (record.status, record.path.split("/")[:3]) == ("succeeded", ["outputs", "bayou", "write"])


def test_json_comes_as_text_or_as_a_variant_too(spark: SparkSession, tmp_path: Path) -> None:
    text = rows(
        spark, ("text", '{"a": [1, 2.50]}'), columns="type string, model_name string, name string, attributes string"
    )
    write(text, tmp_path)
    write(
        text.select("type", "model_name", F.lit("variant").alias("name"), F.expr("parse_json(attributes) attributes")),
        tmp_path,
    )
    found = {row.name: bytes(row.content) for row in read(spark, tmp_path).collect()}
    assert found == {"text": b'{"a": [1, 2.50]}', "variant": b'{"a":[1,2.5]}'}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.withColumnRenamed("name", "nmae"), "'nmae' is none that can be written"),
        (lambda frame: frame.drop("name"), "there is no column 'name'"),
        (lambda frame: frame.drop("model_name"), "there is no column 'model_name' or 'model_id'"),
        (lambda frame: frame.withColumn("content", F.lit(1)), "'content' is of type int"),
        (lambda frame: frame.withColumn("tags", F.lit("x")), "'tags' is of type string"),
        (lambda frame: frame.withColumn("created", F.lit("2026-01-01")), "'created' is of type string"),
        (lambda frame: frame.withColumn("version", F.lit(1)), "'version' is none that can be written"),
        (lambda frame: frame.withColumn("attributes", F.expr("struct(1.5bd AS price)")), "attributes.price"),
    ],
)
def test_columns_that_say_nothing_are_refused_before_any_task(
    spark: SparkSession, tmp_path: Path, change: Callable[[DataFrame], DataFrame], message: str
) -> None:
    frame = rows(spark, ("a", "x")).filter("raise_error('it was read') IS NULL")
    with pytest.raises(PySparkException, match=message):
        write(change(frame), tmp_path)
    assert objects(tmp_path) == {}


def test_what_a_write_cannot_do_is_refused_before_any_task(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PySparkException, match="never overwritten"):
        rows(spark, ("a", "x")).write.format("bayou").mode("overwrite").option("url", str(tmp_path)).save()
    with pytest.raises(PySparkException, match="one namespace"):
        write(rows(spark, ("a", "x")), tmp_path, namespaces="*")
    assert objects(tmp_path) == {}


def test_one_bad_row_late_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    write(rows(spark, ("a", "x")), tmp_path)
    before = objects(tmp_path)
    frame = spark.range(2_000, numPartitions=4).selectExpr(
        "'aws/vpc' AS type", "'prod' AS model_name", "if(id = 1999, '..', concat('n', id)) AS name", "'x' AS content"
    )
    with pytest.raises(PySparkException, match="row 500 of partition 3: the column 'name'"):
        write(frame, tmp_path)
    assert objects(tmp_path) == before


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
def test_a_task_that_is_tried_again_writes_once(spark: SparkSession, tmp_path: Path) -> None:
    def fails_once(batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches
        context = TaskContext.get()
        assert context is not None
        if context.partitionId() == 1 and context.attemptNumber() == 0:
            raise OSError("lost")

    frame = spark.range(40, numPartitions=4).selectExpr(
        "'aws/vpc' AS type", "'prod' AS model_name", "concat('n', id % 20) AS name", "cast(id AS string) AS content"
    )
    write(frame.mapInArrow(fails_once, COLUMNS), tmp_path)
    found = read(spark, tmp_path).collect()
    assert sorted((row.name, row.version, row.text) for row in found) == sorted(
        (f"n{number % 20}", 1 + number // 20, str(number)) for number in range(40)
    )
    assert not [key for key in objects(tmp_path) if "/writes/" in key]


def test_a_frame_without_rows_writes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    write(rows(spark, ("a", "x")).filter("false"), tmp_path)
    assert objects(tmp_path) == {}


def test_the_index_job_lists_nothing_that_a_write_has_not_committed(spark: SparkSession, tmp_path: Path) -> None:
    write(rows(spark, ("a", "x")), tmp_path)
    context = Context(spark, reach_of({"url": str(tmp_path)}), say=lambda _: None)

    async def listed(again: bool) -> dict[str, str | None]:  # noqa: FBT001 - a test
        async with FilesystemStore(tmp_path) as store:
            machine = Machine(store)
            found = await machine.view()
            if again:
                contents = {path: (sha,) for path, sha in found.items() if sha is not None}
                await Write(machine.remote.place.keys, "w").declare(store, Intent(at="", contents=contents), 0)
                await machine.push({}, deleted=[path for path in found if "/a/" in path])
            return found

    before = asyncio.run(listed(again=True))
    index.run(context)
    assert {path for path in before if "/a/1/" in path} & set(asyncio.run(listed(again=False))) == set()


def test_two_jobs_a_repo_and_an_existing_client_share_a_bucket(
    spark: SparkSession, ministack: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**CREDENTIALS, "SWAMP_HOME": str(tmp_path / "home"), "BAYOU_DURABLE": "0"}.items():
        monkeypatch.setenv(name, value)
    url = f"s3://{ministack.new_bucket()}/x?endpoint={ministack.endpoint}&path_style=true&region=us-east-1"
    newrepo.create(tmp_path / "repo")
    set_up(tmp_path / "repo", Wishes(url), lambda _: None)
    frame = spark.range(30, numPartitions=2).selectExpr(
        "'aws/vpc' AS type",
        "'prod' AS model_name",
        "concat('n', id % 10) AS name",
        "encode(repeat(cast(id AS string), 100000 * int(id / 10)), 'utf-8') AS content",
    )
    with bayou.open(tmp_path / "repo") as ds, ThreadPoolExecutor() as threads:
        jobs = [threads.submit(beside, frame, url, name) for name in ("one", "two")]
        for number in range(3):
            ds.write("mine", "state", {"n": number}, type="aws/vpc")
            ds.sync()
        for job in jobs:
            job.result()
        assert ds.sync().is_complete
        # A frame's model is the one that a repo defines by the same name.
        assert [record.version for record in ds.versions("prod", "n3")] == [6, 5, 4, 3, 2, 1]
        mine = {(f"n{n % 10}", str(n).encode() * (100_000 * (n // 10))) for n in range(30)}
        got = [(f"n{n}", record.read()) for n in range(10) for record in ds.versions("prod", f"n{n}")]
        assert (set(got), len(got)) == (mine, 60)

    async def existing_client() -> list[tuple[int, int]]:
        async with connect(urls.parse(url)) as store:
            view = await legacy_view(store, Keyspace())
            wanted = [path for path in view if path.endswith("/raw")]
            bodies = await each(20, wanted, lambda path: read_object(store, path))
            return [(view[path]["size"], len(body.content)) for path, body in zip(wanted, bodies, strict=True) if body]

    sizes = asyncio.run(existing_client())
    assert len(sizes) == 63
    assert all(listed == got for listed, got in sizes)
