"""What becomes of a unit that both sides changed, kind by kind."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.domain.merges.definitions import ids_of_model, merge_definitions, with_alias
from bayou.domain.merges.files import Stamp, merge_derived, merge_other
from bayou.domain.merges.markers import merge_latest
from bayou.domain.merges.records import beside, merge_records
from bayou.domain.merges.references import renumbered_metadata, renumbered_record
from bayou.domain.merges.resolution import Move, Point, Rehome, Renumber, TakeLocal, TakeRemote
from bayou.domain.merges.versions import Contest, Growth, Version, Versions, growth, merge_versions
from bayou.layout.meanings import meaning
from bayou.layout.records import OutputRecord, RunRecord
from bayou.testing.strategies.paths import known_records

STAMP = "2026-04-02T09-15-00-125Z"


def contest(ours: str, theirs: str, **changes: Any) -> Contest:  # noqa: ANN401
    return Contest(Version(ours, "raw"), Version(theirs, "raw"), **{"written_here": True, **changes})


def half(ours: str) -> Contest:
    return Contest(Version(ours, "raw"), None, written_here=True)


def streams(how: Growth) -> Contest:
    return Contest(Version("s", "x", streaming=True), Version("s", "y", streaming=True), written_here=True, growth=how)


def versions(
    contested: dict[int, Contest],
    local: dict[int, str],
    remote: dict[int, str],
    published: set[int] | None = None,
    buried: set[int] | None = None,
) -> Versions:
    return Versions(contested, local, remote, published or set(), buried or set())


@pytest.mark.parametrize(
    ("given_versions", "expected"),
    [
        # The remote keeps its number, ours moves to the next.
        (versions({1: contest("a", "b")}, {1: "a"}, {1: "b"}), {1: Renumber(2)}),
        # A number is never used again: not one of the remote, of the base, or of a tombstone.
        (versions({1: contest("a", "b")}, {1: "a"}, {1: "b", 5: "c"}), {1: Renumber(6)}),
        (versions({1: contest("a", "b")}, {1: "a"}, {1: "b"}, published={7}), {1: Renumber(8)}),
        (versions({1: contest("a", "b")}, {1: "a"}, {1: "b"}, buried={9}), {1: Renumber(10)}),
        # Ours that follow move along, so that the newest stays the highest.
        (
            versions({3: contest("a", "x")}, {3: "a", 4: "b", 5: "c"}, {3: "x"}),
            {3: Renumber(4), 4: Renumber(5), 5: Renumber(6)},
        ),
        (versions({3: contest("a", "x")}, {2: "z", 3: "a", 4: "b"}, {3: "x"}), {3: Renumber(4), 4: Renumber(5)}),
        # Published ones never move along: others know them by their number.
        (versions({3: contest("a", "x")}, {3: "a", 4: "b"}, {3: "x", 4: "b"}, published={3, 4}), {3: Renumber(5)}),
        # The same id is the same version.
        (versions({1: contest("a", "a")}, {1: "a"}, {1: "a"}), {1: TakeRemote(keep_aside=True)}),
        (versions({1: contest("a", "a", written_here=False)}, {1: "a"}, {1: "a"}), {1: TakeRemote()}),
        # It was moved before, by us or by somebody else who held it.
        (versions({1: contest("a", "b")}, {1: "a"}, {1: "b", 2: "a"}), {1: TakeRemote()}),
        (versions({1: contest("a", "b")}, {1: "a", 2: "a"}, {1: "b"}), {1: TakeRemote()}),
        # Half of something that nobody knows yet has the number too.
        (versions({1: half("a")}, {1: "a"}, {}), {1: Renumber(2)}),
        (versions({1: half("a")}, {1: "a", 2: "b"}, {}), {1: Renumber(2), 2: Renumber(3)}),
        (versions({1: half("a")}, {1: "a"}, {2: "a"}), {1: TakeRemote()}),
        # A stream only grows: the longer state is the later one.
        (versions({1: streams(Growth.OURS_GOES_ON)}, {1: "s"}, {1: "s"}), {1: TakeLocal()}),
        (versions({1: streams(Growth.THEIRS_GOES_ON)}, {1: "s"}, {1: "s"}), {1: TakeRemote()}),
    ],
)
def test_versions(given_versions: Versions, expected: dict[int, object]) -> None:
    assert merge_versions(given_versions) == expected


def test_forked_stream_goes_on_as_a_new_version_under_an_id_of_its_own() -> None:
    forked = versions({1: streams(Growth.FORKED)}, {1: "s"}, {1: "s"})
    resolution = merge_versions(forked)[1]
    assert isinstance(resolution, Renumber)
    assert resolution.to == 2
    assert resolution.new_id not in (None, "s")
    assert merge_versions(forked)[1] == resolution


@given(
    st.dictionaries(st.integers(1, 8), st.text("ab", min_size=1, max_size=3)),
    st.dictionaries(st.integers(1, 8), st.text("cd", min_size=1, max_size=3)),
    st.frozensets(st.integers(1, 12)),
)
def test_renumbering_keeps_order_and_never_takes_a_number_that_is_known(
    local: dict[int, str], remote: dict[int, str], buried: frozenset[int]
) -> None:
    contested = {n: contest(local[n], remote[n]) for n in local.keys() & remote.keys()}
    resolutions = merge_versions(Versions(contested, local, remote, frozenset(), buried))
    moves = {old: r.to for old, r in resolutions.items() if isinstance(r, Renumber)}
    assert contested.keys() <= resolutions.keys()
    assert set(moves.values()).isdisjoint(remote.keys() | buried | (local.keys() - moves.keys()))
    assert [moves[old] for old in sorted(moves)] == sorted(moves.values())
    highest = max(local, default=0)
    if moves:
        assert max(moves.values()) == moves.get(highest, max(moves.values()))


@pytest.mark.parametrize(
    ("local", "remote", "expected"),
    [
        (b"ab", b"abc", Growth.THEIRS_GOES_ON),
        (b"abc", b"ab", Growth.OURS_GOES_ON),
        (b"abc", b"abd", Growth.FORKED),
        (b"", b"a", Growth.THEIRS_GOES_ON),
    ],
)
def test_growth_of_a_stream(local: bytes, remote: bytes, expected: Growth) -> None:
    assert growth(local, remote) is expected


def test_metadata_keeps_its_order_under_a_new_number() -> None:
    metadata = {"id": "a", "name": "n", "version": 1, "tags": {"type": "file"}}
    assert list(renumbered_metadata(metadata, Renumber(4, "b")).items()) == [
        ("id", "b"),
        ("name", "n"),
        ("version", 4),
        ("tags", {"type": "file"}),
    ]
    assert renumbered_metadata(metadata, Renumber(4))["id"] == "a"


def test_every_mention_of_a_renumbered_version_is_rewritten() -> None:
    ours, other = {"dataId": "a", "version": 1}, {"dataId": "b", "version": 1}
    run = {"jobs": [{"steps": [{"dataArtifacts": [ours, other]}]}], "workflowDataArtifacts": [ours]}
    moved = {"dataId": "a", "version": 4}
    assert renumbered_record(run, {"a": 4}) == {
        "jobs": [{"steps": [{"dataArtifacts": [moved, other]}]}],
        "workflowDataArtifacts": [moved],
    }
    assert renumbered_record(run, {"c": 4}) is None


@pytest.mark.parametrize(
    ("base", "local", "remote", "there", "expected"),
    [
        (3, 4, 5, {1, 2, 3, 4, 5}, 5),
        (3, 5, 4, {1, 2, 3, 4, 5}, 5),
        (3, 4, 4, {1, 4, 5}, 4),  # 5 is deferred
        (3, 2, 3, {1, 2}, 2),  # moved back because 3 was deleted
        (3, 3, 2, {1, 2}, 2),
        (3, None, 3, {1, 2, 3}, None),  # removed
        (3, 3, None, {1, 2, 3}, None),
        (3, None, 2, {1, 2}, None),  # removed; the other only stepped back
        (3, None, 4, {1, 2, 3, 4}, 4),  # removed by somebody who had not seen 4
        (4, 4, 3, {1, 2}, 2),  # deleted here what the other moved back to
        (None, 2, 1, {1, 2}, 2),
        (2, 2, 3, set(), None),
    ],
)
def test_latest_names_the_highest_advanced_version_that_is_there(
    base: int | None, local: int | None, remote: int | None, there: set[int], expected: int | None
) -> None:
    assert merge_latest(base, local, remote, versions=there, renumbered={}) == Point(expected)


def test_latest_follows_a_version_that_moved() -> None:
    assert merge_latest(None, 3, 3, versions={1, 2, 3, 4}, renumbered={3: 4}) == Point(4)


def record(**changes: str) -> dict[str, str]:
    return {"id": "r", "status": "running", **changes}


DONE, LATER = "2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        (record(), record(status="failed", completedAt=DONE)),
        (record(status="suspended", completedAt=LATER), record(status="cancelled")),
        (record(status="succeeded", completedAt=DONE), record(status="failed", completedAt=LATER)),
    ],
)
def test_record_that_got_further_wins_on_either_side(worse: dict[str, str], better: dict[str, str]) -> None:
    assert merge_records("p", better, worse, contents=("a", "b"), written_here=False) == TakeLocal()
    assert merge_records("p", worse, better, contents=("b", "a"), written_here=True) == TakeRemote()


def test_equally_far_records_are_decided_alike_on_both_machines() -> None:
    assert merge_records("p", record(), record(step="x"), contents=("a", "b"), written_here=True) == TakeRemote()
    assert merge_records("p", record(step="x"), record(), contents=("b", "a"), written_here=True) == TakeLocal()


def test_what_only_they_changed_in_an_equally_far_record_is_taken() -> None:
    """Else who only read a record would undo the new version numbers in it, in half of all cases."""
    assert merge_records("p", record(), record(step="x"), contents=("b", "a"), written_here=False) == TakeRemote()


@pytest.mark.parametrize("path", ["workflow-runs/w/workflow-run-1.yaml", f"outputs/t/run/d-{STAMP}.yaml", "a.b/c"])
def test_another_id_is_another_record_and_both_are_kept(path: str) -> None:
    moved = merge_records(path, record(), record(id="s"), contents=("a", "b"), written_here=True)
    assert isinstance(moved, Move)
    assert moved.to not in {path, beside(path, "s")}
    assert moved.to == beside(path, "r")


@given(known_records(), st.uuids().map(str))
def test_record_that_moved_is_still_found_as_what_it_is(record: OutputRecord | RunRecord, identity: str) -> None:
    moved = meaning(beside(record.path, identity))
    if isinstance(record, OutputRecord):
        assert isinstance(moved, OutputRecord)
        assert (moved.type, moved.method, moved.definition_id) == (record.type, record.method, record.definition_id)
    else:
        assert isinstance(moved, RunRecord)
        assert moved.workflow_id == record.workflow_id


def test_remote_definition_stays_and_both_ids_lead_to_the_model() -> None:
    first, second = Rehome(given_up="a", kept="b"), Rehome(given_up="c", kept="b")
    assert merge_definitions({"id": "a"}, {"id": "b"}, written_here=True) == first
    assert merge_definitions({"id": "a"}, {"id": "a", "x": 1}, written_here=True) == TakeRemote(keep_aside=True)
    here, there = with_alias(frozenset(), first), with_alias(frozenset(), second)
    assert ids_of_model(here | there, "a") == {"a", "b", "c"}
    assert ids_of_model(here | there, "d") == {"d"}


def test_newest_derived_file_wins_and_the_content_decides_between_equal_times() -> None:
    assert merge_derived(Stamp(LATER, "a"), Stamp(DONE, "b")) == TakeLocal()
    assert merge_derived(Stamp(DONE, "a"), Stamp(DONE, "b")) == TakeRemote()
    assert merge_derived(Stamp(DONE, "b"), Stamp(DONE, "a")) == TakeLocal()


def test_of_any_other_file_the_remote_stays_and_ours_is_kept_aside() -> None:
    assert merge_other() == TakeRemote(keep_aside=True)
