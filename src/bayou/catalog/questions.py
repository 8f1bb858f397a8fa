"""Questions to the tables, each answered as of one moment."""

# ruff: noqa: S608 - what is put into the statements is our own; values are bound

from collections.abc import Sequence
from typing import Any, NamedTuple

from bayou.catalog.database import Database
from bayou.catalog.reading import Problem
from bayou.catalog.rows import STORED, Row, Value, row_of
from bayou.domain.artifacts import ArtifactKey
from bayou.domain.models import Model
from bayou.errors import UsageError
from bayou.layout.typefolders import type_at

_CHANGED = "(SELECT changed_ns FROM name WHERE name.name_row = artifact.name_row)"
"""The time of the folder, as it was when it was looked at."""
_COUNTED = frozenset(STORED) - {"row", "name_row", "tags", "stamp", "size_known", "created_ms"}


class Stats(NamedTuple):
    versions: int
    latest: int
    names: int
    models: int
    bytes: int
    latest_by_type: dict[str, int]
    """Of this namespace alone, as all before it."""
    problems: int
    foreign: dict[str, int]
    """The versions of other namespaces."""


def statement(condition: str, columns: Sequence[str], order_by: str | None, limit: int | None) -> str:
    sql = f"SELECT {', '.join(columns)} FROM artifact WHERE {condition}"
    if order_by is not None:
        sql += f" ORDER BY {order_by}"
    return sql if limit is None else f"{sql} LIMIT {int(limit)}"


def latest(database: Database, namespace: str, model: str, name: str) -> list[tuple[Row, int]]:
    """Each with the time of its folder."""
    condition = "is_latest = 1 AND name = ? AND namespace = ?"
    columns = (*STORED, _CHANGED)
    found = {}
    with database.reading() as connection:
        for column in ("model_name", "model_id"):
            sql = statement(f"{condition} AND {column} = ?", columns, "row", None)
            for *values, changed_ns in connection.execute(sql, (name, namespace, model)):
                row = row_of(values)
                found[row.row] = (row, changed_ns)
    return list(found.values())


def versions(database: Database, namespace: str, key: ArtifactKey, number: int | None) -> list[tuple[Row, int]]:
    """All of a name, newest first, or one of them; each with the time of its folder."""
    of_name = "SELECT name_row FROM name WHERE namespace = ? AND type = ? AND model_id = ? AND name = ?"
    parameters: list[Value] = [namespace, key.model.type.normalised, key.model.id, key.name]
    condition = f"name_row = ({of_name})"
    if number is not None:
        condition += " AND version = ?"
        parameters.append(number)
    sql = statement(condition, (*STORED, _CHANGED), "version DESC", None)
    with database.reading() as connection:
        return [(row_of(values), changed_ns) for *values, changed_ns in connection.execute(sql, tuple(parameters))]


def models(database: Database, namespace: str, model: str) -> list[Model]:
    """The models that go by this name or id."""
    with database.reading() as connection:
        found = connection.execute(
            "SELECT type, model_id FROM artifact WHERE namespace = ?1 AND model_name = ?2 "
            "UNION SELECT type, model_id FROM artifact WHERE is_latest = 1 AND namespace = ?1 AND model_id = ?2",
            (namespace, model),
        )
        types = [(type_at(type_path), model_id) for type_path, model_id in found]
    return [Model(model_type, model_id) for model_type, model_id in types if model_type]


def distinct(database: Database, column: str) -> list[str]:
    """The values of a column, sorted, as text, without the empty one."""
    if column not in _COUNTED:
        raise UsageError(f"{column!r} is not a column whose values can be listed: {', '.join(sorted(_COUNTED))}")
    with database.reading() as connection:
        sql = f"SELECT DISTINCT {column} FROM artifact WHERE {column} <> '' ORDER BY 1"
        return [str(value) for (value,) in connection.execute(sql)]


def tag_keys(database: Database) -> list[str]:
    """From one key to the next through the index, never through all tags (weakness 13)."""
    return _steps(database, "SELECT min(key) FROM tag", "SELECT min(key) FROM tag WHERE key > step.value", ())


def attribute_keys(database: Database) -> list[str]:
    return _steps(
        database, "SELECT min(key) FROM attribute", "SELECT min(key) FROM attribute WHERE key > step.value", ()
    )


def tag_values(database: Database, key: str) -> list[str]:
    return _steps(
        database,
        "SELECT min(value) FROM tag WHERE key = ?1",
        "SELECT min(value) FROM tag WHERE key = ?1 AND value > step.value",
        (key,),
    )


def problems(database: Database) -> list[Problem]:
    with database.reading() as connection:
        return [
            Problem(*found) for found in connection.execute("SELECT version, path, message FROM problem ORDER BY path")
        ]


def problems_above(database: Database, row: int) -> list[Problem]:
    """Those of later versions of the same name."""
    sql = """SELECT problem.version, path, message FROM problem JOIN artifact USING (name_row)
    WHERE artifact.row = ? AND problem.version > artifact.version ORDER BY path"""
    with database.reading() as connection:
        return [Problem(*problem) for problem in connection.execute(sql, (row,))]


def stats(database: Database, namespace: str) -> Stats:
    with database.reading() as connection:
        connection.execute("BEGIN")
        try:

            def row(sql: str) -> tuple[Any, ...]:
                return connection.execute(sql, (namespace,)).fetchone() or ()

            versions, size = row("SELECT count(*), coalesce(sum(size), 0) FROM artifact WHERE namespace = ?")
            names, models_ = row(
                "SELECT count(*), count(DISTINCT type || '/' || model_id) FROM name WHERE namespace = ? AND listed > 0"
            )
            (problems,) = connection.execute("SELECT count(*) FROM problem").fetchone()  # type: ignore[misc]
            by_type = dict(
                connection.execute(
                    "SELECT type, count(*) FROM artifact WHERE is_latest = 1 AND namespace = ? GROUP BY type",
                    (namespace,),
                )
            )
            foreign = dict(
                connection.execute(
                    "SELECT namespace, count(*) FROM artifact WHERE namespace <> ? GROUP BY namespace", (namespace,)
                )
            )
        finally:
            connection.execute("COMMIT")
    return Stats(versions, sum(by_type.values()), names, models_, size, by_type, problems, foreign)


def is_sound(database: Database) -> bool:
    with database.reading() as connection:
        return connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)


def _steps(database: Database, first: str, following: str, parameters: Sequence[Value]) -> list[str]:
    sql = (
        f"WITH RECURSIVE step(value) AS ({first} UNION ALL SELECT ({following}) FROM step WHERE value IS NOT NULL) "
        "SELECT value FROM step WHERE value IS NOT NULL"
    )
    with database.reading() as connection:
        return [value for (value,) in connection.execute(sql, tuple(parameters))]
