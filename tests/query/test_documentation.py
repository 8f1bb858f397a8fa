"""Every example of docs/query.md finds what it says, and its table of fields is that of the code."""

import json
import re
from pathlib import Path

import pytest

from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.query.fields import FIELDS
from bayou.query.planning import plan
from bayou.testing.queries import Desk

DOCUMENT = (Path(__file__).parents[2] / "docs" / "query.md").read_text(encoding="utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT, re.DOTALL)


def _examples(language: str) -> list[tuple[str, str]]:
    lines = [line for block in _blocks(language) for line in block.splitlines()]
    return [(text.strip(), found.strip()) for text, _, found in (line.rpartition("#") for line in lines)]


@pytest.fixture
def written(desk: Desk) -> Desk:
    models = {name: Model(ModelType("acme/host"), name, name) for name in ("web-01", "web-02")}
    for artifact in json.loads(_blocks("json")[0]):
        model = models[artifact["model"]]
        desk.write(artifact["name"], artifact["content"], model=model, **artifact["tags"])
    return desk


def test_predicates_find_what_is_written_behind_them(written: Desk) -> None:
    examples = _examples("cel")
    assert len(examples) > 35
    for predicate, expected in examples:
        names, _, failed = expected.partition("; ")
        results = written.ask(predicate)
        found = sorted(f"{record.model_name}/{record.name}/{record.version}" for record in results)
        assert ", ".join(found) == names, predicate
        number = sum(failure.count for failure in results.errors.values())
        assert number == int(failed.partition(" ")[0] or 0), predicate


def test_projections_give_what_is_written_behind_them(written: Desk) -> None:
    examples = _examples("select")
    assert len(examples) == 4
    for select, expected in examples:
        assert list(written.ask("true", select=select)) == json.loads(f"[{expected}]"), select


def test_calls_are_ones_that_can_be_made() -> None:
    calls = re.findall(r"ds\.query\((.*)\)", _blocks("python")[0])
    assert len(calls) == 2
    for call in calls:
        arguments = re.match(r"'(.*?)'(?:, select='(.*?)', order_by=\"(.*?)\", limit=10)?$", call)
        assert arguments
        plan(arguments[1], select=arguments[2], order_by=arguments[3])


def test_the_table_of_fields_is_that_of_the_code() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \| (.*?) \| (.*?) ?\|$", DOCUMENT, re.MULTILINE)
    assert [name for name, *_ in rows] == list(FIELDS)
    for name, kind, _, index in rows:
        field = FIELDS[name]
        assert kind.replace("&lt;", "<").replace("&gt;", ">") == field.type, name
        assert {"all": "yes", "latest": "latest", None: ""}[field.indexed] == index or field.column in (
            None,
            "created_at",
        ), name
