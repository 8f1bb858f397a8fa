"""Streaming data grows in place (repository spec 1.4)."""

import os
from pathlib import Path

import pytest

from bayou.domain.artifacts import Owner, OwnerType
from bayou.errors import BayouError, Conflict, ErrorKind, NotFound, UsageError
from bayou.repository import reads
from bayou.repository.deletions import mark_deleted
from bayou.repository.renames import rename
from bayou.repository.saving import save
from bayou.repository.streams import append
from bayou.testing.bench import Bench


def stream(bench: Bench, text: str = "one\n") -> None:
    save(bench.holdings, bench.key("log"), text, bench.draft(streaming=True))


def test_what_is_appended_is_at_the_end_and_makes_no_new_version(bench: Bench) -> None:
    stream(bench)
    first = reads.version(bench.tree, bench.key("log"), 1)
    bench.clock.pass_days(1)
    append(bench.holdings, bench.key("log"), "two\n", bench.owner)
    append(bench.holdings, bench.key("log"), b"three\n", bench.owner)
    artifact = append(bench.holdings, bench.key("log"), iter([b"fo", b"ur\n"]), bench.owner)
    assert bench.path("log", 1, "raw").read_text() == "one\ntwo\nthree\nfour\n"
    assert reads.versions(bench.tree, bench.key("log")) == [1]
    assert first is not None
    assert (artifact.size, artifact.checksum, artifact.created_at) == (19, None, first.created_at)
    assert (artifact.id, artifact.version) == (first.id, 1)
    assert "checksum" not in bench.path("log", 1, "metadata.yaml").read_text()
    assert bench.rows("log")[1].artifact == artifact


def test_an_append_shows_in_the_time_of_the_folder(bench: Bench) -> None:
    stream(bench)
    os.utime(bench.path("log"), ns=(1, 1))
    append(bench.holdings, bench.key("log"), "two\n", bench.owner)
    assert bench.path("log").stat().st_mtime_ns > 1


def test_only_streaming_data_is_appended_to(bench: Bench) -> None:
    save(bench.holdings, bench.key(), "one", bench.draft())
    with pytest.raises(UsageError, match="not streaming"):
        append(bench.holdings, bench.key(), "two", bench.owner)
    assert bench.path("state", 1, "raw").read_text() == "one"


def test_nothing_is_appended_to_what_is_not_there_or_is_deleted(bench: Bench) -> None:
    with pytest.raises(NotFound) as caught:
        append(bench.holdings, bench.key("log"), "x", bench.owner)
    assert caught.value.kind is ErrorKind.DATA_MISSING
    stream(bench)
    mark_deleted(bench.holdings, bench.key("log"), bench.owner, method="delete")
    with pytest.raises(NotFound):
        append(bench.holdings, bench.key("log"), "x", bench.owner)


def test_only_the_owner_appends(bench: Bench) -> None:
    stream(bench)
    with pytest.raises(Conflict):
        append(bench.holdings, bench.key("log"), "x", Owner(owner_type=OwnerType.MANUAL, owner_ref="x"))
    assert bench.path("log", 1, "raw").read_text() == "one\n"


def test_appending_follows_a_rename(bench: Bench) -> None:
    stream(bench)
    rename(bench.holdings, bench.key("log"), "journal")
    append(bench.holdings, bench.key("log"), "two\n", bench.owner)
    assert bench.path("journal", 1, "raw").read_text() == "one\ntwo\n"
    assert bench.path("log", 1, "raw").read_text() == "one\n"


def test_who_dies_while_appending_leaves_no_checksum_that_would_be_wrong(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream(bench)
    replace = os.replace

    def dying(source: str, target: str) -> None:
        if target.endswith("metadata.yaml") and Path(target).with_name("raw").read_text() != "one\n":
            raise ZeroDivisionError
        replace(source, target)

    monkeypatch.setattr(os, "replace", dying)
    with pytest.raises(ZeroDivisionError):
        append(bench.holdings, bench.key("log"), "two\n", bench.owner)
    monkeypatch.undo()
    found = reads.latest(bench.tree, bench.key("log"))
    assert found is not None
    assert found.artifact.checksum is None
    assert append(bench.holdings, bench.key("log"), "three\n", bench.owner).size == 14


def test_a_full_disk_adds_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    stream(bench)
    write = os.write

    def full(fd: int, data: bytes) -> int:
        if bytes(data) == b"two\n":
            return write(fd, b"t")
        if bytes(data) == b"wo\n":
            raise OSError(28, "No space left on device")
        return write(fd, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(BayouError) as caught:
        append(bench.holdings, bench.key("log"), "two\n", bench.owner)
    assert caught.value.kind is ErrorKind.STORE_FULL
    monkeypatch.undo()
    assert bench.path("log", 1, "raw").read_text() == "one\n"
    assert append(bench.holdings, bench.key("log"), "two\n", bench.owner).size == 8
