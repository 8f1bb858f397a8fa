"""Queries on Spark answer what the catalog answers: matches, failures and what cannot be decided."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

import bayou
from bayou.catalog.attributes import has_attributes
from bayou.domain.artifacts import is_text
from bayou.errors import UsageError
from bayou.pipelines.queries import FAILED, MATCH, UNDECIDED, ask, conditions, documents, outcome
from bayou.pipelines.reach import reach_of
from bayou.pipelines.tables import table_of
from bayou.query.fields import FIELDS
from bayou.query.planning import Plan, plan
from bayou.query.running import Found, run
from bayou.remotes import Format
from bayou.storage.filesystem import FilesystemStore
from bayou.testing.lakes import fill, lake, model, version
from bayou.testing.queries import Shelf
from bayou.testing.strategies.predicates import Subject, predicate, subject

SUBJECTS, PREDICATES = 60, 40


def planned(random: Random) -> Plan:
    while True:
        text = " && ".join(f"({condition})" for condition in predicate(random))
        try:
            return plan(text)
        except UsageError:
            continue


def row(one: Subject) -> dict[str, Any]:
    """A subject as the table `content` would have it."""
    fields = {field.column: one.fields.get(name, "") for name, field in FIELDS.items() if field.column}
    content_type = str(one.fields["contentType"])
    readable = has_attributes(content_type) or is_text(content_type)
    given = {
        **dict.fromkeys(table_of("content").columns),
        **fields,
        "type": "t",
        "model_id": "m",
        "garbage_collection": "10",
        "tags": one.fields["tags"],
        "content": one.content if readable else b"",
    }
    return {name: given[name] for name in table_of("content").columns}


@pytest.mark.parametrize("seed", range(3))
def test_spark_and_the_catalog_agree(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    random = Random(seed)  # noqa: S311 - the same each time
    shelf = Shelf(tmp_path)
    # One version each, so that a name is a row.
    subjects = [subject(random, number) for number in range(SUBJECTS)]
    shelf.put(*subjects)
    schema = ", ".join(f"{name} {kind}" for name, kind in table_of("content").columns.items())
    rows = spark.createDataFrame([tuple(row(one).values()) for one in subjects], schema).cache()
    plans = [planned(random) for _ in range(PREDICATES)]
    # All predicates in one pass: a job of Spark takes as long as the catalog takes for all of them.
    columns = []
    for number, one in enumerate(plans):
        exact, rest = conditions(one)
        columns.append(F.when(exact, outcome(one, rest)).otherwise(F.lit("no")).alias(str(number)))
    answers = rows.select("name", *columns).collect()
    pushed = 0
    for number, one in enumerate(plans):
        found = Found()
        run(one, shelf.catalog, shelf.tree, limit=None, strict=False, hydrate=None, found=found)
        names = {row.row: row.artifact.name for row in shelf.catalog.rows()}
        said = {answer["name"]: answer[str(number)] for answer in answers}
        failures = {text: sum(v == FAILED + text for v in said.values()) for text in found.failures}
        assert sorted(name for name, what in said.items() if what == MATCH) == sorted(
            names[row] for row in found.rows
        ), one.predicate
        assert failures == {text: failure.count for text, failure in found.failures.items()}, one.predicate
        assert sum(what == UNDECIDED for what in said.values()) == found.undecided, one.predicate
        pushed += len(conditions(one)[1]) < len(one.conditions)
    assert pushed > PREDICATES / 8
    rows.unpersist()
    shelf.catalog.close()


@pytest.mark.parametrize("format_", [Format.DUAL, Format.SHARDED])
def test_a_bucket_is_asked_as_a_repo_is(spark: SparkSession, tmp_path: Path, format_: Format) -> None:
    files = lake(models=4, names=2, versions=3) | version(model(1), "text", 1, b"all failed", content_type="text/plain")
    asyncio.run(fill(FilesystemStore(tmp_path), files, format_))
    reach = reach_of({"url": str(tmp_path)})
    with bayou.open(tmp_path, writable=True) as datastore:
        for text in (
            'tags.env == "prod" && version > 1',
            'modelName == "model-1"',
            "attributes.version == 3 && attributes.model >= 2",
            'content.contains("failed")',
            'modelId in ["id-0", "id-3"] && isLatest && !(tags.env == "dev")',
            "garbageCollection == 10 && size(tags) == 3",
            'attributes.version == 1 || name == "text"',
        ):
            found = [(one.model_id, one.name, one.version) for one in datastore.query(text)]
            rows = ask(spark, reach, text).matches.select("model_id", "name", "version").collect()
            assert [tuple(one) for one in rows] == found, text
        assert datastore.spark("version == 1", spark=spark).count() == 9
        order = "version desc, name"
        expected = [(one.version, one.name, one.model_id) for one in datastore.query("version > 0", order_by=order)]
        rows = ask(spark, reach, "version > 0", order_by=order).matches.select("version", "name", "model_id").collect()
        assert [tuple(one) for one in rows] == expected


def test_what_goes_wrong_is_counted_and_a_wrong_predicate_refused(spark: SparkSession, tmp_path: Path) -> None:
    files = version(model(1), "one", 1, {"n": "text"}) | version(model(1), "two", 1, {"n": 2})
    asyncio.run(fill(FilesystemStore(tmp_path), files))
    reach = reach_of({"url": str(tmp_path)})
    asked = ask(spark, reach, "attributes.n > 1", select='{"is": attributes.n}')
    assert documents(asked) == ([{"is": 2}], False)
    ((message, count),) = asked.trouble().items()
    assert count == 1
    assert "no such overload" in message.lower() or "overload" in message
    with pytest.raises(UsageError, match="modelName"):
        ask(spark, reach, "modelNane == 1")


def test_the_command_answers_alike_whoever_is_asked(tmp_path: Path) -> None:
    program = str(Path(sys.executable).with_name("bayou"))

    def shell(*arguments: str, text: str | None = None) -> str:
        command = [program, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, input=text)  # noqa: S603 - ours
        return done.stdout

    shell("init")
    for number in range(3):
        content = ("--type", "t", "--content-type", "application/json")
        shell("data", "write", "web", f"state-{number}", "-", *content, text=json.dumps({"n": number}))
    asked = ("data", "query", "attributes.n > 0", "--order-by", "name desc", "--json")
    by_sql, by_spark = (json.loads(shell(*asked, "--engine", engine)) for engine in ("sql", "spark"))
    assert (by_spark["total"], by_spark["limited"]) == (by_sql["total"], by_sql["limited"]) == (2, False)
    for one, other in zip(by_spark["results"], by_sql["results"], strict=True):
        assert {key: one[key] for key in other.keys() & one.keys()} == {k: other[k] for k in other.keys() & one.keys()}
        assert {"id", "name", "version", "modelName", "createdAt", "tags"} <= one.keys() & other.keys()
