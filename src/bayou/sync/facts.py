"""Rows as plain values, and facts: single values that the journal remembers by name."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import apsw

Row: TypeAlias = tuple[Any, ...]
"""Its columns have the types of the schema, which no checker can see."""


def rows(connection: apsw.Connection, select: str, values: Sequence[Any] = ()) -> list[Row]:
    return connection.execute(select, values).fetchall()


def row(connection: apsw.Connection, select: str, values: Sequence[Any] = ()) -> Row | None:
    return connection.execute(select, values).fetchone()


def fact(connection: apsw.Connection, name: str) -> Any:  # noqa: ANN401 - whatever was set
    found = row(connection, "SELECT value FROM fact WHERE name = ?", (name,))
    return found[0] if found else None


def set_fact(connection: apsw.Connection, name: str, value: str | float | bytes) -> None:
    connection.execute(
        "INSERT INTO fact VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE SET value = ?2 WHERE value IS NOT ?2",
        (name, value),
    )
