"""Artifacts: owners, chains of writers, and versions that say that something is gone (repository spec 2)."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.domain.artifacts import (
    Artifact,
    Chain,
    Lifecycle,
    Owner,
    OwnerType,
    check_owner,
    check_tags,
    deletion,
    is_text,
    key_of,
    latest_of_chains,
    renaming,
)
from bayou.errors import Conflict, ErrorKind, UsageError
from bayou.testing.strategies import models
from bayou.testing.strategies.artifacts import artifacts

AT = "2026-04-02T09:15:00.125Z"
OWNER = Owner(owner_type=OwnerType.MODEL_METHOD, owner_ref="m-1", workflow_name="w", job_name="j", step_name="s")

chains = st.builds(Chain, *(st.sampled_from(["", "a", "b"]) for _ in range(3)))
histories = st.dictionaries(st.integers(1, 20), chains, max_size=10)


@pytest.mark.parametrize(
    ("content_type", "text"),
    [
        ("text/plain", True),
        ("text/x-anything; charset=utf-8", True),
        ("application/json", True),
        ("application/yaml", True),
        ("application/x-yaml", True),
        ("application/json; charset=utf-8", False),
        ("application/xml", False),
        ("image/png", False),
    ],
)
def test_what_is_text(content_type: str, text: bool) -> None:  # noqa: FBT001
    assert is_text(content_type) is text


@pytest.mark.parametrize("tags", [{}, {"type": ""}, {"a": "b"}, {"type": "x", "": "y"}, {"type": "x", "a": "\ud800"}])
def test_tags_say_the_type_and_are_texts(tags: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        check_tags(tags)


def test_type_and_reference_make_the_owner_and_nothing_else() -> None:
    check_owner("n", OWNER, Owner(owner_type=OwnerType.MODEL_METHOD, owner_ref="m-1", workflow_name="other"))
    check_owner("n", None, OWNER)
    for other in (("manual", "m-1"), ("model-method", "m-2")):
        with pytest.raises(Conflict, match=r"m-1.*m-[12]") as caught:
            check_owner("n", OWNER, Owner(owner_type=OwnerType(other[0]), owner_ref=other[1]))
        assert caught.value.kind is ErrorKind.NOT_OWNER


def test_writers_of_one_step_of_one_job_share_a_chain() -> None:
    artifact = msgspec.structs.replace(next(iter([_artifact()])), owner=OWNER)
    assert artifact.chain == Chain("w", "j", "s")
    assert msgspec.structs.replace(artifact, owner=None).chain == Chain()


@given(histories)
def test_each_chain_has_one_latest_which_is_its_highest(history: dict[int, Chain]) -> None:
    heads = latest_of_chains(history.items(), None)
    assert {history[head] for head in heads} == set(history.values())
    assert len(heads) == len(set(history.values()))
    assert all(head == max(n for n, chain in history.items() if chain == history[head]) for head in heads)


@given(histories, st.integers(0, 21))
def test_nothing_above_the_marker_is_a_latest(history: dict[int, Chain], marker: int) -> None:
    assert latest_of_chains(history.items(), marker) == latest_of_chains(
        ((number, chain) for number, chain in history.items() if number <= marker), None
    )


@given(artifacts())
def test_a_marker_of_deletion_keeps_who_and_what_it_was(artifact: Artifact) -> None:
    marker = deletion(artifact, artifact.version + 1, AT)
    kept = ("id", "name", "tags", "owner", "lifetime", "garbage_collection")
    assert [getattr(marker, field) for field in kept] == [getattr(artifact, field) for field in kept]
    assert (marker.is_deleted, marker.content_type, marker.streaming) == (True, "application/json", False)
    assert (marker.renamed_to, marker.size, marker.checksum, marker.created_at) == (None, None, None, AT)
    assert renaming(artifact, artifact.version + 1, AT, "new") == msgspec.structs.replace(marker, renamed_to="new")


@given(models())
def test_a_key_has_a_name_that_data_may_have(model: object) -> None:
    with pytest.raises(UsageError):
        key_of(model, "latest")  # type: ignore[arg-type]


def _artifact() -> Artifact:
    return Artifact(
        id="1",
        name="n",
        version=1,
        content_type="text/plain",
        lifetime="infinite",
        garbage_collection=1,
        created_at=AT,
        lifecycle=Lifecycle.ACTIVE,
    )
