"""A change to a YAML file touches the text of what changed, and nothing else."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.config import Hydration
from bayou.config.document import load
from bayou.config.editing import edited
from bayou.errors import UsageError
from bayou.wire.yamltext import lines

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(2**64) + 1, 2**64 - 1), st.floats(allow_nan=False), _TEXT)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=6,
)
_KEYS = st.sampled_from(["a", "autoGc", "b-c", "datastore", "no", "repoId", "tool", "tools", "x_1"])
_COMMENTS = st.sampled_from(["", "", "# why: {it} is [so]\n", "\n# \"quoted\": 'it'\n\n", "\n"])

_Chunk = tuple[str, str, object]


def _value_texts(indent: str) -> st.SearchStrategy[tuple[str, object]]:
    """One value as a person may write it: what follows the colon, up to the end of its last line, and what it means."""
    return st.sampled_from(
        [
            (" plain text  # a comment\n", "plain text"),
            (" 'it''s'\n", "it's"),
            (' "caf\\u00e9 \\U0001F600 😀" # ok\n', "café 😀 😀"),
            ("\n", None),
            (" # nothing here\n", None),
            (" 010\n", 10),
            (" no\n", "no"),
            (" true\n", True),
            (" 2026-11-02T08:15:29Z\n", "2026-11-02T08:15:29Z"),
            (" [a, 'b', {c: 1}] # list\n", ["a", "b", {"c": 1}]),
            (" {x: 1, y: [2]}\n", {"x": 1, "y": [2]}),
            (f" [a,\n{indent}   b]\n", ["a", "b"]),
            (f"\n{indent}- one # first\n{indent}# between\n{indent}- two\n", ["one", "two"]),
            (f" # list\n{indent}  - one\n{indent}  -\n", ["one", None]),
            (f"\n{indent}    deep: 1\n{indent}    # inner\n{indent}    er: x # end\n", {"deep": 1, "er": "x"}),
            (f" |\n{indent}  text\n{indent}   more\n", "text\n more\n"),
            (f" >-\n{indent}  folded\n{indent}  text\n", "folded text"),
            (f"\n{indent}  'on its own line'\n", "on its own line"),
            (f" two\n{indent}  lines\n", "two lines"),
        ]
    )


@st.composite
def _chunks(draw: st.DrawFn, indent: str = "", *, nested: bool = True) -> list[_Chunk]:
    chunks: list[_Chunk] = []
    for key in draw(st.lists(_KEYS, min_size=1, max_size=4, unique=True)):
        before = draw(_COMMENTS)
        if nested and draw(st.booleans()):
            inner = draw(_chunks(indent + "  ", nested=False))
            chunks.append((key, f"{before}{indent}{key}:\n{_text(inner)}", _values(inner)))
        else:
            after, value = draw(_value_texts(indent))
            chunks.append((key, f"{before}{indent}{key}:{after}", value))
    return chunks


def _text(chunks: list[_Chunk]) -> str:
    return "".join(text for _, text, _ in chunks)


def _values(chunks: list[_Chunk]) -> dict[str, object]:
    return {key: value for key, _, value in chunks}


def _loads_to(text: str, wanted: Mapping[str, object]) -> bool:
    # repr, because 1 == True == 1.0, which in YAML are three values.
    loaded = load(text, "file") or {}
    return isinstance(loaded, dict) and repr(_ordered(loaded)) == repr(_ordered(wanted))


def _ordered(value: object) -> object:
    """A key that is added comes last, wherever it was in what was wanted."""
    if isinstance(value, Mapping):
        return {key: _ordered(value[key]) for key in sorted(value)}
    return [_ordered(each) for each in value] if isinstance(value, list) else value


@given(_chunks())
def test_the_documents_of_these_tests_mean_what_they_say(chunks: list[_Chunk]) -> None:
    assert _loads_to(_text(chunks), _values(chunks))


@given(_chunks())
def test_a_change_to_what_it_says_already_is_no_change(chunks: list[_Chunk]) -> None:
    assert edited(_text(chunks), _values(chunks), "file") == _text(chunks)


@given(_chunks(), st.data())
def test_setting_one_key_keeps_every_other_byte(chunks: list[_Chunk], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(chunks) - 1))
    wanted = _values(chunks) | {chunks[at][0]: data.draw(_VALUES)}
    new = edited(_text(chunks), wanted, "file")
    assert _loads_to(new, wanted)
    before, after = _text(chunks[:at]), _text(chunks[at + 1 :])
    assert new.startswith(before)
    assert new.removeprefix(before).endswith(after)


@given(_chunks(), _KEYS, _VALUES)
def test_adding_a_key_keeps_every_byte(chunks: list[_Chunk], key: str, value: object) -> None:
    if key in _values(chunks):
        return
    wanted = _values(chunks) | {key: value}
    new = edited(_text(chunks), wanted, "file")
    assert _loads_to(new, wanted)
    assert new.startswith(_text(chunks).rstrip("\n"))


@given(_chunks(), st.data())
def test_removing_a_key_keeps_every_other_byte(chunks: list[_Chunk], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(chunks) - 1))
    wanted = _values(chunks[:at] + chunks[at + 1 :])
    new = edited(_text(chunks), wanted, "file")
    assert _loads_to(new, wanted)
    before, after = _text(chunks[:at]), _text(chunks[at + 1 :])
    assert new.startswith(before)
    assert new.removeprefix(before).endswith(after)


@given(_chunks(), st.data())
def test_setting_a_nested_key_keeps_every_other_byte(chunks: list[_Chunk], data: st.DataObject) -> None:
    inner = data.draw(_chunks("    ", nested=False))
    at = data.draw(st.integers(0, len(inner) - 1))
    text = f"{_text(chunks)}\n# where\nzz-datastore: # here\n{_text(inner)}# the end\n"
    changed = _values(inner) | {inner[at][0]: data.draw(_VALUES)}
    wanted = _values(chunks) | {"zz-datastore": changed}
    new = edited(text, wanted, "file")
    assert _loads_to(new, wanted)
    head = text[: text.index("# here\n") + 7]
    before, after = head + _text(inner[:at]), _text(inner[at + 1 :]) + "# the end\n"
    assert new.startswith(before)
    assert new.removeprefix(before).endswith(after)


@given(_chunks(), st.dictionaries(_KEYS, _VALUES, max_size=5), st.sampled_from([0, 1]))
def test_any_change_comes_out_exactly(chunks: list[_Chunk], wanted: dict[str, object], kept: int) -> None:
    wanted |= _values(chunks[kept::2])
    assert _loads_to(edited(_text(chunks), wanted, "file"), wanted)


@given(_chunks())
def test_windows_line_ends_stay(chunks: list[_Chunk]) -> None:
    text = _text(chunks).replace("\n", "\r\n")
    wanted = {**_values(chunks), "zz-datastore": {"type": "x", "config": {"bucket": "b"}}}
    new = edited(text, wanted, "file")
    assert new.replace("\r\n", "").count("\n") == 0
    assert _loads_to(new.replace("\r\n", "\n"), wanted)


@given(st.dictionaries(_TEXT, _VALUES, max_size=5))
def test_what_is_written_loads_to_the_same(mapping: dict[str, object]) -> None:
    assert _loads_to(lines(mapping, 0), mapping)
    assert _loads_to(edited("", mapping, "file"), mapping)


MARKER = """\
# Made by hand.
swampVersion: 20260812.1.0   # keep
"repoId": 0b7c   # ours

datastore:   # where
  type: '@swamp/s3-datastore'
  # the bucket of the team
  config: {bucket: lake, prefix: a/}   # verbatim
  futureKey: [1, 2]

# the end
tools:
  - cursor
"""


@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        (("repoId",), "0b7d", "0b7c ", '"0b7d" '),
        (("datastore", "type"), "filesystem", "'@swamp/s3-datastore'", '"filesystem"'),
        (("datastore", "config", "prefix"), "b", "a/}", '"b"}'),
        (
            ("datastore", "config", "region"),
            "eu-1",
            "{bucket: lake, prefix: a/}",
            '{bucket: "lake", prefix: "a/", region: "eu-1"}',
        ),
        (("datastore", "namespace"), "infra", "[1, 2]\n", '[1, 2]\n  namespace: "infra"\n'),
        (("autoGc",), True, "  - cursor\n", "  - cursor\nautoGc: true\n"),
        (("tools",), ["cursor", "kiro"], "\n  - cursor\n", ' ["cursor", "kiro"]\n'),
        (("datastore", "config"), {}, "{bucket: lake, prefix: a/}", "{}"),
    ],
)
def test_a_marker_changes_in_one_place(path: tuple[str, ...], value: object, old: str, new: str) -> None:
    wanted = load(MARKER, "file")
    assert isinstance(wanted, dict)
    inner = wanted
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    assert edited(MARKER, wanted, "file") == MARKER.replace(old, new)


@pytest.mark.parametrize(
    ("text", "wanted", "new"),
    [
        ("", {"a": {"b": 1}}, "a:\n  b: 1\n"),
        ("# only a comment", {"a": 1}, "# only a comment\na: 1\n"),
        ("a: 1", {"a": 1, "b": 2}, "a: 1\nb: 2\n"),
        ("\ufeffa: 1\nb: x # 1\n", {"a": 2, "b": "x"}, "\ufeffa: 2\nb: x # 1\n"),
        ("---\na: 1\n...\n", {"a": 1, "b": 2}, "---\na: 1\nb: 2\n...\n"),
        ("{a: 1, b: 2}\n", {"a": 1, "b": 3}, "{a: 1, b: 3}\n"),
        ("{a: 1, b: 2}\n", {"a": 1}, "{a: 1}\n"),
        ("a: 1\nb: 2\n", {}, "{}\n"),
        (
            "a:\n  b:\n    c: 1\n",
            {"a": {"b": {"c": 1, "d": 2}, "e": 3}, "f": 4},
            "a:\n  b:\n    c: 1\n    d: 2\n  e: 3\nf: 4\n",
        ),
        ("a: 1\n", {"a": True}, "a: true\n"),
        ("a: null # none\n", {"a": {"b": 1}}, "a:\n  b: 1 # none\n"),
        ("a: |+\n  x\n\n", {"a": "x\n\n", "b": 1}, "a: |+\n  x\n\nb: 1\n"),
        ("a: |+\n  x\n\nb: 1\n", {"b": 1}, "b: 1\n"),
        ("a: |+\n  x\n\nb: 1\n", {"a": "y", "b": 1}, 'a: "y"\n\nb: 1\n'),
        ("a: full\n", {"a": Hydration.LAZY}, 'a: "lazy"\n'),
        ("1: x\na: y\n", {1: "x", "a": "z"}, '1: x\na: "z"\n'),
    ],
)
def test_small_edits(text: str, wanted: dict[str, object], new: str) -> None:
    assert edited(text, wanted, "file") == new


@pytest.mark.parametrize(
    ("text", "wanted", "reason"),
    [
        ("a: &x [1]\nb: *x\n", {"a": [2], "b": [1]}, "aliases"),
        ("a: |+\n  x\nb: 1\n\nc: 1\n", {"a": "x\n", "c": 1}, "no safe place"),
        ("a: |\n  x", {"a": "x", "b": 1}, "no safe place"),
        ("{a}\n", {"a": 1}, "no safe place"),
        ("? a\n: 1\n", {"a": 2}, "no safe place"),
    ],
)
def test_a_change_that_would_touch_something_else_is_refused(text: str, wanted: dict[str, object], reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as refused:
        edited(text, wanted, "repo/.swamp.yaml")
    assert "repo/.swamp.yaml" in refused.value.message
    assert refused.value.remedy == "Make the change in repo/.swamp.yaml by hand."


@pytest.mark.parametrize("value", ["\ud800", {1, 2}, b"bytes"])
def test_what_yaml_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(UsageError, match="no form in YAML"):
        edited("", {"a": value}, "file")
