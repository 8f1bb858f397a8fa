"""Records in memory and those of the catalog are one answer."""

import hashlib

import pytest

from bayou.catalog import Row
from bayou.domain.artifacts import Artifact, Lifecycle
from bayou.errors import UsageError
from bayou.repository.record import Record
from bayou.testing.queries import Desk


def _held(desk: Desk, name: str, content: bytes, version: int = 1, **said: object) -> Record:
    artifact = Artifact(
        id=f"held-{name}-{version}",
        name=name,
        version=version,
        content_type="application/json",
        lifetime="ephemeral",
        garbage_collection=10,
        tags={"type": "resource", "modelName": "web-01", "env": "test"},
        owner=desk.bench.owner,
        created_at=f"2026-05-0{version}T00:00:00.000Z",
        size=len(content),
        checksum=hashlib.sha256(content).hexdigest(),
        lifecycle=said.get("lifecycle", Lifecycle.ACTIVE),  # type: ignore[arg-type]
    )
    row = Row("", desk.bench.model, artifact, bool(said.get("is_latest", True)), True, 0)
    return Record(row, None, content=content)


@pytest.fixture
def written(desk: Desk) -> Desk:
    desk.write("a", {"n": 1}, env="prod")
    desk.write("b", {"n": 2}, env="prod")
    return desk


def _ids(desk: Desk, predicate: str | None, memory: list[Record], **options: object) -> list[tuple[str, str]]:
    return [(record.name, record.tags["env"]) for record in desk.ask(predicate, memory=memory, **options)]


def test_what_is_in_memory_comes_first(written: Desk) -> None:
    memory = [_held(written, "z", b'{"n": 2}'), _held(written, "y", b'{"n": 3}')]
    assert _ids(written, "attributes.n >= 2", memory) == [("y", "test"), ("z", "test"), ("b", "prod")]
    assert _ids(written, "attributes.n >= 2", memory, order_by="-size, -name")[:2] == [("z", "test"), ("y", "test")]
    assert _ids(written, None, memory, order_by="-createdAt")[:2] == [("y", "test"), ("z", "test")]


def test_of_a_version_in_both_the_one_in_memory_counts(written: Desk) -> None:
    memory = [_held(written, "a", b'{"n": 9}')]
    assert _ids(written, None, memory) == [("a", "test"), ("b", "prod")]
    assert _ids(written, "attributes.n == 1", memory) == []
    assert _ids(written, "attributes.n == 9", memory) == [("a", "test")]


@pytest.mark.parametrize(("limit", "total", "limited"), [(0, 0, True), (1, 1, True), (2, 2, True), (3, 3, False)])
def test_one_limit_is_for_both(written: Desk, limit: int, total: int, limited: bool) -> None:  # noqa: FBT001
    results = written.ask("size > 0", memory=[_held(written, "z", b"{}")], limit=limit)
    assert (len(list(results)), results.limited) == (total, limited)


def test_what_is_not_asked_for_stays_out(written: Desk) -> None:
    memory = [
        _held(written, "z", b"{}", is_latest=False),
        _held(written, "z", b"{}", version=2),
        _held(written, "y", b"{}", lifecycle=Lifecycle.DELETED),
    ]
    assert [record.version for record in written.ask('tags.env == "test"', memory=memory)] == [2]
    assert [record.version for record in written.ask('tags.env == "test" && version > 0', memory=memory)] == [1, 2]
    assert [record.name for record in written.ask('lifecycle == "deleted"', memory=memory)] == ["y"]


def test_projections_are_of_both(written: Desk) -> None:
    memory = [_held(written, "z", b'{"n": 5}')]
    assert list(written.ask("true", select="attributes.n", memory=memory)) == [5, 1, 2]
    assert list(written.ask("true", select="content.n", memory=memory, limit=2)) == [5, 1]


def test_failures_of_both_are_counted(written: Desk) -> None:
    memory = [_held(written, "z", b'{"n": "text"}')]
    results = written.ask("attributes.n > 1", memory=memory)
    assert [failure.count for failure in results.errors.values()] == [1]
    assert next(iter(results.errors.values())).example.endswith("z version 1, in memory")
    with pytest.raises(UsageError, match="in memory"):
        written.ask("attributes.n > 1", memory=memory, strict=True)


def test_every_field_can_be_asked_of_a_record_in_memory(written: Desk) -> None:
    predicate = (
        'checksum != "" && renamedTo == "" && definitionHash == "" && garbageCollection == 10 && ns == "" '
        '&& modelType == "acme/host" && ownerType == "model-method" && workflowId == "" && !streaming'
    )
    assert _ids(written, f'{predicate} && name == "z"', [_held(written, "z", b"{}")]) == [("z", "test")]
