"""What can be asked."""

import pytest

from bayou.catalog import Catalog
from bayou.domain.artifacts import Lifecycle, Owner, OwnerType
from bayou.errors import UsageError
from bayou.testing.catalogs import Files, key_of


def test_a_row_is_the_artifact_that_was_written(files: Files, catalog: Catalog) -> None:
    owner = Owner(
        definition_hash="ab" * 32,
        owner_type=OwnerType.WORKFLOW_STEP,
        owner_ref="step",
        workflow_id="w",
        workflow_run_id="r",
        workflow_name="nightly",
        job_name="main",
        step_name="collect",
        source="step-output",
    )
    written = [
        files.write(
            key_of("full"),
            b"x",
            owner=owner,
            garbage_collection="30d",
            checksum="cd" * 32,
            lifetime="30d",
            lifecycle=Lifecycle.DELETED,
            renamed_to="else",
            content_type="text/plain",
            tags={"type": "file", "1": "é"},
        ),
        files.write(key_of("bare"), None, owner=None, size=None, tags={}),
    ]
    catalog.sweep()
    assert [row.artifact for row in catalog.rows(order_by="name DESC")] == written
    assert [row.hydrated for row in catalog.rows(order_by="name DESC")] == [True, False]


def test_latest_goes_by_the_name_of_the_model_or_its_id(files: Files, catalog: Catalog) -> None:
    for _ in range(3):
        files.write(key_of())
    catalog.sweep()
    for model in ("web", key_of().model.id):
        assert [row.artifact.version for row in catalog.latest("", model, "state")] == [3]
    assert catalog.latest("", "web", "other") == []
    assert catalog.latest("", "other", "state") == []
    assert catalog.latest("infra", "web", "state") == []


def test_latest_is_never_out_of_date(files: Files, catalog: Catalog) -> None:
    files.write(key_of())
    catalog.sweep()
    files.write(key_of())  # by another machine
    assert [row.artifact.version for row in catalog.latest("", "web", "state")] == [2]
    files.write(key_of("new"))
    assert [row.artifact.version for row in catalog.latest("", "web", "new")] == [1]
    files.delete(key_of())
    assert catalog.latest("", "web", "state") == []


def test_results_are_of_one_moment_whatever_is_written_meanwhile(files: Files, catalog: Catalog) -> None:
    for number in range(300):
        files.write(key_of(f"state-{number:03}"))
    catalog.sweep()
    seen = []
    for row in catalog.rows(order_by="row"):
        seen.append(row.artifact.name)
        if len(seen) < 20:
            with catalog.changing(row_key := key_of(row.artifact.name)):
                files.delete(row_key)
                files.write(key_of(f"more-{row.artifact.name}"))
    assert seen == [f"state-{number:03}" for number in range(300)]
    assert catalog.count() == 281


def test_conditions_have_parameters_an_order_and_a_limit(files: Files, catalog: Catalog) -> None:
    for name in ("b", "a", "c'"):
        files.write(key_of(name))
    catalog.sweep()
    assert list(catalog.select("name <> ?", ("a",), columns=("name",), order_by="name DESC")) == [("c'",), ("b",)]
    assert list(catalog.select(columns=("name",), order_by="name", limit=1)) == [("a",)]
    assert list(catalog.select(columns=("name",), limit=0)) == []
    assert catalog.count("name = ?", ("c'",)) == 1


def test_conditions_can_call_functions(files: Files, catalog: Catalog) -> None:
    files.write(key_of("abc"))
    catalog.sweep()
    assert catalog.count() == 1
    catalog.define("is_backwards", lambda text, other: int(text == other[::-1]), 2)
    assert catalog.count("is_backwards(name, 'cba')") == 1


def test_an_abandoned_question_lets_go_of_its_connection(files: Files, catalog: Catalog) -> None:
    for number in range(10):
        files.write(key_of(f"state-{number}"))
    catalog.sweep()
    asked = catalog.select(columns=("name",))
    next(asked)
    asked.close()  # type: ignore[attr-defined]
    catalog.vacuum()
    assert catalog.count() == 10


def test_values_and_tags_are_listed_in_order_without_the_empty(files: Files, catalog: Catalog) -> None:
    files.write(key_of("a"), tags={"type": "file", "env": "prod"})
    files.write(key_of("b"), tags={"type": "report", "env": "dev", "é": ""})
    files.write(key_of("c"), tags={"type": "report", "env": "dev"})
    catalog.sweep()
    assert catalog.distinct("data_type") == ["file", "report"]
    assert catalog.distinct("model_name") == []
    assert catalog.distinct("version") == ["1"]
    assert catalog.tag_keys() == ["env", "type", "é"]
    assert catalog.tag_values("env") == ["dev", "prod"]
    assert catalog.tag_values("é") == [""]
    assert catalog.tag_values("none") == []
    with pytest.raises(UsageError, match="no_such"):
        catalog.distinct("no_such")


def test_listing_tags_goes_from_one_to_the_next_in_the_index(catalog: Catalog) -> None:
    with catalog._database.reading() as connection:
        plan = connection.execute(
            "EXPLAIN QUERY PLAN SELECT min(value) FROM tag WHERE key = 'a' AND value > 'b'"
        ).fetchall()
    assert "SEARCH tag USING COVERING INDEX tag_value (key=? AND value>?)" in str(plan[0][-1])


def test_stats_count_what_is_there(files: Files, catalog: Catalog) -> None:
    files.write(key_of("a"), b"12345", content_type="text/plain")
    files.write(key_of("a"), b"123", content_type="text/plain")
    files.write(key_of("a", model_type="@acme/x"), b"1", content_type="text/plain")
    catalog.sweep()
    stats = catalog.stats()
    assert (stats.versions, stats.latest, stats.names, stats.models, stats.bytes) == (3, 2, 2, 2, 9)
    assert stats.latest_by_type == {"@acme/x": 1, "aws/ec2/vpc": 1}


def test_vacuum_shrinks_the_file_and_checkpoint_empties_the_log(files: Files, catalog: Catalog) -> None:
    for number in range(200):
        files.write(key_of(f"state-{number}"), b'{"a":"%s"}' % (b"x" * 3000))
    catalog.sweep()
    log = files.path.with_name(f"{files.path.name}-wal")
    assert log.stat().st_size
    catalog.checkpoint()
    assert log.stat().st_size == 0
    before = files.path.stat().st_size
    for number in range(200):
        files.delete(key_of(f"state-{number}"))
    catalog.sweep()
    catalog.vacuum()
    assert files.path.stat().st_size < before / 2
    assert catalog.count() == 0


def test_garbled_tags_of_a_row_are_none(files: Files, catalog: Catalog) -> None:
    files.write(key_of())
    catalog.current()
    with catalog._database.writing() as connection:
        connection.execute("UPDATE artifact SET tags = '{oops'")
    assert [row.artifact.tags for row in catalog.rows()] == [{}]
