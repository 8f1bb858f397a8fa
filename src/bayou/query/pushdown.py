"""From a checked expression to what SQL can say about it: node by node, and honest about the rest."""

from collections.abc import Callable
from typing import Final

from bayou.domain.artifacts import JSON
from bayou.query.comparisons import (
    NOTHING,
    NUMBERS,
    OPERATORS,
    attribute,
    attribute_seek,
    column_seek,
    comparison,
    membership,
    tag_seek,
)
from bayou.query.conditions import ALWAYS, Parameter, Sql, every, filled
from bayou.query.expressions import Call, Constant, Literal, Name, Node, Select, Sequence
from bayou.query.fields import ATTRIBUTES, CONTENT, TAGS, Type
from bayou.query.paths import UNKNOWN, Path, first_path, is_there, keys, takes_text
from bayou.query.terms import HAS_NUL, Attribute, Column, Tag, Term, term
from bayou.query.verdicts import (
    FALSE,
    TRUE,
    Verdict,
    choice,
    conjunction,
    disjunction,
    exactly,
    negation,
    only_engine,
    uncertain,
)

MATCHES: Final = "bayou_matches"
"""The engine's `matches` as a function of SQL, given pattern and text."""

_LOGIC: Final = {"_&&_": conjunction, "_||_": disjunction}


def parts(node: Node, function: str) -> list[Node]:
    """The operands of a chain of `&&` or `||`, in the order in which they were written."""
    found, waiting = [], [node]
    while waiting:
        current = waiting.pop()
        if isinstance(current, Call) and current.function == function:
            waiting.extend(reversed(current.arguments))
        else:
            found.append(current)
    return found


def push_down(node: Node, *, history: bool) -> Verdict:
    """What SQL can say about a condition.

    `history` says that older versions are asked for too: then the indexes that hold only the latest do not help.
    """
    if takes_text(node) and any(path.root == CONTENT for path in keys(node)):
        # Of a text that is not here, its keys are unknown then, where otherwise it just has none.
        return only_engine()
    return _part(node, history=history)


def _part(node: Node, *, history: bool) -> Verdict:
    match node:
        case Call(function=function) if function in _LOGIC:
            return _LOGIC[function](_chain(parts(node, function), function, history=history))
        case Call(function="!_", arguments=(inner,)):
            return negation(_part(inner, history=history))
        case Call(function="_?_:_", arguments=(condition, then, otherwise)):
            asked, one, other = (_part(part, history=history) for part in (condition, then, otherwise))
            chosen = choice(asked, one, other)
            # Each level mentions its condition several times; written inside one another they would grow without bound.
            return chosen if len(chosen.faulty.text) + len(chosen.maybe_true.text) < _LONGEST_CHOICE else _engine(node)
        case _:
            return _leaf(node, history=history) or _engine(node)


_LONGEST_CHOICE = 20_000


def _chain(operands: list[Node], function: str, *, history: bool) -> list[Verdict]:
    """The verdicts of the operands. `x == a || x == b` is `x in [a, b]`, which is one look at a row and not many."""
    if function != "_||_":
        return [_part(operand, history=history) for operand in operands]
    compared: dict[Term, list[tuple[Node, Literal]]] = {}
    rest = []
    for operand in operands:
        match operand:
            case Call(function="_==_", arguments=(asked, Constant(value=value))) if found := term(asked):
                compared.setdefault(found, []).append((operand, value))
            case _:
                rest.append(operand)
    verdicts = []
    for found, equal in compared.items():
        merged = membership(found, [value for _, value in equal], history=history) if len(equal) > 1 else None
        if merged is None:
            rest += [operand for operand, _ in equal]
        else:
            verdicts.append(merged)
    return [*verdicts, *(_part(operand, history=history) for operand in rest)]


def _engine(node: Node) -> Verdict:
    path = first_path(node)
    return only_engine(is_there(path) if path else ALWAYS)


def _leaf(node: Node, *, history: bool) -> Verdict | None:  # noqa: PLR0911 - one return per form
    match node:
        case Constant(value=bool(value)):
            return TRUE if value else FALSE
        case Select(operand=Name(name=root), key=key, only_asks=True):
            return _has(Path(root, key, goes_on=False))
        case Call(function="@in", arguments=(Constant(value=str(key)), Name(name=root))):
            return None if root == CONTENT else _in_map(Path(root, key, goes_on=False))
        case Call(function="@in", arguments=(asked, Sequence(elements=elements, plain=True))):
            return _in_list(asked, elements, history=history)
        case Call(function=function, arguments=(left, right)) if function in OPERATORS:
            one, other = term(left), term(right)
            return comparison(OPERATORS[function], one, other, history=history) if one and other else None
        case Call(function=function, arguments=(text, Constant(value=str(sought)))) if function in _ON_TEXTS:
            return _on_text(text, _ON_TEXTS[function](sought), function, history=history)
        case _:
            return _flag(node)


def _flag(node: Node) -> Verdict | None:
    match term(node):
        case Column(type=Type.BOOL) as column:
            return exactly(column.sql, Sql(f"NOT {column.sql.text}"))
        case Attribute(key=key):
            return uncertain(
                attribute(key, Sql("kind = 'bool' AND value = 1")),
                attribute(key, Sql("kind = 'bool' AND value = 0")),
                UNKNOWN,
                faulty=attribute(key, Sql("kind <> 'bool'")),
            )
        case _:
            return None


def _has(path: Path) -> Verdict | None:
    """`has(attributes.key)`. Of content that is a text there is nothing to ask, which is neither true nor false."""
    if path.root != CONTENT:
        return _in_map(path)
    is_json = Sql("+artifact.content_type = ?", (JSON,))
    there = attribute(path.key, ALWAYS)
    absent = every((Sql("artifact.attributes_known"), is_json, Sql(f"NOT {there.text}", there.parameters)))
    return uncertain(there, absent, UNKNOWN)


def _in_map(path: Path) -> Verdict | None:
    if path.root == TAGS:
        there = is_there(path)
        return exactly(there, Sql(f"NOT {there.text}", there.parameters), seek=tag_seek(path.key, ALWAYS))
    if path.root != ATTRIBUTES:
        return None
    there = attribute(path.key, ALWAYS)
    return uncertain(
        there,
        every((Sql("artifact.attributes_known"), Sql(f"NOT {there.text}", there.parameters))),
        UNKNOWN,
        seek=attribute_seek(path.key, ALWAYS),
    )


def _in_list(asked: Node, elements: tuple[Node, ...], *, history: bool) -> Verdict | None:
    values = [element.value for element in elements if isinstance(element, Constant)]
    sought = term(asked)
    if sought is None or len(values) < len(elements):
        return None
    return membership(sought, values, history=history)


def _starts(sought: str) -> Sql:
    """A range, which an index can find."""
    after = _after(sought)
    low = Sql("{0} >= ?", (sought,))
    return low if after is None else Sql("({0} >= ? AND {0} < ?)", (sought, after))


def _ends(sought: str) -> Sql:
    encoded = sought.encode()
    if not encoded:
        return Sql("{0} >= ''")
    # As bytes, for what is behind a NUL. SQLite takes the end of no bytes for NULL.
    return Sql("CASE {0} WHEN '' THEN 0 ELSE substr(CAST({0} AS BLOB), ?) = ? END", (-len(encoded), encoded))


def _contains(sought: str) -> Sql:
    return Sql("instr({0}, ?) > 0", (sought,))


def _matches(pattern: str) -> Sql:
    return Sql(f"{MATCHES}(?, {{0}})", (pattern,))


_ON_TEXTS: Final[dict[str, Callable[[str], Sql]]] = {
    "startsWith": _starts,
    "endsWith": _ends,
    "contains": _contains,
    "matches": _matches,
}
_LAST_CHARACTER: Final = 0x10FFFF


def _after(text: str) -> str | None:
    """The first text behind all that start with this one; None where there is none."""
    kept = text.rstrip(chr(_LAST_CHARACTER))
    if not kept:
        return None
    following = ord(kept[-1]) + 1
    # The surrogates are no characters.
    return kept[:-1] + chr(0xE000 if following == 0xD800 else following)


def _on_text(text: Node, condition: Sql, function: str, *, history: bool) -> Verdict | None:
    """What a condition on `{0}` says about a text."""
    found = term(text)
    if isinstance(found, Attribute):
        holds = _about(condition, Sql("value"))
        return uncertain(
            attribute(found.key, every((Sql("kind = 'string'"), holds))),
            attribute(found.key, every((Sql("kind = 'string'"), Sql(f"NOT ({holds.text})", holds.parameters)))),
            UNKNOWN,
            faulty=attribute(found.key, Sql("kind <> 'string'")),
            seek=attribute_seek(found.key, holds, NOTHING, NUMBERS) if function == "startsWith" else None,
        )
    if not isinstance(found, Column | Tag) or found.type is not Type.STRING:
        return None
    holds = _about(condition, found.sql)
    # The engine is handed a text only up to its first NUL.
    doubt = filled(HAS_NUL, found.sql) if function == "matches" else None
    holds_not = Sql(f"NOT ({holds.text})", holds.parameters)
    if doubt is not None:
        return uncertain(holds, holds_not, doubt)
    seek = None
    if function == "startsWith" and isinstance(found, Tag):
        seek = tag_seek(found.key, _about(condition, Sql("value")))
    elif function == "startsWith" and isinstance(found, Column):
        seek = column_seek(found, _about(condition, Sql(str(found.field.column))), history=history)
    return exactly(holds, holds_not, seek=seek)


def _about(condition: Sql, operand: Sql) -> Sql:
    """The condition with the operand in its places. The parameters of both come in the order of the text."""
    text, own = "", list(condition.parameters)
    parameters: list[Parameter] = []
    for index, piece in enumerate(condition.text.split("{0}")):
        if index:
            text += operand.text
            parameters.extend(operand.parameters)
        text += piece
        parameters.extend(own.pop(0) for _ in range(piece.count("?")))
    return Sql(text, tuple(parameters))
