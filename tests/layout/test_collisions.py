"""Collisions: what some disks would take for one name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.layout.collisions import collisions
from bayou.testing.strategies import safe_paths


@pytest.mark.parametrize(
    ("paths", "groups"),
    [
        ([], []),
        (["a/b", "a/c"], []),
        (["a/b", "a/b"], []),
        (["a/x", "a/X"], [("a/X", "a/x")]),
        (["a/x", "A/y"], [("A/", "a/")]),
        (["a/x/1", "A/x/1", "a/X/1"], [("A/", "a/"), ("a/X/", "a/x/")]),
        (["caf\u00e9", "cafe\u0301"], [("cafe\u0301", "caf\u00e9")]),
        (["\u212b/x", "\u00c5/x", "\u00e5/x"], [("\u00c5/", "\u00e5/", "\u212b/")]),
        (["x/State/1/raw", "x/state/2/raw"], [("x/State/", "x/state/")]),
        (["a", "b/A"], []),
        (["a", "a/b"], [("a", "a/")]),
        (["x/a/b/c", "x/a"], [("x/a", "x/a/")]),
        (["a", "A/b", "a/c"], [("A/", "a", "a/")]),
        (["\u1fb7", "\u0391\u0342\u0345"], [("\u0391\u0342\u0345", "\u1fb7")]),
        (["e\u0327\u0301", "E\u0301\u0327"], [("E\u0301\u0327", "e\u0327\u0301")]),
    ],
)
def test_reports_where_paths_part(paths: list[str], groups: list[tuple[str, ...]]) -> None:
    assert collisions(paths) == groups


@given(st.lists(safe_paths(), max_size=8))
def test_the_order_of_paths_does_not_matter(paths: list[str]) -> None:
    assert collisions(paths) == collisions(reversed(paths))


@given(st.sets(safe_paths(), max_size=8))
def test_without_a_report_every_path_has_its_own_lower_case(paths: set[str]) -> None:
    if not collisions(paths):
        assert len({path.lower() for path in paths}) == len(paths)


@given(safe_paths())
def test_a_path_in_another_case_is_reported(path: str) -> None:
    other = path.swapcase()
    if other.lower() == path.lower() and other != path:
        assert len(collisions([path, other])) == 1
