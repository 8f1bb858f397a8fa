"""What is wrong with a predicate is said before anything runs, and where."""

import subprocess
import sys

import pytest

from bayou.errors import ErrorKind, UsageError
from bayou.query.checking import check_predicate, check_projection
from bayou.query.fields import FIELDS
from bayou.query.planning import plan


def _refusal(text: str) -> UsageError:
    with pytest.raises(UsageError) as raised:
        plan(text)
    assert raised.value.kind is ErrorKind.INVALID_QUERY
    assert raised.value.remedy
    return raised.value


@pytest.mark.parametrize(
    ("text", "name", "suggested"),
    [
        ('modelname == "x"', "modelname", "modelName"),
        ("sise > 1", "sise", "size"),
        ('tag.env == "x"', "tag", "tags"),
        ("name == nonsense.deeper.still", "nonsense", None),
        ("attributes.list.exists(x, y == 1)", "y", None),
    ],
)
def test_an_unknown_field_is_named_with_a_suggestion_and_all_fields(
    text: str, name: str, suggested: str | None
) -> None:
    refusal = _refusal(text)
    assert f'there is no field "{name}"' in refusal.message
    if suggested:
        assert f'did you mean "{suggested}"?' in refusal.message
    assert ", ".join(sorted(FIELDS, key=str.casefold)) in refusal.remedy


def test_a_key_with_a_hyphen_gets_the_way_to_write_it() -> None:
    assert _refusal('tags.my-key == "x"').remedy.startswith('Write tags["my-key"] for a key that is no plain word.')


def test_the_place_of_a_problem_is_shown() -> None:
    assert _refusal('name == "a" &&\n size >').message.endswith("\n   size >\n         ^")
    long = " || ".join(["size == 1"] * 500) + " || siez == 2"
    lines = _refusal(long).message.splitlines()
    assert len(lines) == 3
    assert lines[1][lines[2].index("^") :].startswith("siez")
    assert max(map(len, lines)) < 150


def test_reserved_and_unknown_words_get_their_own_answers() -> None:
    assert _refusal('namespace == "x"').remedy == "Write ns in its place."
    assert 'there is no function "frob"' in _refusal("name.frob() == 1").message
    assert 'there is no function "frob"' in _refusal("frob(name) == 1").message


@pytest.mark.parametrize(
    "text", ["", " ", "name ==", "name = 'x'", '"open', "size > 'a'", '"x" in name', "isLatest ? 1 : 2"]
)
def test_what_cannot_be_true_or_false_is_refused(text: str) -> None:
    _refusal(text)


@pytest.mark.parametrize(
    ("text", "gives"),
    [("name", "a text"), ("size + 1", "a number"), ("tags", "a map"), ("[1]", "a list"), ("null", "null")],
)
def test_a_predicate_of_another_type_is_refused(text: str, gives: str) -> None:
    assert f"gives {gives}, not true or false" in _refusal(text).message


def test_what_may_be_absent_needs_something_in_its_place() -> None:
    assert ".orValue" in _refusal("tags.?env").remedy
    with pytest.raises(UsageError, match="may be absent"):
        check_projection("tags.?env")
    check_projection('tags.?env.orValue("none")')


def test_projections_are_checked_too() -> None:
    with pytest.raises(UsageError, match='there is no field "data"'):
        plan("true", select="data.name")
    with pytest.raises(UsageError, match="the projection is wrong at 1:"):
        plan("true", select="[name, ")


@pytest.mark.parametrize("text", ["version", "name == 'x'", "attributes.a", "[name, size]", '{"a": tags}', "content"])
def test_projections_may_be_of_any_type(text: str) -> None:
    check_projection(text)


def test_a_pattern_that_is_none_is_refused() -> None:
    assert "missing )" in _refusal('name.matches("(")').message
    assert "repetition" in _refusal('matches(attributes.a, "(a{1,1000}){1,1000}")').message


def test_what_is_too_long_or_too_deep_is_refused_in_words() -> None:
    assert "100000 are the most" in _refusal(" || ".join(f'name == "n{number}"' for number in range(10_000))).message
    for text in (
        "(" * 5000 + "isLatest" + ")" * 5000,
        "!(" * 100 + "isLatest" + ")" * 100,
        "has(attributes" + ".a" * 500 + ")",
    ):
        refusal = _refusal(text)
        assert "nested too deeply" in refusal.message
        assert len(refusal.message) < 300


def test_no_nul_and_no_half_character_gets_to_the_engine() -> None:
    # The engine would take what is in front of a NUL for all of it.
    assert "NUL" in _refusal('name == "a"\0 && false').message
    assert "half a character" in _refusal('name == "\ud800"').message


@pytest.mark.parametrize(
    "text",
    [
        "attributes.list.exists(x, x == 2)",
        "attributes.list.all(item, item.startsWith('a'))",
        "attributes.list.map(x, x + 1).filter(y, y > 2).size() == 1",
        "tags.exists_one(key, key == 'env')",
        'name.lowerAscii().trim().split("-")[0].substring(1).upperAscii().replace("a", "b") == ["x"].join()',
        'tags.?env.orValue("none") == "none"',
        "has(attributes.a.b) ? attributes.a.b : isLatest",
        "type(attributes.a) == int && int(version) > 1 && double(size) > 1.0",
    ],
)
def test_what_cel_offers_is_accepted(text: str) -> None:
    check_predicate(text)


def test_importing_queries_loads_nothing_heavy() -> None:
    code = """
import sys, bayou.repository.record
before = set(sys.modules)
import bayou.query
heavy = {"cel_expr_python", "pyarrow", "pandas", "yaml", "rich", "typer", "asyncio", "multiprocessing", "html"}
sys.exit(", ".join(heavy & (sys.modules.keys() - before)) or None)
"""
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - our own code
