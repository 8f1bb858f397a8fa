"""Terms: parts of a predicate that are one value of a row, as SQL sees it."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from bayou.query.conditions import NEVER, Sql, filled
from bayou.query.expressions import Call, Constant, Name, Node
from bayou.query.fields import FIELDS, TAGS, Field, Type
from bayou.query.paths import path_of

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)")

# SQLite's own functions stop at a NUL; only operators look at whole texts.
HAS_NUL: Final = "instr({0}, char(0)) > 0"


@dataclass(frozen=True, slots=True)
class Column:
    field: Field

    @property
    def type(self) -> Type:
        return self.field.type

    @property
    def sql(self) -> Sql:
        # The plus keeps SQLite from choosing an index here. Which one to use is said by a seek.
        return Sql(f"+artifact.{self.field.column}")


@dataclass(frozen=True, slots=True)
class Tag:
    """A text, or NULL where there is no such tag."""

    key: str
    type: Type = Type.STRING

    @property
    def sql(self) -> Sql:
        return Sql("(SELECT value FROM tag WHERE tag.artifact = artifact.row AND key = ?)", (self.key,))


@dataclass(frozen=True, slots=True)
class Length:
    """Of a text, in code points."""

    of: "Column | Tag"
    type: Type = Type.INT

    @property
    def sql(self) -> Sql:
        return filled(f"CASE WHEN NOT ({HAS_NUL}) THEN length({{0}}) END", self.of.sql)

    @property
    def doubt(self) -> Sql:
        return filled(HAS_NUL, self.of.sql)


@dataclass(frozen=True, slots=True)
class TagCount:
    type: Type = Type.INT

    @property
    def sql(self) -> Sql:
        return Sql("(SELECT count(*) FROM tag WHERE tag.artifact = artifact.row)")


@dataclass(frozen=True, slots=True)
class Attribute:
    """Of any kind."""

    key: str


@dataclass(frozen=True, slots=True)
class AttributeLength:
    key: str


@dataclass(frozen=True, slots=True)
class Created:
    """The call `timestamp(createdAt)`."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A literal time, in nanoseconds since the epoch."""

    nanoseconds: int


Plain = Column | Tag | Length | TagCount
"""What is one SQL value of one type."""
Term = Plain | Attribute | AttributeLength | Created | Moment | Constant


def term(node: Node) -> Term | None:  # noqa: PLR0911 - one return per kind of term
    match node:
        case Constant():
            return node
        case Name(name=name):
            field = FIELDS.get(name)
            return Column(field) if field and field.is_scalar and field.type is not Type.DYN else None
        case Call(function="timestamp", arguments=(Constant(value=str(text)),)):
            return _moment(text)
        case Call(function="timestamp", arguments=(Name(name="createdAt"),)):
            return Created()
        case Call(function="size", arguments=(measured,)):
            return _length(measured)
        case _:
            path = path_of(node)
            if path is None or path.goes_on:
                return None
            return Tag(path.key) if path.root == TAGS else Attribute(path.key)


def doubt(plain: Plain) -> Sql:
    """The rows for which SQL cannot say the value."""
    return plain.doubt if isinstance(plain, Length) else NEVER


def _length(measured: Node) -> Term | None:
    if isinstance(measured, Name) and measured.name == TAGS:
        return TagCount()
    match term(measured):
        case Column(field=field) as column if field.type is Type.STRING:
            return Length(column)
        case Tag() as tag:
            return Length(tag)
        case Attribute(key=key):
            return AttributeLength(key)
        case _:
            return None


def _moment(text: str) -> Moment | None:
    match = _MOMENT.fullmatch(text)
    if not match:
        return None
    second, fraction, zone = match.groups()
    try:
        seconds = datetime.fromisoformat(second + zone.replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError):
        return None
    return Moment(int(seconds) * 1_000_000_000 + int((fraction or "").ljust(9, "0")))
