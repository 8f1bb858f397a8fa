"""What SQL and the engine answer together is what the engine alone answers, row by row: results, failures and all."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bayou.catalog.attributes import attributes_of
from bayou.errors import UsageError
from bayou.query.engine import Outcome, environment, outcome_of, plainly
from bayou.query.expressions import read, roots
from bayou.query.facts import _within_range
from bayou.query.literals import bound, has_nul
from bayou.query.planning import plan, wrong_value
from bayou.query.running import Found, run
from bayou.testing.queries import Shelf
from bayou.testing.strategies.predicates import Subject, predicate, subject

ROWS = 14
PREDICATES = 12


@dataclass
class Expected:
    """What a query should find, by the names of rows."""

    names: list[str] = field(default_factory=list)
    failures: dict[str, tuple[int, str]] = field(default_factory=dict)
    undecided: int = 0


def reference(subjects: Iterable[Subject], conditions: list[str], limit: int | None) -> Expected:
    """Each row in the default order, each condition of the predicate with nothing but the engine."""
    whole = " && ".join(f"({condition})" for condition in conditions)
    mentioned = _names(whole)
    programs = [(environment().compile(condition), _asks_for_text(condition)) for condition in conditions]
    expected = Expected()
    for one in sorted(subjects, key=_default_order):
        if not mentioned & {"version", "isLatest"} and not one.fields["isLatest"]:
            continue
        if "lifecycle" not in mentioned and one.fields["lifecycle"] != "active":
            continue
        outcomes = [_outcome(program, _data(one, asks_for_text=asks)) for program, asks in programs]
        if any(value is False or outcome is Outcome.MISSING for value, outcome, _ in outcomes):
            continue
        name = str(one.fields["name"])
        if any(outcome is Outcome.UNKNOWN for _, outcome, _ in outcomes):
            expected.undecided += 1
            continue
        wrong = [message for value, _, message in outcomes if value is not True]
        if wrong:
            number, first = expected.failures.get(wrong[0], (0, name))
            expected.failures[wrong[0]] = (number + 1, first)
            continue
        expected.names.append(name)
        if limit is not None and len(expected.names) > limit:
            break
    return expected


def _default_order(one: Subject) -> tuple[Any, ...]:
    # Python compares texts by code points, as SQLite does.
    return one.fields["ns"], one.fields["name"], one.fields["version"]


def _names(text: str) -> frozenset[str]:
    return roots(read(environment().compile(text).serialize()).tree)


def _asks_for_text(text: str) -> bool:
    """Whether content is used other than as `content.key`, `content["key"]` and `has(content.key)`."""
    return (
        re.search(r"content(?![.\[]|Type)|content\.(?:contains|size|startsWith|endsWith|matches|exists|all)\(", text)
        is not None
    )


def _data(one: Subject, *, asks_for_text: bool) -> dict[str, Any]:
    content_type, raw = str(one.fields["contentType"]), one.content
    data: dict[str, Any] = dict(one.fields)
    if content_type == "application/json":
        if raw is not None:
            data["attributes"] = data["content"] = _within_range(attributes_of(raw))
        return data
    data["attributes"] = {}
    if not content_type.startswith("text/") or not asks_for_text:
        data["content"] = ""
    elif raw is not None:
        data["content"] = raw.decode(errors="replace")
    return data


def _outcome(program: Any, data: dict[str, Any]) -> tuple[object, Outcome | None, str]:  # noqa: ANN401 - the engine has no types
    if has_nul(data):
        checked = read(program.serialize())
        program = environment().deserialize(checked.program(bound(checked.tree.encoded, data)))
        data = {}
    found = program.eval(data=data)
    value = found.plain_value()
    if found.type().name() == "ERROR":
        return None, outcome_of(value), plainly(value)
    return value, None, "" if isinstance(value, bool) else wrong_value(value)


def check(shelf: Shelf, random: Random) -> int:
    """Try predicates on rows; gives how many were tried."""
    subjects = [subject(random, number) for number in range(ROWS)]
    shelf.clear()
    shelf.put(*subjects)
    tried = 0
    for _ in range(PREDICATES):
        conditions = predicate(random)
        text = " && ".join(f"({condition})" for condition in conditions)
        try:
            planned = plan(text)
        except UsageError:
            continue
        limit = random.choice((None, None, 0, 1, 3))
        expected = reference(subjects, _flattened(conditions), limit)
        found = Found()
        run(planned, shelf.catalog, shelf.tree, limit=limit, strict=False, hydrate=None, found=found)
        names = {row.row: row.artifact.name for row in shelf.catalog.rows()}
        assert [names[row] for row in found.rows] == expected.names, text
        failures = {
            message: (failure.count, failure.example.rpartition("/")[2].rpartition(" version ")[0])
            for message, failure in found.failures.items()
        }
        assert (failures, found.undecided) == (expected.failures, expected.undecided), text
        tried += 1
    return tried


def _flattened(conditions: list[str]) -> list[str]:
    """A condition that is itself an `&&` is its two operands: the generator writes it as `(one) && (other)`."""
    flat = []
    for condition in conditions:
        halves = _halves(condition)
        flat += _flattened(halves) if halves else [condition]
    return flat


def _halves(condition: str) -> list[str] | None:
    depth, quoted, at = 0, False, 0
    while at < len(condition):
        character = condition[at]
        if quoted and character == "\\":
            at += 1
        elif character == '"':
            quoted = not quoted
        elif not quoted and character in "([{":
            depth += 1
        elif not quoted and character in ")]}":
            depth -= 1
        elif not quoted and not depth and condition.startswith("&&", at):
            return [_inner(condition[:at].strip()), _inner(condition[at + 2 :].strip())]
        at += 1
    return None


def _inner(condition: str) -> str:
    return condition[1:-1] if condition.startswith("(") and condition.endswith(")") else condition


@given(st.randoms(use_true_random=False))
def test_sql_and_engine_answer_what_the_engine_alone_answers(shelf: Shelf, random: Random) -> None:
    check(shelf, random)
