"""What is known about one row while a predicate is evaluated: its fields at once, its content when it is asked for."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from bayou.catalog.attributes import attributes_of, has_attributes
from bayou.domain.artifacts import is_text
from bayou.query.fields import ATTRIBUTES, CONTENT
from bayou.query.literals import has_nul

_INT64: Final = range(-(2**63), 2**63)
_LARGE: Final = re.compile(rb"\d{19}")
_NUL: Final = re.compile(rb"\\u0000")

_NOT_ASKED: Final = object()


class Facts:
    def __init__(
        self, fields: Mapping[str, object], content_type: str = "", read: Callable[[], bytes | None] = lambda: None
    ) -> None:
        """`read` gives the content, or None where it is not on this machine."""
        self._fields = fields
        self._content_type = content_type
        self._read = read
        self._raw: object = _NOT_ASKED
        self._attributes: dict[str, object] | None = None

    def data(self, names: frozenset[str], *, takes_text: bool) -> tuple[dict[str, Any], bool]:
        """The values of these fields as the engine takes them, without those that are unknown; and whether there is a
        NUL in them.

        Who only looks into content, and does not take it as such, needs no bytes to learn that a text has no keys.
        """
        found: dict[str, Any] = {}
        nul = False
        for name in names:
            if name == ATTRIBUTES or (name == CONTENT and has_attributes(self._content_type)):
                known, value, with_nul = self._of_json()
            elif name == CONTENT and takes_text:
                known, value, with_nul = self._of_text()
            elif name == CONTENT:
                known, value, with_nul = True, "", False
            else:
                value = self._fields[name]
                known, with_nul = True, has_nul(value)
            if known:
                found[name] = value
                nul = nul or with_nul
        return found, nul

    def forget(self) -> None:
        """Content that was not here may be now."""
        self._raw = _NOT_ASKED

    def _of_json(self) -> tuple[bool, object, bool]:
        if not has_attributes(self._content_type):
            return True, {}, False
        raw = self._bytes()
        if raw is None:
            return False, None, False
        if self._attributes is None:
            self._attributes = attributes_of(raw)
            if _LARGE.search(raw):
                self._attributes = _within_range(self._attributes)
        return True, self._attributes, _NUL.search(raw) is not None and has_nul(self._attributes)

    def _of_text(self) -> tuple[bool, object, bool]:
        if not is_text(self._content_type):
            return True, "", False
        raw = self._bytes()
        if raw is None:
            return False, None, False
        return True, raw.decode(errors="replace"), b"\0" in raw

    def _bytes(self) -> bytes | None:
        if self._raw is _NOT_ASKED:
            self._raw = self._read()
        return self._raw if isinstance(self._raw, bytes) else None


def _within_range(value: Any) -> Any:  # noqa: ANN401 - JSON in, JSON out
    """Whole numbers beyond 64 bits as doubles, which is what they are to the existing clients."""
    match value:
        case dict():
            return {key: _within_range(held) for key, held in value.items()}
        case list():
            return [_within_range(held) for held in value]
        case int() if value not in _INT64:
            try:
                return float(value)
            except OverflowError:
                return None
        case _:
            return value
