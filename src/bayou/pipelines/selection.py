"""Selection: what of a table is asked for, as far as it spares work. Spark applies the filters themselves again."""

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bayou.domain.models import Model
from bayou.domain.scopes import EVERYTHING, Scope, scope_of
from bayou.errors import UsageError
from bayou.layout.typefolders import type_at

_ORDERED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "GreaterThan": operator.gt,
    "GreaterThanOrEqual": operator.ge,
    "LessThan": operator.lt,
    "LessThanOrEqual": operator.le,
}


@dataclass(frozen=True, slots=True)
class Selection:
    """`values` are the only ones of a column that are asked for, `bounds` comparisons (a column, how, with what)."""

    values: Mapping[str, tuple[Any, ...]]
    bounds: tuple[tuple[str, str, Any], ...] = ()

    def may_be(self, column: str, value: object) -> bool:
        """Whether rows with this value are asked for."""
        wanted = self.values.get(column)
        return (wanted is None or value in wanted) and all(
            value is not None and _ORDERED[how](value, limit) for name, how, limit in self.bounds if name == column
        )

    def keeps(self, known: Mapping[str, object]) -> bool:
        """Whether a row may be asked for of which this much is known."""
        return all(self.may_be(column, known[column]) for column in self.columns if column in known)

    @property
    def columns(self) -> frozenset[str]:
        return frozenset((*self.values, *(name for name, _, _ in self.bounds)))

    @property
    def scope(self) -> Scope:
        """The models, where types and ids are named."""
        types, ids = self.values.get("type"), self.values.get("model_id")
        if types is None or ids is None:
            return EVERYTHING
        return scope_of(model for one in types for id_ in ids if (model := _model(one, id_)) is not None)

    def part(self, name: str) -> bool:
        """Whether a part of the index with versions may hold what is asked for: parts are named by type and id."""
        types, ids = self.values.get("type"), self.values.get("model_id")
        starts = None if types is None else tuple(f"data--{'--'.join(str(one).split('/'))}--" for one in types)
        ends = None if ids is None else tuple(f"--{one}" for one in ids)
        return (starts is None or name.startswith(starts)) and (ends is None or name.endswith(ends))


NO_SELECTION: Final = Selection({})


def selection_of(filters: Iterable[Any]) -> Selection:
    """What filters of Spark say that can be used: equality and ranges of whole columns."""
    values: dict[str, tuple[Any, ...]] = {}
    bounds = []
    for one in filters:
        kind = type(one).__name__
        if len(getattr(one, "attribute", ())) != 1:
            continue
        (column,) = one.attribute
        if kind in ("EqualTo", "EqualNullSafe", "In"):
            asked = tuple(one.value) if kind == "In" else (one.value,)
            before = values.get(column)
            values[column] = asked if before is None else tuple(value for value in before if value in asked)
        elif kind in _ORDERED:
            bounds.append((column, kind, one.value))
    return Selection(values, tuple(bounds))


def _model(type_path: object, model_id: object) -> Model | None:
    try:
        model_type = type_at(str(type_path))
        return None if model_type is None else Model(model_type, str(model_id))
    except UsageError:
        return None  # no model is called that
