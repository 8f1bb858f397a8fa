from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.wire import times

MILLISECOND = 1_000_000


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (MILLISECOND - 1, "1970-01-01T00:00:00.000Z"),
        (1_999_999, "1970-01-01T00:00:00.001Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (1_793_607_330_120_999_999, "2026-11-02T08:15:30.120Z"),
        (253_402_300_799_999_000_000, "9999-12-31T23:59:59.999Z"),
        (10**30, "9999-12-31T23:59:59.999Z"),
        (-(10**30), "0001-01-01T00:00:00.000Z"),
    ],
)
def test_milliseconds_are_cut_off(nanoseconds: int, text: str) -> None:
    assert times.to_text(nanoseconds) == text


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("1970-01-01T00:00:00.001Z", 1),
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T01:00:00.000+01:00", 0),
        ("1970-01-01T00:00:00.002", 2),
        ("1970-01-01", 0),
        ("0001-01-01T00:00:00+23:59", -62_135_596_800_000 - (23 * 60 + 59) * 60_000),
        ("", None),
        ("yesterday", None),
        ("2026-02-30T00:00:00.000Z", None),
        ("\ud800", None),
    ],
    ids=ascii,
)
def test_any_iso_text_is_read(text: str, milliseconds: int | None) -> None:
    assert times.to_milliseconds(text) == milliseconds


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_time_survives_to_the_millisecond(moment: datetime) -> None:
    nanoseconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1000
    assert times.to_milliseconds(times.to_text(nanoseconds)) == nanoseconds // MILLISECOND


@given(st.text())
def test_no_text_is_too_strange(text: str) -> None:
    milliseconds = times.to_milliseconds(text)
    assert milliseconds is None or times.to_milliseconds(times.to_text(milliseconds * MILLISECOND)) == milliseconds
