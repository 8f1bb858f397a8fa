"""Rename: the latest is under the new name, and the old one leads there (repository spec 1.4)."""

import json
import os

import pytest

from bayou.domain.artifacts import Lifecycle, Owner, OwnerType
from bayou.errors import BayouError, Conflict, ErrorKind, NotFound, UsageError
from bayou.repository import reads
from bayou.repository.deletions import delete, mark_deleted
from bayou.repository.renames import rename
from bayou.repository.saving import save
from bayou.testing.bench import Bench


def test_the_latest_is_copied_and_the_old_name_says_where_it_has_gone(bench: Bench) -> None:
    save(bench.holdings, bench.key("old"), "one", bench.draft())
    last = save(bench.holdings, bench.key("old"), "two", bench.draft(garbage_collection=3, lifetime="30d"))
    bench.clock.pass_days(1)
    copy = rename(bench.holdings, bench.key("old"), "new")
    assert (copy.name, copy.version, copy.size, copy.checksum) == ("new", 1, 3, last.checksum)
    assert (copy.tags, copy.owner, copy.lifetime, copy.garbage_collection) == (last.tags, last.owner, "30d", 3)
    assert copy.id != last.id
    assert copy.created_at > last.created_at
    assert bench.path("new", 1, "raw").read_text() == "two"

    word = reads.version(bench.tree, bench.key("old"), 3)
    assert word is not None
    assert (word.id, word.lifecycle, word.renamed_to, word.content_type) == (
        last.id, Lifecycle.DELETED, "new", "application/json",
    )  # fmt: skip
    assert (word.size, word.checksum, word.streaming) == (None, None, False)
    assert json.loads(bench.path("old", 3, "raw").read_text()) == {"renamedTo": "new", "renamedAt": copy.created_at}
    assert bench.path("old", 3, "metadata.yaml").read_text().endswith('lifecycle: "deleted"\nrenamedTo: "new"\n')
    assert (bench.latest_rows("old"), bench.latest_rows("new")) == ([3], [1])


def test_reading_the_latest_follows_and_reading_a_version_does_not(bench: Bench) -> None:
    save(bench.holdings, bench.key("a"), "x", bench.draft())
    for old, new in (("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f")):
        rename(bench.holdings, bench.key(old), new)
    found = reads.latest(bench.tree, bench.key("a"))
    assert found is not None
    assert found.key == bench.key("f")
    rename(bench.holdings, bench.key("f"), "g")
    assert reads.latest(bench.tree, bench.key("a")) is None
    assert reads.latest(bench.tree, bench.key("b")) is not None
    version = reads.version(bench.tree, bench.key("a"), 1)
    assert version is not None
    assert version.name == "a"


def test_names_that_lead_in_a_circle_lead_nowhere(bench: Bench) -> None:
    save(bench.holdings, bench.key("a"), "x", bench.draft())
    rename(bench.holdings, bench.key("a"), "b")
    word = bench.path("a", 2, "metadata.yaml").read_text()
    bench.path("b", "2").mkdir()
    bench.path("b", 2, "metadata.yaml").write_text(word.replace('"b"', '"a"').replace('name: "a"', 'name: "b"'))
    bench.path("b", "latest").write_text("2")
    assert reads.latest(bench.tree, bench.key("a")) is None


@pytest.mark.parametrize("name", ["../x", "latest", "/etc/passwd", "none"])
def test_a_name_that_leads_to_no_data_is_in_nobodys_way(bench: Bench, name: str) -> None:
    save(bench.holdings, bench.key("a"), "x", bench.draft())
    rename(bench.holdings, bench.key("a"), "b")
    path = bench.path("a", 2, "metadata.yaml")
    path.write_text(path.read_text().replace('renamedTo: "b"', f'renamedTo: "{name}"'))
    assert reads.latest(bench.tree, bench.key("a")) is None
    stranger = bench.draft(owner=Owner(owner_type=OwnerType.MANUAL, owner_ref="x"))
    with pytest.raises(Conflict):
        save(bench.holdings, bench.key("a"), "y", stranger)
    assert save(bench.holdings, bench.key("a"), "y", bench.draft()).version == 3


def test_a_name_may_go_back_to_where_it_came_from(bench: Bench) -> None:
    save(bench.holdings, bench.key("a"), "x", bench.draft())
    rename(bench.holdings, bench.key("a"), "b")
    assert rename(bench.holdings, bench.key("b"), "a").version == 3
    found = reads.latest(bench.tree, bench.key("b"))
    assert found is not None
    assert (found.key, found.artifact.version) == (bench.key("a"), 3)


def test_writing_to_the_old_name_is_up_to_the_owner_of_the_new_one(bench: Bench) -> None:
    save(bench.holdings, bench.key("old"), "x", bench.draft())
    rename(bench.holdings, bench.key("old"), "new")
    with pytest.raises(Conflict):
        save(
            bench.holdings,
            bench.key("old"),
            "x",
            bench.draft(owner=Owner(owner_type=OwnerType.MANUAL, owner_ref="x")),
        )
    assert save(bench.holdings, bench.key("old"), "y", bench.draft()).version == 3


def test_only_what_is_there_can_be_renamed_and_only_to_what_is_not(bench: Bench) -> None:
    with pytest.raises(NotFound) as caught:
        rename(bench.holdings, bench.key("none"), "new")
    assert caught.value.kind is ErrorKind.DATA_MISSING
    for name in ("a", "b", "gone"):
        save(bench.holdings, bench.key(name), name, bench.draft())
    with pytest.raises(Conflict) as taken:
        rename(bench.holdings, bench.key("a"), "b")
    assert taken.value.kind is ErrorKind.ALREADY_EXISTS
    mark_deleted(bench.holdings, bench.key("gone"), bench.owner, method="delete")
    with pytest.raises(NotFound, match="deleted"):
        rename(bench.holdings, bench.key("gone"), "c")
    assert rename(bench.holdings, bench.key("a"), "gone").version == 3
    with pytest.raises(NotFound, match="renamed to 'gone'"):
        rename(bench.holdings, bench.key("a"), "d")
    with pytest.raises(UsageError):
        rename(bench.holdings, bench.key("b"), "latest")
    with pytest.raises(Conflict):
        rename(bench.holdings, bench.key("b"), "b")


def test_content_that_is_not_here_cannot_be_copied(bench: Bench) -> None:
    save(bench.holdings, bench.key("a"), "x", bench.draft())
    bench.path("a", 1, "raw").unlink()
    with pytest.raises(NotFound) as caught:
        rename(bench.holdings, bench.key("a"), "b")
    assert caught.value.kind is ErrorKind.CONTENT_MISSING
    assert not bench.path("b").exists()


@pytest.mark.parametrize("earlier", [0, 1])
def test_a_rename_whose_second_half_fails_is_undone(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, earlier: int
) -> None:
    save(bench.holdings, bench.key("old"), "x", bench.draft())
    if earlier:
        save(bench.holdings, bench.key("new"), "x", bench.draft())
        mark_deleted(bench.holdings, bench.key("new"), bench.owner, method="delete")
    before = bench.files()
    replace = os.replace

    def failing(source: str, target: str) -> None:
        if "/old/" in target:
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(BayouError):
        rename(bench.holdings, bench.key("old"), "new")
    monkeypatch.undo()
    assert bench.files() == before
    assert bench.latest_rows("old") == [1]
    assert bench.latest_rows("new") == ([2] if earlier else [])
    assert bench.path("new").exists() is bool(earlier)


def test_the_old_name_can_be_deleted_for_good(bench: Bench) -> None:
    save(bench.holdings, bench.key("old"), "x", bench.draft())
    rename(bench.holdings, bench.key("old"), "new")
    assert delete(bench.holdings, bench.key("old")) == [1, 2]
    assert reads.latest(bench.tree, bench.key("old")) is None
    assert reads.latest(bench.tree, bench.key("new")) is not None
