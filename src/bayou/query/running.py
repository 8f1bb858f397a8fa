"""Run a plan: rows in their order, up to the one that shows that there are more than was asked for.

What is reported (errors, and rows that could not be decided) is about the rows up to there. So it does not depend on
what SQL answered: a row that SQL leaves out is one that the predicate is false for, or that lacks a key it asks for.
"""

import weakref
from array import array
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import Any, Final, NamedTuple

from bayou.catalog import Catalog
from bayou.catalog.rows import tags_of
from bayou.domain.artifacts import ArtifactKey
from bayou.domain.models import Model
from bayou.errors import ErrorKind, UsageError
from bayou.layout.typefolders import type_at
from bayou.query import engine
from bayou.query.conditions import Sql, every, filled, listed
from bayou.query.engine import Outcome
from bayou.query.facts import Facts
from bayou.query.fields import FIELDS, TAGS, Type
from bayou.query.planning import Condition, Evaluated, Plan, wrong_value
from bayou.query.projecting import shown
from bayou.query.pushdown import MATCHES
from bayou.query.reach import Abroad, Hydrate, Reach, Stored
from bayou.tree import Tree

_FEW: Final = (100, 2_000, 20_000)
"""As few rows are found through an index. Of more, the whole table is looked at, row after row. To count is cheap as
long as one way in finds few."""
_BATCH: Final = 200
_MOST_MESSAGES: Final = 100
_OTHERS: Final = "other errors"
_REMEDY: Final = "Ask for the kind first, as in type(attributes.n) == int && attributes.n > 1, or leave out --strict."

_PLACE: Final = ("namespace", "type", "model_id", "name", "version")


@dataclass(frozen=True, slots=True)
class Failures:
    """Rows that failed in the same way, and one of them."""

    count: int
    example: str


@dataclass
class Found:
    """What a run has found so far."""

    rows: "array[int]" = field(default_factory=lambda: array("q"))
    projected: list[object] = field(default_factory=list)
    """With a projection, one for each row."""
    limited: bool = False
    failures: dict[str, Failures] = field(default_factory=dict)
    undecided: int = 0

    def cut(self, limit: int | None) -> None:
        """To what was asked for: the one row more has told what it had to."""
        if limit is not None and len(self.rows) > limit:
            self.limited = True
            del self.rows[limit:], self.projected[limit:]


class Candidate(NamedTuple):
    """A row that SQL lets through."""

    row: int
    place: str
    flags: tuple[Any, ...]
    facts: Facts
    stored: Stored | None
    """Where its content is, if it has a place."""


class Decision(NamedTuple):
    outcome: Outcome | None
    """None for a match; MISSING for whatever does not match."""
    message: str = ""


_MATCH: Final = Decision(None)
_NO_MATCH: Final = Decision(Outcome.MISSING)
_UNDECIDED: Final = Decision(Outcome.UNKNOWN)


def run(  # noqa: PLR0913 - all that a run depends on
    plan: Plan,
    catalog: Catalog,
    tree: Tree,
    *,
    limit: int | None,
    strict: bool,
    hydrate: Hydrate | None,
    found: Found,
    abroad: Abroad | None = None,
    without: Sequence[int] = (),
) -> None:
    """Add to `found` what the catalog has, until it holds more than `limit`. Rows `without` are passed over."""
    most = None if limit is None else limit + 1 - len(found.rows)
    if most is not None and most <= 0:
        return
    _define_functions(plan, catalog)
    where = _where(plan, catalog)
    if without:
        where = every((where, filled("artifact.row NOT IN {0}", listed(without))))
    if not plan.undecided and plan.projection is None:
        rows = catalog.select(where.text, where.parameters, columns=("row",), order_by=plan.order_by, limit=most)
        found.rows.extend(row for (row,) in rows)
        return
    batch_size = _BATCH if most is None else min(_BATCH, max(most, 20))
    reach = Reach(tree, hydrate, abroad)
    candidates = _candidates(plan, catalog, reach, where)
    while batch := list(islice(candidates, batch_size)):
        for candidate, decision in _decided(plan, batch, reach):
            _note(plan, candidate, decision, found, strict=strict)
            if limit is not None and len(found.rows) > limit:
                candidates.close()
                return


def count(plan: Plan, catalog: Catalog, tree: Tree) -> int:
    """How many rows match, without a list of them where SQL can count alone."""
    if not plan.undecided:
        _define_functions(plan, catalog)
        where = _where(plan, catalog)
        return catalog.count(where.text, where.parameters)
    found = Found()
    run(plan, catalog, tree, limit=None, strict=False, hydrate=None, found=found)
    return len(found.rows)


def decide(conditions: Iterable[Condition], facts: Facts, flags: Sequence[Any] = ()) -> Decision:
    """What the conditions come to, all together. Of several errors, the first counts; false and missing end it all."""
    undecided, failure = False, ""
    certain = iter(flags)
    for condition in conditions:
        if condition.flag is not None and next(certain, None):
            continue
        value, outcome, message = condition.evaluated(facts)
        if outcome is None:
            if value is False:
                return _NO_MATCH
            if value is not True:
                failure = failure or wrong_value(value)
        elif outcome is Outcome.MISSING:
            return _NO_MATCH
        elif outcome is Outcome.UNKNOWN:
            undecided = True
        else:
            failure = failure or message
    if undecided:
        return _UNDECIDED
    return Decision(Outcome.FAILED, failure) if failure else _MATCH


def project(projection: Evaluated, facts: Facts) -> tuple[object, Decision]:
    """The value that is shown of a row: null where there is none."""
    value, outcome, message = projection(facts)
    if outcome is None:
        return shown(value), _MATCH
    if outcome is Outcome.FAILED:
        return None, Decision(Outcome.FAILED, message)
    return None, _UNDECIDED if outcome is Outcome.UNKNOWN else _NO_MATCH


def look_at(  # noqa: PLR0913 - a row, and where it goes
    plan: Plan, row: int, place: str, facts: Facts, found: Found, *, strict: bool
) -> None:
    """Decide a row that SQL knows nothing of, and note what comes of it."""
    _note(plan, Candidate(row, place, (), facts, None), decide(plan.conditions, facts), found, strict=strict)


def _note(plan: Plan, candidate: Candidate, decision: Decision, found: Found, *, strict: bool) -> None:
    if decision.outcome is None:
        found.rows.append(candidate.row)
        if plan.projection is not None:
            value, decision = project(plan.projection, candidate.facts)
            found.projected.append(value)
    if decision.outcome is Outcome.UNKNOWN:
        found.undecided += 1
    elif decision.outcome is Outcome.FAILED:
        if strict:
            raise UsageError(f"{candidate.place}: {decision.message}", kind=ErrorKind.INVALID_QUERY, remedy=_REMEDY)
        message = decision.message
        if message not in found.failures and len(found.failures) >= _MOST_MESSAGES:
            message = _OTHERS
        known = found.failures.get(message)
        found.failures[message] = Failures(known.count + 1, known.example) if known else Failures(1, candidate.place)


def _decided(plan: Plan, batch: list[Candidate], reach: Reach) -> Iterator[tuple[Candidate, Decision]]:
    decisions = [decide(plan.undecided, candidate.facts, candidate.flags) for candidate in batch]
    lacking = [at for at, candidate in enumerate(batch) if _lacks_content(plan, candidate, decisions[at], reach)]
    if lacking:
        reach.bring([stored for at in lacking if (stored := batch[at].stored)])
        for at in lacking:
            batch[at].facts.forget()
            if decisions[at] is _UNDECIDED:
                decisions[at] = decide(plan.undecided, batch[at].facts, batch[at].flags)
    return zip(batch, decisions, strict=True)


def _lacks_content(plan: Plan, candidate: Candidate, decision: Decision, reach: Reach) -> bool:
    """Whether it takes content that could be brought."""
    if candidate.stored is None or not reach.can_bring(candidate.stored):
        return False
    if decision is _UNDECIDED:
        return True
    return decision is _MATCH and plan.projection is not None and plan.projection(candidate.facts)[1] is Outcome.UNKNOWN


def _candidates(plan: Plan, catalog: Catalog, reach: Reach, where: Sql) -> Generator[Candidate]:
    flags = [condition.flag for condition in plan.undecided if condition.flag is not None]
    fields = [FIELDS[name] for name in sorted(plan.reads) if FIELDS[name].is_scalar]
    columns = ["row", *_PLACE, "content_type", *(str(one.column) for one in fields)]
    if TAGS in plan.reads:
        columns.append("tags")
    parameters = (*(value for flag in flags for value in flag.parameters), *where.parameters)
    first_flag = len(columns)
    # A flag's parameters come before those of the condition, as the flags do in the statement.
    statement = catalog.select(
        where.text,
        parameters,
        columns=[*columns, *(flag.text for flag in flags)],
        order_by=plan.order_by,
    )
    for values in statement:
        row, namespace, type_path, model_id, name, version, content_type = values[:7]
        known: dict[str, object] = {
            one.name: bool(value) if one.type is Type.BOOL else value
            for one, value in zip(fields, values[7:first_flag], strict=False)
        }
        if TAGS in plan.reads:
            known[TAGS] = tags_of(values[first_flag - 1])
        place = (namespace, type_path, model_id, name, version)
        key = _key(*place[1:4])
        stored = Stored(namespace, key, version) if key else None
        read = partial(reach.read, stored) if stored else _nothing
        yield Candidate(row, _place(*place), values[first_flag:], Facts(known, content_type, read), stored)


def _key(type_path: str, model_id: str, name: str) -> ArtifactKey | None:
    model_type = type_at(type_path)
    return ArtifactKey(Model(model_type, model_id), name) if model_type else None


def _nothing() -> None:
    return None


def _place(namespace: str, type_path: str, model_id: str, name: str, version: int) -> str:
    prefix = f"{namespace}:" if namespace else ""
    return f"{prefix}{type_path}/{model_id}/{name} version {version}"


def _where(plan: Plan, catalog: Catalog) -> Sql:
    """The condition, with the best way to find its rows in front."""
    if not plan.seeks:
        return plan.where
    for most in _FEW:
        number, best = min(zip(_counted(plan.seeks, catalog, most), plan.seeks, strict=True), key=itemgetter(0))
        if number <= most:
            return every((Sql(f"artifact.row IN ({best.text})", best.parameters), plan.where))
    return plan.where


def _counted(seeks: Sequence[Sql], catalog: Catalog, most: int) -> list[int]:
    """How many rows each finds, as far as `most`."""
    count = f"(SELECT count(*) FROM (SELECT 1 FROM ({{0}}) LIMIT {most + 1}))"  # noqa: S608 - a number of ours
    counted = [filled(count, seek) for seek in seeks]
    parameters = [value for one in counted for value in one.parameters]
    return list(next(catalog.select("1", parameters, columns=[one.text for one in counted], limit=1), [0] * len(seeks)))


_with_functions: "weakref.WeakSet[Catalog]" = weakref.WeakSet()


def _define_functions(plan: Plan, catalog: Catalog) -> None:
    if plan.matches_in_sql and catalog not in _with_functions:
        catalog.define(MATCHES, engine.matches, 2)
        _with_functions.add(catalog)
