"""A marker is read as the existing clients read it, and what is wrong with it is named with line and column."""

import pytest

from bayou.config.document import load
from bayou.errors import ErrorKind, UsageError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-11-02T08:15:29.004Z", "2026-11-02T08:15:29.004Z"),
        ("2026-11-02", "2026-11-02"),
        ("no", "no"),
        ("Yes", "Yes"),
        ("on", "on"),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("", None),
        ("Null", None),
        ("010", 10),
        ("0o17", 15),
        ("0x1F", 31),
        ("-12", -12),
        ("12:30:00", "12:30:00"),
        ("1_000", "1_000"),
        ("20260812.1.0", "20260812.1.0"),
        ("20260812.1", 20260812.1),
        ("1e3", 1000.0),
        (".inf", float("inf")),
        ("'true'", "true"),
        ("!!str 5", "5"),
        ("@x", None),
    ],
)
def test_scalars_have_the_core_types(text: str, value: object) -> None:
    if text.startswith("@"):
        with pytest.raises(UsageError, match="line 1"):
            load(f"a: {text}\n", "file")
        return
    loaded = load(f"a: {text}\n", "file")
    assert loaded == {"a": value}
    assert isinstance(loaded, dict)
    assert type(loaded["a"]) is type(value)


def test_aliases_and_merges_are_read() -> None:
    assert load("a: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}\n", "file") == {
        "a": {"b": 1},
        "c": {"b": 1},
        "d": {"b": 1, "e": 2},
    }


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "---\n...\n"])
def test_a_file_without_content_is_nothing(text: str) -> None:
    assert load(text, "file") is None


def _unfolding(first: str, next_one: str) -> str:
    """Forty lines, each of which repeats the one before it twice."""
    lines = [f"a0: &a0 {first}"]
    lines += [f"a{at}: &a{at} {next_one.format(f'*a{at - 1}')}" for at in range(1, 40)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\nb: [1\n", "line 3, column 1"),
        ("a: 1\n\tb: 2\n", "line 2"),
        ("a: 1\nb: 2\na: 3\n", 'line 3, column 1: the key "a" is there twice'),
        ("x:\n  - {a: 1, 'a': 2}\n", 'line 2, column 12: the key "a" is there twice'),
        ("a: *nobody\n", "line 1, column 4"),
        ("--- 1\n--- 2\n", "single document"),
        ("a: !!binary aGk=\n", "line 1, column 4"),
        ("a: !!python/object:os.system x\n", "line 1, column 4"),
        ("a: !!int x\n", "line 1, column 4: not a whole number of at most 64 bits"),
        ("a: !!float x\n", "a value does not fit the type of its tag"),
        ("a: !!float ''\n", "a value does not fit the type of its tag"),
        ("a: !!bool x\n", "a value does not fit the type of its tag"),
        ("{[1]: 2}\n", "line 1"),
        ("a: \x00\n", "file"),
        (f"a: {'[' * 100_000}", "more than 100 levels deep"),
        ("- " * 100_000, "more than 100 levels deep"),
        (f"a: {'9' * 5000}\n", "line 1, column 4: not a whole number of at most 64 bits"),
        (f"a: 0x{'f' * 20_000}\n", "line 1, column 4: not a whole number of at most 64 bits"),
        (f"a: {2**64}\n", "line 1, column 4: not a whole number of at most 64 bits"),
        (_unfolding("[x, x]", "[{0}, {0}]"), "more than 10000 values"),
        (_unfolding("{k: v}", "{{<<: [{0}, {0}]}}"), "more than 10000 values"),
        ("".join(f"k{at}: {at}\n" for at in range(20_000)), "line 5000, column 8: more than 10000 values"),
        ("a: &x [*x]\n", "line 1, column 8: an alias for what it is a part of"),
        ("a: &x {b: [*x]}\n", "line 1, column 12: an alias for what it is a part of"),
        ('"\\e[2J": 1\n"\\e[2J": 2\n', r'the key "\x1b[2J" is there twice'),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(UsageError) as refused:
        load(text, "repo/.swamp.yaml")
    assert problem.replace("file", "repo/.swamp.yaml") in refused.value.message
    assert refused.value.message.startswith(("repo/.swamp.yaml: ", "repo/.swamp.yaml, line "))
    assert refused.value.message.count("repo/.swamp.yaml") == 1
    assert refused.value.message.isprintable()
    assert refused.value.kind is ErrorKind.INVALID_CONFIG


def test_a_key_that_is_there_twice_is_the_whole_message() -> None:
    with pytest.raises(UsageError) as refused:
        load("a: 1\nb: 2\na: 3\n", "file")
    assert refused.value.message == 'file, line 3, column 1: the key "a" is there twice'


@pytest.mark.parametrize("number", [2**64 - 1, -(2**64) + 1, 0])
def test_whole_numbers_up_to_64_bits_are_read(number: int) -> None:
    assert load(f"a: {number}\n", "file") == {"a": number}


def test_as_many_values_as_anybody_writes_by_hand_are_read() -> None:
    loaded = load("".join(f"k{at}: {at}\n" for at in range(4_999)), "file")
    assert isinstance(loaded, dict)
    assert len(loaded) == 4_999
