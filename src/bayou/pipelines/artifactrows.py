"""Rows about artifacts: their versions, what these hold, and the models that they belong to."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bayou.catalog.attributes import attributes_of, has_attributes
from bayou.catalog.rows import OF_FILES, OF_METADATA, described, stored
from bayou.domain.artifacts import Artifact, ArtifactKey, is_text, latest_of_chains
from bayou.domain.entries import Entry
from bayou.errors import BayouError, Corrupt, UsageError
from bayou.layout.artifacts import LATEST, Part, VersionFile, name_folder
from bayou.layout.meanings import meaning
from bayou.pipelines.reading import AT_ONCE, Batches, Row, Task, grouped, moment, moment_of, whole
from bayou.remotes.objects import each, read
from bayou.tree.names import artifact_of, marker_of
from bayou.wire.javascript import compact

_HELD = 64 * 2**20
"""Bytes of content in one batch."""

_UNUSABLE = (Corrupt, UsageError)


@dataclass(slots=True)
class Name:
    """The versions of a name that an index lists."""

    key: ArtifactKey
    metadata: dict[int, Entry] = field(default_factory=dict)
    raw: dict[int, Entry] = field(default_factory=dict)


async def artifacts(task: Task, entries: Mapping[str, Entry]) -> Batches:
    """A row for each version, as its metadata tells."""
    names = [(name, len(name.metadata)) for name in names_of(task, entries)]
    for group in grouped(names, AT_ONCE):
        yield [row for row, _ in await rows_of(task, group) if task.selection.keeps(row)]


async def content(task: Task, entries: Mapping[str, Entry]) -> Batches:
    """A row for each version, with what it holds."""
    names = [(name, len(name.metadata)) for name in names_of(task, entries)]
    for group in grouped(names, AT_ONCE):
        found = [(pair, _size(task, pair[1])) for pair in await rows_of(task, group) if task.selection.keeps(pair[0])]
        for some in grouped(found, _HELD):
            yield await each(task.place.width, some, lambda pair: _with_content(task, *pair))


async def models(task: Task, entries: Mapping[str, Entry]) -> Batches:
    """A row for each model, with what it has; it is called as the newest version of its first name says."""
    by_model: dict[tuple[str, str], list[Name]] = {}
    for name in names_of(task, entries):
        by_model.setdefault((str(name.key.model.type), name.key.model.id), []).append(name)
    called = [names[0] for names in by_model.values()] if task.wants("model_name") else []
    said = await each(task.place.width, called, lambda name: _described(task, name, max(name.metadata)))
    model_names = [artifact.tags.get("modelName") if isinstance(artifact, Artifact) else None for artifact in said]
    yield [
        {
            "namespace": task.namespace,
            "type": type_path,
            "model_id": model_id,
            "model_name": model_name,
            "names": len(names),
            "versions": sum(len(name.metadata) for name in names),
            "bytes": sum(entry.size for name in names for entry in name.raw.values()),
            "last_modified": moment(max(e.last_modified for name in names for e in name.metadata.values())),
        }
        for ((type_path, model_id), names), model_name in zip(
            by_model.items(), model_names or [None] * len(by_model), strict=True
        )
    ]


def names_of(task: Task, entries: Mapping[str, Entry]) -> list[Name]:
    """The names that are asked for. A version is one when its metadata is there (design 3)."""
    found: dict[ArtifactKey, Name] = {}
    selection = task.selection
    for path, entry in entries.items():
        what = meaning(path)
        if not isinstance(what, VersionFile):
            continue
        key = ArtifactKey(what.model, what.name)
        name = found.get(key)
        if name is None:
            name = found[key] = Name(key)
        (name.metadata if what.part is Part.METADATA else name.raw)[what.version] = entry
    return [
        name
        for key, name in found.items()
        if name.metadata
        and selection.may_be("type", str(key.model.type))
        and selection.may_be("model_id", key.model.id)
        and selection.may_be("name", key.name)
    ]


async def rows_of(task: Task, names: Iterable[Name]) -> list[tuple[Row, Entry | None]]:
    """The rows of these names, each with the entry of its content."""
    names = list(names)
    ranks = task.wants("is_latest")
    wanted = [
        (name, version)
        for name in names
        for version in sorted(name.metadata)
        if ranks or task.selection.may_be("version", version)
    ]
    said, markers = await asyncio.gather(
        each(task.place.width, wanted, lambda pair: _described(task, *pair)),
        each(task.place.width, names if ranks else (), lambda name: _marker(task, name)),
    )
    known = {
        (id(name), version): artifact
        for (name, version), artifact in zip(wanted, said, strict=True)
        if isinstance(artifact, Artifact)
    }
    latest = {
        id(name): latest_of_chains(
            ((version, known[id(name), version].chain) for version in name.metadata if (id(name), version) in known),
            marker,
        )
        for name, marker in zip(names, markers, strict=ranks)
    }
    return [
        (_row(task, name, version, artifact, version in latest.get(id(name), ())), name.raw.get(version))
        for (name, version), artifact in zip(wanted, said, strict=True)
    ]


async def _described(task: Task, name: Name, version: int) -> Artifact | str:
    """What the metadata says, or why that cannot be told."""
    entry = name.metadata[version]
    try:
        return artifact_of(await whole(task.place, entry), entry.key, name.key, version)
    except _UNUSABLE as error:
        return str(error)


async def _marker(task: Task, name: Name) -> int | None:
    """Where `latest` points. Its object is read by its place: its entry is in the shard of another model (W-20)."""
    blob = await read(task.place.store, task.place.keys.data(f"{name_folder(name.key.model, name.key.name)}/{LATEST}"))
    return None if blob is None else marker_of(blob.content)


def _row(task: Task, name: Name, version: int, artifact: Artifact | str, is_latest: bool) -> Row:  # noqa: FBT001 - a column
    model = name.key.model
    row: Row = {
        "namespace": task.namespace,
        "type": str(model.type),
        "model_id": model.id,
        "name": name.key.name,
        "version": version,
        "is_latest": is_latest,
        "problem": artifact if isinstance(artifact, str) else None,
    }
    if isinstance(artifact, str):
        return row
    columns = stored(described(artifact), hydrated=False, attributes=(), stamp=0).columns
    row |= dict(zip((*OF_METADATA, *OF_FILES), columns, strict=True))
    row["policy"] = artifact.garbage_collection
    row["garbage_collection"] = str(artifact.garbage_collection)
    row["streaming"] = artifact.streaming
    row["size"] = artifact.size
    row["tags"] = list(artifact.tags.items())
    row["created"] = moment_of(row["created_ms"])
    return row


def _size(task: Task, raw: Entry | None) -> int:
    return raw.size if raw is not None and raw.size <= task.largest else 0


async def _with_content(task: Task, row: Row, raw: Entry | None) -> Row:
    if row["problem"] is not None or raw is None or raw.size > task.largest:
        return row
    if not task.wants("attributes", "text", "content"):
        return row
    content_type = row["content_type"]
    try:
        held = await whole(task.place, raw)
    except BayouError as error:
        if not isinstance(error, Corrupt):
            raise
        row["problem"] = str(error)
        return row
    if has_attributes(content_type) and task.wants("attributes"):
        row["attributes"] = compact(attributes_of(held)).decode()
    if is_text(content_type) and task.wants("text"):
        row["text"] = held.decode(errors="replace")
    row["content"] = held
    return row
