"""Records: what users get of a version."""

import hashlib
from pathlib import Path

import pytest

from bayou.catalog import Row
from bayou.domain.artifacts import ArtifactKey, Owner, OwnerType
from bayou.errors import Corrupt, ErrorKind, NotFound
from bayou.repository import reads
from bayou.repository.ephemeral import Ephemeral
from bayou.repository.record import Record, of_found, of_held
from bayou.repository.saving import save
from bayou.testing.bench import Bench

OWNER = Owner(
    definition_hash="ab",
    owner_type=OwnerType.MODEL_METHOD,
    owner_ref="m-1",
    workflow_id="w-1",
    workflow_run_id="r-1",
    workflow_name="nightly",
    job_name="main",
    step_name="collect",
    source="step-output",
)


def record(bench: Bench, given: object, **said: object) -> Record:
    version = save(bench.holdings, bench.key(), given, bench.draft(**said)).version
    return Record(bench.rows()[version], bench.tree)


def test_it_shows_the_fields_of_a_query_in_their_order(bench: Bench) -> None:
    tags = {"type": "resource", "specName": "result", "modelName": "web-01"}
    shown = record(bench, {"a": [1]}, owner=OWNER, tags=tags)
    assert list(shown.to_dict(content=True).items()) == [
        ("id", shown.artifact.id),
        ("name", "state"),
        ("version", 1),
        ("isLatest", True),
        ("createdAt", "2026-04-02T09:15:00.125Z"),
        ("namespace", ""),
        ("attributes", {"a": [1]}),
        ("tags", tags),
        ("modelName", "web-01"),
        ("modelId", bench.model.id),
        ("modelType", "acme/host"),
        ("specName", "result"),
        ("dataType", "resource"),
        ("contentType", "application/json"),
        ("lifetime", "infinite"),
        ("ownerType", "model-method"),
        ("streaming", False),
        ("size", 9),
        ("content", {"a": [1]}),
        ("ownerRef", "m-1"),
        ("workflowRunId", "r-1"),
        ("workflowName", "nightly"),
        ("jobName", "main"),
        ("stepName", "collect"),
        ("source", "step-output"),
    ]
    assert "content" not in shown.to_dict()
    assert (shown.workflow_id, shown.lifecycle, shown.renamed_to, shown.garbage_collection) == (
        "w-1",
        "active",
        None,
        10,
    )
    assert (shown.owner, shown.checksum) == (OWNER, hashlib.sha256(b'{"a":[1]}').hexdigest())
    assert (shown.key, shown.path) == (bench.key(), bench.path("state", 1, "raw"))


@pytest.mark.parametrize(
    ("given", "content_type", "attributes", "content"),
    [
        ({"a": 1}, None, {"a": 1}, {"a": 1}),
        ([1], None, {}, {}),
        (b"{bad", "application/json", {}, {}),
        ('{"a":1}', "application/json; charset=utf-8", {}, ""),
        ("text \u00fc", None, {}, "text \u00fc"),
        (b"a\xff", "text/plain", {}, "a\ufffd"),
        ("a: 1", "application/yaml", {}, "a: 1"),
        (b"\x00\xff", None, {}, ""),
        (b'{"a":1}', None, {}, ""),
    ],
)
def test_only_json_has_attributes_and_only_text_has_content(
    bench: Bench, given: object, content_type: str | None, attributes: object, content: object
) -> None:
    shown = record(bench, given, content_type=content_type)
    assert (shown.attributes, shown.content) == (attributes, content)


def test_content_is_read_when_it_is_asked_for(bench: Bench) -> None:
    shown = record(bench, {"a": 1})
    bench.path("state", 1, "raw").write_bytes(b'{"a":2}')
    assert shown.attributes == {"a": 2}


def test_it_is_read_as_bytes_text_json_or_a_stream(bench: Bench) -> None:
    shown = record(bench, ["\u00fc"])
    assert shown.read() == '["\u00fc"]'.encode()
    assert shown.text() == '["\u00fc"]'
    assert shown.json() == ["\u00fc"]
    with shown.open() as file:
        assert file.read(2) == b'["'


def test_damage_is_named_when_it_is_looked_for(bench: Bench) -> None:
    shown = record(bench, "good")
    assert shown.read(verify=True) == b"good"
    bench.path("state", 1, "raw").write_bytes(b"evil")
    assert shown.read() == b"evil"
    with pytest.raises(Corrupt, match="state/1/raw") as caught:
        shown.read(verify=True)
    assert caught.value.kind is ErrorKind.HASH_MISMATCH


def test_bytes_that_are_no_text_or_no_json_are_not_made_up(bench: Bench) -> None:
    shown = record(bench, b"a\xff")
    with pytest.raises(Corrupt, match=r"state/1/raw.*UTF-8"):
        shown.text()
    assert shown.text(errors="replace") == "a\ufffd"
    with pytest.raises(Corrupt, match="JSON"):
        record(bench, "{").json()


def test_what_is_not_here_has_no_attributes_and_cannot_be_read(bench: Bench) -> None:
    shown = record(bench, {"a": 1})
    bench.path("state", 1, "raw").unlink()
    assert (shown.attributes, shown.content) == ({}, "")
    for read in (shown.read, shown.text, shown.json, lambda: shown.open().__enter__()):
        with pytest.raises(NotFound) as caught:
            read()
        assert caught.value.kind is ErrorKind.CONTENT_MISSING


def test_what_is_not_here_is_fetched_when_somebody_can(bench: Bench) -> None:
    raw = bench.path("state", 1, "raw")
    plain = record(bench, {"a": 1})
    raw.unlink()
    asked: list[tuple[ArtifactKey, int]] = []

    def hydrate(key: ArtifactKey, version: int) -> bool:
        asked.append((key, version))
        raw.write_bytes(b'{"a":1}')
        return True

    shown = Record(plain._row, bench.tree, hydrate=hydrate)
    assert shown.attributes == {"a": 1}
    assert shown.read() == b'{"a":1}'
    assert asked == [(bench.key(), 1)]
    raw.unlink()
    with Record(plain._row, bench.tree, hydrate=hydrate).open() as file:
        assert file.read() == b'{"a":1}'


def test_what_is_in_memory_needs_no_file(bench: Bench) -> None:
    row = record(bench, {"a": 1})._row
    shown = Record(row, None, content=b'{"a":2}')
    assert (shown.attributes, shown.read()) == ({"a": 2}, b'{"a":2}')
    with shown.open() as file:
        assert file.read() == b'{"a":2}'


def test_records_come_from_files_and_from_memory_too(bench: Bench) -> None:
    row = record(bench, {"a": 1})
    found = reads.latest(bench.tree, bench.key())
    assert found is not None
    assert of_found(bench.tree, found, is_latest=True).to_dict() == row.to_dict()
    memory = Ephemeral(100)
    memory.save(bench.key(), {"a": 1}, bench.draft(), row.created_at)
    held = memory.find(bench.key())
    assert held is not None
    assert {**of_held("", held).to_dict(content=True), "id": row.id} == row.to_dict(content=True)


def test_a_record_of_another_namespace_has_no_files_here(bench: Bench) -> None:
    row: Row = record(bench, {"a": 1})._row
    shown = Record(row._replace(namespace="other"), None)
    assert (shown.attributes, shown.namespace) == ({}, "other")
    with pytest.raises(NotFound):
        _: Path = shown.path


def test_two_records_of_one_version_are_equal(bench: Bench) -> None:
    one = record(bench, "x")
    again, other = Record(one._row, bench.tree), record(bench, "y")
    assert one == again != other
    assert len({one, again, other}) == 2


def test_it_shows_itself_in_a_terminal_and_in_a_notebook(bench: Bench) -> None:
    shown = record(bench, {"html": "<script>", "long": "x" * 1000}, tags={"type": "<b>"})
    assert repr(shown) == f"<Record {shown.model}/state version 1, latest, application/json, 1029 bytes>"
    html = shown._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert len(html) < 3000
