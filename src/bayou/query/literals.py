"""Values as part of an expression, for what the engine cannot be handed otherwise.

The engine's binding takes texts up to their first NUL. A text within an expression may hold one. So for the rare row
that has one, its values are written into the expression: as `cel.bind` does it, which is a comprehension over nothing
that begins with the value, and whose result is the expression.
"""

from collections.abc import Mapping
from itertools import count
from typing import Final

from bayou.query.protobuf import Field, eight, message

_ID: Final = 2
_CONSTANT, _NAME, _LIST, _STRUCT, _FOLD = 3, 4, 7, 8, 9
_INT64: Final = range(-(2**63), 2**63)
_DEEPEST: Final = 20  # lists and maps within one another; a message may have 100 levels

# Numbers of nodes only have to differ from one another; those of a text are counted from 1, and it has 100,000 letters.
_FIRST_ID: Final = 2**40


class TooDeep(Exception):  # noqa: N818 - what is the matter, not an error of ours
    pass


def has_nul(value: object) -> bool:
    """Whether a text in it has one."""
    match value:
        case str():
            return "\0" in value
        case dict():
            return any(has_nul(key) or has_nul(held) for key, held in value.items())
        case list():
            return any(has_nul(held) for held in value)
        case _:
            return False


def bound(tree: bytes, values: Mapping[str, object]) -> bytes:
    """The expression with the values in it, for the names."""
    ids = count(_FIRST_ID)
    for name, value in values.items():
        fold: list[Field] = [
            (1, b"#unused"),
            (2, _expression(ids, _LIST, b"")),
            (3, name.encode()),
            (4, _literal(ids, value, 0)),
            (5, _expression(ids, _CONSTANT, message([(2, 0)]))),
            (6, _expression(ids, _NAME, message([(1, name.encode())]))),
            (7, tree),
        ]
        tree = _expression(ids, _FOLD, message(fold))
    return tree


def _literal(ids: "count[int]", value: object, depth: int) -> bytes:
    if depth > _DEEPEST:
        raise TooDeep
    match value:
        case list():
            elements = [(1, _literal(ids, held, depth + 1)) for held in value]
            return _expression(ids, _LIST, message(elements))
        case dict():
            entries = [_entry(ids, key, held, depth + 1) for key, held in value.items()]
            return _expression(ids, _STRUCT, message((2, entry) for entry in entries))
        case _:
            return _expression(ids, _CONSTANT, _constant(value))


def _entry(ids: "count[int]", key: object, value: object, depth: int) -> bytes:
    return message([(1, next(ids)), (3, _literal(ids, key, depth)), (4, _literal(ids, value, depth))])


def _constant(value: object) -> bytes:
    match value:
        case None:
            return message([(1, 0)])
        case bool():
            return message([(2, int(value))])
        case int() if value in _INT64:
            return message([(3, value)])
        case int() | float():
            return eight(5, float(value))
        case _:
            return message([(6, str(value).encode())])


def _expression(ids: "count[int]", kind: int, body: bytes) -> bytes:
    return message([(_ID, next(ids)), (kind, body)])
