"""Records that are only in memory, as a part of a query: the engine decides all of each.

They come before what the catalog has. A version that is in both is the one in memory.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from bayou.catalog import Catalog
from bayou.errors import NotFound
from bayou.query.facts import Facts
from bayou.query.fields import FIELDS, IN_CONTENT
from bayou.query.planning import Plan
from bayou.query.running import Found, look_at
from bayou.repository.record import Record
from bayou.wire.times import to_milliseconds

_PROPERTIES: Final = {"ns": "namespace"} | {
    name: re.sub(r"([A-Z])", lambda capital: f"_{capital[1].lower()}", name)
    for name in FIELDS
    if name not in ("ns", "definitionHash", *IN_CONTENT)
}
_FIELD_OF: Final = {field.column: field.name for field in FIELDS.values() if field.column}

_ROWS_OF: Final = """
version = ? AND name_row =
(SELECT name_row FROM name WHERE namespace = ? AND type = ? AND model_id = ? AND name = ?)
"""


def run_in_memory(
    plan: Plan, records: Iterable[Record], *, limit: int | None, strict: bool, found: Found
) -> list[Record]:
    """Add to `found` those that match, as -1, -2 and so on; gives the records in that order."""
    held = _ordered(plan, [record for record in records if _is_asked_for(plan, record)])
    for number, record in enumerate(held, 1):
        if limit is not None and len(found.rows) > limit:
            break
        place = f"{record.model}/{record.name} version {record.version}, in memory"
        look_at(plan, -number, place, _facts(record), found, strict=strict)
    return held


def rows_of(catalog: Catalog, records: Iterable[Record]) -> list[int]:
    """The rows that the catalog has of the same versions."""
    return [
        row
        for record in records
        for (row,) in catalog.select(
            _ROWS_OF,
            (record.version, record.namespace, record.model_type, record.model_id, record.name),
            columns=("row",),
        )
    ]


def _is_asked_for(plan: Plan, record: Record) -> bool:
    return (record.is_latest or not plan.only_latest) and (record.lifecycle == "active" or not plan.only_active)


def _facts(record: Record) -> Facts:
    def read() -> bytes | None:
        try:
            return record.read()
        except NotFound:
            return None

    return Facts(_fields(record), record.content_type, read)


def _fields(record: Record) -> dict[str, object]:
    fields: dict[str, object] = {name: getattr(record, attribute) for name, attribute in _PROPERTIES.items()}
    fields["tags"] = dict(record.tags)
    fields["definitionHash"] = record.owner.definition_hash if record.owner else None
    return {name: "" if value is None else value for name, value in fields.items()}


def _ordered(plan: Plan, records: Sequence[Record]) -> list[Record]:
    """In the order of the plan. What is no time comes before all times, as with SQLite."""
    fields = [(_fields(record), record) for record in records]
    for one in reversed(plan.ordering):

        def value(pair: tuple[dict[str, object], Record], column: str = one.column) -> tuple[bool, Any]:
            known = pair[0]
            if column == "created_ms":
                milliseconds = to_milliseconds(str(known["createdAt"]))
                return milliseconds is not None, milliseconds or 0
            return isinstance(known[_FIELD_OF[column]], str), known[_FIELD_OF[column]]

        fields.sort(key=value, reverse=one.descending)
    return [record for _, record in fields]
