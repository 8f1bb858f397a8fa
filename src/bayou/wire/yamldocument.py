"""A YAML file as the existing clients read it: one document, YAML 1.2's core types, no key twice, timestamps as text.

PyYAML speaks YAML 1.1, where `no` is false, `010` is eight and `12:30:00` is a number; a namespace `no` must stay one.
Importing it takes 19 ms, so whoever may do without a YAML file imports this module when there is one.
"""

import re

import yaml

BY_HAND = 10_000
"""More values than anybody writes by hand."""

_MAX_DEPTH = 100
_MAX_BITS = 64

_TAG = "tag:yaml.org,2002:"
_DECIMAL = re.compile(r"[-+]?[0-9]{1,400}")
_INT = re.compile(r"[-+]?[0-9]{1,99}|0o[0-7]{1,99}|0x[0-9a-fA-F]{1,99}")
_PLAIN_SCALARS = (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", list("-+.")),
    ("merge", r"<<", ["<"]),
)
_TYPES = ("null", "bool", "int", "float", "str", "seq", "map")


def _fault(problem: str, at: yaml.Node | yaml.Event) -> yaml.MarkedYAMLError:
    """Say what we refuse as PyYAML says what it refuses, so that both get their place in one way."""
    return yaml.MarkedYAMLError(problem=problem, problem_mark=at.start_mark)  # type: ignore[arg-type] # the stubs know PyYAML's own marks only


def _int(_loader: yaml.SafeLoader | yaml.CSafeLoader, node: yaml.ScalarNode) -> int:
    text = str(node.value)
    if _INT.fullmatch(text):
        value = int(text, 0) if text[:2] in {"0o", "0x"} else int(text)
        if value.bit_length() <= _MAX_BITS:
            return value
    raise _fault(f"not a whole number of at most {_MAX_BITS} bits", node)


def _int_or_double(loader: yaml.SafeLoader | yaml.CSafeLoader, node: yaml.ScalarNode) -> int | float:
    text = str(node.value)
    try:
        return _int(loader, node)
    except yaml.MarkedYAMLError:
        if _DECIMAL.fullmatch(text):
            return float(text)
        raise


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


class _RecordLoader(yaml.CSafeLoader):
    """The same, with whole numbers of more than 64 bits as JavaScript has them, which writes its doubles like that."""


class _MarkLoader(yaml.SafeLoader):
    """PyYAML's own: slower, but its marks count characters exactly, which libyaml's do not after a byte order mark."""


_core(_FastLoader)
_core(_MarkLoader)
_core(_RecordLoader)
_RecordLoader.add_constructor(_TAG + "int", _int_or_double)


class Fault(ValueError):  # noqa: N818 - named by what it is, as all errors are
    """What is wrong with a document, and where: line and column, counted from 1, where they are known."""

    def __init__(self, problem: str, at: tuple[int, int] | None = None) -> None:
        super().__init__(problem if at is None else f"line {at[0]}, column {at[1]}: {problem}")
        self.problem = problem
        self.at = at


def load(text: str, *, most: int = BY_HAND) -> object:
    """Load a document of at most so many values."""
    return _loaded(_FastLoader, text, most)[1]


def load_record(text: str, *, most: int = BY_HAND) -> object:
    """Load a document that a program wrote, and that may hold any number which JavaScript can hold."""
    return _loaded(_RecordLoader, text, most)[1]


def load_with_marks(text: str, *, most: int = BY_HAND) -> tuple[yaml.Node | None, object]:
    """Load the node tree as well: each node knows the span of text that it came from."""
    return _loaded(_MarkLoader, text, most)


def _loaded(
    kind: type[_FastLoader | _MarkLoader | _RecordLoader], text: str, most: int
) -> tuple[yaml.Node | None, object]:
    try:
        _check_size(text, most)
        loader = kind(text)
        root = loader.get_single_node()
        if root is None:
            return None, None
        _check_keys(root)
        return root, loader.construct_document(root)
    except yaml.MarkedYAMLError as error:
        problem = ", ".join(filter(None, (error.context, error.problem)))
        mark = error.problem_mark or error.context_mark
        raise Fault(problem, None if mark is None else (mark.line + 1, mark.column + 1)) from None
    except yaml.YAMLError as error:
        raise Fault(" ".join(str(error).split())) from None
    except (ValueError, LookupError):
        # PyYAML's constructors have no error of their own for `!!float x` and `!!bool x`.
        raise Fault("a value does not fit the type of its tag") from None


def _check_size(text: str, most: int) -> None:
    """Refuse what would take a loader long, or too deep: it composes recursively, and merges by copying.

    An alias counts as often as what it repeats, so a few lines of aliases of aliases are as large as they would unfold.
    """
    sizes: dict[str | None, int] = {}
    open_nodes: list[tuple[str | None, int]] = []
    nodes = 0
    for event in yaml.parse(text, Loader=_FastLoader):
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_nodes.pop()
            if anchor is not None:
                sizes[anchor] = nodes - before
            continue
        if isinstance(event, yaml.CollectionStartEvent):
            open_nodes.append((event.anchor, nodes))
            nodes += 1
        elif isinstance(event, yaml.ScalarEvent):
            nodes += 1
        elif isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in open_nodes):
                raise _fault("an alias for what it is a part of", event)
            nodes += sizes.get(event.anchor, 1)
        if len(open_nodes) > _MAX_DEPTH:
            raise _fault(f"more than {_MAX_DEPTH} levels deep", event)
        if nodes > most:
            raise _fault(f"more than {most} values, each alias counted in full", event)


def _check_keys(root: yaml.Node) -> None:
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
            names = set[tuple[str, str]]()
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode):
                    if (key.tag, key.value) in names:
                        raise _fault(f'the key "{key.value}" is there twice', key)
                    names.add((key.tag, key.value))
                open_nodes.append(value)
