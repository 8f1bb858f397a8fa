"""What the engine is told about numbers, and what its answers mean."""

import math

import pytest

from bayou.query.engine import Outcome, Program, environment, matches, outcome_of, plainly

DATA = {
    "version": 3,
    "size": 2048,
    "name": "abc",
    "isLatest": True,
    "tags": {"env": "prod"},
    "attributes": {"int": 1, "double": 1.5, "text": "x", "null": None, "list": [1, 2.0, "x"], "map": {"k": 1}},
    "content": "text",
}


def _value(text: str, **data: object) -> tuple[object, str | None]:
    return Program(environment().compile(text))({**DATA, **data})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("size > 1.5", True),
        ("1.5 < size", True),
        ("version == 3.0", True),
        ("version in [1.0, 3.0]", True),
        ("version in [1, 3]", True),
        ("version + 1.0", 4.0),
        ("1.5 + version", 4.5),
        ("version - 0.5", 2.5),
        ("size * 0.5", 1024.0),
        ("size / 1024.0 > 1.5", True),
        ("1024.0 / size", 0.5),
        ("version + 1", 4),
        ("size / 1000", 2),
        ("size % 3", 2),
        ("attributes.int + 1.0", 2.0),
        ("attributes.double + 1", 2.5),
        ("attributes.int == 1.0", True),
        ("version > 2u", True),
        ("name == 3", False),
        ('version == "3"', False),
        ("name != null", True),
        ('attributes.int == "1"', False),
        ("string(2.0)", "2"),
        ("-version + 0.0", -3.0),
        ("size / 0.0", math.inf),
        ("-size / 0.0", -math.inf),
        ("size / -0.0", -math.inf),
    ],
)
def test_numbers_of_all_kinds_go_together(text: str, value: object) -> None:
    assert _value(text) == (value, None)


def test_nothing_divided_by_nothing_is_no_number() -> None:
    value, _ = _value("(size - 2048) / 0.0")
    assert isinstance(value, float)
    assert math.isnan(value)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("attributes.nope == 1", Outcome.MISSING),
        ('tags["nope"] == "x"', Outcome.MISSING),
        ("attributes.int.deeper == 1", Outcome.MISSING),
        ('attributes.int["deeper"] == 1', Outcome.MISSING),
        ("attributes.map[1] == 1", Outcome.MISSING),
        ("attributes.list[9] == 1", Outcome.MISSING),
        ('attributes.list["a"] == 1', Outcome.MISSING),
        ("has(attributes.text.deeper)", Outcome.MISSING),
        ("content.key == 1", Outcome.MISSING),
        ("attributes.text > 1", Outcome.FAILED),
        ("attributes.text + 1 == 2", Outcome.FAILED),
        ("attributes.int.startsWith('a')", Outcome.FAILED),
        ("size(attributes.int) == 1", Outcome.FAILED),
        ("version / 0 == 1", Outcome.FAILED),
        ("9223372036854775807 + version == 1", Outcome.FAILED),
        ('int("x") == 1', Outcome.FAILED),
        ("attributes.text && isLatest", Outcome.FAILED),
        ('timestamp(name) > timestamp("2026-01-01T00:00:00Z")', Outcome.FAILED),
        ("attributes.int.exists(x, x == 1)", Outcome.FAILED),
    ],
)
def test_a_path_that_leads_nowhere_is_missing_and_the_rest_failed(text: str, outcome: Outcome) -> None:
    value, message = _value(text)
    assert value is None
    assert message is not None
    assert outcome_of(message) is outcome


def test_content_that_was_not_given_is_unknown_and_absorbed_like_an_error() -> None:
    program = Program(environment().compile('attributes.a == 1 || name == "abc"'))
    assert program({"name": "abc"}) == (True, None)
    _, message = program({"name": "x"})
    assert message is not None
    assert outcome_of(message) is Outcome.UNKNOWN


def test_an_evaluation_that_never_ends_is_a_failure() -> None:
    value, message = _value("attributes.l.all(x, attributes.l.all(y, x >= 0))", attributes={"l": list(range(300))})
    assert (value, message) == (None, "INTERNAL: Iteration budget exceeded [INTERNAL]")
    assert plainly(str(message)) == "Iteration budget exceeded"


def test_patterns_do_not_backtrack() -> None:
    assert matches("(a+)+$", "a" * 50_000 + "b") is False
    assert matches("(a|aa)+$", "a" * 50_000) is True


def test_patterns_say_nothing_about_what_is_no_text() -> None:
    assert matches("a", None) is None
    assert matches("a", "a\0b") is None
    assert matches("(", "a") is None
