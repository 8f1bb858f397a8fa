"""Store what was found: within a transaction, make the rows of names equal to their files."""

# ruff: noqa: S608 - what is put into the statements is our own; values are bound

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import apsw

from bayou.catalog.database import Database
from bayou.catalog.reading import Found, Known
from bayou.catalog.rows import STORED, Value
from bayou.domain.artifacts import ArtifactKey, Chain, latest_of_chains
from bayou.tree import Tree

_PUT_ARTIFACT = f"INSERT OR REPLACE INTO artifact({', '.join(STORED)}) VALUES({', '.join('?' * len(STORED))})"
_PUT_TAG = "INSERT INTO tag VALUES(?, ?, ?)"
_PUT_ATTRIBUTE = "INSERT INTO attribute VALUES(?, ?, ?, ?)"
_PUT_NAME = "INSERT OR REPLACE INTO name VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
# Somebody has to list its folder yet.
_PUT_MODEL = "INSERT OR IGNORE INTO model VALUES(?, 0, 0, 0)"
_PUT_PROBLEM = "INSERT OR REPLACE INTO problem VALUES(?, ?, ?, ?)"
_VERSIONS = """SELECT version, row, stamp, hydrated, streaming, is_latest, workflow_name, job_name, step_name
FROM artifact WHERE name_row = ?"""
_CANDIDATES = "SELECT version, row, is_latest, workflow_name, job_name, step_name FROM artifact WHERE name_row = ?"
_NO_VERSION = 10**15


class NameState(NamedTuple):
    """What the tables say about the folder of a name."""

    name_row: int
    changed_ns: int
    settled: bool
    marker: int | None
    listed: int
    total: int
    sequence: int
    """Of the last change of these rows: what was looked at before another change is out of date."""


class StoredVersion(NamedTuple):
    row: int
    is_latest: bool
    chain: Chain
    known: Known


class Recalled(NamedTuple):
    """All that the tables say about a name: what a look at it is compared with."""

    state: NameState | None
    versions: Mapping[int, StoredVersion]
    drops: int
    """How many names were dropped so far: without a state, what says that nobody made and dropped one meanwhile."""

    @property
    def known(self) -> dict[int, Known]:
        return {number: version.known for number, version in self.versions.items()}

    @property
    def moment(self) -> int:
        return self.state.sequence if self.state else -self.drops


def state_of(connection: apsw.Connection, namespace: str, key: ArtifactKey) -> NameState | None:
    found = connection.execute(
        "SELECT name_row, changed_ns, settled, marker, listed, total, sequence FROM name "
        "WHERE namespace = ? AND type = ? AND model_id = ? AND name = ?",
        (namespace, key.model.type.normalised, key.model.id, key.name),
    ).fetchone()
    if found is None:
        return None
    name_row, changed_ns, settled, *rest = found
    return NameState(name_row, changed_ns, bool(settled), *rest)


def moment_of(connection: apsw.Connection, namespace: str, key: ArtifactKey) -> int:
    """What `Recalled.moment` is now."""
    state = state_of(connection, namespace, key)
    return state.sequence if state else -drops(connection)


def recall(connection: apsw.Connection, namespace: str, key: ArtifactKey) -> Recalled:
    state = state_of(connection, namespace, key)
    if state is None:
        return Recalled(None, {}, drops(connection))
    versions = {
        version: StoredVersion(row, bool(is_latest), Chain(*chain), Known(stamp, bool(hydrated), bool(streaming)))
        for version, row, stamp, hydrated, streaming, is_latest, *chain in connection.execute(
            _VERSIONS, (state.name_row,)
        )
    }
    return Recalled(state, versions, 0)


def meta(connection: apsw.Connection, key: str) -> int:
    found = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return int(found[0]) if found else 0


def position(connection: apsw.Connection) -> str | None:
    """How far a log of changes was followed."""
    found = connection.execute("SELECT value FROM meta WHERE key = 'position'").fetchone()
    return str(found[0]) if found else None


def set_position(connection: apsw.Connection, reached: str) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES('position', ?)", (reached,))


def drops(connection: apsw.Connection) -> int:
    return meta(connection, "drops")


def count_up(connection: apsw.Connection, key: str) -> int:
    found = connection.execute(
        "INSERT INTO meta VALUES(?, 1) ON CONFLICT(key) DO UPDATE SET value = value + 1 RETURNING value", (key,)
    ).fetchone()
    return int(found[0])  # type: ignore[index] # RETURNING returns


def is_bound(database: Database, tree: Tree) -> bool:
    with database.reading() as connection:
        found = connection.execute("SELECT value FROM meta WHERE key = 'place'").fetchone()
    return found is not None and found[0] == _place(tree)


def _place(tree: Tree) -> str:
    return f"{tree.namespace}\n{tree.root}\n{tree.local}\n{tree.tiers}"


def bind(connection: apsw.Connection, tree: Tree) -> None:
    """Say whose catalog it is. Rows of another namespace that was bound once are nobody's, and what was seen at another
    place says nothing about this one.
    """
    storing = Storing(connection, tree.namespace)
    foreign = {namespace for (namespace,) in connection.execute("SELECT namespace FROM foreign_namespace")}
    for namespace in {tree.namespace} | {
        namespace for (namespace,) in connection.execute("SELECT DISTINCT namespace FROM name")
    } - foreign:
        storing.drop_namespace(namespace)
    connection.execute("DELETE FROM foreign_namespace WHERE namespace = ?", (tree.namespace,))
    connection.execute("DELETE FROM model; DELETE FROM intent; DELETE FROM meta WHERE key IN ('swept_ms', 'position')")
    connection.execute("INSERT OR REPLACE INTO meta VALUES('place', ?)", (_place(tree),))


class Storing:
    """One transaction's worth of names, each of them at most once."""

    def __init__(self, connection: apsw.Connection, namespace: str) -> None:
        self._connection = connection
        self._namespace = namespace
        self._sequence = count_up(connection, "sequence")
        self._next_row = self._after("row", "artifact")
        self._next_name = self._after("name_row", "name")
        self._names: list[tuple[Value, ...]] = []
        self._artifacts: list[tuple[Value, ...]] = []
        self._tags: list[tuple[int, str, str]] = []
        self._attributes: list[tuple[int, str, str, int | float | str | None]] = []
        self._problems: list[tuple[str, str, int, int]] = []
        self._models = set[str]()
        self.changed = 0
        """How many versions came, went or became others."""

    def store(self, key: ArtifactKey, before: Recalled, found: Found) -> None:
        """Make the rows of a name what was found, where `before` was compared with it and still holds."""
        present = {version.version for version in found.read}.union(found.kept)
        self._forget([version.row for number, version in before.versions.items() if number not in present])
        chains = {number: before.versions[number].chain for number in found.kept}
        rows = {number: version.row for number, version in before.versions.items()}
        flags = {number: before.versions[number].is_latest for number in found.kept}
        self._put(key, before.state, found, chains, rows, flags)

    def add(self, key: ArtifactKey, state: NameState | None, found: Found) -> bool:
        """The same where what was read is all that changed, nothing is gone and the marker went up: the other versions
        are not looked at, however many there are. Whoever was latest, or above the marker, may change its place. False
        where a version went from one chain to another, which may concern any.
        """
        chains: dict[int, Chain] = {}
        rows: dict[int, int] = {}
        flags: dict[int, bool] = {}
        if state is not None:
            name = (state.name_row,)
            candidates = list(self._connection.execute(f"{_CANDIDATES} AND is_latest = 1", name))
            above = (state.name_row, state.marker or 0) if state.marker is not None else (state.name_row, _NO_VERSION)
            candidates += self._connection.execute(f"{_CANDIDATES} AND version > ?", above)
            for number in (version.version for version in found.read):
                candidates += self._connection.execute(f"{_CANDIDATES} AND version = ?", (*name, number))
            for version, row, is_latest, *chain in candidates:
                chains[version], rows[version], flags[version] = Chain(*chain), row, bool(is_latest)
        if any(chains.get(version.version, version.chain) != version.chain for version in found.read):
            return False
        self._put(key, state, found, chains, rows, flags)
        return True

    def drop(self, state: NameState) -> None:
        """Take a name and all its versions out."""
        name = (state.name_row,)
        self._forget([row for (row,) in self._connection.execute("SELECT row FROM artifact WHERE name_row = ?", name)])
        self._connection.execute("DELETE FROM problem WHERE name_row = ?", name)
        self._connection.execute("DELETE FROM name WHERE name_row = ?", name)
        count_up(self._connection, "drops")

    def drop_namespace(self, namespace: str) -> None:
        names = "SELECT name_row FROM name WHERE namespace = ?1"
        rows = f"SELECT row FROM artifact WHERE name_row IN ({names})"
        for sql in (
            f"DELETE FROM tag WHERE artifact IN ({rows})",
            f"DELETE FROM attribute WHERE artifact IN ({rows})",
            f"DELETE FROM problem WHERE name_row IN ({names})",
            f"DELETE FROM artifact WHERE name_row IN ({names})",
            "DELETE FROM name WHERE namespace = ?1",
        ):
            self._connection.execute(sql, (namespace,))
        count_up(self._connection, "drops")

    def flush(self) -> None:
        """Write what was collected: one statement for all names together."""
        for sql, values in (
            (_PUT_MODEL, [(path,) for path in self._models]),
            (_PUT_NAME, self._names),
            (_PUT_ARTIFACT, self._artifacts),
            (_PUT_TAG, self._tags),
            (_PUT_ATTRIBUTE, self._attributes),
            (_PUT_PROBLEM, self._problems),
        ):
            if values:
                self._connection.executemany(sql, values)

    def _put(  # noqa: PLR0913, PLR0917 - what is known of a name, by version
        self,
        key: ArtifactKey,
        state: NameState | None,
        found: Found,
        chains: dict[int, Chain],
        rows: Mapping[int, int],
        flags: Mapping[int, bool],
    ) -> None:
        """`chains`, `rows` and `flags` are of versions that are in the tables."""
        chains.update((version.version, Chain(*version.chain)) for version in found.read)
        heads = latest_of_chains(chains.items(), found.marker)
        read = {version.version for version in found.read}
        for number, was_latest in flags.items():
            if number not in read and was_latest != (number in heads):
                self._connection.execute(
                    "UPDATE artifact SET is_latest = ? WHERE row = ?", (int(number in heads), rows[number])
                )
        if state is None:
            name_row, self._next_name = self._next_name, self._next_name + 1
            self._models.add(f"{key.model.type}/{key.model.id}")
        else:
            name_row = state.name_row
            self._connection.execute("DELETE FROM problem WHERE name_row = ?", (name_row,))
            self._forget_details([rows[number] for number in read if number in rows])
        of_name = (self._namespace, key.model.type.normalised, key.model.id, key.name)
        of_folder = (found.changed_ns, int(found.settled), found.marker, found.listed, found.total)
        self._names.append((name_row, *of_name, *of_folder, self._sequence))
        for version in found.read:
            row = rows.get(version.version)
            if row is None:
                row, self._next_row = self._next_row, self._next_row + 1
            self.changed += 1
            self._artifacts.append((row, name_row, int(version.version in heads), *of_name, *version.columns))
            self._tags += [(row, *tag) for tag in version.tags]
            self._attributes += [(row, *first) for first in version.attributes]
        self._problems += [(problem.path, problem.message, name_row, problem.version) for problem in found.problems]

    def _forget(self, rows: Sequence[int]) -> None:
        self.changed += len(rows)
        self._forget_details(rows)
        if rows:
            self._connection.executemany("DELETE FROM artifact WHERE row = ?", ((row,) for row in rows))

    def _forget_details(self, rows: Sequence[int]) -> None:
        if rows:
            self._connection.executemany("DELETE FROM tag WHERE artifact = ?", ((row,) for row in rows))
            self._connection.executemany("DELETE FROM attribute WHERE artifact = ?", ((row,) for row in rows))

    def _after(self, column: str, table: str) -> int:
        (highest,) = self._connection.execute(f"SELECT max({column}) FROM {table}").fetchone()  # type: ignore[misc]
        return int(highest or 0) + 1
