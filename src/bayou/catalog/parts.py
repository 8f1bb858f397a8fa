"""Parts: the rows of names as a worker found them, made in a small database, and taken over all at once.

Rows are made by `Storing`, as everywhere. Only, whoever reads the files makes them, so that the one who writes to the
catalog, of whom there can be but one, has nothing to do for each row. What the catalog says already stays as it is.
"""

# ruff: noqa: S608 - what is put into the statements is our own; values are bound

from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Final, NamedTuple

import apsw

from bayou.catalog.reading import Found
from bayou.catalog.rows import OF_FILES, OF_METADATA, OF_NAME, STORED
from bayou.catalog.schema import make_tables
from bayou.catalog.storing import Recalled, Storing, count_up, moment_of
from bayou.domain.artifacts import ArtifactKey

PART: Final = "part"
"""What the database is called beside the catalog."""

_NEW: Final = Recalled(None, {}, 0)
_FOLDER = "changed_ns", "settled", "marker", "listed", "total"


def _each(table: str, columns: Iterable[str]) -> str:
    return ", ".join(f"{table}.{column}" for column in columns)


def _all(columns: Sequence[str], rows: str) -> str:
    """All these rows as one text. What is damaged may hold anything, and `quote` takes all of it."""
    row = " || ' ' || ".join(f"quote({column})" for column in columns)
    return f"(SELECT group_concat({row}) FROM {rows})"


_COLUMNS = (*OF_NAME, *OF_METADATA, *OF_FILES)
_VERSIONS = f"""{PART}.artifact a JOIN {PART}.pair ON theirs = a.name_row
LEFT JOIN main.artifact m ON m.name_row = ours AND m.version = a.version"""
# Names of which nothing differs: those of which so far nothing did, less and less of them.
_PAIR = (
    f"CREATE INDEX {PART}.of_name ON artifact(name_row, version)",
    f"CREATE TABLE {PART}.pair(theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL)",
    f"""INSERT INTO {PART}.pair SELECT p.name_row, m.name_row
    FROM {PART}.name p JOIN main.name m USING (namespace, type, model_id, name)
    WHERE ({_each("p", _FOLDER)}) IS ({_each("m", _FOLDER)})""",
    f"""DELETE FROM {PART}.pair WHERE (SELECT count(*) FROM {PART}.artifact WHERE name_row = theirs)
    IS NOT (SELECT count(*) FROM main.artifact WHERE name_row = ours)
    OR {_all(("path", "message", "version"), f"{PART}.problem WHERE name_row = theirs")}
    IS NOT {_all(("path", "message", "version"), "main.problem WHERE name_row = ours")}""",
    f"""DELETE FROM {PART}.pair WHERE theirs IN (SELECT a.name_row FROM {_VERSIONS}
    WHERE ({_each("a", _COLUMNS)}) IS NOT ({_each("m", _COLUMNS)})
    OR {_all(("key", "value"), f"{PART}.tag WHERE artifact = a.row")}
    IS NOT {_all(("key", "value"), "main.tag WHERE artifact = m.row")}
    OR {_all(("key", "kind", "value"), f"{PART}.attribute WHERE artifact = a.row")}
    IS NOT {_all(("key", "kind", "value"), "main.attribute WHERE artifact = m.row")})""",
    f"DELETE FROM {PART}.name WHERE name_row IN (SELECT theirs FROM {PART}.pair)",
)
_LEFT_OUT = (
    f"DELETE FROM {PART}.artifact WHERE name_row NOT IN (SELECT name_row FROM {PART}.name)",
    f"DELETE FROM {PART}.problem WHERE name_row NOT IN (SELECT name_row FROM {PART}.name)",
    f"DELETE FROM {PART}.tag WHERE artifact NOT IN (SELECT row FROM {PART}.artifact)",
    f"DELETE FROM {PART}.attribute WHERE artifact NOT IN (SELECT row FROM {PART}.artifact)",
)
_WITHOUT = f"DELETE FROM {PART}.name WHERE (type, model_id, name) = (?, ?, ?)"
# What is there already has numbers below these, as with `Storing`.
_LAST = "SELECT (SELECT coalesce(max(row), 0) FROM main.artifact), (SELECT coalesce(max(name_row), 0) FROM main.name)"
_ROW = f"row + :row, name_row + :name, {', '.join(STORED[2:])}"
_TAKE = (
    f"INSERT OR IGNORE INTO main.model SELECT * FROM {PART}.model",
    f"INSERT INTO main.name SELECT name_row + :name, {', '.join((*OF_NAME, *_FOLDER))}, :sequence FROM {PART}.name",
    f"INSERT INTO main.tag SELECT artifact + :row, key, value FROM {PART}.tag",
    f"INSERT INTO main.attribute SELECT artifact + :row, key, kind, value FROM {PART}.attribute",
    f"INSERT OR REPLACE INTO main.problem SELECT path, message, name_row + :name, version FROM {PART}.problem",
    f"INSERT INTO main.artifact({', '.join(STORED)}) SELECT {_ROW} FROM {PART}.artifact",
)


class Taken(NamedTuple):
    """What became of a part."""

    changed: int
    """How many versions came, went or became others."""
    late: Sequence[ArtifactKey]
    """Names that have to be looked at again: somebody stored them since they were looked at."""


def make(namespace: str, names: Iterable[tuple[ArtifactKey, Found]]) -> bytes:
    """A part with these names, which are all of this namespace."""
    with closing(apsw.Connection(":memory:")) as connection:
        make_tables(connection)
        with connection:
            storing = Storing(connection, namespace)
            for key, found in names:
                storing.store(key, _NEW, found)
            storing.flush()
        return connection.serialize("main")


def take_over(connection: apsw.Connection, namespace: str, names: Sequence[tuple[ArtifactKey, Recalled]]) -> Taken:
    """Put the part that is beside the catalog into it, within a transaction. Each name comes with what the tables said
    when it was looked at.
    """
    if PART not in connection.db_names():  # the catalog was made anew in the meantime
        return Taken(0, [key for key, _ in names])
    late = [key for key, before in names if moment_of(connection, namespace, key) != before.moment]
    for key in late:
        connection.execute(_WITHOUT, (key.model.type.normalised, key.model.id, key.name))
    known = [before.state for key, before in names if before.state is not None and key not in late]
    storing = Storing(connection, namespace)
    if known:
        for sql in _PAIR:
            connection.execute(sql)
        same = {row for (row,) in connection.execute(f"SELECT ours FROM {PART}.pair")}
        for state in known:
            if state.name_row not in same:
                storing.drop(state)
    if late or known:
        for sql in _LEFT_OUT:
            connection.execute(sql)
    row, name = connection.execute(_LAST).fetchone() or (0, 0)
    values = {"row": row, "name": name, "sequence": count_up(connection, "sequence")}
    for sql in _TAKE:
        connection.execute(sql, values)
    return Taken(storing.changed + connection.changes(), late)
