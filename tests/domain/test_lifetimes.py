"""Lifetimes: what expires when, and what never does without proof (repository spec 2.2)."""

from datetime import UTC, datetime, timedelta
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.domain.durations import Duration
from bayou.domain.lifetimes import Bound, Expired, expires_at, expiry, normalised_lifetime, parse_lifetime
from bayou.errors import UsageError

CREATED = datetime(2026, 4, 2, 9, 15, tzinfo=UTC)
MUCH_LATER = CREATED + timedelta(days=100_000)


def must_not_be_asked() -> NoReturn:
    pytest.fail("the run was looked up although the lifetime is not bound to one")


@pytest.mark.parametrize("text", ["1h", "5m", "10d", "2w", "1mo", "10y", "01d", "007h", *Bound])
def test_stays_as_it_was_written(text: str) -> None:
    assert normalised_lifetime(text) == text


@pytest.mark.parametrize("text", ["0h", "0d", "0mo", "00w", "0m", "0y"])
def test_no_time_at_all_becomes_workflow(text: str) -> None:
    assert parse_lifetime(text) is Bound.WORKFLOW
    assert normalised_lifetime(text) == "workflow"


@pytest.mark.parametrize("text", ["", "forever", "Infinite", "1x", "-1d", "1d ", "workflow\n"])
def test_refuses(text: str) -> None:
    with pytest.raises(UsageError):
        parse_lifetime(text)


@given(st.integers(1, 10**4), st.sampled_from(["m", "h", "d", "w", "mo"]), st.integers(-10, 10))
def test_a_duration_expires_by_the_clock_alone(number: int, unit: str, off: int) -> None:
    lifetime = parse_lifetime(f"{number}{unit}")
    end = expires_at(lifetime, CREATED)
    assert isinstance(lifetime, Duration)
    assert end == CREATED + timedelta(seconds=lifetime.seconds)
    now = end + timedelta(microseconds=off)
    found = expiry(lifetime, created_at=CREATED, now=now, run_is_gone=must_not_be_asked)
    assert found is (Expired.DURATION if off > 0 else None)


@pytest.mark.parametrize("lifetime", list(Bound))
def test_what_is_bound_has_no_computed_expiry(lifetime: Bound) -> None:
    assert expires_at(lifetime, CREATED) is None


@pytest.mark.parametrize("lifetime", [Bound.INFINITE, Bound.EPHEMERAL])
def test_never_expires_on_disk(lifetime: Bound) -> None:
    assert expiry(lifetime, created_at=CREATED, now=MUCH_LATER, run_is_gone=must_not_be_asked) is None


@pytest.mark.parametrize(("lifetime", "reason"), [(Bound.WORKFLOW, Expired.WORKFLOW), (Bound.JOB, Expired.JOB)])
def test_expires_with_its_run_whatever_the_time(lifetime: Bound, reason: Expired) -> None:
    for now in (CREATED, MUCH_LATER):
        assert expiry(lifetime, created_at=CREATED, now=now, run_is_gone=lambda: True) is reason
        assert expiry(lifetime, created_at=CREATED, now=now, run_is_gone=lambda: False) is None


def test_reasons_read_as_existing_clients_print_them() -> None:
    assert set(Expired) == {"duration-expired", "workflow-deleted", "job-deleted"}
