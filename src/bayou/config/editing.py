"""Change a YAML file in place: only the text of what differs is replaced.

Unknown keys, their order, comments, quoting and line ends stay as their owner wrote them. Every edit is checked before
it is handed back: the new text loads to exactly the mapping that was asked for, or nothing is changed.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import yaml

from bayou.config.document import load_with_marks
from bayou.config.wording import refusal
from bayou.errors import UsageError
from bayou.wire.yamltext import Inexpressible, flow, lines

_STR = "tag:yaml.org,2002:str"
_INDENT = 2
_KEEP = re.compile(r"[|>][0-9]?\+")

_Compared = tuple[yaml.MappingNode, Mapping[str, object], Mapping[str, object]]


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


def edited(text: str, wanted: Mapping[str, object], where: str) -> str:
    """Return `text` changed so that it loads to `wanted`."""
    root, loaded = load_with_marks(text, where)
    current = {} if loaded is None else loaded
    if _same(current, wanted):
        return text
    if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
        raise _refusal(where, "it uses YAML aliases, so one change could mean several")
    newline = "\r\n" if "\r\n" in text else "\n"
    new = text if not text or text.endswith("\n") else text + newline
    try:
        edits = list(enumerate(_edits(new, root, current, wanted)))
    except Inexpressible as error:
        raise refusal(str(error)) from None
    # From the end to the start, so that positions stay true; of two insertions at one place, the inner one is first.
    for _, edit in sorted(edits, key=lambda item: (item[1].start, item[1].end, item[0]), reverse=True):
        new = new[: edit.start] + edit.text.replace("\n", newline) + new[edit.end :]
    if not _says(new, wanted, where):
        raise _refusal(where, "its layout leaves no safe place for the change")
    return new


def _says(text: str, wanted: Mapping[str, object], where: str) -> bool:
    try:
        return _same(load_with_marks(text, where)[1] or {}, wanted)
    except UsageError:
        return False


def _edits(text: str, root: yaml.Node | None, current: object, wanted: Mapping[str, object]) -> Iterator[_Edit]:
    if root is None:
        yield _Edit(len(text), len(text), lines(wanted, 0))
    elif compared := _compared(root, current, wanted):
        yield from _mapping_edits(text, *compared)
    else:
        yield _Edit(root.start_mark.index, _end(text, root), flow(wanted))


def _compared(node: yaml.Node, current: object, wanted: object) -> _Compared | None:
    """Pair two mappings that can be compared key by key. Keys come and go by lines, so within braces they cannot."""
    if not (isinstance(node, yaml.MappingNode) and isinstance(current, Mapping) and isinstance(wanted, Mapping)):
        return None
    comparable = current.keys() == wanted.keys() if node.flow_style else bool(wanted)
    return (node, current, wanted) if comparable else None


def _mapping_edits(
    text: str, node: yaml.MappingNode, current: Mapping[str, object], wanted: Mapping[str, object]
) -> Iterator[_Edit]:
    for key, value in node.value:
        if key.tag != _STR:
            continue
        if key.value not in wanted:
            yield _Edit(text.rfind("\n", 0, key.start_mark.index) + 1, _next_line(text, value), "")
        elif not _same(current[key.value], wanted[key.value]):
            old, new = current[key.value], wanted[key.value]
            if compared := _compared(value, old, new):
                yield from _mapping_edits(text, *compared)
            else:
                yield from _value_edits(text, key, value, new, in_flow=node.flow_style or _is_flow_mapping(value))
    if added := {name: value for name, value in wanted.items() if name not in current}:
        at = _next_line(text, node)
        yield _Edit(at, at, lines(added, node.value[0][0].start_mark.column))


def _value_edits(text: str, key: yaml.Node, old: yaml.Node, new: object, *, in_flow: bool) -> Iterator[_Edit]:
    colon = text.find(":", key.end_mark.index, old.start_mark.index + 1) + 1
    if not colon:
        return  # a key of a set, `{a}`; the check of the new text finds that nothing was done
    same_line = old.start_mark.line == key.end_mark.line
    # What follows the colon on the line of the key is a comment where the old value starts on a later line: it stays.
    start = colon if same_line else text.index("\n", colon)
    if isinstance(new, Mapping) and new and not in_flow:
        block = lines(new, key.start_mark.column + _INDENT)
        yield _Edit(start, _end(text, old), "\n" + block.removesuffix("\n"))
    else:
        yield _Edit(colon, colon, f" {flow(new)}")
        yield _Edit(start, _end(text, old), "")


def _last_leaf(node: yaml.Node) -> yaml.Node:
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return node


def _is_flow_mapping(node: yaml.Node) -> bool:
    return isinstance(node, yaml.MappingNode) and bool(node.flow_style and node.value)


def _end(text: str, node: yaml.Node) -> int:
    """Find where the last character of a value ends: PyYAML lets a block run on over the comments that follow it."""
    leaf = _last_leaf(node)
    end = leaf.end_mark.index
    return len(text[:end].rstrip()) if _is_block_text(leaf) else end


def _next_line(text: str, node: yaml.Node) -> int:
    """Find the start of the line after a value."""
    leaf = _last_leaf(node)
    if _is_block_text(leaf) and _KEEP.search(text, leaf.start_mark.index, leaf.end_mark.index):
        return leaf.end_mark.index  # the blank lines that follow are part of the value
    return text.find("\n", _end(text, node)) + 1 or len(text)


def _is_block_text(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.style in {"|", ">"}


def _same(one: object, other: object) -> bool:
    """Compare as YAML does: `1`, `1.0` and `true` are three values."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return repr(one) == repr(other)  # NaN is not equal to itself, and 0.0 is equal to -0.0
    if isinstance(one, int | float) or isinstance(other, int | float):
        return type(one) is type(other) and one == other
    return one == other


def _refusal(where: str, reason: str) -> UsageError:
    return refusal(
        f"{where} cannot be changed without touching what it should keep: {reason}",
        remedy=f"Make the change in {where} by hand.",
    )
