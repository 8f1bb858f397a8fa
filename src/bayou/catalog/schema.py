"""The tables, and how those of an older release become ours: one step after the other, in place."""

from contextlib import closing

import apsw

APPLICATION_ID = 0x42415955
"""`BAYU`, in the header of the file: what does not have it is not ours."""

# `name` is a folder of the tree, as it was when its versions were looked at last; `model` one that holds such folders.
# Every other text in `artifact` is there, if only as ''. What makes a version unique is (name_row, version), and
# through `name` the five columns that everybody else calls it by.
_TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE model(
  path TEXT PRIMARY KEY, changed_ns INTEGER NOT NULL, settled INTEGER NOT NULL, has_numbers INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE name(
  name_row INTEGER PRIMARY KEY,
  namespace TEXT NOT NULL, type TEXT NOT NULL, model_id TEXT NOT NULL, name TEXT NOT NULL,
  changed_ns INTEGER NOT NULL, settled INTEGER NOT NULL, marker INTEGER,
  listed INTEGER NOT NULL, total INTEGER NOT NULL, sequence INTEGER NOT NULL,
  UNIQUE(namespace, type, model_id, name)
);
CREATE TABLE artifact(
  row INTEGER PRIMARY KEY,
  name_row INTEGER NOT NULL, is_latest INTEGER NOT NULL,
  version INTEGER NOT NULL,
  namespace TEXT NOT NULL, type TEXT NOT NULL, model_id TEXT NOT NULL, name TEXT NOT NULL,
  id TEXT NOT NULL, model_name TEXT NOT NULL, spec_name TEXT NOT NULL, data_type TEXT NOT NULL,
  content_type TEXT NOT NULL, lifetime TEXT NOT NULL, garbage_collection NOT NULL,
  owner_type TEXT NOT NULL, owner_ref TEXT NOT NULL, definition_hash TEXT NOT NULL,
  workflow_id TEXT NOT NULL, workflow_run_id TEXT NOT NULL, workflow_name TEXT NOT NULL,
  job_name TEXT NOT NULL, step_name TEXT NOT NULL, source TEXT NOT NULL,
  streaming INTEGER NOT NULL, size INTEGER NOT NULL, size_known INTEGER NOT NULL,
  created_at TEXT NOT NULL, created_ms INTEGER, tags TEXT NOT NULL, checksum TEXT NOT NULL,
  lifecycle TEXT NOT NULL, renamed_to TEXT NOT NULL,
  hydrated INTEGER NOT NULL, attributes_known INTEGER NOT NULL, stamp INTEGER NOT NULL
);
CREATE TABLE tag(
  artifact INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY(artifact, key)
) WITHOUT ROWID;
CREATE TABLE attribute(
  artifact INTEGER NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL, value, PRIMARY KEY(artifact, key)
) WITHOUT ROWID;
CREATE TABLE problem(
  path TEXT PRIMARY KEY, message TEXT NOT NULL, name_row INTEGER NOT NULL, version INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE intent(
  intent INTEGER PRIMARY KEY, type TEXT NOT NULL, model_id TEXT NOT NULL, name TEXT NOT NULL,
  host TEXT NOT NULL, pid INTEGER NOT NULL, started INTEGER NOT NULL
);
CREATE TABLE foreign_namespace(namespace TEXT PRIMARY KEY, synced_at TEXT NOT NULL) WITHOUT ROWID;
"""
_FIRST = f"""
{_TABLES}
CREATE UNIQUE INDEX artifact_version ON artifact(name_row, version);
CREATE INDEX latest_of_folder ON artifact(name_row) WHERE is_latest = 1;
CREATE INDEX problem_of_name ON problem(name_row);
"""

# What makes questions fast, and a first build slow: it makes them afterwards. Nearly every question is about latest
# versions, so most hold no others; such an index serves where a query says `is_latest = 1` literally. Most ask for
# active ones too, which saves looking at the row where the index says it.
_INDEXES = {
    "latest_of_model": "artifact(model_name, name) WHERE is_latest = 1",
    "latest_of_id": "artifact(model_id, name) WHERE is_latest = 1",
    "latest_of_name": "artifact(name) WHERE is_latest = 1",
    "latest_of_type": "artifact(type, lifecycle) WHERE is_latest = 1",
    "latest_of_spec": "artifact(spec_name, lifecycle) WHERE is_latest = 1",
    "latest_by_size": "artifact(size, lifecycle) WHERE is_latest = 1",
    "latest_by_time": "artifact(created_ms, lifecycle) WHERE is_latest = 1",
    "of_model": "artifact(model_name, name, version)",
    "of_run": "artifact(workflow_run_id)",
    "by_id": "artifact(id)",
    "by_time": "artifact(created_ms)",
    "tag_value": "tag(key, value)",
    "attribute_value": "attribute(key, value)",
    "unknown_attributes": "artifact(attributes_known) WHERE attributes_known = 0",
}

_STEPS = (_FIRST,)
VERSION = len(_STEPS)


class NotOurs(Exception):  # noqa: N818 - what was found, not what went wrong
    """A database that is no catalog."""


class Newer(Exception):  # noqa: N818 - the same
    """A catalog of a release to come."""


def is_current(connection: apsw.Connection) -> bool:
    return found_version(connection) == VERSION


def found_version(connection: apsw.Connection) -> int:
    """The version of the tables: 0 in a new file."""
    application, version = connection.pragma("application_id"), connection.pragma("user_version")
    if application != APPLICATION_ID and (
        application or version or connection.execute("SELECT 1 FROM sqlite_schema").fetchone()
    ):
        raise NotOurs
    if version > VERSION:
        raise Newer
    return int(version)


def is_as_made(connection: apsw.Connection) -> bool:
    """Whether its tables are those that we make: not so where the page that says what they are is damaged."""
    with closing(apsw.Connection(":memory:")) as new:
        upgrade(new)
        return _tables(new) <= _tables(connection)


def _tables(connection: apsw.Connection) -> set[tuple[str, str]]:
    found = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'")
    return {(str(name), str(sql)) for name, sql in found}


def upgrade(connection: apsw.Connection) -> None:
    """Make the tables ours, within a transaction of the caller."""
    for step in _STEPS[found_version(connection) :]:
        connection.execute(step)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}")
    make_indexes(connection)


def make_tables(connection: apsw.Connection) -> None:
    """The tables alone, in a database that is not a catalog."""
    connection.execute(_TABLES)


def make_indexes(connection: apsw.Connection) -> None:
    """Those that are not there."""
    for name, definition in _INDEXES.items():
        connection.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {definition}")


def drop_indexes(connection: apsw.Connection) -> None:
    for name in _INDEXES:
        connection.execute(f"DROP INDEX IF EXISTS {name}")


def count_what_is_rare(connection: apsw.Connection) -> None:
    """Let SQLite see which values are rare: only then it knows which of two conditions to begin with."""
    connection.execute("ANALYZE")
