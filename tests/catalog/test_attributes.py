"""What of the JSON in a version can be searched, and what must be read to know."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.catalog.attributes import LONGEST_TEXT, MOST_KEYS, attributes_of, first_level

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), values, max_size=5), st.booleans()
)
def test_an_object_is_read_as_it_was_written(value: dict[str, object], ascii_only: bool) -> None:  # noqa: FBT001
    assert attributes_of(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", {}),
        (b"{", {}),
        (b"[1]", {}),
        (b'"text"', {}),
        (b'{"a":NaN}', {}),
        (b'{"a":1} {"b":2}', {}),
        (b"\xff\xfe{\x00}\x00", {}),
        (b"[" * 100_000, {}),
        (b'{"a":1,"a":2}', {"a": 2}),
        (b'\xef\xbb\xbf{"a":1}', {"a": 1}),
        (b'{"a":1e999,"b":-1E400,"c":[1e999]}', {"a": None, "b": None, "c": [None]}),
        (b'{"a":"\\ud800","b":"\\ud83d\\ude00","\\udc00":1}', {"a": "\ufffd", "b": "\U0001f600", "\ufffd": 1}),
        (b'{"a":18446744073709551616}', {"a": 2**64}),
        (b'{"a":2.0,"b":2,"c":1e2}', {"a": 2.0, "b": 2, "c": 100.0}),
    ],
)
def test_odd_content(content: bytes, expected: dict[str, object]) -> None:
    found = attributes_of(content)
    assert found == expected
    assert [type(value) for value in found.values()] == [type(value) for value in expected.values()]


def test_each_key_has_its_kind() -> None:
    value: dict[str, object] = {
        "a": True,
        "b": -(2**63),
        "c": 1.5,
        "d": "x",
        "e": None,
        "f": [1],
        "g": {"h": 1},
        "i": 2.0,
    }
    assert first_level(value) == (
        ("a", "bool", 1),
        ("b", "int", -(2**63)),
        ("c", "double", 1.5),
        ("d", "string", "x"),
        ("e", "null", None),
        ("f", "list", None),
        ("g", "map", None),
        ("i", "double", 2.0),
    )


@pytest.mark.parametrize(
    "value",
    [
        {"a": 2**63},
        {"a": -(2**63) - 1},
        {"a": "x" * (LONGEST_TEXT + 1)},
        {"x" * (LONGEST_TEXT + 1): 1},
        {"a": "x\0y"},
        {"x\0y": 1},
        {str(number): number for number in range(MOST_KEYS + 1)},
    ],
)
def test_what_the_tables_cannot_hold_must_be_read(value: dict[str, object]) -> None:
    assert first_level(value) is None


def test_the_limits_themselves_can_be_held() -> None:
    assert first_level({"a": 2**63 - 1, "b": "x" * LONGEST_TEXT})
    assert first_level({str(number): number for number in range(MOST_KEYS)})
