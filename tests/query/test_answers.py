"""What a query finds, on artifacts that were really written."""

from collections.abc import Sequence

import pytest

from bayou.domain.artifacts import ArtifactKey
from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.errors import ErrorKind, UsageError
from bayou.query import count
from bayou.repository.deletions import delete
from bayou.testing.queries import Desk
from bayou.tree import Tree

OTHER = Model(ModelType("aws/ec2/vpc"), "11111111-2222-4333-8444-555555555555", "prod-vpc")


@pytest.fixture
def written(desk: Desk) -> Desk:
    desk.write("state", {"status": "ok", "cpu": 2, "disk": {"size": 40}}, env="prod", specName="result")
    desk.write("state", {"status": "failed", "cpu": 2.5, "tags": ["a", "b"]}, env="prod", specName="result")
    desk.write("report", "all is well", env="dev")
    desk.write("vpc", {"VpcId": "vpc-1", "ready": True, "my-key": None}, model=OTHER, env="prod")
    desk.write("blob", b"\xff\x00", content_type="application/octet-stream")
    return desk


@pytest.mark.parametrize(
    ("predicate", "names"),
    [
        (None, ["state 2", "report 1", "vpc 1", "blob 1"]),
        ('modelName == "web-01"', ["state 2", "report 1", "blob 1"]),
        ('modelType == "aws/ec2/vpc"', ["vpc 1"]),
        ('modelId == "11111111-2222-4333-8444-555555555555"', ["vpc 1"]),
        ('specName == "result"', ["state 2"]),
        ('tags.env == "prod"', ["state 2", "vpc 1"]),
        ('tags["env"] == "prod" && attributes.ready', ["vpc 1"]),
        ('tags.env == "prod" || tags.env == "dev"', ["state 2", "report 1", "vpc 1"]),
        ('tags.env in ["dev"]', ["report 1"]),
        ('tags.missing == "x"', []),
        ('!(tags.missing == "x")', []),
        ('"env" in tags', ["state 2", "report 1", "vpc 1"]),
        ("!has(tags.env)", ["blob 1"]),
        ("attributes.cpu == 2.5", ["state 2"]),
        ("attributes.cpu > 2", ["state 2"]),
        ("attributes.cpu + 1.0 > 3.0", ["state 2"]),
        ('attributes.status == "failed"', ["state 2"]),
        ('content.status == "failed"', ["state 2"]),
        ('content == "all is well"', ["report 1"]),
        ('content.contains("well")', ["report 1"]),
        ('attributes.tags.exists(x, x == "b")', ["state 2"]),
        ('"b" in attributes.tags', ["state 2"]),
        ("attributes.disk.size == 40 && version == 1", ["state 1"]),
        ('attributes["my-key"] == null', ["vpc 1"]),
        ("attributes.ready == true", ["vpc 1"]),
        ("size > 2.5 && size < 20.5", ["report 1"]),
        ("size / 2.0 == 1.0", ["blob 1"]),
        ("version + 1.0 == 3.0", ["state 2"]),
        ("version in [1.0, 2]", ["state 1", "state 2", "report 1", "vpc 1", "blob 1"]),
        ("isLatest == false", ["state 1"]),
        ("version == 1 && isLatest", ["report 1", "vpc 1", "blob 1"]),
        ('name == "version"', []),
        ("name == 3", []),
        ('name.matches("^(state|vpc)$")', ["state 2", "vpc 1"]),
        ('name.startsWith("sta") && name.endsWith("te") && name.contains("tat")', ["state 2"]),
        ('timestamp(createdAt) > timestamp("2026-04-02T09:15:03Z")', ["report 1", "vpc 1", "blob 1"]),
        ('timestamp(createdAt) - timestamp("2026-04-02T09:15:00Z") < duration("2s")', []),
        ('createdAt < "2026-04-02T09:15:03"', ["state 2"]),
        ('dataType == "resource" && size(name) == 4', ["blob 1"]),
        ('tags.?nope.orValue("none") == "none" && name == "vpc"', ["vpc 1"]),
        ('ns == "elsewhere"', []),
        ('(size > 5 ? name : "vpc") == "vpc"', ["blob 1", "vpc 1"]),
        ("garbageCollection == 10 && streaming == false && lifetime == 'infinite'", "all"),
        ('lifecycle == "active"', "all"),
    ],
)
def test_a_predicate_finds(written: Desk, predicate: str | None, names: list[str] | str) -> None:
    expected = ["state 2", "report 1", "vpc 1", "blob 1"] if names == "all" else names
    assert sorted(written.names(predicate)) == sorted(expected)
    assert count(written.bench.holdings.catalog, written.bench.tree, predicate) == len(expected)


def test_the_order_is_the_same_each_time_and_can_be_chosen(written: Desk) -> None:
    # acme/host comes before aws/ec2/vpc.
    assert written.names() == ["blob 1", "report 1", "state 2", "vpc 1"]
    assert written.names(order_by="createdAt desc") == ["blob 1", "vpc 1", "report 1", "state 2"]
    assert written.names(order_by="-createdAt") == ["blob 1", "vpc 1", "report 1", "state 2"]
    assert written.names(order_by="size") == ["blob 1", "report 1", "vpc 1", "state 2"]
    assert written.names("version > 0", order_by="version, -name") == [
        "vpc 1",
        "state 1",
        "report 1",
        "blob 1",
        "state 2",
    ]


@pytest.mark.parametrize("order_by", ["nope", "tags", "content", "", "size up", "size desc now", "size,,name"])
def test_an_order_that_is_none_is_refused(desk: Desk, order_by: str) -> None:
    with pytest.raises(UsageError) as raised:
        desk.ask("true", order_by=order_by)
    assert raised.value.kind is ErrorKind.INVALID_QUERY


@pytest.mark.parametrize("predicate", ["size >= 0", 'name.lowerAscii() != ""', "attributes == attributes"])
def test_a_limit_says_whether_there_are_more(written: Desk, predicate: str) -> None:
    for limit, found, limited in [
        (0, 0, True),
        (1, 1, True),
        (3, 3, True),
        (4, 4, False),
        (9, 4, False),
        (None, 4, False),
    ]:
        results = written.ask(predicate, limit=limit)
        assert (results.total, results.limited) == (found, limited)
        assert len(list(results)) == found


def test_a_negative_limit_is_refused(desk: Desk) -> None:
    with pytest.raises(UsageError, match="-1 is no limit"):
        desk.ask("true", limit=-1)


def test_markers_of_deletions_are_shown_to_those_who_ask(written: Desk) -> None:
    delete(written.bench.holdings, written.bench.key("blob"))
    assert "blob 1" not in written.names()
    written.bench.holdings.catalog.refresh(written.bench.key("report"))
    with written.bench.holdings.catalog._database.writing() as connection:
        connection.execute("UPDATE artifact SET lifecycle = 'deleted' WHERE name = 'report'")
    assert sorted(written.names()) == ["state 2", "vpc 1"]
    assert written.names('lifecycle == "deleted"') == ["report 1"]


def test_content_that_is_not_here_leaves_rows_undecided(written: Desk) -> None:
    written.dehydrate("state", 2)
    results = written.ask('attributes.status == "failed"')
    assert (results.total, results.undecided) == (0, 1)
    assert "1 row could not be decided" in results.notices[0]
    # What decides it without its content leaves nothing open.
    assert written.ask('attributes.status == "failed" && tags.env == "dev"').undecided == 0
    assert written.ask('attributes.status == "failed" || tags.env == "prod"').total == 2
    assert written.ask('attributes.status == "failed" || tags.env == "prod"').undecided == 0
    assert written.ask('tags.env == "prod"').undecided == 0


def test_content_that_is_too_large_to_look_into_leaves_rows_undecided(
    written: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bayou.query.reach.LARGEST", 10)
    results = written.ask('name == "report" && content.contains("well")')
    assert (results.total, results.undecided) == (0, 1)
    assert "or is larger than" in results.notices[0]
    assert written.ask('content.contains("well") || name == "report"').total == 1
    monkeypatch.setattr("bayou.query.reach.LARGEST", 11)
    assert written.names('content.contains("well")') == ["report 1"]


def test_texts_that_are_not_here_have_no_keys(written: Desk) -> None:
    written.dehydrate("report")
    assert written.ask('content.status == "x"').undecided == 0
    assert written.ask('content == "x"').undecided == 1


def test_hydrate_brings_what_decides_in_batches(written: Desk) -> None:
    content = {"state": written.dehydrate("state", 2), "blob": b"", "report": written.dehydrate("report")}
    asked: list[list[tuple[str, int]]] = []

    def hydrate(versions: Sequence[tuple[ArtifactKey, int]]) -> None:
        asked.append([(key.name, version) for key, version in versions])
        for key, version in versions:
            written.bench.path(key.name, version, "raw").write_bytes(content[key.name])

    results = written.ask('attributes.status == "failed" && tags.env == "prod"', hydrate=hydrate)
    assert [record.name for record in results] == ["state"]
    assert results.undecided == 0
    assert asked == [[("state", 2)]]
    projected = written.ask('name == "report"', select="content", hydrate=hydrate)
    assert list(projected) == ["all is well"]
    assert asked[1:] == [[("report", 1)]]


def test_hydrate_that_cannot_leaves_rows_undecided(written: Desk) -> None:
    written.dehydrate("state", 2)
    assert written.ask('attributes.status == "failed"', hydrate=lambda _: None).undecided == 1


def test_rows_that_fail_are_counted_by_what_went_wrong(written: Desk) -> None:
    results = written.ask('attributes.status > 3 || name == "vpc"')
    assert [record.name for record in results] == ["vpc"]
    (message,) = results.errors
    assert "No matching overloads" in message
    assert results.errors[message].count == 1
    assert results.errors[message].example.endswith("/state version 2")
    assert any("1 row left out" in notice for notice in results.notices)


def test_strict_makes_the_first_failure_fatal(written: Desk) -> None:
    with pytest.raises(UsageError, match=r"state version 2: No matching overloads") as raised:
        written.ask("attributes.status > 3", strict=True)
    assert raised.value.kind is ErrorKind.INVALID_QUERY


def test_a_missing_key_is_no_failure_even_when_strict(written: Desk) -> None:
    assert written.ask('attributes.nope == 1 && tags.nope == "x"', strict=True).total == 0
    assert written.ask("attributes.status.deeper.still == 1", strict=True).total == 0
    assert written.ask("attributes.tags[7] == 1", strict=True).total == 0


def test_what_is_neither_true_nor_false_is_a_failure(written: Desk) -> None:
    results = written.ask("attributes.status")
    assert results.total == 0
    assert {message: failure.count for message, failure in results.errors.items()} == {
        "the predicate gives a text, not true or false": 1
    }


def test_a_key_that_nothing_has_is_told_when_nothing_matched(written: Desk) -> None:
    assert written.ask('attributes.stauts == "failed"').notices == (
        'no artifact has attributes.stauts; did you mean "status"?',
    )
    assert written.ask('tags.evn == "prod"').notices == ('no artifact has tags.evn; did you mean "env"?',)
    assert written.ask('tags.evn == "prod" || name == "vpc"').notices == ()
    assert written.ask('tags.env == "nowhere"').notices == ()
    written.dehydrate("state", 2)
    assert "as far as is known" in written.ask('attributes.stauts == "x" && name == "vpc"').notices[0]


def test_a_projection_shows_a_value_of_each_row(written: Desk) -> None:
    assert list(written.ask('name == "vpc"', select='{"name": name, "v": version}')) == [{"name": "vpc", "v": 1}]
    assert list(written.ask('tags.env == "prod"', select="attributes.status")) == ["failed", None]
    assert list(written.ask('name == "state"', select="version")) == [2]
    assert list(written.ask('name == "state" && version > 0', select="version")) == [1, 2]
    results = written.ask('name == "vpc"', select="attributes.VpcId + 1")
    assert list(results) == [None]
    assert [failure.count for failure in results.errors.values()] == [1]


def test_a_projection_reads_no_content_that_it_does_not_show(written: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []
    read = Tree.read

    def counted(tree: Tree, path: str) -> bytes | None:
        reads.append(path)
        return read(tree, path)

    monkeypatch.setattr(Tree, "read", counted)
    assert list(written.ask('attributes.status == "failed"', select="[name, version]")) == [["state", 2]]
    results = written.ask('attributes.status == "failed" && attributes.cpu > 1')
    assert [record.version for record in results] == [2]
    assert reads == []
    assert results[0].attributes["status"] == "failed"
    assert len(reads) == 1
