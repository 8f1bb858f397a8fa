"""Retention: which versions may go (repository spec 2.3)."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.domain.durations import parse_duration
from bayou.domain.retention import KeepFor, KeepNewest, Policy, parse_policy, versions_to_drop
from bayou.errors import UsageError

NOW = datetime(2026, 4, 2, 9, 15, tzinfo=UTC)

ages = st.none() | st.integers(-5, 400).map(lambda days: NOW - timedelta(days=days))
histories = st.dictionaries(st.integers(1, 30), ages, max_size=12)
policies: st.SearchStrategy[Policy] = st.integers(1, 15).map(parse_policy) | st.integers(1, 300).map(
    lambda days: parse_policy(f"{days}d")
)


def days_ago(**versions: int) -> dict[int, datetime | None]:
    return {int(version[1:]): NOW - timedelta(days=days) for version, days in versions.items()}


@pytest.mark.parametrize(
    ("value", "policy"),
    [
        (1, KeepNewest(1)),
        (10, KeepNewest(10)),
        ("01d", KeepFor(parse_duration("1d"))),
        ("2w", KeepFor(parse_duration("14d"))),
    ],
)
def test_parses(value: int | str, policy: Policy) -> None:
    assert parse_policy(value) == policy


@pytest.mark.parametrize("value", [0, -1, True, "0d", "00d", "10", "", "workflow", "-1d"])
def test_refuses_to_keep_nothing(value: int | str) -> None:
    with pytest.raises(UsageError):
        parse_policy(value)


def test_keeps_the_newest_by_number_not_by_age() -> None:
    assert versions_to_drop(days_ago(v1=1, v2=9, v3=5, v10=7), KeepNewest(2), NOW) == [1, 2]


def test_drops_what_is_older_than_the_policy() -> None:
    assert versions_to_drop(days_ago(v1=31, v2=30, v3=29, v4=31, v5=0), parse_policy("30d"), NOW) == [1, 4]


def test_keeps_the_highest_however_old_it_is() -> None:
    assert versions_to_drop(days_ago(v1=400, v2=300), parse_policy("1d"), NOW) == [1]
    assert versions_to_drop(days_ago(v1=400), parse_policy("1d"), NOW) == []
    assert versions_to_drop({}, parse_policy(1), NOW) == []


def test_keeps_what_has_no_known_age() -> None:
    assert versions_to_drop({1: None, 2: NOW - timedelta(days=9), 3: NOW}, parse_policy("1d"), NOW) == [2]


@given(histories, policies, st.sets(st.integers(1, 30), max_size=4))
def test_never_drops_the_highest_nor_what_is_still_reached(
    history: dict[int, datetime | None], policy: Policy, keep: set[int]
) -> None:
    dropped = versions_to_drop(history, policy, NOW, keep=keep)
    assert dropped == sorted(dropped)
    assert set(dropped) <= history.keys() - keep
    assert not history or max(history) not in dropped
    if not keep and isinstance(policy, KeepNewest):
        assert len(history) - len(dropped) == min(policy.count, len(history))


@given(histories, policies)
def test_dropping_twice_drops_nothing_more(history: dict[int, datetime | None], policy: Policy) -> None:
    dropped = versions_to_drop(history, policy, NOW)
    left = {version: age for version, age in history.items() if version not in dropped}
    assert versions_to_drop(left, policy, NOW) == []
