"""The checked syntax tree of a CEL text, as values (design 9 has the numbers of the fields).

Only what a planner looks at is kept; the rest of the message stays what it is and goes back to the engine.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from bayou.errors import Corrupt
from bayou.query.protobuf import double, fields, message, signed

_WHERE = "a serialized expression"
_TREE = 4  # CheckedExpr.expr

Literal = str | int | float | bool | bytes | None


@dataclass(frozen=True, slots=True)
class Node:
    encoded: bytes = field(repr=False, compare=False)
    """The message that this is, for programs of a part of the whole."""


@dataclass(frozen=True, slots=True)
class Constant(Node):
    value: Literal


@dataclass(frozen=True, slots=True)
class Name(Node):
    name: str


@dataclass(frozen=True, slots=True)
class Select(Node):
    operand: Node
    key: str
    only_asks: bool
    """`has(operand.key)`"""


@dataclass(frozen=True, slots=True)
class Call(Node):
    function: str
    arguments: tuple[Node, ...]
    """With the target of a method as the first."""


@dataclass(frozen=True, slots=True)
class Sequence(Node):
    elements: tuple[Node, ...]
    plain: bool
    """Nothing in it is optional."""


@dataclass(frozen=True, slots=True)
class Mapping(Node):
    parts: tuple[Node, ...]
    """Keys and values."""


@dataclass(frozen=True, slots=True)
class Fold(Node):
    """A comprehension: what `exists`, `all`, `map` and `filter` become."""

    over: Node
    parts: tuple[Node, ...]
    variables: frozenset[str]


@dataclass(frozen=True, slots=True)
class Other(Node):
    """A constant or a node of a kind that this planner knows nothing about."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One checked text."""

    tree: Node
    _type_url: bytes
    _rest: bytes

    def program(self, tree: bytes) -> bytes:
        """The same checked text with another tree, for the engine."""
        return message([(1, self._type_url), (2, self._rest + message([(_TREE, tree)]))])


def read(serialized: bytes) -> Checked:
    """Read what `Expression.serialize` gives: an Any around a CheckedExpr."""
    wrapper = dict(fields(serialized))
    type_url, body = wrapper.get(1), wrapper.get(2)
    if not (isinstance(type_url, bytes) and isinstance(body, bytes) and type_url.endswith(b".CheckedExpr")):
        raise Corrupt(_WHERE, expected="a CheckedExpr", found=repr(type_url))
    parts = list(fields(body))
    trees = [value for number, value in parts if number == _TREE]
    return Checked(_node(_bytes(trees[0])), type_url, message(part for part in parts if part[0] != _TREE))


def children(node: Node) -> tuple[Node, ...]:
    match node:
        case Select():
            return (node.operand,)
        case Call():
            return node.arguments
        case Sequence():
            return node.elements
        case Mapping():
            return node.parts
        case Fold():
            return (node.over, *node.parts)
        case _:
            return ()


def walk(node: Node, bound: frozenset[str] = frozenset()) -> Iterator[tuple[Node, frozenset[str]]]:
    """Every node, with the variables that comprehensions around it bind."""
    waiting = [(node, bound)]
    while waiting:
        current, around = waiting.pop()
        yield current, around
        if isinstance(current, Fold):
            waiting.append((current.over, around))
            waiting.extend((part, around | current.variables) for part in current.parts)
        else:
            waiting.extend((child, around) for child in children(current))


def roots(node: Node) -> frozenset[str]:
    """The fields that an expression reads: its free names. A comprehension's variables are none."""
    return frozenset(part.name for part, bound in walk(node) if isinstance(part, Name) and part.name not in bound)


def _node(encoded: bytes) -> Node:
    for number, value in fields(encoded):
        if number in _READERS:
            return _READERS[number](encoded, _bytes(value))
    return Other(encoded)


def _constant(encoded: bytes, body: bytes) -> Node:  # noqa: PLR0911 - one return per kind
    for number, value in fields(body):
        match number, value:
            case 1, _:
                return Constant(encoded, None)
            case 2, int():
                return Constant(encoded, bool(value))
            case 3, int():
                return Constant(encoded, signed(value))
            case 4, int():
                return Constant(encoded, value)
            case 5, bytes():
                return Constant(encoded, double(value))
            case 6, bytes():
                return Constant(encoded, value.decode())
            case 7, bytes():
                return Constant(encoded, value)
            case _:
                pass
    return Other(encoded)


def _name(encoded: bytes, body: bytes) -> Node:
    return Name(encoded, _text(dict(fields(body)).get(1, b"")))


def _select(encoded: bytes, body: bytes) -> Node:
    found = dict(fields(body))
    return Select(encoded, _node(_bytes(found[1])), _text(found.get(2, b"")), bool(found.get(3, 0)))


def _call(encoded: bytes, body: bytes) -> Node:
    parts = list(fields(body))
    function = next(_text(value) for number, value in parts if number == 2)
    target = [_node(_bytes(value)) for number, value in parts if number == 1]
    arguments = [_node(_bytes(value)) for number, value in parts if number == 3]
    return Call(encoded, function, (*target, *arguments))


def _sequence(encoded: bytes, body: bytes) -> Node:
    parts = list(fields(body))
    elements = tuple(_node(_bytes(value)) for number, value in parts if number == 1)
    return Sequence(encoded, elements, all(number == 1 for number, _ in parts))


def _mapping(encoded: bytes, body: bytes) -> Node:
    entries = [_bytes(value) for number, value in fields(body) if number == 2]
    parts = (_node(_bytes(value)) for entry in entries for number, value in fields(entry) if number in (3, 4))
    return Mapping(encoded, tuple(parts))


def _fold(encoded: bytes, body: bytes) -> Node:
    found = dict(fields(body))
    variables = frozenset(_text(found[number]) for number in (1, 3, 8) if found.get(number))
    parts = tuple(_node(_bytes(found[number])) for number in (4, 5, 6, 7) if number in found)
    return Fold(encoded, _node(_bytes(found[2])), parts, variables)


_READERS = {3: _constant, 4: _name, 5: _select, 6: _call, 7: _sequence, 8: _mapping, 9: _fold}


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise Corrupt(_WHERE, expected="a message", found="a number")
    return value


def _text(value: int | bytes) -> str:
    return _bytes(value).decode()
