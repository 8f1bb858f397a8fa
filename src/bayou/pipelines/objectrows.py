"""Rows about objects: what an index lists, what its objects turn out to be, and what lies in the bucket."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from bayou.domain.entries import Entry
from bayou.domain.namespaces import SOLO
from bayou.errors import Conflict, NotFound
from bayou.layout.artifacts import LatestMarker, VersionFile
from bayou.layout.keys import Keyspace, Role
from bayou.layout.meanings import Meaning, meaning
from bayou.layout.records import OutputRecord, RunRecord
from bayou.pipelines.reading import AT_ONCE, Batches, Row, Task, chunks, moment
from bayou.remotes.objects import each
from bayou.remotes.parts import part_name
from bayou.storage.port import ObjectMeta, Store

_TRIES = 3


class Verdict(StrEnum):
    """What an object is, compared with its entry."""

    OK = "ok"
    MISSING = "missing"
    CORRUPT = "corrupt"
    IN_FLIGHT = "in-flight"
    """Other bytes at a path that may be written again: its entry follows."""
    UNHASHED = "unhashed"
    """Nobody wrote down its hash."""


async def objects(task: Task, entries: Mapping[str, Entry]) -> Batches:
    """A row for each entry of the index. No object is read."""
    for chunk in chunks(entries.items(), AT_ONCE):
        yield [row for path, entry in chunk if task.selection.keeps(row := _listed(task, path, entry))]


async def checks(task: Task, entries: Mapping[str, Entry]) -> Batches:
    """A row for each entry, with what its object is: all of it is read."""
    for chunk in chunks(entries.items(), AT_ONCE):
        wanted = [(row, entry) for path, entry in chunk if task.selection.keeps(row := _listed(task, path, entry))]
        yield await each(task.place.width, wanted, lambda pair: _checked(task, *pair))


async def hashed(store: Store, key: str) -> tuple[int, str] | None:
    """The size and the sha256 of an object, however large; None where there is none."""
    for _ in range(_TRIES):
        digest, size = hashlib.sha256(), 0
        try:
            fetched = await store.get(key)
            async for chunk in fetched.chunks():
                digest.update(chunk)
                size += len(chunk)
        except NotFound:
            return None
        except Conflict:
            continue  # it changed while it was read
        return size, digest.hexdigest()
    raise Conflict(f"{key!r} changes faster than it can be read")


def listed_row(namespace: str, path: str) -> Row:
    """What a path says by itself."""
    row: Row = {"namespace": namespace, "path": path, "part": part_name(path)}
    return row | _meant(meaning(path))


def _listed(task: Task, path: str, entry: Entry) -> Row:
    return listed_row(task.namespace, path) | {
        "size": entry.size,
        "sha256": entry.sha256,
        "modified": moment(entry.last_modified),
        "local_mtime": entry.local_mtime,
    }


def _meant(what: Meaning) -> Row:
    row: Row = {"kind": _KINDS.get(type(what).__name__, "other")}
    match what:
        case VersionFile():
            model = what.model
            row |= {"type": str(model.type), "model_id": model.id, "name": what.name, "version": what.version}
            row["kind"] = what.part.value.partition(".")[0]
        case LatestMarker():
            row |= {"type": str(what.model.type), "model_id": what.model.id, "name": what.name}
        case OutputRecord():
            row |= {"type": str(what.type), "model_id": what.definition_id}
        case RunRecord():
            row |= {"name": what.workflow_id}
        case _:
            pass
    return row


_KINDS = {
    "LatestMarker": "latest",
    "OutputRecord": "output",
    "RunRecord": "run",
    "EvaluatedDefinition": "definition",
    "EvaluatedWorkflow": "workflow",
    "AutoDefinition": "definition",
    "AuditLog": "audit",
    "Bundle": "bundle",
    "CatalogExport": "export",
}


async def _checked(task: Task, row: Row, entry: Entry) -> Row:
    found = await hashed(task.place.store, task.place.keys.data(entry.key))
    if found is None:
        return row | {"verdict": Verdict.MISSING.value}
    size, sha256 = found
    if entry.sha256 is None:
        verdict = Verdict.UNHASHED if size == entry.size else Verdict.CORRUPT
    else:
        verdict = Verdict.OK if sha256 == entry.sha256 else Verdict.CORRUPT
    if verdict is Verdict.CORRUPT and row["kind"] not in ("raw", "metadata", "bundle"):
        verdict = Verdict.IN_FLIGHT
    return row | {"verdict": verdict.value, "found_size": size, "found_sha256": sha256}


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Keys behind `after`, up to and with `last`."""

    namespace: str
    after: str | None = None
    last: str | None = None


async def listing(task: Task, keys: KeyRange) -> Batches:
    """A row for each object of the namespace within these keys, whatever it is for."""
    others: dict[str, bool] = {}
    async for page in task.place.store.list(task.namespace, after=keys.after):
        wanted = [meta for meta in page if keys.last is None or meta.key.encode() <= keys.last.encode()]
        if task.namespace == SOLO:
            for first in {meta.key.partition("/")[0] for meta in wanted if "/" in meta.key} - others.keys():
                others[first] = await _is_namespace(task, first)
            wanted = [meta for meta in wanted if not others.get(meta.key.partition("/")[0], False)]
        yield [row for meta in wanted if task.selection.keeps(row := _lying(task, meta))]
        if len(wanted) < len(page) and keys.last is not None and page[-1].key.encode() > keys.last.encode():
            return


async def _is_namespace(task: Task, segment: str) -> bool:
    try:
        await task.place.store.head(Keyspace(segment).manifest)
    except (NotFound, ValueError):
        return False  # no namespace is called that, or none is registered
    return True


def _lying(task: Task, meta: ObjectMeta) -> Row:
    located = task.place.keys.locate(meta.key)
    row: Row = {"namespace": task.namespace, "key": meta.key, "role": located.role.value, "size": meta.size}
    if located.role is Role.DATA:
        row |= listed_row(task.namespace, located.name)
    return row | {"modified": meta.modified}
