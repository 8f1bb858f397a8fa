"""YAML in the few forms that existing clients and we write, read line by line, several times faster than by a parser.

A mapping with a key on each line, nested by two blanks, with lists of what is on lines of its own; each value a number,
a word that nobody takes for something else, a text in quotes on one line, or JSON. Whatever else a document holds, the
answer is None, and it takes the whole parser (`bayou.wire.yamldocument`). An answer says exactly what that one would.
"""

import json
import re
from functools import lru_cache
from typing import Final, NamedTuple, NoReturn

from bayou.errors import Corrupt
from bayou.wire.documents import require_shallow

_HEAD = re.compile(r"((?:  )*)(- )?(?:([A-Za-z_][A-Za-z0-9_./-]{0,200})|\"([^\"\\]{1,200})\"|'([^']{1,200})')")
_NO_KEYS = re.compile(r"(?i:true|false|null)")
_PLAIN = re.compile(r"[A-Za-z0-9/_](?:[A-Za-z0-9@/_.,()+= -]*[A-Za-z0-9@/_.)=-])?")
_INT = re.compile(r"-?(?:0|[1-9][0-9]{0,14})")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)")
_CONSTANTS: Final = {"true": True, "false": False, "null": None}
# What some reader takes for something else than text.
_WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_NUMBERS = re.compile(r"[0-9][0-9._]*(?:[eE][-+0-9._]*)?|0[xob][0-9a-fA-F_]*|[0-9-]+")
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")  # JSON writes some characters in two halves; YAML does not

_DEEPEST: Final = 30  # with the levels of a line of JSON, fewer than the parser allows
_LONGEST_KEY: Final = 160  # to a parser, what takes more than 1,024 characters is no key
_DIGITS: Final = 18  # fit into 64 bits

_Block = dict[str, object] | list[object]


class _Head(NamedTuple):
    """What is before the colon."""

    depth: int
    is_item: bool
    key: str


def read(text: str) -> dict[str, object] | None:
    """The document, or None where it takes a whole parser to say what it is."""
    # Not the line breaks of other systems, nor what YAML does not allow as it is.
    if not text.endswith("\n") or not text.replace("\n", "").isprintable():
        return None
    try:
        return _document(text[:-1].split("\n"))
    except _NotOurs:
        return None


class _NotOurs(Exception):  # noqa: N818 - never leaves this module
    pass


def _document(lines: list[str]) -> dict[str, object]:  # noqa: C901 - one loop: calls for its steps would double its time
    document: dict[str, object] = {}
    block: _Block = document
    outer: list[tuple[int, _Block]] = []
    indent, pending = 0, ""
    for line in lines:
        (depth, is_item, key), value = _split(line)
        if pending:
            # What a key holds that has no value on its line follows, one step further in.
            if depth != indent + 2 or len(outer) == _DEEPEST or isinstance(block, list):
                raise _NotOurs
            outer.append((indent, block))
            inner: _Block = [] if is_item else {}
            block[pending] = inner
            block, indent, pending = inner, depth, ""
        while depth < indent:
            indent, block = outer.pop()
        if depth != indent or is_item is not isinstance(block, list):
            raise _NotOurs
        if isinstance(block, list):
            if not key:
                block.append(_value(value))
                continue
            outer.append((indent, block))
            item: dict[str, object] = {}
            block.append(item)
            block, indent = item, depth + 2
        if key in block:
            raise _NotOurs
        if value:
            block[key] = _value(value)
        else:
            pending = key
    if pending:
        raise _NotOurs  # nothing follows: it is null
    return document


def _split(line: str) -> tuple[_Head, str]:
    before, colon, value = line.partition(": ")
    if colon:
        return _head(before), value
    if line.endswith(":"):
        return _head(line[:-1]), ""
    depth = len(line) - len(line.lstrip(" "))
    if line.startswith("- ", depth) and len(line) > depth + 2:
        return _Head(depth, is_item=True, key=""), line[depth + 2 :]
    raise _NotOurs


@lru_cache(maxsize=4096)
def _head(before: str) -> _Head:
    match = _HEAD.fullmatch(before)
    if match is None:
        raise _NotOurs
    blanks, dash, plain, double, single = match.groups()
    if plain is not None and _NO_KEYS.fullmatch(plain):
        raise _NotOurs
    return _Head(len(blanks), dash is not None, plain or double or single)


def _value(text: str) -> object:
    first = text[0]
    if first == '"':
        if text.count('"') == 2 and text[-1] == '"' and "\\" not in text:
            return text[1:-1]
        return _json(text)
    if first == "'":
        inner = text[1:-1].replace("''", "")
        if len(text) < 2 or text[-1] != "'" or "'" in inner:
            raise _NotOurs
        return text[1:-1].replace("''", "'")
    if first in "[{":
        return _json(text)
    return _plain(text)


def _plain(text: str) -> object:
    if text[0] in "-0123456789":
        if _INT.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text):
            return float(text)
        if _NUMBERS.fullmatch(text):
            raise _NotOurs
    elif text in _CONSTANTS:
        return _CONSTANTS[text]
    elif text.lower() in _WORDS:
        raise _NotOurs
    if _PLAIN.fullmatch(text):
        return text
    raise _NotOurs


def _json(text: str) -> object:
    """JSON means in YAML what it means, but for what only one of them allows."""
    if _HALF_CHARACTER.search(text):
        raise _NotOurs
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_int=_int, parse_constant=_refuse)
        require_shallow(value, "", "")
    except (ValueError, RecursionError, Corrupt):
        raise _NotOurs from None
    return value


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs) or any(len(key) > _LONGEST_KEY for key in found):
        raise _NotOurs
    return found


def _int(text: str) -> int:
    if len(text) > _DIGITS:
        raise _NotOurs
    return int(text)


def _refuse(_name: str) -> NoReturn:
    raise _NotOurs
