"""Results as records, Arrow, pandas, JSON and tables: what is there, in which shape, and what is read for it."""

import json
import sys
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from bayou.errors import NotFound, Unsupported
from bayou.query import results as results_module
from bayou.query.projecting import shown, table
from bayou.repository.deletions import delete
from bayou.testing.queries import Desk

FIELDS = [
    *("id", "name", "version", "isLatest", "createdAt", "namespace", "tags", "modelName", "modelId", "modelType"),
    *("specName", "dataType", "contentType", "lifetime", "ownerType", "streaming", "size", "content", "ownerRef"),
    *("workflowRunId", "workflowName", "jobName", "stepName", "source"),
]


@pytest.fixture
def written(desk: Desk) -> Desk:
    for number in range(5):
        desk.write(f"state-{number}", {"n": number, "<b>": "x & y"}, env="prod")
    desk.write("log", "line\n")
    return desk


def test_records_come_page_by_page_and_can_be_reached_by_place(written: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results_module, "_BATCH", 2)
    results = written.ask('name.startsWith("state")')
    assert len(results) == results.total == 5
    assert [record.name for record in results] == [f"state-{number}" for number in range(5)]
    assert [record.name for record in results] == [f"state-{number}" for number in range(5)]
    assert results[4].attributes["n"] == 4
    assert results[-5].name == "state-0"
    assert [record.name for record in results[1:4]] == ["state-1", "state-2", "state-3"]
    with pytest.raises(IndexError):
        results[5]


def test_what_was_removed_meanwhile_is_left_out(written: Desk) -> None:
    results = written.ask('name.startsWith("state")')
    delete(written.bench.holdings, written.bench.key("state-1"))
    assert [record.name for record in results] == ["state-0", "state-2", "state-3", "state-4"]
    with pytest.raises(NotFound, match="removed after the query"):
        results[1]


def test_json_has_the_fields_in_their_order_and_content_for_json_only(written: Desk) -> None:
    document = written.ask('name == "state-1" || name == "log"').to_json()
    assert list(document) == ["predicate", "results", "total", "limited"]
    assert document["predicate"] == 'name == "state-1" || name == "log"'
    assert (document["total"], document["limited"]) == (2, False)
    results = document["results"]
    assert isinstance(results, list)
    log, state = results
    assert list(state) == FIELDS
    assert state["content"] == {"n": 1, "<b>": "x & y"}
    assert log["content"] == ""
    asked = written.ask('name == "log"').to_json(content=True)["results"]
    assert isinstance(asked, list)
    assert asked[0]["content"] == "line\n"
    json.dumps(document)


def test_json_of_a_projection_has_its_values(written: Desk) -> None:
    document = written.ask('name.startsWith("state")', select="version", limit=2).to_json()
    assert document == {"results": [1, 1], "total": 2, "limited": True}


def test_json_tells_what_could_not_be_decided_and_what_failed(written: Desk) -> None:
    written.dehydrate("state-1")
    document = written.ask('attributes.n > 3 && attributes.n < "x"').to_json()
    assert document["undecided"] == 1
    assert document["errors"] == {
        "No matching overloads found : _<_(int64, string)": {
            "count": 1,
            "example": f"acme/host/{written.bench.model.id}/state-4 version 1",
        }
    }


def test_arrow_has_typed_columns(written: Desk) -> None:
    found = written.ask('name.startsWith("state")').to_arrow()
    assert found.num_rows == 5
    assert found.schema.field("version").type == pa.int64()
    assert found.schema.field("isLatest").type == pa.bool_()
    assert found.schema.field("tags").type == pa.map_(pa.string(), pa.string())
    assert json.loads(found.column("attributes")[2].as_py())["n"] == 2
    assert dict(found.column("tags")[0].as_py())["env"] == "prod"
    assert written.ask('name == "nothing"').to_arrow().num_rows == 0


def test_arrow_streams_to_whoever_asks(written: Desk) -> None:
    assert pa.table(written.ask('name == "log"')).column("name").to_pylist() == ["log"]  # type: ignore[no-untyped-call,unused-ignore]


@pytest.mark.parametrize(
    ("select", "columns"),
    [
        ('{"name": name, "n": attributes.n}', {"name": ["state-0", "state-1"], "n": [0, 1]}),
        ("[name, size > 1]", {"1": ["state-0", "state-1"], "2": [True, True]}),
        ("attributes.n + 1", {"value": [1, 2]}),
        ('attributes.n == 0 ? dyn(1) : dyn("x")', {"value": ["1", '"x"']}),
    ],
)
def test_arrow_of_a_projection_has_its_columns(written: Desk, select: str, columns: dict[str, list[object]]) -> None:
    assert written.ask('name.startsWith("state")', select=select, limit=2).to_arrow().to_pydict() == columns


def test_pandas(written: Desk) -> None:
    frame = written.ask('name.startsWith("state")', order_by="-name").to_pandas()
    assert list(frame["name"]) == [f"state-{number}" for number in range(4, -1, -1)]
    assert frame["tags"][0]["env"] == "prod"


def test_without_pyarrow_it_says_what_to_install(written: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(Unsupported) as raised:
        written.ask().to_arrow()
    assert raised.value.remedy == "pip install 'bayou-datastore[arrow]'"
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(Unsupported, match="pandas is not installed"):
        written.ask().to_pandas()


def test_a_notebook_shows_the_first_rows_escaped(written: Desk) -> None:
    for number in range(30):
        written.write(f"more-{number}", {"value": "<script>"})
    page = written.ask(order_by="name")._repr_html_()
    assert page.count("<tr>") == 21
    assert "36 results, of which these are the first 20" in page
    projected = written.ask('name == "more-1"', select="content")._repr_html_()
    assert "<script>" not in projected
    assert "&lt;script&gt;" in projected
    assert "did you mean &quot;env&quot;?" in written.ask('tags.evn == "x"')._repr_html_()


def test_a_terminal_gets_columns_and_cells(written: Desk) -> None:
    columns, rows = written.ask('name == "log"').table()
    assert columns == ("name", "modelName", "specName", "dataType", "version", "size", "createdAt")
    assert rows == [("log", "web-01", "", "resource", 1, 5, "2026-04-02T09:15:06.125Z")]


def test_the_first_value_that_is_not_null_decides_the_shape_of_a_table() -> None:
    assert table([None, {"a": 1, "b": 2}, {"b": 3}]) == (("a", "b"), [(None, None), (1, 2), (None, 3)])
    assert table([[1], [2, 3], None]) == (("1", "2"), [(1, None), (2, 3), (None, None)])
    assert table([None, 1]) == (("value",), [(None,), (1,)])
    assert table([]) == (("value",), [])


def test_values_that_json_has_not_are_texts(written: Desk) -> None:
    assert shown(datetime(2026, 1, 2, 3, 4, 5, 120_000, UTC)) == "2026-01-02T03:04:05.120000Z"
    assert shown(timedelta(minutes=90)) == "5400s"
    assert shown(bytearray(b"\xff")) == "/w=="
    assert shown({1: [True, {False: None}]}) == {"1": [True, {"false": None}]}
    (kinds,) = written.ask('name == "log"', select="[timestamp(createdAt), duration('90s'), b'a', type(1), 2u]")
    assert kinds == ["2026-04-02T09:15:06.125000Z", "90s", "YQ==", "int", 2]


def test_a_representation_says_what_was_found(written: Desk) -> None:
    assert repr(written.ask('name == "log"')) == "<Results of 'name == \"log\"': 1>"
    assert repr(written.ask(limit=2)) == "<Results of 'everything': 2, and there are more>"
