"""Search: words and filters instead of a predicate, for `data search` and `data list` (repository spec 8.2)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from bayou.catalog import Catalog, Row

_NEWEST_FIRST: Final = "created_at DESC, name_row, version DESC"
_BY_NAME: Final = "name, type, model_id, version"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """All that is given must hold. Of latest versions; markers of deletions are none."""

    text: str | None = None
    """In the name, the type, the model's name or the owner, in any letter case."""
    model_id: str | None = None
    data_type: str | None = None
    lifetime: str | None = None
    owner_type: str | None = None
    content_type: str | None = None
    workflow: str | None = None
    workflow_run: str | None = None
    owner_parts: tuple[str, ...] = ()
    """Parts of the owner's reference, between its colons: the ids of outputs and runs."""
    since_ms: int | None = None
    streaming: bool | None = None
    tags: Mapping[str, str] = field(default_factory=dict)


def search(catalog: Catalog, namespace: str, filters: Filters, *, newest_first: bool = True) -> Iterator[Row]:
    columns = {
        "model_id": filters.model_id,
        "data_type": filters.data_type,
        "lifetime": filters.lifetime,
        "owner_type": filters.owner_type,
        "content_type": filters.content_type,
        "workflow_name": filters.workflow,
        "workflow_run_id": filters.workflow_run,
        "streaming": None if filters.streaming is None else int(filters.streaming),
    }
    given = {column: value for column, value in columns.items() if value is not None}
    conditions = ["is_latest = 1", "lifecycle = 'active'", "namespace = ?", *(f"{column} = ?" for column in given)]
    parameters: list[str | int] = [namespace, *given.values()]
    if filters.since_ms is not None:
        conditions.append("created_ms >= ?")
        parameters.append(filters.since_ms)
    for key, value in filters.tags.items():
        conditions.append("row IN (SELECT artifact FROM tag WHERE key = ? AND value = ?)")
        parameters += [key, value]
    rows = catalog.rows(" AND ".join(conditions), parameters, order_by=_NEWEST_FIRST if newest_first else _BY_NAME)
    return (row for row in rows if _speaks_of(row, filters.text) and _is_owned(row, filters.owner_parts))


def _speaks_of(row: Row, text: str | None) -> bool:
    if not text:
        return True
    owner = row.artifact.owner.owner_ref if row.artifact.owner else ""
    words = (row.artifact.name, str(row.model.type), row.artifact.tags.get("type", ""), row.model.name or "", owner)
    return any(text.casefold() in word.casefold() for word in words)


def _is_owned(row: Row, parts: tuple[str, ...]) -> bool:
    if not parts:
        return True
    owner = row.artifact.owner.owner_ref if row.artifact.owner else ""
    return set(parts) <= set(owner.split(":"))
