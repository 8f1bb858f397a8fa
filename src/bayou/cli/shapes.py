"""What commands show: their JSON documents, in the names and the order of the specification (repository spec 8.2)."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from bayou.domain.models import Model
from bayou.repository.record import Record

if TYPE_CHECKING:
    from bayou.datastore.synced import Standing

_FIRST = ("log", "file", "resource", "data")
T = TypeVar("T")


def page(records: Sequence[T], limit: int, number: int) -> Sequence[T]:
    return records[(number - 1) * limit : number * limit]


def footer(total: int, shown: Sequence[object], what: str) -> str:
    return f"{total} {what}" if len(shown) == total else f"{len(shown)} of {total} {what}; see --page and --limit"


def detailed(record: Record, root: Path, *, content: bool) -> dict[str, object]:
    artifact = record.artifact
    document = {
        "id": artifact.id,
        "name": artifact.name,
        "modelId": record.model_id,
        "modelName": record.model_name,
        "modelType": record.model_type,
        "version": artifact.version,
        "contentType": artifact.content_type,
        "lifetime": artifact.lifetime,
        "garbageCollection": artifact.garbage_collection,
        "streaming": artifact.streaming,
        "tags": dict(artifact.tags),
        "ownerDefinition": msgspec.to_builtins(artifact.owner) if artifact.owner else {},
        "createdAt": artifact.created_at,
        "size": artifact.size,
        "checksum": artifact.checksum,
        "contentPath": str(record.path.relative_to(root)),
    }
    if content:
        document["content"] = record.content
    return {key: value for key, value in document.items() if value is not None}


def versions(records: Sequence[Record], shown: Sequence[Record]) -> dict[str, object]:
    first = records[0]
    return {
        "dataName": first.name,
        "modelId": first.model_id,
        "modelName": first.model_name,
        "modelType": first.model_type,
        "versions": [
            _present(
                {
                    "version": record.version,
                    "createdAt": record.created_at,
                    "size": record.artifact.size,
                    "checksum": record.checksum,
                    "isLatest": record.is_latest,
                }
            )
            for record in shown
        ],
        "total": len(records),
    }


def listing(shown: Sequence[Record], total: int, owner: Model | None) -> dict[str, object]:
    """In groups by the kind of data; the usual kinds first."""
    groups: dict[str, list[Record]] = {}
    for record in shown:
        groups.setdefault(record.data_type, []).append(record)
    kinds = sorted(groups, key=lambda kind: (_FIRST.index(kind) if kind in _FIRST else len(_FIRST), kind))
    of_model = {"modelId": owner.id, "modelName": owner.name or "", "modelType": str(owner.type)} if owner else {}
    namespace = {"namespace": shown[0].namespace} if shown and shown[0].namespace else {}
    return {
        **of_model,
        **namespace,
        "groups": [
            {"type": kind, "items": [_item(record, with_model=owner is None) for record in groups[kind]]}
            for kind in kinds
        ],
        "total": total,
    }


def found(text: str | None, filters: Mapping[str, object], shown: Sequence[Record], total: int) -> dict[str, object]:
    return {
        "query": text or "",
        "filters": _present(filters),
        "results": [_result(record) for record in shown],
        "total": total,
        "limited": len(shown) < total,
    }


def standing_lines(standing: "Standing") -> Iterator[str]:
    """How a cache and the place that it mirrors stand to each other, in sentences."""
    for work, last in standing.outcomes.items():
        how = f"failed: {last.error}" if last.error else f"{last.pulled} pulled, {last.pushed} pushed"
        yield f"last {work} at {last.finished_at}: {how}"
    if not standing.outcomes:
        yield "never synced"
    if standing.walks:
        yield "the next push looks at all files"
    elif standing.dirty:
        some = ", ".join(standing.paths[:5]) + (", …" if standing.dirty > 5 else "")
        yield f"{standing.dirty} changed paths wait for the next push: {some}"
    else:
        yield "nothing waits to be pushed"
    yield f"{standing.absent} files are fetched when they are asked for ({standing.hydration} hydration)"
    if standing.conflicts:
        yield f"{len(standing.conflicts)} conflicts are to be decided: bayou conflicts list"
    for path, why in standing.failed.items():
        yield f"left by the last one: {path}: {why}"


def _item(record: Record, *, with_model: bool) -> dict[str, object]:
    item = {
        "id": record.id,
        "name": record.name,
        "version": record.version,
        "contentType": record.content_type,
        "type": record.data_type,
        "streaming": record.streaming,
        "size": record.artifact.size,
        "createdAt": record.created_at,
    }
    if with_model:
        item |= {"modelId": record.model_id, "modelName": record.model_name, "modelType": record.model_type}
        item |= {"jobName": record.job_name or None, "stepName": record.step_name or None}
    return _present(item)


def _result(record: Record) -> dict[str, object]:
    return _present(
        {
            "id": record.id,
            "name": record.name,
            "version": record.version,
            "contentType": record.content_type,
            "type": record.data_type,
            "lifetime": record.lifetime,
            "ownerType": record.owner_type,
            "ownerRef": record.owner_ref,
            "modelId": record.model_id,
            "modelName": record.model_name,
            "modelType": record.model_type,
            "streaming": record.streaming,
            "size": record.size,
            "createdAt": record.created_at,
            "tags": dict(record.tags),
            "workflowTag": record.tags.get("workflow"),
            "jobTag": record.tags.get("job"),
            "stepTag": record.tags.get("step"),
        }
    )


def _present(document: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in document.items() if value is not None}
