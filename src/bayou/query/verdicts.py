"""What SQL can say about a part of a predicate: for which rows it is true, is false, fails, or only the engine knows.

CEL has no NULL. What goes wrong within a row is an error, which `&&`, `||` and `?:` absorb where the other side
decides. So a part is not one condition but five, each of which holds or does not: what is left when neither `true` nor
`false` holds is an error. Where SQL cannot tell, `maybe_true` and `maybe_false` hold without `true` and `false`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bayou.query.conditions import ALWAYS, NEVER, Sql, every, fails, some
from bayou.query.paths import UNKNOWN


@dataclass(frozen=True, slots=True)
class Verdict:
    true: Sql
    maybe_true: Sql
    false: Sql
    maybe_false: Sql
    faulty: Sql
    """At least where it fails with an error that is counted. Missing keys are not."""
    seek: Sql | None = None
    """A statement that gives all rows that pass, and perhaps more, and finds them by an index."""

    @property
    def passes(self) -> Sql:
        """Which rows are worth a look: those that match, perhaps match, or fail."""
        return some((self.maybe_true, self.faulty))

    @property
    def is_exact(self) -> bool:
        return self.passes == self.true


def exactly(true: Sql, false: Sql, *, faulty: Sql = NEVER, seek: Sql | None = None) -> Verdict:
    return Verdict(true, true, false, false, faulty, seek)


def uncertain(true: Sql, false: Sql, where: Sql, *, faulty: Sql = NEVER, seek: Sql | None = None) -> Verdict:
    """`true` and `false` say all, but for rows `where` only the engine can tell."""
    return Verdict(true, some((true, where)), false, some((false, where)), some((faulty, where)), seek)


def only_engine(where: Sql = ALWAYS) -> Verdict:
    """SQL knows nothing, but that it neither holds nor fails elsewhere."""
    return Verdict(NEVER, where, NEVER, where, where)


def negation(part: Verdict) -> Verdict:
    return Verdict(part.false, part.maybe_false, part.true, part.maybe_true, part.faulty)


def conjunction(parts: Sequence[Verdict]) -> Verdict:
    return Verdict(
        every(part.true for part in parts),
        every(part.maybe_true for part in parts),
        some(part.false for part in parts),
        some(part.maybe_false for part in parts),
        _unless(parts, [part.false for part in parts]),
        next((part.seek for part in parts if part.seek is not None and _is_never(parts)), None),
    )


def disjunction(parts: Sequence[Verdict]) -> Verdict:
    seeks = [part.seek for part in parts if part.seek is not None]
    return Verdict(
        some(part.true for part in parts),
        some(part.maybe_true for part in parts),
        every(part.false for part in parts),
        every(part.maybe_false for part in parts),
        _unless(parts, [part.true for part in parts]),
        union(seeks) if len(seeks) == len(parts) <= _MOST_SEEKS else None,
    )


def choice(condition: Verdict, then: Verdict, otherwise: Verdict) -> Verdict:
    """Of `condition ? then : otherwise`."""

    def either(one: Sql, other: Sql, *, holds: Sql, holds_not: Sql) -> Sql:
        return some((every((holds, one)), every((holds_not, other))))

    surely = {"holds": condition.true, "holds_not": condition.false}
    perhaps = {"holds": condition.maybe_true, "holds_not": condition.maybe_false}
    return Verdict(
        either(then.true, otherwise.true, **surely),
        either(then.maybe_true, otherwise.maybe_true, **perhaps),
        either(then.false, otherwise.false, **surely),
        either(then.maybe_false, otherwise.maybe_false, **perhaps),
        some((condition.faulty, either(then.faulty, otherwise.faulty, **perhaps))),
    )


TRUE: Final = exactly(ALWAYS, NEVER)
FALSE: Final = exactly(NEVER, ALWAYS)

_MOST_SEEKS = 100


def _unless(parts: Sequence[Verdict], decided: Sequence[Sql]) -> Sql:
    """Where a part fails, and no other decides. To look at the few unknown rows costs less than to ask that of them."""
    faulty = some(part.faulty for part in parts)
    return faulty if faulty in (NEVER, UNKNOWN) else every((faulty, *(fails(one) for one in decided)))


def _is_never(parts: Sequence[Verdict]) -> bool:
    return all(part.faulty == NEVER for part in parts)


def union(seeks: Sequence[Sql]) -> Sql:
    return Sql(" UNION ALL ".join(one.text for one in seeks), tuple(value for one in seeks for value in one.parameters))
