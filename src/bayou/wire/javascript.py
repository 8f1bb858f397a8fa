"""JSON in the bytes that JavaScript's `JSON.stringify` writes (sync spec 1.2)."""

import json
from collections.abc import Mapping
from typing import TypeVar

import msgspec

_Value = TypeVar("_Value")

_LAST_ARRAY_INDEX = 2**32 - 2


def compact(value: object) -> bytes:
    """No blanks, non-ASCII as it is: the form of everything that is read by machines only."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return _with_lone_surrogates(json.dumps(msgspec.to_builtins(value), ensure_ascii=False, separators=(",", ":")))


def pretty(value: object) -> bytes:
    """Indented by two blanks, with no newline at the end: the form of local files, locks and manifests."""
    try:
        return msgspec.json.format(msgspec.json.encode(value), indent=2)
    except UnicodeEncodeError:
        return _with_lone_surrogates(json.dumps(msgspec.to_builtins(value), ensure_ascii=False, indent=2))


def _with_lone_surrogates(text: str) -> bytes:
    """UTF-8 of text that has none: with half a character in it, as a Windows client can find in a file name.

    JavaScript writes such a half as an escape, and so does this error handler; nothing else can fail to encode.
    """
    return text.encode(errors="backslashreplace")


def in_key_order(mapping: Mapping[str, _Value]) -> Mapping[str, _Value]:
    """The mapping as JavaScript iterates over it: array indices first, ascending; the rest as inserted."""
    indices = [key for key in mapping if key.isdigit() and _is_array_index(key)]
    if not indices:
        return mapping
    return {key: mapping[key] for key in sorted(indices, key=int)} | dict(mapping)


def utf16_order(text: str) -> bytes:
    """The sort key of JavaScript's `sort()`, which differs from Python's for characters beyond U+FFFF."""
    return text.encode("utf-16-be", "surrogatepass")


def _is_array_index(key: str) -> bool:
    canonical = key.isascii() and (key == "0" or not key.startswith("0"))
    return canonical and len(key) <= len(str(_LAST_ARRAY_INDEX)) and int(key) <= _LAST_ARRAY_INDEX
