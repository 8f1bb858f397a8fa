"""A YAML file as the existing clients read it: one document, YAML 1.2's core types, no key twice, timestamps as text.

PyYAML speaks YAML 1.1, where `no` is false, `010` is eight and `12:30:00` is a number; a namespace `no` must stay one.
"""

import re
from collections.abc import Iterator

import yaml

from bayou.errors import ErrorKind, UsageError

_TAG = "tag:yaml.org,2002:"
_PLAIN_SCALARS = (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", list("-+.")),
    ("merge", r"<<", ["<"]),
)
_MAX_DEPTH = 100
_TYPES = ("null", "bool", "int", "float", "str", "seq", "map")


def _int(_loader: yaml.SafeLoader | yaml.CSafeLoader, node: yaml.ScalarNode) -> int:
    text = str(node.value)
    return int(text, 0) if text[:2] in {"0o", "0x"} else int(text)


def _core(loader: type[yaml.SafeLoader | yaml.CSafeLoader]) -> None:
    """Teach a loader the core types, and nothing else."""
    loader.yaml_implicit_resolvers = {}
    for name, pattern, first in _PLAIN_SCALARS:
        loader.add_implicit_resolver(_TAG + name, re.compile(rf"(?:{pattern})\Z"), first)
    known = {_TAG + name for name in _TYPES} | {None}
    loader.yaml_constructors = {tag: make for tag, make in loader.yaml_constructors.items() if tag in known}
    loader.add_constructor(_TAG + "int", _int)


class _FastLoader(yaml.CSafeLoader):
    """libyaml's."""


class _MarkLoader(yaml.SafeLoader):
    """PyYAML's own: slower, but its marks count characters exactly, which libyaml's do not after a byte order mark."""


_core(_FastLoader)
_core(_MarkLoader)


def load(text: str, where: str) -> object:
    return _loaded(_FastLoader, text, where)[1]


def load_with_marks(text: str, where: str) -> tuple[yaml.Node | None, object]:
    """Load the node tree as well: each node knows the span of text that it came from."""
    return _loaded(_MarkLoader, text, where)


def _loaded(kind: type[_FastLoader | _MarkLoader], text: str, where: str) -> tuple[yaml.Node | None, object]:
    try:
        if _too_deep(text):
            raise _error(where, None, f"more than {_MAX_DEPTH} levels deep")
        loader = kind(text)
        root = loader.get_single_node()
        if root is None:
            return None, None
        for key in _repeated_keys(root):
            raise _error(where, key.start_mark, f'the key "{key.value}" is there twice')
        return root, loader.construct_document(root)
    except yaml.MarkedYAMLError as error:
        problem = ", ".join(filter(None, (error.context, error.problem)))
        raise _error(where, error.problem_mark or error.context_mark, problem) from None
    except (yaml.YAMLError, ValueError) as error:
        raise _error(where, None, " ".join(str(error).split())) from None


def _too_deep(text: str) -> bool:
    # libyaml composes recursively, without a limit: a hostile file would end the process, not the call.
    depth = 0
    for event in yaml.parse(text, Loader=_FastLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _MAX_DEPTH:
            return True
    return False


def _repeated_keys(root: yaml.Node) -> Iterator[yaml.ScalarNode]:
    # PyYAML takes the last one in silence; the existing clients refuse the file.
    met, open_nodes = set[int](), [root]
    while open_nodes:
        node = open_nodes.pop()
        if id(node) in met:
            continue
        met.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            open_nodes.extend(node.value)
        elif isinstance(node, yaml.MappingNode):
            keys = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            names = [(key.tag, key.value) for key in keys]
            yield from (key for at, key in enumerate(keys) if names[at] in names[:at])
            open_nodes.extend(value for _, value in node.value)


def _error(where: str, mark: yaml.Mark | None, problem: str) -> UsageError:
    place = f", line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
    return UsageError(
        f"{where}{place}: {problem}",
        kind=ErrorKind.INVALID_CONFIG,
        remedy=f"Correct {where} by hand, or take it back from version control.",
    )
