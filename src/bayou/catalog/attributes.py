"""Attributes: the JSON object that a version holds, and what of it the catalog keeps to search in.

Whoever evaluates a query without the catalog reads attributes with the same function, so that both see one value.
"""

import json
import re
from typing import NoReturn

import msgspec

from bayou.domain.artifacts import JSON

LARGEST = 2**20
"""Bytes of content that the catalog still looks into."""
MOST_KEYS = 256
LONGEST_TEXT = 4096
_KINDS = {
    str: "string",
    bool: "bool",
    int: "int",
    float: "double",
    type(None): "null",
    list: "list",
    dict: "map",
}
_INT64 = range(-(2**63), 2**63)
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


First = tuple[str, str, int | float | str | None]
"""One key of the object itself, the kind of its value, and that. What is in a list or a map is not kept: None."""


def attributes_of(content: bytes) -> dict[str, object]:
    """The object, or nothing where the content is no JSON or no object.

    What has no fraction in the text is an int of any size, the rest a float. Beyond the range of doubles a number is
    null, as JavaScript would write it again, and half a character is U+FFFD: neither can be stored or compared.
    """
    try:
        value: object = msgspec.json.decode(content)
    except (msgspec.MsgspecError, RecursionError):
        value = _patiently(content)
    return value if isinstance(value, dict) else {}


def first_level(attributes: dict[str, object]) -> tuple[First, ...] | None:
    """The keys of the object, or None where an index could not hold them as they are."""
    if len(attributes) > MOST_KEYS:
        return None
    kept: list[First] = []
    for key, value in attributes.items():
        kind = _KINDS[type(value)]
        if len(key) > LONGEST_TEXT or "\0" in key:
            return None
        # SQLite's own functions stop at a NUL.
        if isinstance(value, str):
            if len(value) > LONGEST_TEXT or "\0" in value:
                return None
        elif isinstance(value, int):
            if value not in _INT64:
                return None
            value = int(value)  # noqa: PLW2901 - true is 1
        elif not isinstance(value, float):
            value = None  # noqa: PLW2901 - what is in it is not kept
        kept.append((key, kind, value))
    return tuple(kept)


def has_attributes(content_type: str) -> bool:
    """Whether a version of this type can have any (repository spec 2.5)."""
    return content_type == JSON


def _patiently(content: bytes) -> object:
    """As JavaScript reads it, which takes a byte order mark, half characters and numbers of any size."""
    try:
        value = json.loads(content.decode("utf-8-sig"), parse_float=_double, parse_constant=_refuse)
        return _whole(value)
    except (ValueError, RecursionError):
        return None


def _whole(value: object) -> object:
    match value:
        case str():
            # Halves that belong together are one character again; what is left has lost its other half.
            return _HALF_CHARACTER.sub("\ufffd", value) if _HALF_CHARACTER.search(value) else value
        case list():
            return [_whole(held) for held in value]
        case dict():
            return {_whole(key): _whole(held) for key, held in value.items()}
        case _:
            return value


def _double(text: str) -> float | None:
    value = float(text)
    return None if value in (float("inf"), float("-inf")) else value


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")
