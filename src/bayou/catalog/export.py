"""Export: rows as files for others to read, and the rows of other namespaces from theirs (repository spec 4.6)."""

# ruff: noqa: S608 - what is put into the statements is our own; values are bound

import os
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import apsw
import msgspec

from bayou.catalog.database import Database
from bayou.catalog.rows import OF_FILES, OF_METADATA, OF_NAME, STORED, Value
from bayou.catalog.storing import Storing, count_up
from bayou.domain.artifacts import Lifecycle
from bayou.domain.models import Model
from bayou.domain.names import check_data_name
from bayou.errors import UsageError
from bayou.layout.typefolders import type_at
from bayou.storage.oserrors import translated
from bayou.tree import Tree
from bayou.wire.javascript import compact, pretty
from bayou.wire.times import to_milliseconds, to_text

# As the existing clients call them, and as we do, in their order.
_KEYS: Final = {
    "namespace": "namespace",
    "type_normalized": "type",
    "model_id": "model_id",
    "data_name": "name",
    "id": "id",
    "version": "version",
    "is_latest": "is_latest",
    "model_name": "model_name",
    "spec_name": "spec_name",
    "data_type": "data_type",
    "content_type": "content_type",
    "lifetime": "lifetime",
    "owner_type": "owner_type",
    "streaming": "streaming",
    "size": "size",
    "created_at": "created_at",
    "tags": "tags",
    "owner_ref": "owner_ref",
    "workflow_run_id": "workflow_run_id",
    "workflow_name": "workflow_name",
    "job_name": "job_name",
    "step_name": "step_name",
    "source": "source",
}
_TAGS = msgspec.json.Decoder(dict[str, str])


class Rejected(NamedTuple):
    """A row of another namespace that cannot be one."""

    number: int
    """Counted from 0."""
    reason: str


class _Foreign(msgspec.Struct, frozen=True):
    """A row of an export. Not every producer writes all of it."""

    type_normalized: str
    model_id: str
    data_name: str
    version: int
    created_at: str
    id: str = ""
    is_latest: int = 1
    model_name: str = ""
    spec_name: str = ""
    data_type: str = ""
    content_type: str = ""
    lifetime: str = ""
    owner_type: str = ""
    streaming: int = 0
    size: int = 0
    tags: str = "{}"
    owner_ref: str = ""
    workflow_run_id: str = ""
    workflow_name: str = ""
    job_name: str = ""
    step_name: str = ""
    source: str = ""


def export(database: Database, tree: Tree, target: Path) -> int:
    """Write the rows of this namespace: all of the file appears, or nothing. How many there are."""
    count = 0
    with appearing(target, tree) as file:
        for row in ordered_rows(database, "name.namespace = ?", (tree.namespace,), tuple(_KEYS.values())):
            text = pretty([dict(zip(_KEYS, row, strict=True))])
            # Each as an array of its own, without the brackets: so no more than one is in memory.
            file.write(b"[" if count == 0 else b",")
            file.write(text[1:-2])
            count += 1
        file.write(b"\n]\n" if count else b"[]\n")
    return count


def replace_namespace(
    connection: apsw.Connection, namespace: str, rows: Iterable[Mapping[str, object]]
) -> list[Rejected]:
    """Within a transaction: these are the rows of a namespace now, and no others (weakness 25). What a row says about
    its own namespace counts for nothing.
    """
    storing = Storing(connection, namespace)
    storing.drop_namespace(namespace)
    sequence = count_up(connection, "sequence")
    rejected: list[Rejected] = []
    names: dict[tuple[str, str, str], int] = {}
    synced_at = to_text(time.time_ns())
    connection.execute("INSERT OR REPLACE INTO foreign_namespace VALUES(?, ?)", (namespace, synced_at))
    for number, row in enumerate(rows):
        try:
            foreign = msgspec.convert(row, _Foreign)
            key = _key(foreign)
            tags = _TAGS.decode(foreign.tags)
            values = _columns(foreign, namespace, tags)
        except (msgspec.MsgspecError, UsageError, UnicodeEncodeError) as error:
            rejected.append(Rejected(number, str(error)))
            continue
        name_row = names.get(key)
        if name_row is None:
            connection.execute(_PUT_NAME, (namespace, *key, sequence))
            name_row = names[key] = connection.last_insert_rowid()
        connection.execute(_PUT, (name_row, foreign.is_latest, *values))
        if not connection.changes():
            rejected.append(Rejected(number, f"version {foreign.version} of {'/'.join(key)} is there twice"))
            continue
        artifact = connection.last_insert_rowid()
        connection.executemany("INSERT INTO tag VALUES(?, ?, ?)", ((artifact, *tag) for tag in tags.items()))
    return rejected


_PUT_NAME = "INSERT INTO name VALUES(NULL, ?, ?, ?, ?, 0, 1, NULL, 0, 0, ?)"
_PUT = f"INSERT OR IGNORE INTO artifact({', '.join(STORED[1:])}) VALUES({', '.join('?' * len(STORED[1:]))})"


def _key(row: _Foreign) -> tuple[str, str, str]:
    model_type = type_at(row.type_normalized)
    if model_type is None:
        raise UsageError(f"{row.type_normalized!r} is not a model type")
    return str(Model(model_type, row.model_id).type), row.model_id, check_data_name(row.data_name)


def _columns(row: _Foreign, namespace: str, tags: Mapping[str, str]) -> list[Value]:
    given: dict[str, Value] = {ours: getattr(row, theirs) for theirs, ours in _KEYS.items() if theirs != "namespace"}
    given |= {
        "namespace": namespace,
        "tags": compact(tags).decode(),
        "size_known": 1,
        "created_ms": to_milliseconds(row.created_at),
        "lifecycle": Lifecycle.ACTIVE.value,
        "hydrated": 0,
        "attributes_known": 0,
        "stamp": 0,
    }
    return [given.get(column, "") for column in (*OF_NAME, *OF_METADATA, *OF_FILES)]


def ordered_rows(
    database: Database, condition: str, parameters: Sequence[Value], columns: Sequence[str]
) -> Iterator[tuple[Any, ...]]:
    """In the order of their names and versions, without sorting them: the same rows give the same file."""
    sql = (
        f"SELECT {', '.join(f'artifact.{column}' for column in columns)} FROM name JOIN artifact USING(name_row) "
        f"WHERE {condition} ORDER BY name.namespace, name.type, name.model_id, name.name, artifact.version"
    )
    with database.reading() as connection:
        yield from connection.execute(sql, tuple(parameters))


@contextmanager
def appearing(target: Path, tree: Tree) -> Iterator[BinaryIO]:
    """A file that is there when all of it is, and whose beginnings no other client takes for data."""
    inside = target.is_relative_to(tree.root) or target.is_relative_to(tree.local)
    folder = Path(tree.temporaries(str(target))) if inside else target.parent
    temporary = folder / f".{uuid.uuid4()}.tmp"
    with translated(str(target)):
        folder.mkdir(parents=True, exist_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as file:
                yield file
                file.flush()
                if tree.durable:
                    os.fsync(file.fileno())
            temporary.replace(target)
        finally:
            with suppress(FileNotFoundError):
                temporary.unlink()
