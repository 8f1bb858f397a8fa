"""Comparisons, as SQLite makes them exactly as CEL does, and nothing else.

- Texts are compared by code point, which is what SQLite's comparison of UTF-8 bytes is.
- An int and a double are compared as doubles, as the engine does it, which loses the last digits beyond 2**53.
- Values of different kinds are different, and have no order.
"""

# ruff: noqa: S608 - what is put together are our own texts; values are parameters

import math
from collections.abc import Sequence
from typing import Final

from bayou.query.conditions import ALWAYS, NEVER, Parameter, Sql, every, filled, listed, some
from bayou.query.expressions import Constant, Literal
from bayou.query.fields import Type
from bayou.query.paths import UNKNOWN, UNKNOWN_ROWS
from bayou.query.terms import (
    Attribute,
    AttributeLength,
    Column,
    Created,
    Length,
    Moment,
    Plain,
    Tag,
    TagCount,
    Term,
    doubt,
)
from bayou.query.verdicts import Verdict, uncertain, union

OPERATORS: Final = {"_==_": "=", "_!=_": "<>", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_OPPOSITE: Final = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED: Final = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_EXACT_AS_DOUBLE: Final = 2**53
_INT64: Final = range(-(2**63), 2**63)
_MOST_LISTED: Final = 10_000

# Where an index has the values of other kinds.
NOTHING: Final = Sql("value IS NULL")
NUMBERS: Final = Sql("value < ''")
_BOOLS: Final = Sql("value IN (0, 1) AND kind = 'bool'")
_TEXTS: Final = Sql("value >= ''")

_KINDS: Final = {Type.STRING: "kind = 'string'", Type.INT: "kind IN ('int', 'double')", Type.BOOL: "kind = 'bool'"}


def comparison(operator: str, left: Term, right: Term, *, history: bool) -> Verdict | None:
    """What SQL can say about `left operator right`; None where it can say nothing."""
    if isinstance(left, Constant | Moment):
        left, right, operator = right, left, _MIRRORED[operator]
    match left, right:
        case ((Column() | Tag() | Length() | TagCount()), Constant()):
            return _with_literal(operator, left, right.value, history=history)
        case ((Column() | Tag() | Length() | TagCount()), (Column() | Tag() | Length() | TagCount())):
            return _between(operator, left, right)
        case Attribute(), Constant():
            return _attribute_with_literal(operator, left, right.value)
        case AttributeLength(), Constant():
            return _length_with_literal(operator, left, right.value)
        case Created(), Moment():
            return _times(operator, right)
        case _:
            return None


def membership(term: Term, literals: Sequence[Literal], *, history: bool) -> Verdict | None:
    """What SQL can say about `term in [literals]`."""
    if any(_family(literal) is Type.INT and not _is_small(literal) for literal in literals):
        return None
    if len(literals) > _MOST_LISTED:
        return None
    match term:
        case Column() | Tag() | Length() | TagCount():
            values = _of_family(term.type, literals)
            found = filled("{0} IN {1}", term.sql, listed(values))
            missing = filled("{0} NOT IN {1}", term.sql, listed(values)) if values else present(term)
            return uncertain(found, missing, doubt(term), seek=_seek(term, "IN", listed(values), history=history))
        case Attribute(key=key):
            condition = some(_one_of(literals))
            return uncertain(
                attribute(key, condition),
                attribute(key, _not(condition)),
                UNKNOWN,
                seek=attribute_seek(key, condition),
            )
        case _:
            return None


def attribute(key: str, condition: Sql) -> Sql:
    """The rows that have the attribute, and for it the condition on `kind` and `value` holds."""
    if condition == NEVER:
        return NEVER
    return Sql(
        f"EXISTS (SELECT 1 FROM attribute WHERE attribute.artifact = artifact.row AND key = ? AND {condition.text})",
        (key, *condition.parameters),
    )


def attribute_seek(key: str, *conditions: Sql) -> Sql:
    """The rows whose attribute meets any of the conditions. An index has the values: NULL, then numbers, then texts."""
    found = [
        Sql(f"SELECT artifact FROM attribute WHERE key = ? AND {condition.text}", (key, *condition.parameters))
        for condition in conditions
    ]
    return union([*found, UNKNOWN_ROWS])


def tag_seek(key: str, condition: Sql) -> Sql:
    return Sql(f"SELECT artifact FROM tag WHERE key = ? AND {condition.text}", (key, *condition.parameters))


def column_seek(column: Column, condition: Sql, *, history: bool) -> Sql | None:
    """By the index that the catalog has on the column, for latest versions only or for all."""
    index = column.field.indexed
    if index is None or (history and index == "latest"):
        return None
    latest = "" if history else "is_latest = 1 AND "
    return Sql(f"SELECT row FROM artifact WHERE {latest}{condition.text}", condition.parameters)


def present(term: Plain) -> Sql:
    return Sql(f"{term.sql.text} IS NOT NULL", term.sql.parameters) if isinstance(term, Tag | Length) else ALWAYS


def _with_literal(operator: str, term: Plain, literal: Literal, *, history: bool) -> Verdict | None:
    if _family(literal) is not term.type:
        return _different(operator, present(term), doubt(term))
    bound = _bound(literal)
    if bound is None:
        return None
    seek = None if operator == "<>" else _seek(term, operator, bound, history=history) if _is_small(literal) else None
    return uncertain(
        _compared(operator, term.sql, literal),
        _compared(_OPPOSITE[operator], term.sql, literal),
        doubt(term),
        seek=seek,
    )


def _between(operator: str, left: Plain, right: Plain) -> Verdict | None:
    unsure = some((doubt(left), doubt(right)))
    if left.type is not right.type:
        return _different(operator, every((present(left), present(right))), unsure)
    return uncertain(
        filled(f"{{0}} {operator} {{1}}", left.sql, right.sql),
        filled(f"{{0}} {_OPPOSITE[operator]} {{1}}", left.sql, right.sql),
        unsure,
    )


def _attribute_with_literal(operator: str, term: Attribute, literal: Literal) -> Verdict | None:
    family = _family(literal)
    if literal is None:
        kind, value_holds, value_holds_not = "kind = 'null'", ALWAYS, NEVER
        if operator == "<>":
            value_holds, value_holds_not = NEVER, ALWAYS
    elif family is None or _bound(literal) is None:
        return None
    else:
        kind = _KINDS[family]
        value_holds = _compared(operator, Sql("value"), literal)
        value_holds_not = _compared(_OPPOSITE[operator], Sql("value"), literal)
    is_kind, is_other = Sql(kind), Sql(f"NOT ({kind})")
    holds, holds_not, faulty = every((is_kind, value_holds)), every((is_kind, value_holds_not)), NEVER
    match operator:
        case "=":
            holds_not = some((is_other, holds_not))
        case "<>":
            holds = some((is_other, holds))
        case _:
            faulty = attribute(term.key, is_other)
    return uncertain(
        attribute(term.key, holds),
        attribute(term.key, holds_not),
        UNKNOWN,
        faulty=faulty,
        # A large number is compared as two kinds of numbers, which is no range of an index.
        seek=_attribute_seek(operator, term.key, family, holds, value_holds) if _is_small(literal) else None,
    )


def _attribute_seek(operator: str, key: str, family: Type | None, holds: Sql, value_holds: Sql) -> Sql | None:
    """Those that hold, and those of another kind, which have no order: they fail, and are found as well."""
    match operator, family:
        case "=", _:
            return attribute_seek(key, holds)
        case ((">" | ">="), Type.INT):
            return attribute_seek(key, value_holds, NOTHING, _BOOLS)
        case (("<" | "<="), Type.INT):
            return attribute_seek(key, value_holds, NOTHING, _BOOLS, _TEXTS)
        case ((">" | ">="), Type.STRING):
            return attribute_seek(key, value_holds, NOTHING, NUMBERS)
        case (("<" | "<="), Type.STRING):
            return attribute_seek(key, value_holds, NOTHING)
        case _:
            return None


def _length_with_literal(operator: str, term: AttributeLength, literal: Literal) -> Verdict | None:
    if _family(literal) is not Type.INT or not _is_small(literal):
        return None

    def texts(compared: str) -> Sql:
        return attribute(term.key, every((Sql("kind = 'string'"), _compared(compared, Sql("length(value)"), literal))))

    return uncertain(
        texts(operator),
        texts(_OPPOSITE[operator]),
        some((UNKNOWN, attribute(term.key, Sql("kind IN ('list', 'map')")))),
        faulty=attribute(term.key, Sql("kind NOT IN ('string', 'list', 'map')")),
    )


def _times(operator: str, moment: Moment) -> Verdict:
    """A time of a row has whole milliseconds; what it is compared with may have nanoseconds."""
    milliseconds, rest = divmod(moment.nanoseconds, 1_000_000)
    unknown = Sql("+artifact.created_ms IS NULL")
    known = Sql("+artifact.created_ms IS NOT NULL")
    if rest and operator in ("=", "<>"):
        return uncertain(*((NEVER, known) if operator == "=" else (known, NEVER)), unknown)
    if rest and operator in ("<", ">="):
        milliseconds += 1
    holds = Sql(f"+artifact.created_ms {operator} ?", (milliseconds,))
    seeks = [
        Sql(f"SELECT row FROM artifact WHERE created_ms {operator} ?", (milliseconds,)),
        Sql("SELECT row FROM artifact WHERE created_ms IS NULL"),
    ]
    return uncertain(
        holds,
        Sql(f"+artifact.created_ms {_OPPOSITE[operator]} ?", (milliseconds,)),
        unknown,
        seek=union(seeks) if operator != "<>" else None,
    )


def _different(operator: str, where: Sql, unsure: Sql) -> Verdict | None:
    """Values of two kinds: never equal."""
    match operator:
        case "=":
            return uncertain(NEVER, where, unsure)
        case "<>":
            return uncertain(where, NEVER, unsure)
        case _:
            return None


def _seek(term: Plain, operator: str, operand: Sql, *, history: bool) -> Sql | None:
    match term:
        case Tag(key=key):
            return tag_seek(key, Sql(f"value {operator} {operand.text}", operand.parameters))
        case Column(field=field):
            condition = Sql(f"{field.column} {operator} {operand.text}", operand.parameters)
            return column_seek(term, condition, history=history)
        case _:
            return None


def _one_of(literals: Sequence[Literal]) -> list[Sql]:
    conditions = []
    for family, kind in _KINDS.items():
        values = _of_family(family, literals)
        if values:
            conditions.append(every((Sql(kind), filled("{0} IN {1}", Sql("value"), listed(values)))))
    if None in literals:
        conditions.append(Sql("kind = 'null'"))
    return conditions


def _not(condition: Sql) -> Sql:
    """Of a condition that is never NULL."""
    if condition in (ALWAYS, NEVER):
        return NEVER if condition == ALWAYS else ALWAYS
    return Sql(f"NOT ({condition.text})", condition.parameters)


def _compared(operator: str, value: Sql, literal: Literal) -> Sql:
    """Of a literal that SQLite has."""
    bound = Sql("?", (int(literal) if isinstance(literal, bool) else literal,))
    if _family(literal) is not Type.INT or _is_small(literal):
        return filled(f"{{0}} {operator} {{1}}", value, bound)
    if isinstance(literal, int):
        # Exact among ints, as doubles otherwise.
        as_double = f"{{0}} {operator} CAST({{1}} AS REAL)"
        template = f"CASE typeof({{0}}) WHEN 'integer' THEN {{0}} {operator} {{1}} ELSE {as_double} END"
    else:
        template = f"CAST({{0}} AS REAL) {operator} {{1}}"
    return filled(template, value, bound)


def _of_family(family: Type, literals: Sequence[Literal]) -> list[Parameter]:
    bound = (_bound(literal) for literal in literals if _family(literal) is family)
    return list(dict.fromkeys(one.parameters[0] for one in bound if one is not None))


def _family(literal: Literal) -> Type | None:
    match literal:
        case bool():
            return Type.BOOL
        case int() | float():
            return Type.INT
        case str():
            return Type.STRING
        case _:
            return None


def _bound(literal: Literal) -> Sql | None:
    """The literal as a parameter; None where SQLite has no such value."""
    match literal:
        case bool():
            return Sql("?", (int(literal),))
        case int() if literal not in _INT64:
            return None
        case float() if not math.isfinite(literal):
            return None
        case int() | float() | str():
            return Sql("?", (literal,))
        case _:
            return None


def _is_small(literal: Literal) -> bool:
    """Whether it is the same number as an int and as a double, and so are all that equal it."""
    return not isinstance(literal, int | float) or abs(literal) < _EXACT_AS_DOUBLE
