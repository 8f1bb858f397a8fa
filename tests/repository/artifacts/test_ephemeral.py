"""Ephemeral data: in memory, within a budget, by the same rules as on the disk."""

from dataclasses import replace

import pytest

from bayou.domain.artifacts import Owner, OwnerType
from bayou.errors import Conflict, ErrorKind, NotFound, UsageError
from bayou.repository.deferred import Deferred
from bayou.repository.ephemeral import Ephemeral
from bayou.repository.saving import Allocation, save
from bayou.repository.streams import append
from bayou.testing.bench import Bench

AT = "2026-04-02T09:15:00.125Z"


def test_versions_count_from_one_and_nothing_is_on_the_disk(bench: Bench) -> None:
    held = Ephemeral(1000)
    draft = bench.draft(lifetime="ephemeral")
    assert draft.is_ephemeral
    assert [held.save(bench.key(), text, draft, AT).version for text in ("one", "two")] == [1, 2]
    latest, first = held.find(bench.key()), held.find(bench.key(), 1)
    assert latest is not None
    assert first is not None
    assert (latest.raw, latest.is_latest, first.raw, first.is_latest) == (b"two", True, b"one", False)
    assert latest.artifact.size == 3
    assert latest.artifact.lifetime == "ephemeral"
    assert held.find(bench.key(), 3) is None
    assert held.find(bench.key("none")) is None
    assert bench.files() == []


def test_what_is_saved_with_this_lifetime_never_touches_the_disk(bench: Bench) -> None:
    draft = bench.draft(lifetime="ephemeral", streaming=True)
    with pytest.raises(UsageError, match="lives as long as a run"):
        save(bench.holdings, bench.key(), "x", draft)
    with pytest.raises(UsageError, match="has no file"):
        Allocation(bench.holdings, bench.key(), draft)
    save(bench.holdings, bench.key(), "on the disk", bench.draft())
    before = bench.files()
    memory = Ephemeral(1000)
    run = replace(bench.holdings, ephemeral=memory)
    save(run, bench.key(), iter([b"in ", b"memory"]), draft)
    append(run, bench.key(), " and more", bench.owner)
    deferred = Deferred(run)
    deferred.save(bench.key(), "deferred", draft)
    deferred.rollback()
    held = memory.find(bench.key(), 1)
    assert held is not None
    assert held.raw == b"in memory and more"
    assert bench.files() == before
    assert list(bench.rows()) == [1]


def test_a_new_run_begins_with_nothing(bench: Bench) -> None:
    Ephemeral(1000).save(bench.key(), "x", bench.draft(), AT)
    assert Ephemeral(1000).find(bench.key()) is None


@pytest.mark.parametrize("content", [b"x" * 11, iter([b"x" * 6] * 1000)])
def test_more_than_the_budget_is_refused_and_what_is_held_stays(bench: Bench, content: object) -> None:
    held = Ephemeral(20)
    held.save(bench.key(), b"x" * 10, bench.draft(), AT)
    with pytest.raises(UsageError, match="budget of 20 bytes") as caught:
        held.save(bench.key("more"), content, bench.draft(), AT)
    assert caught.value.kind is ErrorKind.INVALID_CONTENT
    assert "SWAMP_EPHEMERAL_BUDGET" in caught.value.remedy
    assert held.find(bench.key("more")) is None
    held.save(bench.key("fits"), b"x" * 10, bench.draft(), AT)


def test_the_owner_alone_writes(bench: Bench) -> None:
    held = Ephemeral(1000)
    held.save(bench.key(), "x", bench.draft(streaming=True), AT)
    stranger = Owner(owner_type=OwnerType.MANUAL, owner_ref="x")
    with pytest.raises(Conflict):
        held.save(bench.key(), "y", bench.draft(owner=stranger), AT)
    with pytest.raises(Conflict):
        held.append(bench.key(), "y", stranger)


def test_streams_grow_within_the_budget(bench: Bench) -> None:
    held = Ephemeral(8)
    with pytest.raises(NotFound):
        held.append(bench.key(), "x", bench.owner)
    held.save(bench.key(), "one\n", bench.draft(streaming=True), AT)
    artifact = held.append(bench.key(), "two\n", bench.owner)
    assert (artifact.version, artifact.size, artifact.checksum) == (1, 8, None)
    found = held.find(bench.key())
    assert found is not None
    assert found.raw == b"one\ntwo\n"
    with pytest.raises(UsageError):
        held.append(bench.key(), "x", bench.owner)
    held = Ephemeral(100)
    held.save(bench.key(), "one", bench.draft(), AT)
    with pytest.raises(UsageError, match="not streaming"):
        held.append(bench.key(), "x", bench.owner)


def test_queries_see_the_latest_of_each_step(bench: Bench) -> None:
    held = Ephemeral(1000)
    for step in ("a", "b", "a"):
        owner = Owner(owner_type=OwnerType.MODEL_METHOD, owner_ref=bench.model.id, step_name=step)
        held.save(bench.key(), step, bench.draft(owner=owner), AT)
    assert [(one.artifact.version, one.is_latest) for one in held] == [(1, False), (2, True), (3, True)]
