"""Check a predicate or a projection before it runs, and say what is wrong with it in the words of whoever wrote it."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from bayou.domain.suggestions import suggestion
from bayou.errors import ErrorKind, UsageError
from bayou.query.engine import LONGEST, Program, environment, plainly, trouble_with
from bayou.query.expressions import Call, Checked, Constant, read, walk
from bayou.query.fields import FIELDS

_PROBLEM: Final = re.compile(r"ERROR: <input>:(-?\d+):(-?\d+): (.*)")
_UNDECLARED: Final = re.compile(r"undeclared reference to '([^']+)'")
_HALF_CHARACTER: Final = re.compile("[\ud800-\udfff]")
_SHOWN: Final = 100  # characters of the text around a problem


@dataclass(frozen=True, slots=True)
class Text:
    """A text that was checked."""

    text: str
    checked: Checked
    program: Program


@lru_cache(maxsize=64)
def check_predicate(text: str) -> Text:
    """A text that says of each row whether it matches."""
    found, gives = _check(text, "predicate")
    if gives not in ("BOOL", "DYN"):
        raise _refusal(
            f"the predicate {_quoted(text)} gives {_article(gives)}, not true or false",
            'Compare it with something, for example: name == "state".',
        )
    return found


@lru_cache(maxsize=64)
def check_projection(text: str) -> Text:
    """A text that makes a value of each row."""
    found, _ = _check(text, "projection")
    return found


def _check(text: str, what: str) -> tuple[Text, str]:
    if "\0" in text:
        raise _refusal(f"there is a NUL in the {what}", r"Write \u0000 in a text that holds one.")
    if len(text) > LONGEST:
        raise _refusal(
            f"the {what} has {len(text)} characters, and {LONGEST} are the most",
            'Make one list of many comparisons, as in name in ["a", "b"], or ask several times.',
        )
    if _HALF_CHARACTER.search(text):
        raise _refusal(f"the {what} holds half a character", "Write it as text that is valid Unicode.")
    try:
        expression = environment().compile(text)
    except RuntimeError as error:
        raise _explained(text, what, str(error)) from None
    gives = expression.return_type().name()
    if "optional" in gives:
        raise _refusal(
            f"the {what} {_quoted(text)} gives a value that may be absent",
            "Say what to take in its place: .orValue(…).",
        )
    checked = read(expression.serialize())
    _check_patterns(text, checked)
    return Text(text, checked, Program(expression)), gives


def _check_patterns(text: str, checked: Checked) -> None:
    for node, _ in walk(checked.tree):
        match node:
            case Call(function="matches", arguments=(_, Constant(value=str(pattern)))):
                trouble = trouble_with(pattern)
                if trouble:
                    raise _refusal(
                        f"{_quoted(pattern)} in {_quoted(text)}: {trouble}", "Write a pattern as RE2 takes it."
                    )
            case _:
                pass


def _explained(text: str, what: str, message: str) -> UsageError:
    problems = _PROBLEM.findall(message)
    if "recursion" in message:
        return _refusal(
            f"the {what} {_quoted(text)} is nested too deeply",
            "The engine takes 32 levels. Chains of && and || may be of any length; nest less, or ask several times.",
        )
    if not problems:
        return _refusal(f"the {what} {_quoted(text)} cannot be read: {plainly(message)}", _SEE)
    line, column, problem = int(problems[0][0]), int(problems[0][1]), problems[0][2]
    where = _excerpt(text, line, column)
    unknown = _UNDECLARED.search(problem)
    if unknown:
        return _unknown(text, unknown[1].split(".")[0], line, column, where)
    if "reserved identifier: namespace" in problem:
        return _refusal(f'"namespace" is a reserved word of CEL{where}', "Write ns in its place.")
    problem = re.sub(r" \[[A-Z_]+\]$", "", problem)
    return _refusal(f"the {what} is wrong at {line}:{column}: {problem}{where}", _SEE)


def _unknown(text: str, name: str, line: int, column: int, where: str) -> UsageError:
    rest = text.split("\n")[line - 1][max(column - 1, 0) :] if line > 0 else ""
    if rest.startswith("("):
        return _refusal(f'there is no function "{name}"{where}', _SEE)
    dashed = re.search(rf"\b(tags|attributes|content)\.([\w.]+-(?:[\w]+-)*{re.escape(name)}\b[\w-]*)", text)
    remedy = f"The fields are: {', '.join(sorted(FIELDS, key=str.casefold))}."
    if dashed:
        remedy = f'Write {dashed[1]}["{dashed[2]}"] for a key that is no plain word. {remedy}'
    return _refusal(f'there is no field "{name}"{suggestion(name, FIELDS)}{where}', remedy)


_SEE: Final = "docs/query.md shows what can be written."


def _excerpt(text: str, line: int, column: int) -> str:
    """The line of the problem, cut to what can be shown, and a mark below it."""
    if line < 1 or column < 1:
        return ""
    whole = text.split("\n")[line - 1]
    start = max(0, column - 1 - _SHOWN // 2)
    shown = whole[start : start + _SHOWN]
    return f"\n  {shown}\n  {' ' * (column - 1 - start)}^"


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def _article(gives: str) -> str:
    known = {"STRING": "a text", "INT": "a number", "UINT": "a number", "DOUBLE": "a number", "NULL": "null"}
    kind = gives.partition("<")[0]
    return known.get(kind, f"a {kind.lower()}")


def _refusal(message: str, remedy: str) -> UsageError:
    return UsageError(message, kind=ErrorKind.INVALID_QUERY, remedy=remedy)
