"""The fast reader of YAML: it answers with what the whole parser says, or not at all."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bayou.wire.yamldocument import Fault, load
from bayou.wire.yamllines import read
from bayou.wire.yamltext import lines

# What somebody may have written after a colon or a dash, in every style.
STYLES = [
    *(
        "a",
        "web-01",
        "a.b/c@d",
        "nightly run, of (all)",
        "x - y",
        "x=1",
        "a -",
        "a,",
        "-a",
        "@a",
        "/etc/hosts",
        "_",
        "é",
    ),
    *("null", "Null", "~", "", "true", "True", "TRUE", "false", "yes", "no", "on", "OFF", "y", "N"),
    *(
        "0",
        "7",
        "-7",
        "+1",
        "010",
        "0o17",
        "0x10",
        "0b1",
        "1_000",
        "1.5",
        ".5",
        "5.",
        "-0",
        "-0.0",
        "1e5",
        "1E+5",
        "1e",
        "1e400",
    ),
    *(
        "123456789012345",
        "1234567890123456",
        "99999999999999999999",
        "1.2.3",
        "2026.03.01.1",
        "12:30:00",
        "-",
        "--",
        "-1-2",
    ),
    *(
        "2026-04-02",
        "2026-04-02T09:15:00.125Z",
        "20260402",
        "9f86d081",
        "5e12",
        "3d0a6f0e-6f0c-4a55-9c1f-0d3c9b0f6a11",
    ),
    *(
        ".inf",
        "-.inf",
        ".nan",
        "Infinity",
        "NaN",
        "<<",
        "=",
        "!!str 5",
        "&a b",
        "*a",
        "!x y",
        "%a",
        "`a",
        "a: b",
        "a:",
        "a#b",
        "a #b",
    ),
    *(
        '""',
        '"a"',
        '"a b: c #d"',
        r'"\n\t\"\\\u00e9"',
        r'"\x41"',
        r'"\U0001f600"',
        r'"\ud83d\ude00"',
        r'"\/"',
        r'"\e"',
        '"a',
        'a"',
        '"a" b',
        '"a" # c',
    ),
    *("''", "'a'", "'it''s'", "'''", "''''", "'a''", "'a' 'b'", "'a' # c", "'\"'"),
    *(
        "{}",
        "[]",
        "[1, 2]",
        '["a", -1.5, null, true]',
        '{"a": {"b": []}}',
        '{"a":1}',
        "{a: 1}",
        "[a, b]",
        "[1,]",
        '{"a": 1, "a": 2}',
        "[NaN]",
        "[1",
        "[1] 2",
    ),
    *(
        "[12345678901234567890]",
        '["\\ud83d\\ude00"]',
        '{"<<": 1}',
        "[" * 40 + "]" * 40,
        "[" * 120 + "]" * 120,
        "[[1]] # c",
        "[0x10]",
        "[01]",
        "[1.]",
    ),
    *("|\n  text\n  more", ">-\n    folded\n    text", "|-\n  a", "two\n  lines", '"two\n  lines"', "# nothing"),
    *(
        "\ufeff",
        '"\ufeff"',
        '"a\u2028b"',
        '"\x85"',
        "'\x9f'",
        '"\u00a0"',
        "\ta",
        '"a\tb"',
        '"\x00"',
        '"\ud7ff\ue000"',
        '"\ufffe"',
        "a ",
        " a",
        "a\r",
    ),
    '"' + "x" * 2000 + '"',
]
SCALARS = st.sampled_from(STYLES)
STYLES_OF_KEYS = [
    *(
        "a",
        "b",
        "tags",
        "a.b",
        "a-b",
        "a/b",
        "y",
        "no",
        "null",
        "Null",
        "true",
        "False",
        "~",
        "1",
        "0x1",
        "<<",
        "a b",
        "é",
        "=",
        "? a",
        "- a",
    ),
    *(
        '"a"',
        '"a b"',
        '"a: b"',
        '""',
        r'"\u0061"',
        "'a'",
        "'it''s'",
        "'1'",
        '"null"',
        "'#'",
        "*a",
        "&a b",
        "!x a",
        "k" * 300,
        '"' + "k" * 1100 + '"',
        '"<<"',
    ),
]
KEYS = st.sampled_from(STYLES_OF_KEYS)
SEPARATORS = st.sampled_from([": "] * 8 + [":", ":  ", ":\t", " : ", ": \n"])
INDENTS = st.sampled_from(["", "  ", "    ", "      "] * 6 + [" ", "   ", "\t"])
ENDS = st.sampled_from(
    ["\n"] * 12 + ["\r\n", "\n\n", " \n", " # c\n", "\n# c\n", "\n---\n", "\n...\n", "", "\u2028", "\x85"]
)


@st.composite
def line_texts(draw: st.DrawFn) -> str:
    dash = draw(st.sampled_from(["", "", "", "- ", "-", "-  ", "- - "]))
    body = draw(
        st.tuples(KEYS, SEPARATORS, SCALARS).map("".join)
        | KEYS.map(lambda key: f"{key}:")
        | (SCALARS if dash else st.nothing())
    )
    return draw(INDENTS) + dash + body + draw(ENDS)


TEXTS = st.lists(line_texts(), min_size=1, max_size=5).map("".join)
ODD = st.text(st.sampled_from("ab:-'\"#[]{},&*!|>%@`~0123.eE+_ \n\t\r\u2028\x85\ufeffé\x00"), max_size=24)


def agrees(text: str) -> bool:
    """Whether the fast reader has answered."""
    found = read(text)
    if found is None:
        return False
    # repr, because 1 == True == 1.0, which in YAML are three values.
    assert repr(found) == repr(load(text))
    return True


@given(TEXTS)
@example("tags:\n")
@example("tags:\n  a: b\nname:\n")
@example("a:\n- b\n")
@example("a: \n  b: 1\n")
@example("a: 1\na: 2\n")
@example("a:\n  - b: 1\n    c:\n      - d\n  - e: 2\nf: 3\n")
def test_an_answer_is_what_the_whole_parser_says(text: str) -> None:
    agrees(text)


@given(ODD | st.text())
def test_an_answer_to_odd_text_is_what_the_whole_parser_says(text: str) -> None:
    agrees(text)


@pytest.mark.parametrize("key", STYLES_OF_KEYS, ids=ascii)
def test_each_style_of_key_and_value_means_what_the_whole_parser_says(key: str) -> None:
    for value in STYLES:
        agrees(f"before: 1\n{key}: {value}\nafter: 2\n")
        agrees(f"block:\n  {key}: {value}\n  z: 1\nafter: 2\n")
        agrees(f"items:\n  - {value}\n  - {key}: {value}\n    z: 1\nafter: 2\n")


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)
_DOCUMENTS = st.dictionaries(_TEXT, _VALUES, min_size=1, max_size=5)


@given(_DOCUMENTS)
def test_what_we_write_is_read_back(document: dict[str, object]) -> None:
    assert repr(load(lines(document))) == repr(document)
    agrees(lines(document))


def test_what_records_are_made_of_is_answered_without_the_parser() -> None:
    document = {
        "id": "3d0a6f0e-6f0c-4a55-9c1f-0d3c9b0f6a11",
        "exitCode": -1,
        "ratio": 0.25,
        "done": True,
        "nothing": None,
        "empty": {},
        "none": [],
        "tags": {"type": "resource", "a b": 'with "quotes" and \\ and\nlines \u2028'},
        "jobs": [
            {"jobName": "j", "steps": [{"stepName": "s", "output": {"a": [1, 2.5, None]}}, {"stepName": "t"}]},
            "x",
        ],
    }
    assert read(lines(document)) == document


@pytest.mark.parametrize("depth", [20, 40, 99, 101, 3000])
def test_no_depth_is_too_much(depth: int) -> None:
    blocks = "".join(f"{'  ' * level}a:\n" for level in range(depth)) + "  " * depth + "a: 1\n"
    for text in (blocks, f"a: {'[' * depth}{']' * depth}\n"):
        try:
            agrees(text)
        except Fault:
            pytest.fail("the parser refuses what the fast reader takes")


@pytest.mark.parametrize("text", ["", "\n", "a", "a: 1", "- a\n", "--- \n", "{}\n", "a: 1\n\n", "\ufeffa: 1\n"])
def test_no_mapping_in_lines_is_no_answer(text: str) -> None:
    assert read(text) is None


def test_a_float_that_no_float_can_hold_is_infinite_to_both() -> None:
    assert read("a: 1e400\n") == load("a: 1e400\n") == {"a": math.inf}
