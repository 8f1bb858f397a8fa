"""Conditions in SQL: small texts with their parameters, put together without growing deep."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

Parameter = Any
"""What SQLite holds: a text, a number or bytes."""


@dataclass(frozen=True, slots=True)
class Sql:
    text: str
    parameters: tuple[Parameter, ...] = ()

    def __bool__(self) -> bool:
        raise TypeError("a condition is not true or false before SQLite has said so")


ALWAYS: Final = Sql("1")
NEVER: Final = Sql("0")


def every(conditions: Iterable[Sql]) -> Sql:
    """All of them. What is not known (NULL) does not hold, as everywhere here."""
    kept = list(dict.fromkeys(one for one in conditions if one != ALWAYS))
    if NEVER in kept:
        return NEVER
    return _tree(kept, "AND") if kept else ALWAYS


def some(conditions: Iterable[Sql]) -> Sql:
    """At least one of them."""
    kept = list(dict.fromkeys(one for one in conditions if one != NEVER))
    if ALWAYS in kept:
        return ALWAYS
    return _tree(kept, "OR") if kept else NEVER


def fails(condition: Sql) -> Sql:
    """It does not hold, or nobody knows."""
    if condition == NEVER:
        return ALWAYS
    if condition == ALWAYS:
        return NEVER
    return Sql(f"({condition.text}) IS NOT TRUE", condition.parameters)


def filled(template: str, *operands: Sql) -> Sql:
    """The template with the operands in its places `{0}` and `{1}`, and their parameters in that order."""
    text = ""
    parameters: list[Parameter] = []
    for piece in template.replace("}", "{").split("{"):
        if piece in ("0", "1"):
            operand = operands[int(piece)]
            text += operand.text
            parameters.extend(operand.parameters)
        else:
            text += piece
    return Sql(text, tuple(parameters))


def _tree(conditions: Sequence[Sql], operator: str) -> Sql:
    """Balanced: SQLite allows 1,000 levels, and one after the other each would be one."""
    level = list(conditions)
    while len(level) > 1:
        pairs = [level[at : at + 2] for at in range(0, len(level), 2)]
        level = [
            Sql(f"({pair[0].text} {operator} {pair[1].text})", pair[0].parameters + pair[1].parameters)
            if len(pair) == 2
            else pair[0]
            for pair in pairs
        ]
    return level[0]


def listed(values: Sequence[Parameter]) -> Sql:
    return Sql(f"({', '.join('?' * len(values))})", tuple(values))
