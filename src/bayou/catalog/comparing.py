"""Compare what was read again with the rows that are there: what is the same need not be written."""

# ruff: noqa: S608 - what is put into the statements is our own; values are bound

from collections import defaultdict

import apsw

from bayou.catalog.attributes import First
from bayou.catalog.reading import Found
from bayou.catalog.rows import OF_FILES, OF_METADATA, OF_NAME, Value
from bayou.catalog.storing import Recalled
from bayou.domain.artifacts import ArtifactKey

_ROWS = f"SELECT version, {', '.join((*OF_NAME, *OF_METADATA, *OF_FILES))} FROM artifact WHERE name_row = ?"
_OF_NAME = "artifact IN (SELECT row FROM artifact WHERE name_row = ?)"
_TAGS = f"SELECT artifact, key, value FROM tag WHERE {_OF_NAME}"
_ATTRIBUTES = f"SELECT artifact, key, kind, value FROM attribute WHERE {_OF_NAME}"


def without_same(
    connection: apsw.Connection, namespace: str, key: ArtifactKey, before: Recalled, found: Found
) -> Found:
    """What was found, where versions whose rows say the same already are among those that are kept.

    Rows are looked at where versions were read although their files have not changed, as by a rebuild.
    """
    stamps = {number: version.known.stamp for number, version in before.versions.items()}
    again = {version.version for version in found.read if stamps.get(version.version) == version.columns[-1]}
    if before.state is None or not again:
        return found
    name = (before.state.name_row,)
    of_name: tuple[Value, ...] = (namespace, key.model.type.normalised, key.model.id, key.name)
    rows = {version: tuple(columns) for version, *columns in connection.execute(_ROWS, name)}
    tags: defaultdict[int, set[tuple[str, str]]] = defaultdict(set)
    for row, *tag in connection.execute(_TAGS, name):
        tags[row].add((tag[0], tag[1]))
    attributes: defaultdict[int, set[First]] = defaultdict(set)
    for row, *first in connection.execute(_ATTRIBUTES, name):
        attributes[row].add((first[0], first[1], first[2]))
    same = set()
    for version in found.read:
        number = version.version
        if number in again and rows.get(number) == (*of_name, *version.columns):
            row = before.versions[number].row
            if tags[row] == set(version.tags) and attributes[row] == set(version.attributes):
                same.add(number)
    read = tuple(version for version in found.read if version.version not in same)
    return found._replace(read=read, kept=(*found.kept, *same))
