"""Durations: linear, exact, and never beyond what Python's calendar can do."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.domain.durations import is_duration, parse_duration
from bayou.errors import UsageError

UNITS = ("m", "h", "d", "w", "mo", "y")
START = datetime(2026, 4, 2, 9, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1m", 60),
        ("5m", 300),
        ("1h", 3600),
        ("10d", 864_000),
        ("2w", 1_209_600),
        ("1mo", 30 * 86_400),
        ("10y", 3650 * 86_400),
        ("01d", 86_400),
        ("007h", 7 * 3600),
        ("0h", 0),
    ],
)
def test_parses(text: str, seconds: int) -> None:
    duration = parse_duration(text)
    assert duration.seconds == seconds
    assert str(duration) == text


@pytest.mark.parametrize(
    "text",
    ["", " ", "1", "d", "-1d", "+1d", "1 d", " 1d", "1d ", "1d\n", "1s", "1D", "1.5d", "1d2h", "\u0661d", "1mo1"],
)
def test_refuses(text: str) -> None:
    assert not is_duration(text)
    with pytest.raises(UsageError):
        parse_duration(text)


@given(st.integers(0, 10**20), st.integers(1, 10**20), st.sampled_from(UNITS))
def test_is_linear_and_strictly_monotonic(number: int, more: int, unit: str) -> None:
    one = parse_duration(f"1{unit}").seconds
    assert parse_duration(f"{number}{unit}").seconds == number * one
    assert parse_duration(f"{number}{unit}") < parse_duration(f"{number + more}{unit}")


def test_units_are_ordered() -> None:
    durations = [parse_duration(f"1{unit}") for unit in UNITS]
    assert durations == sorted(durations)
    assert len(set(durations)) == len(UNITS)


def test_only_the_length_is_compared() -> None:
    assert parse_duration("60m") == parse_duration("1h")
    assert hash(parse_duration("60m")) == hash(parse_duration("1h"))


@given(st.integers(1, 10**9), st.sampled_from(UNITS))
def test_is_over_only_after_its_last_moment(number: int, unit: str) -> None:
    duration = parse_duration(f"{number}{unit}")
    end = duration.after(START)
    if end is None:
        assert not duration.is_over(START, datetime.max.replace(tzinfo=UTC))
    else:
        assert not duration.is_over(START, end)
        assert duration.is_over(START, end + timedelta(microseconds=1))


@pytest.mark.parametrize("text", ["9999y", "9" * 64 + "y"])
def test_what_ends_beyond_the_calendar_never_ends(text: str) -> None:
    duration = parse_duration(text)
    assert duration.after(START) is None
    assert not duration.is_over(START, datetime.max.replace(tzinfo=UTC))


def test_a_clock_that_is_behind_ends_nothing() -> None:
    assert not parse_duration("0m").is_over(START, START - timedelta(days=1))


@given(st.integers(1, 10**12), st.sampled_from(UNITS), st.integers(-(10**15), 10**15))
def test_the_last_moment_that_is_over_is_followed_by_one_that_is_not(number: int, unit: str, at: int) -> None:
    duration = parse_duration(f"{number}{unit}")
    now = START + timedelta(microseconds=at)
    last = duration.over_until(now)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    for milliseconds, is_over in ((last, True), (last + 1, False)):
        try:
            since = epoch + timedelta(milliseconds=milliseconds)
        except OverflowError:
            continue
        assert duration.is_over(since, now) is is_over
