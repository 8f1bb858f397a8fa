"""Deferred writes are nobody's latest until they are advanced."""

import os
from collections.abc import Callable

import pytest

from bayou.errors import BayouError
from bayou.repository import reads
from bayou.repository.deferred import Deferred
from bayou.repository.saving import Allocation, save
from bayou.testing.bench import Bench


def latest(bench: Bench, name: str = "state") -> int | None:
    found = reads.latest(bench.tree, bench.key(name))
    return found.artifact.version if found else None


def test_a_first_version_is_nobodys_latest_until_it_is_advanced(bench: Bench) -> None:
    deferred = Deferred(bench.holdings)
    deferred.save(bench.key(), "one", bench.draft())
    assert bench.path("state", "latest").read_bytes() == b"0"
    assert (latest(bench), bench.latest_rows(), list(bench.rows())) == (None, [], [1])
    assert deferred.advance() == []
    assert (latest(bench), bench.latest_rows()) == (1, [1])


def test_the_latest_stays_until_the_next_is_advanced(bench: Bench) -> None:
    save(bench.holdings, bench.key(), "one", bench.draft())
    deferred = Deferred(bench.holdings)
    deferred.save(bench.key(), "two", bench.draft())
    assert (latest(bench), bench.latest_rows()) == (1, [1])
    deferred.advance()
    assert (latest(bench), bench.latest_rows()) == (2, [2])


def test_without_a_marker_the_latest_of_before_stays_too(bench: Bench) -> None:
    save(bench.holdings, bench.key(), "one", bench.draft())
    bench.path("state", "latest").unlink()
    Deferred(bench.holdings).save(bench.key(), "two", bench.draft())
    assert (latest(bench), bench.latest_rows()) == (1, [1])


def test_what_is_rolled_back_was_never_there(bench: Bench) -> None:
    save(bench.holdings, bench.key(), "one", bench.draft())
    before = bench.files()

    def fail() -> None:
        with Deferred(bench.holdings) as deferred:
            deferred.save(bench.key(), "two", bench.draft())
            deferred.save(bench.key("new"), "one", bench.draft())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert bench.files() == before
    assert (latest(bench), list(bench.rows()), bench.rows("new")) == (1, [1], {})
    assert not bench.path("new").exists()


def test_all_went_well_advances(bench: Bench) -> None:
    with Deferred(bench.holdings) as deferred:
        deferred.save(bench.key("a"), "one", bench.draft())
        deferred.save(bench.key("b"), iter([b"streamed"]), bench.draft())
        with Allocation(bench.holdings, bench.key("c"), bench.draft()) as allocation:
            deferred.take(bench.key("c"), allocation.finalize(advance=False))
        assert [latest(bench, name) for name in "abc"] == [None, None, None]
    assert [latest(bench, name) for name in "abc"] == [1, 1, 1]


def test_advancing_never_moves_the_latest_backwards(bench: Bench) -> None:
    deferred = Deferred(bench.holdings)
    deferred.save(bench.key(), "one", bench.draft())
    save(bench.holdings, bench.key(), "two", bench.draft())
    deferred.advance()
    assert (latest(bench), bench.latest_rows()) == (2, [2])


def test_rolling_back_spares_what_others_wrote_meanwhile(bench: Bench) -> None:
    deferred = Deferred(bench.holdings)
    deferred.save(bench.key(), "one", bench.draft())
    save(bench.holdings, bench.key(), "two", bench.draft())
    deferred.rollback()
    assert (latest(bench), reads.versions(bench.tree, bench.key()), list(bench.rows())) == (2, [2], [2])


def test_one_that_cannot_be_advanced_holds_up_no_other(
    make_bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = make_bench(durable=True)
    deferred = Deferred(bench.holdings)
    for name in "abc":
        deferred.save(bench.key(name), name, bench.draft())
    replace = os.replace

    def failing(source: str, target: str) -> None:
        if target.endswith("/b/latest"):
            raise PermissionError(13, "Permission denied")
        replace(source, target)

    monkeypatch.setattr(os, "replace", failing)
    (error,) = deferred.advance()
    assert "b/latest" in str(error)
    assert [latest(bench, name) for name in "abc"] == [1, None, 1]


def test_leaving_the_block_says_what_could_not_be_advanced(
    make_bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = make_bench(durable=True)

    def refuse(*_: str) -> None:
        raise PermissionError(13, "Permission denied")

    def write() -> None:
        with Deferred(bench.holdings) as deferred:
            deferred.save(bench.key(), "x", bench.draft())
            monkeypatch.setattr(os, "replace", refuse)

    with pytest.raises(BayouError, match="latest"):
        write()
