"""The expected texts were printed by `JSON.stringify` and `Array.prototype.sort` in V8."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.wire.javascript import compact, in_key_order, pretty, utf16_order

CONTROLS = "".join(map(chr, range(32)))

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            CONTROLS,
            (
                r"\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f"
                r"\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f"
            ),
        ),
        ('"', r"\""),
        ("\\", r"\\"),
        ("/", "/"),
        ("\x7f", "\x7f"),
        ("\x80", "\x80"),
        ("\u2028\u2029", "\u2028\u2029"),
        ("ü", "ü"),
        ("\U0001f600", "\U0001f600"),
        ("\ufeff", "\ufeff"),
        ("\ud800", r"\ud800"),
        ("\udfff", r"\udfff"),
        ("\ude00\ud83d", r"\ude00\ud83d"),
        ("\ud800\x1f\x7fü\\", r"\ud800\u001f" + "\x7fü" + r"\\"),
    ],
    ids=ascii,
)
def test_strings_are_escaped_as_in_javascript(text: str, expected: str) -> None:
    assert compact(text) == f'"{expected}"'.encode()
    assert compact({text: text}) == f'{{"{expected}":"{expected}"}}'.encode()
    assert pretty([text]) == f'[\n  "{expected}"\n]'.encode()


def test_a_lone_surrogate_inside_a_form_is_escaped_too() -> None:
    class Form(msgspec.Struct, rename="camel", omit_defaults=True):
        some_text: str
        more: str | None = None

    assert compact([Form("\udc00 é")]) == '[{"someText":"\\udc00 é"}]'.encode()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], "[]"),
        ({}, "{}"),
        ({"a": [], "b": {}}, '{\n  "a": [],\n  "b": {}\n}'),
        (
            {"a": [], "c": [1, {"x": []}]},
            '{\n  "a": [],\n  "c": [\n    1,\n    {\n      "x": []\n    }\n  ]\n}',
        ),
        ({"a": "[,:{"}, '{\n  "a": "[,:{"\n}'),
    ],
    ids=str,
)
def test_the_pretty_form_is_that_of_javascript(value: object, expected: str) -> None:
    assert pretty(value) == expected.encode()


def test_array_indices_come_first_and_ascending() -> None:
    inserted = ["b", "10", "2", "01", "-1", "4294967294", "4294967295", "1.5", "", "a", "0", "٣", "²"]
    expected = ["0", "2", "10", "4294967294", "b", "01", "-1", "4294967295", "1.5", "", "a", "٣", "²"]
    assert list(in_key_order(dict.fromkeys(inserted))) == expected


def test_an_order_without_array_indices_is_left_alone() -> None:
    mapping = {"b": 1, "a": 2}
    assert in_key_order(mapping) is mapping


def test_text_is_sorted_by_utf_16_code_units() -> None:
    # In code points U+1F600 comes after U+FFEE; in UTF-16 its first half is D83D.
    mixed = ["b", "a", "\U0001f600", "\uffee", "Z", "_", "é"]
    assert sorted(mixed, key=utf16_order) == ["Z", "_", "a", "b", "é", "\U0001f600", "\uffee"]


def test_lone_surrogates_can_be_sorted() -> None:
    assert sorted(["\uffee", "\ud800"], key=utf16_order) == ["\ud800", "\uffee"]


@given(json_values)
def test_compact_and_pretty_say_the_same(value: object) -> None:
    assert json.loads(compact(value)) == json.loads(pretty(value)) == value


@given(st.text(st.characters()))
def test_every_text_survives(text: str) -> None:
    # `st.characters()` includes lone surrogates.
    assert json.loads(compact(text)) == text
