"""Queries on Spark: the rows that a CEL predicate asks for, the same that the catalog answers.

The predicate is checked and taken apart by the same code. What Spark can say exactly becomes a column, which filters
and is pushed down to the index; what is left over the engine decides row by row on the executors, with the content of
a version where it is asked for.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from bayou.pipelines.columns import column
from bayou.pipelines.reach import Reach
from bayou.query.engine import Outcome
from bayou.query.facts import Facts
from bayou.query.fields import FIELDS, IN_CONTENT, TAGS, Field, Type
from bayou.query.planning import Condition, Plan, plan
from bayou.query.running import decide, project
from bayou.query.verdicts import only_engine
from bayou.wire.javascript import compact

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MATCH: Final = "match"
UNDECIDED: Final = "undecided"
FAILED: Final = "failed: "

_OUTCOME: Final = "outcome"
_PROJECTED: Final = "projected"
_ORDERED_AS: Final = {"created_ms": "created"}


@dataclass(frozen=True)
class Asked:
    """A query that was planned. Nothing has run yet."""

    plan: Plan
    rows: "DataFrame"
    """Those that pass, with their `outcome`, and with a projection as JSON in `projected`."""

    @property
    def matches(self) -> "DataFrame":
        return self.rows.filter(F.col(_OUTCOME) == MATCH).drop(_OUTCOME)

    def trouble(self) -> Mapping[str, int]:
        """How many rows could not be decided, or failed, by what there is to say. It runs the query."""
        counted = self.rows.filter(F.col(_OUTCOME) != MATCH).groupBy(_OUTCOME).count().collect()
        return {row[0].removeprefix(FAILED): row[1] for row in counted}


def ask(
    spark: "SparkSession",
    reach: Reach,
    predicate: str | None = None,
    *,
    select: str | None = None,
    order_by: str | None = None,
) -> Asked:
    """Check a predicate and plan its query. `UsageError` says what is wrong with it, before anything has run."""
    planned = plan(predicate, select=select, order_by=order_by)
    mentioned = _mentioned(planned)
    table = "content" if mentioned & IN_CONTENT else "artifacts"
    options = {"url": reach.url, "namespaces": ",".join(reach.namespaces), "table": table}
    rows = spark.read.format("bayou").options(**options).load().filter("problem IS NULL")
    return Asked(planned, asked_of(rows, planned, select))


def documents(asked: Asked, limit: int | None = None) -> tuple[list[object], bool]:
    """The results as JSON has them, with the names of fields; and whether there are more than the limit."""
    found = asked.matches if limit is None else asked.matches.limit(limit + 1)
    rows = found.collect()
    shown = rows if limit is None else rows[:limit]
    if asked.plan.projection is not None:
        return [msgspec.json.decode(row[_PROJECTED]) for row in shown], len(rows) > len(shown)
    scalars = [field for field in FIELDS.values() if field.column is not None]
    made: list[object] = [
        {field.name: _known(field, row[str(field.column)]) for field in scalars} | {"tags": row[TAGS] or {}}
        for row in shown
    ]
    return made, len(rows) > len(shown)


def asked_of(rows: "DataFrame", planned: Plan, select: str | None = None) -> "DataFrame":
    """The rows of a frame that pass, with what became of each."""
    exact, rest = conditions(planned)
    found = rows.filter(exact).withColumn(_OUTCOME, outcome(planned, rest)).filter(F.col(_OUTCOME) != "no")
    if select is not None:
        found = found.withColumn(_PROJECTED, _projection(planned, select))
    order = [
        F.col(name).desc() if one.descending else F.col(name).asc()
        for one in planned.ordering
        for name in [_ORDERED_AS.get(one.column, one.column)]
    ]
    return found.orderBy(*order)


def conditions(planned: Plan) -> tuple[Column, tuple[int, ...]]:
    """What Spark can say, all together; and which conditions are left to the engine."""
    exact = [F.col("is_latest")] if planned.only_latest else []
    exact += [F.col("lifecycle") == "active"] if planned.only_active else []
    rest = []
    for number, condition in enumerate(planned.conditions):
        found = column(condition.evaluated.tree)
        if found is None:
            rest.append(number)
        else:
            exact.append(found)
    return reduce(lambda one, other: one & other, exact, F.lit(True)), tuple(rest)


def outcome(planned: Plan, rest: tuple[int, ...]) -> Column:
    """`match`, `no`, `undecided`, or `failed: ` and why, as the engine decides these conditions."""
    if not rest:
        return F.lit(MATCH)
    text = str(planned.predicate)
    reads = frozenset().union(*(planned.conditions[number].evaluated.reads for number in rest))
    return _by_engine(reads, lambda: _deciding(plan(text), rest))


def _deciding(planned: Plan, rest: tuple[int, ...]) -> Callable[[Facts], str]:
    # What SQL knows of them is left out: here the engine answers all.
    left = [Condition(planned.conditions[number].evaluated, only_engine()) for number in rest]

    def decided(facts: Facts) -> str:
        decision = decide(left, facts)
        match decision.outcome:
            case None:
                return MATCH
            case Outcome.MISSING:
                return "no"
            case Outcome.UNKNOWN:
                return UNDECIDED
            case Outcome.FAILED:
                return f"{FAILED}{decision.message}"

    return decided


def _projection(planned: Plan, select: str) -> Column:
    reads = planned.projection.reads if planned.projection else frozenset[str]()

    def projecting() -> Callable[[Facts], str]:
        projection = plan(None, select=select).projection
        assert projection is not None  # noqa: S101 - as it was asked for
        return lambda facts: compact(project(projection, facts)[0]).decode()

    return _by_engine(reads, projecting)


def _by_engine(reads: frozenset[str], prepared: Callable[[], Callable[[Facts], str]]) -> Column:
    """What the engine makes of each row, of which it is given what it reads."""
    names = sorted(reads - IN_CONTENT)
    wanted = [_given(FIELDS[name]) for name in names]
    in_content = bool(reads & IN_CONTENT)
    wanted += [F.col("content_type"), F.col("content")] if in_content else [F.lit("")]

    def answers(*arrays: pa.Array) -> pa.Array:
        answer = prepared()
        found = []
        for values in zip(*(array.to_pylist() for array in arrays), strict=True):
            known = {name: _known(FIELDS[name], value) for name, value in zip(names, values, strict=False)}
            if in_content:
                content_type, content = values[-2:]
                facts = Facts(known, content_type, partial(_identity, content))
            else:
                facts = Facts(known)
            found.append(answer(facts))
        return pa.array(found, type=pa.string())

    function: Any = F.arrow_udf(answers, returnType="string")  # type: ignore[attr-defined] # its stub leaves it out
    made: Column = function(*wanted)
    return made


def _identity(content: bytes | None) -> bytes | None:
    return content


def _given(field: Field) -> Column:
    return F.map_entries(TAGS) if field.name == TAGS else F.col(str(field.column))


def _known(field: Field, value: Any) -> object:  # noqa: ANN401 - a cell
    if field.name == TAGS:
        return {entry["key"]: entry["value"] for entry in value or ()}
    if field.type is Type.DYN and isinstance(value, str) and value.isdigit():
        return int(value)  # how many versions are kept
    if value is None:
        return 0 if field.type is Type.INT else ""
    return value


def _mentioned(planned: Plan) -> frozenset[str]:
    read = [condition.evaluated.reads for condition in planned.conditions]
    return frozenset().union(*read, planned.projection.reads if planned.projection else ())
