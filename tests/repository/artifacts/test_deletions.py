"""Deletions: what goes is gone at once, `latest` follows, and many are deleted as far as possible."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bayou.domain.artifacts import Lifecycle, Owner, OwnerType
from bayou.errors import Conflict, ErrorKind, NotFound
from bayou.repository import reads
from bayou.repository.deferred import Deferred
from bayou.repository.deletions import Target, delete, delete_each, hide, mark_deleted, names_with
from bayou.repository.saving import Allocation, save
from bayou.testing.bench import Bench


@pytest.fixture
def three(bench: Bench) -> Bench:
    for text in ("one", "two", "three"):
        save(bench.holdings, bench.key(), text, bench.draft())
    return bench


def latest(bench: Bench) -> int | None:
    found = reads.latest(bench.tree, bench.key())
    return found.artifact.version if found else None


@pytest.mark.parametrize(("gone", "left", "now"), [(3, [1, 2], 2), (1, [2, 3], 3), (2, [1, 3], 3)])
def test_latest_follows_the_deletion_of_a_version(three: Bench, gone: int, left: list[int], now: int) -> None:
    assert delete(three.holdings, three.key(), gone) == [gone]
    assert (reads.versions(three.tree, three.key()), latest(three)) == (left, now)
    assert (list(three.rows()), three.latest_rows()) == (left, [now])
    assert three.path("state", "latest").read_text() == str(now)
    assert not three.path("state", gone).exists()


def test_with_the_last_version_the_name_goes(three: Bench) -> None:
    for version in (2, 3, 1):
        delete(three.holdings, three.key(), version)
    assert (three.files(), three.rows()) == ([], {})
    assert not three.path("state").exists()
    assert save(three.holdings, three.key(), "again", three.draft()).version == 1


def test_all_of_a_name_goes_at_once(three: Bench) -> None:
    assert delete(three.holdings, three.key()) == [1, 2, 3]
    assert (three.files(), three.rows()) == ([], {})


def test_a_number_is_not_used_again_while_a_higher_one_is_there(three: Bench) -> None:
    delete(three.holdings, three.key(), 2)
    assert save(three.holdings, three.key(), "x", three.draft()).version == 4


def test_deleting_the_latest_does_not_advance_what_is_deferred(three: Bench) -> None:
    Deferred(three.holdings).save(three.key(), "four", three.draft())
    delete(three.holdings, three.key(), 3)
    assert (latest(three), three.latest_rows()) == (2, [2])
    for version in (2, 1):
        delete(three.holdings, three.key(), version)
    assert (latest(three), three.latest_rows(), list(three.rows())) == (None, [], [4])


def test_who_streams_into_a_name_is_not_deleted_with_its_last_version(bench: Bench) -> None:
    save(bench.holdings, bench.key(), "one", bench.draft())
    with Allocation(bench.holdings, bench.key(), bench.draft()) as allocation:
        delete(bench.holdings, bench.key(), 1)
        allocation.write(b"two")
        allocation.finalize()
    assert (latest(bench), reads.versions(bench.tree, bench.key())) == (2, [2])


def test_a_version_goes_as_a_whole_even_if_its_files_cannot_be_removed(
    three: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)
    delete(three.holdings, three.key(), 3)
    assert not three.path("state", 3).exists()
    assert latest(three) == 2


def test_what_is_not_there_cannot_be_deleted(three: Bench) -> None:
    for target in (Target(three.key("none")), Target(three.key(), 9)):
        with pytest.raises(NotFound, match=str(target)) as caught:
            delete(three.holdings, *target)
        assert caught.value.kind is ErrorKind.DATA_MISSING


def test_of_many_nothing_is_deleted_when_one_is_not_there(three: Bench) -> None:
    with pytest.raises(NotFound, match=r"no version 9 of .*state, no .*none"):
        delete_each(three.holdings, [Target(three.key(), 1), Target(three.key(), 9), Target(three.key("none"))])
    assert reads.versions(three.tree, three.key()) == [1, 2, 3]


def test_of_many_one_that_fails_is_reported_and_the_rest_goes(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tmp-a", "tmp-b", "tmp-c", "keep"):
        save(bench.holdings, bench.key(name), name, bench.draft())
    rename = os.rename

    def failing(source: str, target: str) -> None:
        if source.endswith("tmp-b"):
            raise PermissionError(13, "Permission denied")
        rename(source, target)

    monkeypatch.setattr(os, "rename", failing)
    targets = names_with(bench.holdings, bench.model, "tmp-")
    assert [target.key.name for target in targets] == ["tmp-a", "tmp-b", "tmp-c"]
    done = delete_each(bench.holdings, targets)
    assert {target.key.name: versions for target, versions in done.versions.items()} == {"tmp-a": [1], "tmp-c": [1]}
    ((failed, error),) = done.failures.items()
    assert failed.key.name == "tmp-b"
    assert error.kind is ErrorKind.PERMISSION_DENIED
    assert [t.key.name for t in names_with(bench.holdings, bench.model)] == ["keep", "tmp-b"]
    assert bench.latest_rows("tmp-b") == [1]


def test_names_are_not_the_lock_beside_them_nor_what_is_unfinished(bench: Bench) -> None:
    save(bench.holdings, bench.key(), "x", bench.draft())
    bench.path(".lock").write_text("{}")
    bench.path("half", 1).mkdir(parents=True)
    assert names_with(bench.holdings, bench.model) == [Target(bench.key())]


def test_a_marker_of_deletion_repeats_what_was_last_known(bench: Bench) -> None:
    last = save(bench.holdings, bench.key(), {"VpcId": "vpc-1"}, bench.draft(garbage_collection=3, lifetime="30d"))
    bench.clock.pass_days(1)
    marker = mark_deleted(bench.holdings, bench.key(), bench.owner, method="destroy")
    assert (marker.version, marker.lifecycle, marker.renamed_to) == (2, Lifecycle.DELETED, None)
    assert (marker.id, marker.tags, marker.owner) == (last.id, last.tags, last.owner)
    assert (marker.garbage_collection, marker.lifetime) == (3, "30d")
    raw = bench.path("state", 2, "raw").read_bytes()
    assert json.loads(raw) == {"VpcId": "vpc-1", "deletedAt": marker.created_at, "deletedByMethod": "destroy"}
    assert (marker.size, marker.content_type, marker.streaming) == (len(raw), "application/json", False)
    assert bench.rows()[2].artifact == marker
    assert bench.latest_rows() == [2]
    with pytest.raises(NotFound):
        mark_deleted(bench.holdings, bench.key(), bench.owner, method="destroy")
    assert save(bench.holdings, bench.key(), "reborn", bench.draft()).version == 3


@pytest.mark.parametrize("content", ["text", [1], b"{", {"deep": {"er": 1}}])
def test_a_marker_of_deletion_can_be_written_whatever_was_there(bench: Bench, content: object) -> None:
    save(bench.holdings, bench.key(), content, bench.draft(streaming=True))
    marker = mark_deleted(bench.holdings, bench.key(), bench.owner, method="destroy")
    said = json.loads(bench.path("state", 2, "raw").read_bytes())
    assert said.keys() - {"deep"} == {"deletedAt", "deletedByMethod"}
    assert not marker.streaming


def test_only_the_owner_says_that_something_is_deleted(bench: Bench) -> None:
    save(bench.holdings, bench.key(), "x", bench.draft())
    with pytest.raises(Conflict):
        mark_deleted(bench.holdings, bench.key(), Owner(owner_type=OwnerType.MANUAL, owner_ref="x"), method="destroy")


def test_what_is_hidden_has_no_latest_until_it_is_written_again(three: Bench) -> None:
    hide(three.holdings, three.key())
    assert three.path("state", "latest").read_bytes() == b"0"
    assert (latest(three), three.latest_rows(), list(three.rows())) == (None, [], [1, 2, 3])
    assert reads.version(three.tree, three.key(), 3) is not None
    save(three.holdings, three.key(), "four", three.draft())
    assert (latest(three), three.latest_rows()) == (4, [4])


def test_each_version_that_goes_is_announced_before_it_goes(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(auto_gc=True)
    heard: list[tuple[tuple[str, ...], bool]] = []

    class Marks:
        def changing(self, _: tuple[str, ...]) -> Callable[[], None]:
            return lambda: None

        def removing(self, paths: tuple[str, ...]) -> Callable[[], None]:
            heard.append((paths, all(Path(bench.root, path).exists() for path in paths)))
            return lambda: None

    bench.tree._marks = Marks()  # type: ignore[assignment]
    for _ in range(4):
        save(bench.holdings, bench.key(), "x", bench.draft(garbage_collection=2))
    folder = f"data/acme/host/{bench.model.id}/state"
    assert heard == [((f"{folder}/1",), True), ((f"{folder}/2",), True)]
    delete(bench.holdings, bench.key())
    assert heard[2:] == [((folder,), True)]
