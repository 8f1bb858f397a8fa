"""The usual questions give what their names say, and names that look like SQL or CEL are only names."""

from typing import Any

import pytest

from bayou.domain.artifacts import Owner, OwnerType
from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.errors import UsageError
from bayou.query.shortcuts import find_by_spec, find_by_tag, latest, list_versions, named, version
from bayou.testing.queries import Desk

ODD = Model(ModelType("acme/host"), "odd-id", 'it\'s "odd" && true')


TAGS: Any = {"my-key": "a' OR 1=1 --"}


@pytest.fixture
def written(desk: Desk) -> Desk:
    for number in range(3):
        desk.write("state", {"n": number}, specName="result", **TAGS)
    desk.write("state", {"n": 9}, model=ODD, specName="result", env="prod")
    return desk


def _step(desk: Desk, step: str) -> Owner:
    return Owner(
        owner_type=OwnerType.MODEL_METHOD,
        owner_ref=desk.bench.model.id,
        workflow_name="nightly",
        job_name="main",
        step_name=step,
    )


def test_latest_of_a_model_by_name_or_id(written: Desk) -> None:
    catalog = written.bench.holdings.catalog
    for model in ("web-01", written.bench.model.id, ":web-01"):
        assert [row.artifact.version for row in latest(catalog, "", model, "state")] == [3]
    assert [row.model.id for row in latest(catalog, "", str(ODD.name), "state")] == ["odd-id"]
    assert latest(catalog, "", "web-01", "nothing") == []
    assert latest(catalog, "", "nobody", "state") == []


def test_a_version_by_its_number(written: Desk) -> None:
    catalog = written.bench.holdings.catalog
    found = version(catalog, "", "web-01", "state", 2)
    assert found is not None
    assert found.artifact.version == 2
    assert version(catalog, "", "web-01", "state", 7) is None


def test_versions_are_listed_lowest_first(written: Desk) -> None:
    catalog = written.bench.holdings.catalog
    assert list_versions(catalog, "", "web-01", "state") == [1, 2, 3]
    assert list_versions(catalog, "", "web-01", "nothing") == []


def test_tags_with_any_key_and_value_are_found(written: Desk) -> None:
    catalog = written.bench.holdings.catalog
    assert [row.artifact.version for row in find_by_tag(catalog, "", "my-key", "a' OR 1=1 --")] == [3]
    assert find_by_tag(catalog, "", "my-key", "a") == []
    assert find_by_tag(catalog, "", "' OR 1=1 --", "a") == []
    assert find_by_tag(catalog, "other", "env", "prod") == []


def test_one_of_each_step_is_kept_and_it_is_the_newest(written: Desk) -> None:
    catalog = written.bench.holdings.catalog
    written.write("state", {"n": 4}, specName="result", owner=_step(written, "collect"))
    written.write("state", {"n": 5}, specName="result", owner=_step(written, "collect"))
    assert [row.artifact.version for row in find_by_spec(catalog, "", "web-01", "result")] == [3, 5]
    assert [row.artifact.version for row in latest(catalog, "", "web-01", "state")] == [5, 3]


def test_what_has_no_model_is_never_merged(desk: Desk) -> None:
    for number in range(2):
        nameless = Model(ModelType("acme/host"), f"id-{number}", "")
        desk.write("state", {}, model=nameless, modelName="", env="prod")
    assert len(find_by_tag(desk.bench.holdings.catalog, "", "env", "prod")) == 2


def test_another_namespace_has_to_be_named(written: Desk) -> None:
    catalog = written.bench.holdings.catalog
    with catalog._database.writing() as connection:
        connection.execute("UPDATE artifact SET namespace = 'infra', is_latest = 1 WHERE version = 2")
    assert list_versions(catalog, "", "web-01", "state") == [1, 3]
    assert list_versions(catalog, "", "infra:web-01", "state") == [2]
    assert list_versions(catalog, "infra", "web-01", "state") == [2]
    with pytest.raises(UsageError, match="is in several namespaces: none, infra") as raised:
        list_versions(catalog, "", "*:web-01", "state")
    assert "infra:web-01" in raised.value.remedy
    with pytest.raises(UsageError, match="several namespaces"):
        find_by_spec(catalog, "", "*:web-01", "result")
    assert list_versions(catalog, "", f"*:{ODD.name}", "state") == [1]


def test_a_model_is_named_with_its_namespace_before_the_first_colon() -> None:
    assert named("web", "own") == ("own", "web")
    assert named("infra:web:1", "own") == ("infra", "web:1")
    assert named(":web", "own") == ("", "web")
    assert named("*:web", "own") == ("*", "web")
    for wrong in ("", ":", "infra:", "*:", "Not A Slug:web"):
        with pytest.raises(UsageError):
            named(wrong, "own")
