"""What is asked of SQLite: which predicates it answers alone, by which index, and how large a statement may get."""

from random import Random

import pytest

from bayou.catalog import Catalog
from bayou.query import running
from bayou.query.conditions import ALWAYS, NEVER, Sql, every, some
from bayou.query.fields import DEFAULT_ORDER, FIELDS
from bayou.query.planning import plan
from bayou.query.running import Found, run
from bayou.testing.queries import Shelf
from bayou.testing.strategies.predicates import subject


def _steps(catalog: Catalog, sql: str, parameters: tuple[object, ...] = ()) -> str:
    with catalog._database.reading() as connection:
        return "\n".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", parameters))


@pytest.fixture(scope="module")
def filled(shelf: Shelf) -> Shelf:
    random = Random(1)  # noqa: S311 - no secret
    shelf.put(*(subject(random, number) for number in range(300)))
    return shelf


@pytest.mark.parametrize(
    "predicate",
    [
        'name == "a"',
        '"a" < name',
        "size > 1.5",
        "size == 9007199254740993",
        "size < 1e300",
        'version in [1, 2.0, 3] || name in ["a"]',
        'name.startsWith("a") && name.endsWith("b") && name.contains("c")',
        'tags.env == "prod"',
        'tags.env != "prod" && tags["my-key"] in ["a", "b"]',
        'has(tags.env) && "a" in tags',
        "size(tags) > 1",
        "isLatest || !streaming",
        'isLatest ? name == "a" : tags.b == "c"',
        "name == modelName",
        "name != 3",
        'createdAt > "2026"',
        "true",
    ],
)
def test_sql_answers_alone(predicate: str) -> None:
    assert plan(predicate).undecided == ()


@pytest.mark.parametrize(
    "predicate",
    [
        'attributes.a == "x"',
        "attributes.a > 1 && attributes.a != 2",
        'attributes.a.startsWith("x")',
        "attributes.a in [1, 'x', null, true]",
        "has(attributes.a)",
        'size(attributes.a) == 3 || content.a == "x"',
        "attributes.a",
        'timestamp(createdAt) > timestamp("2026-01-01T00:00:00Z")',
        'name.matches("a+")',
    ],
)
def test_sql_answers_all_but_rows_that_it_knows_to_be_odd(predicate: str) -> None:
    planned = plan(predicate)
    assert all(condition.flag is not None for condition in planned.undecided)
    assert planned.where != every(planned.implicit)


@pytest.mark.parametrize(
    ("predicate", "index"),
    [
        ('tags.env == "prod"', "tag_value (key=? AND value=?)"),
        ('tags.env in ["prod", "dev"]', "tag_value (key=? AND value=?)"),
        ('tags.env.startsWith("prod")', "tag_value (key=? AND value>? AND value<?)"),
        ("has(tags.env)", "tag_value (key=?)"),
        ('attributes.status == "failed"', "attribute_value (key=? AND value=?)"),
        ('"failed" == attributes.status', "attribute_value (key=? AND value=?)"),
        ("attributes.n > 3", "attribute_value (key=? AND value>?)"),
        ('attributes.s.startsWith("a")', "attribute_value (key=? AND value>? AND value<?)"),
        ("attributes.n in [1, 2]", "attribute_value (key=? AND value=?)"),
        ('modelName == "web-01"', "latest_of_model (model_name=?)"),
        ('modelName == "web-01" && version > 0', "of_model (model_name=?)"),
        ('name == "state"', "latest_of_name (name=?)"),
        ('name.startsWith("state")', "latest_of_name (name>? AND name<?)"),
        ('specName in ["a", "b"]', "latest_of_spec (spec_name=?)"),
        ('modelType == "aws/ec2/vpc"', "latest_of_type (type=?)"),
        ('modelId == "x"', "latest_of_id (model_id=?)"),
        ("size > 1000000", "latest_by_size (size>?)"),
        ('workflowRunId == "x"', "of_run (workflow_run_id=?)"),
        ('id == "x"', "by_id (id=?)"),
        ('timestamp(createdAt) > timestamp("2026-01-01T00:00:00Z")', "by_time (created_ms>?)"),
        ('tags.env == "prod" || modelName == "web-01"', "tag_value (key=? AND value=?)"),
    ],
)
def test_rows_are_found_by_an_index(filled: Shelf, predicate: str, index: str) -> None:
    (seek, *_) = plan(predicate).seeks
    steps = _steps(filled.catalog, seek.text, seek.parameters)
    assert index in steps
    assert "SCAN artifact" not in steps.replace("SCAN artifact USING COVERING INDEX unknown_attributes", "")


def test_every_field_that_is_said_to_be_indexed_is(filled: Shelf) -> None:
    for field in FIELDS.values():
        if field.indexed:
            value = "1" if field.type == "int" else '"x"'
            for more in ("", " && version >= 0" if field.indexed == "all" else ""):
                seek = plan(f"{field.name} == {value}{more}").seeks[0]
                assert "USING" in _steps(filled.catalog, seek.text, seek.parameters), field.name


def test_few_rows_are_found_by_their_numbers_and_the_fewest_win(filled: Shelf) -> None:
    planned = plan('tags.env == "prod" && modelName == "nothing has this" && size >= 0')
    where = running._where(planned, filled.catalog)
    assert "model_name" in where.text.partition(" AND ")[0] + where.text
    steps = _steps(
        filled.catalog,
        f"SELECT row FROM artifact WHERE {where.text} ORDER BY {planned.order_by}",  # noqa: S608 - what was planned
        where.parameters,
    )
    assert "SEARCH artifact USING INTEGER PRIMARY KEY (rowid=?)" in steps
    assert "latest_of_model (model_name=?)" in steps


def test_many_rows_are_looked_at_in_one_go(filled: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_FEW", (2, 3))
    assert "row IN" not in running._where(plan("size >= 0"), filled.catalog).text


def test_the_fields_are_columns_of_the_catalog(filled: Shelf) -> None:
    with filled.catalog._database.reading() as connection:
        columns = {row[1] for row in connection.execute("PRAGMA table_info(artifact)")}
    assert {field.column for field in FIELDS.values() if field.column} <= columns
    assert set(DEFAULT_ORDER) <= columns


def test_what_makes_a_statement_too_large_is_left_to_the_engine(filled: Shelf) -> None:
    elements = ",".join(map(str, range(16_000)))
    assert _total(filled, f"size in [{elements}]") == _total(filled, "size < 16000")
    # Each of a size that SQLite takes, but not all of them together.
    lists = " && ".join(f"size in [{','.join(map(str, range(9_000)))}]" for _ in range(2))
    assert _total(filled, lists) == _total(filled, "size < 9000")


def test_long_chains_are_one_list_or_not_deep(filled: Shelf) -> None:
    for term in ("size", "attributes.n", "tags.env"):
        values = [f'"{number}"' if term == "tags.env" else str(number) for number in range(4_000)]
        chain = plan(" || ".join(f"{term}=={value}" for value in values))
        assert chain.where.text.count("(SELECT") <= 1
        assert len(chain.seeks) == 1
    longest = " && ".join(f"size != {number}" for number in range(3, 6_000))
    assert plan(longest).undecided == ()
    assert _total(filled, longest) == _total(filled, "size < 3 || size >= 6000")


def test_more_subqueries_than_sqlite_can_bear_are_left_to_the_engine(filled: Shelf) -> None:
    many = " || ".join(f'has(tags.k{number}) && tags.env == "prod"' for number in range(300))
    assert [condition.flag for condition in plan(many).undecided] == [None]
    assert _total(filled, f"({many}) || size == 1") == _total(filled, "size == 1")
    separate = plan(" && ".join(f"has(tags.k{number})" for number in range(300)))
    assert separate.where.text.count("(SELECT") <= 100


def test_choices_within_choices_do_not_grow_without_bound() -> None:
    condition = "isLatest"
    for number in range(14):
        condition = f'({condition} ? name == "a{number}" : name == "b{number}")'
    assert sum(len(one.verdict.passes.text) for one in plan(condition).conditions) < 200_000


def _total(shelf: Shelf, predicate: str) -> int:
    found = Found()
    run(plan(predicate), shelf.catalog, shelf.tree, limit=None, strict=True, hydrate=None, found=found)
    return len(found.rows)


def test_conditions_fold_what_is_certain() -> None:
    one = Sql("a = ?", (1,))
    assert every([ALWAYS, one]) == one
    assert every([NEVER, one]) == NEVER
    assert every([]) == ALWAYS
    assert some([NEVER, one, one]) == one
    assert some([ALWAYS, one]) == ALWAYS
    assert some([]) == NEVER
    with pytest.raises(TypeError, match="not true or false"):
        bool(one)
