"""Ways into tags, attributes and content: `tags.env`, `tags["my-key"]`, `attributes.disk.size`, `content.status`."""

# ruff: noqa: S608 - what is put together are our own texts; values are parameters

from collections.abc import Iterator
from dataclasses import dataclass

from bayou.query.conditions import Sql, some
from bayou.query.expressions import Call, Constant, Fold, Name, Node, Select, Sequence, walk
from bayou.query.fields import ATTRIBUTES, CONTENT, FIELDS, IN_CONTENT, TAGS

INDEX = "_[_]"
UNKNOWN = Sql("artifact.attributes_known = 0")
"""Rows whose attributes the catalog does not have: not here, too many, or of a kind that no index can hold."""
UNKNOWN_ROWS = Sql("SELECT row FROM artifact WHERE attributes_known = 0")

# What evaluates an argument only if it must, or takes it when it is an error.
_LENIENT = frozenset(
    {"_&&_", "_||_", "_?_:_", "@not_strictly_false", "_?._", "_[?_]", "or", "orValue", "hasValue", "value"}
)


@dataclass(frozen=True, slots=True)
class Path:
    root: str
    """`tags`, `attributes` or `content`. Where it is JSON, `content` is what `attributes` is."""
    key: str
    goes_on: bool
    """There is more behind the key, as in `attributes.disk.size`."""


def path_of(node: Node) -> Path | None:
    """The path that the node is, if it is one with a literal key."""
    match node:
        case (
            Select(operand=operand, key=key, only_asks=False)
            | Call(function="_[_]", arguments=(operand, Constant(value=str(key))))
        ):
            if isinstance(operand, Name):
                return Path(operand.name, key, goes_on=False) if operand.name in (TAGS, ATTRIBUTES, CONTENT) else None
            inner = path_of(operand)
        case Call(function="_[_]", arguments=(operand, Constant())):
            inner = path_of(operand)
        case _:
            return None
    return Path(inner.root, inner.key, goes_on=True) if inner else None


def first_path(node: Node) -> Path | None:
    """The path whose key must be there, or the whole node is the error that it is missing; None where there is none.

    It is what is evaluated first of all that can fail, for of several errors the first is what the engine reports.
    """
    path = path_of(node)
    if path is not None:
        return path
    match node:
        case Select(operand=operand):
            asked = first_path(operand)
            return Path(asked.root, asked.key, goes_on=True) if asked and path_of(operand) else asked
        case Call(function=function, arguments=arguments) if function not in _LENIENT and not function.startswith(
            "opt"
        ):
            return _first(arguments)
        case Sequence(elements=elements, plain=True):
            return _first(elements)
        case Fold(over=over):
            return _first((over,))
        case _:
            return None


def is_there(path: Path) -> Sql:
    """The rows that have the key, or may have it."""
    if path.root == TAGS:
        return Sql("EXISTS (SELECT 1 FROM tag WHERE tag.artifact = artifact.row AND key = ?)", (path.key,))
    deeper = " AND kind IN ('list', 'map')" if path.goes_on else ""
    found = Sql(
        f"EXISTS (SELECT 1 FROM attribute WHERE attribute.artifact = artifact.row AND key = ?{deeper})", (path.key,)
    )
    return some((found, UNKNOWN))


def keys(tree: Node) -> Iterator[Path]:
    """The first keys of tags and attributes that an expression speaks of, also where it only asks for them."""
    for node, bound in walk(tree):
        match node:
            case Select(operand=Name(name=root), key=key) if root in (TAGS, ATTRIBUTES, CONTENT) and root not in bound:
                yield Path(root, key, goes_on=False)
            case Call(function="_[_]", arguments=(Name(name=root), Constant(value=str(key)))) if (
                root in (TAGS, ATTRIBUTES, CONTENT) and root not in bound
            ):
                yield Path(root, key, goes_on=False)
            case Call(function="@in", arguments=(Constant(value=str(key)), Name(name=root))) if (
                root in (TAGS, ATTRIBUTES) and root not in bound
            ):
                yield Path(root, key, goes_on=False)
            case _:
                pass


def takes_text(tree: Node) -> bool:
    """Whether an expression asks for content as such, and not just for what is inside of JSON."""
    inside = sum(1 for path in keys(tree) if path.root == CONTENT)
    asked = sum(
        1 for node, bound in walk(tree) if isinstance(node, Name) and node.name == CONTENT and CONTENT not in bound
    )
    return asked > inside


def _first(nodes: tuple[Node, ...]) -> Path | None:
    return next((first_path(node) for node in nodes if not _cannot_fail(node)), None)


def _cannot_fail(node: Node) -> bool:
    match node:
        case Constant():
            return True
        case Name(name=name):
            return name in FIELDS and name not in IN_CONTENT
        case Sequence(elements=elements):
            return all(_cannot_fail(element) for element in elements)
        case _:
            return False
