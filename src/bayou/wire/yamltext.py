"""Values as YAML text: strings double-quoted (repository spec 1.3, 1.6), mappings one key per line.

Lists are in brackets, unless mappings are in them. Every text is quoted, so that no reader takes one for a time, a
number or a word of its own.
"""

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

_PLAIN_KEY = re.compile(r"(?!(?:null|true|false)\Z)[A-Za-z_][A-Za-z0-9_-]{0,200}", re.IGNORECASE)
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_INDENT = 2
_LONGEST_KEY = 1000  # a parser gives up on a key after 1,024 characters


class Inexpressible(ValueError):  # noqa: N818 - named by what it is, as all errors are
    """A value that has no form that every client reads back."""


def lines(mapping: Mapping[str, object], indent: int = 0) -> str:
    """Write a mapping as lines."""
    written = []
    blanks = " " * indent
    for key, value in mapping.items():
        if isinstance(value, str):  # as most are
            written.append(f"{blanks}{_key(key)}: {_quoted(value)}\n")
        elif isinstance(value, Mapping) and value:
            written.append(f"{blanks}{_key(key)}:\n{lines(value, indent + _INDENT)}")
        elif isinstance(value, list | tuple) and any(isinstance(item, Mapping) and item for item in value):
            written.append(f"{blanks}{_key(key)}:\n{_items(value, indent + _INDENT)}")
        else:
            written.append(f"{blanks}{_key(key)}: {flow(value)}\n")
    return "".join(written)


def _items(items: Sequence[object], indent: int) -> str:
    """Write a list with an item on each line; a mapping begins on the line of its dash."""
    written = []
    for item in items:
        text = lines(item, indent + _INDENT)[indent + _INDENT :] if isinstance(item, Mapping) and item else flow(item)
        written.append(f"{' ' * indent}- {text.removesuffix(chr(10))}\n")
    return "".join(written)


def flow(value: object) -> str:  # noqa: PLR0911 - one return per type
    """Write a value within one line."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return _quoted(value)
        case int() if value.bit_length() > 64:
            raise Inexpressible("a whole number of more than 64 bits is not read back by every client")
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return repr(value)
        case float():
            return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
        case list() | tuple():
            return f"[{', '.join(map(flow, value))}]"
        case Mapping():
            return f"{{{', '.join(f'{_key(key)}: {flow(item)}' for key, item in value.items())}}}"
        case _:
            raise Inexpressible(f"a value of type {type(value).__name__} has no form in YAML")


@lru_cache(maxsize=1024, typed=True)
def _key(key: object) -> str:
    if isinstance(key, str) and _PLAIN_KEY.fullmatch(key):
        return key
    written = flow(key)
    if len(written) > _LONGEST_KEY:
        raise Inexpressible(f"a key of {len(written)} characters is not read back by every client")
    return written


def _quoted(text: str) -> str:
    if text.isprintable() and '"' not in text and "\\" not in text:  # as nearly all are
        return f'"{text}"'
    return f'"{"".join(map(_character, text))}"'


def _character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        raise Inexpressible("a text with half a surrogate pair has no form in YAML")
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
