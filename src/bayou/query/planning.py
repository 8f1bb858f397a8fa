"""The plan of a query: what SQLite answers, what is left to the engine, and in which order rows come."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from bayou.domain.suggestions import suggestion
from bayou.errors import ErrorKind, UsageError
from bayou.query.checking import Text, check_predicate, check_projection
from bayou.query.conditions import Sql, every
from bayou.query.engine import Outcome, Program, outcome_of, plainly
from bayou.query.expressions import Node, roots
from bayou.query.facts import Facts
from bayou.query.fields import DEFAULT_ORDER, FIELDS, HISTORY, LIFECYCLE
from bayou.query.literals import TooDeep
from bayou.query.literals import bound as with_values
from bayou.query.paths import takes_text
from bayou.query.pushdown import MATCHES, parts, push_down
from bayou.query.verdicts import Verdict, only_engine

# SQLite takes 32,766 in one statement.
_MOST_PARAMETERS: Final = 15_000
_MOST_IN_ALL: Final = 30_000
# What each costs grows with their number: 100 cost a row 0.3 ms, 800 cost it 60.
_MOST_SUBQUERIES: Final = 100

# Times as numbers have an index; as texts they say the same.
_ORDERED_AS: Final = {"createdAt": ("created_ms", "created_at")}


class Evaluated:
    """An expression that the engine evaluates for a row."""

    def __init__(self, text: Text, tree: Node) -> None:
        self._text = text
        self.tree = tree
        self.reads = roots(tree) & FIELDS.keys()  # names of types are no fields
        self._takes_text = takes_text(tree)

    @cached_property
    def _program(self) -> Program:
        if self.tree is self._text.checked.tree:
            return self._text.program
        return Program.of(self._text.checked.program(self.tree.encoded))

    def __call__(self, facts: Facts) -> tuple[object, Outcome | None, str]:
        """The value; or None, what became of it, and what there is to say about that."""
        data, nul = facts.data(self.reads, takes_text=self._takes_text)
        program = self._program
        if nul:
            try:
                program = Program.of(self._text.checked.program(with_values(self.tree.encoded, data)))
            except TooDeep:
                return None, Outcome.FAILED, "a value with a NUL in it is nested too deeply"
            data = {}
        value, message = program(data)
        return (value, None, "") if message is None else (None, outcome_of(message), plainly(message))


@dataclass(frozen=True, slots=True)
class Condition:
    """One operand of the `&&` that a predicate is, at its outermost; or all of it, if it is none."""

    evaluated: Evaluated
    verdict: Verdict

    @property
    def flag(self) -> Sql | None:
        """What spares the engine a row, where SQL can be sure."""
        return None if self.verdict.true.text == "0" else self.verdict.true


@dataclass(frozen=True, slots=True)
class Ordering:
    """By a column. What comes first is decided by the rest of the order."""

    column: str
    descending: bool


@dataclass(frozen=True)
class Plan:
    predicate: str | None
    conditions: tuple[Condition, ...]
    implicit: tuple[Sql, ...]
    """What a predicate is not asked for: older versions and markers of deletions, unless it speaks of them."""
    only_latest: bool
    only_active: bool
    projection: Evaluated | None
    ordering: tuple[Ordering, ...]

    @cached_property
    def undecided(self) -> tuple[Condition, ...]:
        """The conditions that SQL answers for some rows or none."""
        return tuple(condition for condition in self.conditions if not condition.verdict.is_exact)

    @cached_property
    def where(self) -> Sql:
        """Every row that may match, or fail."""
        return every((*self.implicit, *(condition.verdict.passes for condition in self.conditions)))

    @cached_property
    def seeks(self) -> tuple[Sql, ...]:
        """Each a way to find, by an index, all rows that pass."""
        return tuple(condition.verdict.seek for condition in self.conditions if condition.verdict.seek is not None)

    @property
    def order_by(self) -> str:
        return ", ".join(f"{one.column} DESC" if one.descending else one.column for one in self.ordering)

    @cached_property
    def reads(self) -> frozenset[str]:
        """The fields that the engine has to know."""
        evaluated = [condition.evaluated for condition in self.undecided]
        if self.projection:
            evaluated.append(self.projection)
        return frozenset().union(*(one.reads for one in evaluated))

    @property
    def matches_in_sql(self) -> bool:
        return MATCHES in self.where.text


def plan(predicate: str | None, *, select: str | None = None, order_by: str | None = None) -> Plan:
    """Check all that was asked for, and plan it. `UsageError` says what is wrong, before anything has run."""
    text = None if predicate is None else check_predicate(predicate)
    projection = None if select is None else check_projection(select)
    mentioned = roots(text.checked.tree) if text else frozenset()
    history = bool(mentioned & HISTORY)
    active = LIFECYCLE not in mentioned
    implicit = [] if history else [Sql("artifact.is_latest = 1")]
    if active:
        implicit.append(Sql("+artifact.lifecycle = 'active'"))
    return Plan(
        predicate,
        _conditions(text, history=history) if text else (),
        tuple(implicit),
        not history,
        active,
        Evaluated(projection, projection.checked.tree) if projection else None,
        _ordering(order_by),
    )


def wrong_value(value: object) -> str:
    """What is wrong with a value that a predicate gave."""
    return f"the predicate gives {_named(value)}, not true or false"


def _conditions(text: Text, *, history: bool) -> tuple[Condition, ...]:
    """As far as one statement can hold them, with what SQL can say; the rest is the engine's."""
    found = []
    parameters, subqueries = _MOST_IN_ALL, _MOST_SUBQUERIES
    for tree in parts(text.checked.tree, "_&&_"):
        verdict = push_down(tree, history=history)
        asked = [verdict.passes] if verdict.is_exact else [verdict.passes, verdict.true]
        bound = sum(len(one.parameters) for one in asked)
        nested = sum(one.text.count("(SELECT") for one in asked)
        if bound > min(parameters, _MOST_PARAMETERS) or nested > subqueries:
            verdict = only_engine()
        else:
            parameters, subqueries = parameters - bound, subqueries - nested
        found.append(Condition(Evaluated(text, tree), verdict))
    return tuple(found)


def _ordering(order_by: str | None) -> tuple[Ordering, ...]:
    """`createdAt desc`, `-createdAt`, `modelName, -version`; then the default order."""
    ordering = []
    for part in (order_by or "").split(",") if order_by is not None else ():
        words = part.split()
        if len(words) == 1 and words[0].startswith("-"):
            words = [words[0][1:], "desc"]
        name = words[0] if words else ""
        if len(words) not in (1, 2) or words[1:] not in ([], ["asc"], ["desc"]):
            raise _unordered(f"{order_by!r} is no order", 'Write a field, and desc for the reverse: "createdAt desc".')
        field = FIELDS.get(name)
        sortable = sorted((one.name for one in FIELDS.values() if one.is_scalar), key=str.casefold)
        if field is None or field.column is None:
            raise _unordered(
                f"{name!r} is no field to order by{suggestion(name, sortable)}",
                f"The fields are: {', '.join(sortable)}.",
            )
        descending = words[1:] == ["desc"]
        ordering += [Ordering(column, descending) for column in _ORDERED_AS.get(name, (field.column,))]
    named = {one.column for one in ordering}
    return (*ordering, *(Ordering(column, descending=False) for column in DEFAULT_ORDER if column not in named))


def _unordered(message: str, remedy: str) -> UsageError:
    return UsageError(message, kind=ErrorKind.INVALID_QUERY, remedy=remedy)


def _named(value: object) -> str:
    match value:
        case None:
            return "null"
        case str():
            return "a text"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case dict():
            return "a map"
        case _:
            return "a value"
