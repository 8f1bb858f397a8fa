"""From a checked expression to a column of Spark, for those parts that Spark answers exactly as CEL does.

A path that leads nowhere is an error to CEL, which `&&` and `||` get over if the other side decides: that is the logic
of NULL, so what is missing is NULL here, and no match at the end. What is not in here is left to the engine.
"""

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from bayou.query.expressions import Call, Constant, Literal, Name, Node, Select, Sequence
from bayou.query.fields import TAGS, Type
from bayou.query.terms import Column as Field
from bayou.query.terms import Tag, term

_COMPARED: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "_==_": operator.eq,
    "_!=_": operator.ne,
    "_<_": operator.lt,
    "_<=_": operator.le,
    "_>_": operator.gt,
    "_>=_": operator.ge,
}
_MIRRORED: Final = {"_==_": "_==_", "_!=_": "_!=_", "_<_": "_>_", "_>_": "_<_", "_<=_": "_>=_", "_>=_": "_<=_"}
_ON_TEXTS: Final[dict[str, Callable[[Column, str], Column]]] = {
    "startsWith": lambda text, sought: text.startswith(sought),
    "endsWith": lambda text, sought: text.endswith(sought),
    "contains": lambda text, sought: text.contains(sought),
}


def column(node: Node) -> Column | None:
    """The condition, true, false or NULL; None where Spark cannot say it exactly."""
    match node:
        case Call(function="!_", arguments=(inner,)):
            negated = column(inner)
            return None if negated is None else ~negated
        case Call(function=("_&&_" | "_||_") as function, arguments=arguments):
            found = [column(argument) for argument in arguments]
            known = [one for one in found if one is not None]
            if len(known) < len(found):
                return None
            return reduce(lambda one, other: one & other if function == "_&&_" else one | other, known)
        case _:
            return _leaf(node)


def _leaf(node: Node) -> Column | None:  # noqa: PLR0911 - one return per form
    match node:
        case Constant(value=bool(value)):
            return F.lit(value)
        case Name():
            flag = term(node)
            return _value(flag) if isinstance(flag, Field) and flag.type is Type.BOOL else None
        case Select(operand=Name(name="tags"), key=key, only_asks=True):
            return F.map_contains_key(TAGS, key)
        case Call(function="@in", arguments=(Constant(value=str(key)), Name(name="tags"))):
            return F.map_contains_key(TAGS, key)
        case Call(function="@in", arguments=(asked, Sequence(elements=elements, plain=True))):
            return _in_list(asked, elements)
        case Call(function=function, arguments=(left, right)) if function in _COMPARED:
            return _compared(function, left, right)
        case Call(function=function, arguments=(text, Constant(value=str(sought)))) if function in _ON_TEXTS:
            asked_of = term(text)
            is_text = isinstance(asked_of, Field | Tag) and asked_of.type is Type.STRING
            return _ON_TEXTS[function](_value(asked_of), sought) if is_text else None  # type: ignore[arg-type] # it is
        case _:
            return None


def _compared(function: str, left: Node, right: Node) -> Column | None:
    one, other = term(left), term(right)
    if isinstance(one, Constant):
        one, other, function = other, one, _MIRRORED[function]
    if not isinstance(one, Field | Tag) or not isinstance(other, Constant) or not _is_of(one.type, other.value):
        return None
    compared: Column = _COMPARED[function](_value(one), other.value)
    return compared


def _in_list(asked: Node, elements: tuple[Node, ...]) -> Column | None:
    one = term(asked)
    values = [element.value for element in elements if isinstance(element, Constant)]
    if not isinstance(one, Field | Tag) or len(values) < len(elements):
        return None
    if not values or not all(_is_of(one.type, value) for value in values):
        return None
    return _value(one).isin(values)


def _is_of(kind: Type, value: Literal) -> bool:
    """Whether a literal is of the very type: between types CEL has rules of its own."""
    match kind:
        case Type.STRING:
            return isinstance(value, str)
        case Type.BOOL:
            return isinstance(value, bool)
        case Type.INT:
            return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63
        case _:
            return False


def _value(of: Field | Tag) -> Column:
    if isinstance(of, Tag):
        return F.try_element_at(F.col(TAGS), F.lit(of.key))
    name = str(of.field.column)
    return F.coalesce(F.col(name), F.lit(0)) if name == "size" else F.col(name)
