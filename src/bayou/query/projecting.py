"""Values of a projection as they are shown: what JSON has, and the rest as text."""

import base64
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple


def shown(value: object) -> object:  # noqa: PLR0911 - one return per kind
    """The value, made of what JSON has. Times are RFC 3339, durations seconds, bytes base64."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list():
            return [shown(held) for held in value]
        case dict():
            return {_key(key): shown(held) for key, held in value.items()}
        case datetime():
            text = (
                value.astimezone(UTC)
                .replace(tzinfo=None)
                .isoformat(timespec="microseconds" if value.microsecond else "seconds")
            )
            return f"{text}Z"
        case timedelta():
            return f"{value.total_seconds():g}s"
        case bytes() | bytearray():
            return base64.b64encode(value).decode()
        case _:
            return str(value).lower()  # a type


class Table(NamedTuple):
    """Columns by name, none where rows are plain lists; and the rows."""

    columns: tuple[str, ...]
    rows: list[tuple[object, ...]]


def table(values: Sequence[object]) -> Table:
    """Projected values as a table (repository spec 5.6): the first that is not null decides its shape."""
    first = next((value for value in values if value is not None), None)
    if isinstance(first, dict):
        columns = tuple(first)
        return Table(columns, [tuple(_held(value, column) for column in columns) for value in values])
    if isinstance(first, list):
        width = max(len(value) for value in values if isinstance(value, list))
        rows = [tuple(value) if isinstance(value, list) else (value,) for value in values]
        numbered = tuple(str(number) for number in range(1, width + 1))
        return Table(numbered, [row + (None,) * (width - len(row)) for row in rows])
    return Table(("value",), [(value,) for value in values])


def _held(value: object, column: str) -> object:
    return value.get(column) if isinstance(value, dict) else None


def _key(key: object) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(key)
