"""Refresh names: look at their files, then store what was found, unless somebody else was faster."""

# ruff: noqa: S608 - what is put into the statements is our own; values are bound

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import apsw

from bayou.catalog.database import Database
from bayou.catalog.reading import Found, Hint, changed_ns, read_hinted, read_name
from bayou.catalog.storing import NameState, Recalled, Storing, moment_of, recall, state_of
from bayou.domain.artifacts import ArtifactKey
from bayou.tree import Tree


class Looked(NamedTuple):
    """A name, what the tables said about it, and what its files said then."""

    key: ArtifactKey
    before: Recalled
    found: Found | None

    @property
    def is_nothing_new(self) -> bool:
        state, found = self.before.state, self.found
        if state is None or found is None:
            return state is None and found is None
        return (
            not found.read
            and not found.problems
            and len(found.kept) == len(self.before.versions)
            and state[1:6] == (found.changed_ns, found.settled, found.marker, found.listed, found.total)
        )


class Begun(NamedTuple):
    """A name before its files were changed."""

    state: NameState | None
    in_step: bool
    """Whether the folder had not changed since the tables heard of it."""


def look_at(database: Database, tree: Tree, key: ArtifactKey) -> Looked:
    with database.reading() as connection:
        before = recall(connection, tree.namespace, key)
    return Looked(key, before, read_name(tree, key, before.known))


def look_within(connection: apsw.Connection, tree: Tree, key: ArtifactKey) -> Looked:
    """The same within a transaction, where nobody can store anything in between."""
    before = recall(connection, tree.namespace, key)
    return Looked(key, before, read_name(tree, key, before.known))


def store(connection: apsw.Connection, tree: Tree, names: Iterable[Looked]) -> int:
    """Make the rows of these names equal to their files, within a transaction; how many versions that changed.

    What was looked at before somebody else stored the name is out of date: it is looked at again, and this time nobody
    can come between.
    """
    storing = Storing(connection, tree.namespace)
    for looked in names:
        is_late = moment_of(connection, tree.namespace, looked.key) != looked.before.moment
        key, before, found = look_within(connection, tree, looked.key) if is_late else looked
        if found is not None:
            storing.store(key, before, found)
        elif before.state is not None:
            storing.drop(before.state)
    storing.flush()
    return storing.changed


def begin(tree: Tree, key: ArtifactKey, state: NameState | None) -> Begun:
    return Begun(state, changed_ns(tree, key) == (state.changed_ns if state else 0))


def look_at_written(
    database: Database, tree: Tree, key: ArtifactKey, begun: Begun, hints: Mapping[int, Hint]
) -> Found | None:
    """What was found where a writer changed nothing but these versions; None where it takes a look at all of them."""
    state = begun.state
    if not (begun.in_step and hints):
        return None
    known: set[int] = set()
    if state is not None:
        with database.reading() as connection:
            found = connection.execute(
                f"SELECT version FROM artifact WHERE name_row = ? AND version IN ({', '.join('?' * len(hints))})",
                (state.name_row, *hints),
            )
            known = {version for (version,) in found}
    written = read_hinted(tree, key, hints)
    if written is None:
        return None
    new = hints.keys() - known
    listed, total, marker = (state.listed, state.total, state.marker) if state else (0, 0, None)
    if (written.listed, written.total) != (listed + len(new), total + sum(new)):
        return None  # others came or went
    if state is not None and (marker is None) != (written.marker is None):
        return None
    return written if (written.marker or 0) >= (marker or 0) else None


def add(connection: apsw.Connection, tree: Tree, key: ArtifactKey, begun: Begun, written: Found) -> bool:
    """Store what `look_at_written` found, unless the name was stored by somebody else since it began."""
    if state_of(connection, tree.namespace, key) != begun.state:
        return False
    storing = Storing(connection, tree.namespace)
    if not storing.add(key, begun.state, written):
        return False
    storing.flush()
    return True
