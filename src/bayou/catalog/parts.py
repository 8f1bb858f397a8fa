"""Parts: the rows of names that are in no tables yet, made elsewhere in a small database, and taken over all at once.

Rows are made by `Storing`, as everywhere. Only, whoever reads the files makes them, so that the one who writes to the
catalog, of whom there can be but one, has nothing to do for each row.
"""

# ruff: noqa: S608 - what is put into the statements is our own

from collections.abc import Iterable
from contextlib import closing
from typing import Final

import apsw

from bayou.catalog.reading import Found
from bayou.catalog.rows import STORED
from bayou.catalog.schema import make_tables
from bayou.catalog.storing import Recalled, Storing, count_up, drops
from bayou.domain.artifacts import ArtifactKey

PART: Final = "part"
"""What the database is called beside the catalog."""

_NEW: Final = Recalled(None, {}, 0)
_ANY_KNOWN = f"SELECT 1 FROM {PART}.name JOIN main.name USING (namespace, type, model_id, name) LIMIT 1"
# What is there already has numbers below these, as with `Storing`.
_LAST = "SELECT (SELECT coalesce(max(row), 0) FROM main.artifact), (SELECT coalesce(max(name_row), 0) FROM main.name)"
_OF_NAME = "namespace, type, model_id, name, changed_ns, settled, marker, listed, total"
_ROW = f"row + :row, name_row + :name, {', '.join(STORED[2:])}"
_TAKE = (
    f"INSERT OR IGNORE INTO main.model SELECT * FROM {PART}.model",
    f"INSERT INTO main.name SELECT name_row + :name, {_OF_NAME}, :sequence FROM {PART}.name",
    f"INSERT INTO main.tag SELECT artifact + :row, key, value FROM {PART}.tag",
    f"INSERT INTO main.attribute SELECT artifact + :row, key, kind, value FROM {PART}.attribute",
    f"INSERT OR REPLACE INTO main.problem SELECT path, message, name_row + :name, version FROM {PART}.problem",
    f"INSERT INTO main.artifact({', '.join(STORED)}) SELECT {_ROW} FROM {PART}.artifact",
)


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


def take_over(connection: apsw.Connection, dropped: int) -> int | None:
    """Put the rows of the part that is beside the catalog into it, within a transaction; how many versions those are.

    None where the catalog knows some of its names by now, or has dropped names since so many were: then each has to be
    looked at. The same where there is no part, as beside a catalog that was made anew in the meantime.
    """
    if PART not in connection.db_names() or drops(connection) != dropped:
        return None
    if connection.execute(_ANY_KNOWN).fetchone() is not None:
        return None
    row, name = connection.execute(_LAST).fetchone() or (0, 0)
    values = {"row": row, "name": name, "sequence": count_up(connection, "sequence")}
    for sql in _TAKE:
        connection.execute(sql, values)
    return connection.changes()
