"""Rewriting what names a version by its number, after the number changed. Records are plain mappings here, not YAML."""

from collections.abc import Mapping
from typing import Any

from bayou.domain.merges.resolution import Renumber


def renumbered_metadata(metadata: Mapping[str, Any], renumber: Renumber) -> dict[str, Any]:
    """The version's own metadata under its new number. The key order stays (repository spec 1.3)."""
    changed: dict[str, Any] = {"version": renumber.to}
    if renumber.new_id is not None:
        changed["id"] = renumber.new_id
    return {**metadata, **changed}


def renumbered_record(record: Mapping[str, Any], numbers: Mapping[str, int]) -> dict[str, Any] | None:
    """An output or run record with the new version numbers, by `dataId`; None where it names none of them."""
    rewritten = _rewrite(record, numbers)
    return None if rewritten == record else rewritten


def _rewrite(value: Any, numbers: Mapping[str, int]) -> Any:  # noqa: ANN401 - a record holds any YAML value
    # Wherever it stands: output records list artifacts in one place, run records in two (repository spec 3.1, 3.2).
    if isinstance(value, Mapping):
        copy = {key: _rewrite(item, numbers) for key, item in value.items()}
        named = copy.get("dataId")
        if isinstance(named, str) and named in numbers and "version" in copy:
            copy["version"] = numbers[named]
        return copy
    if isinstance(value, list):
        return [_rewrite(item, numbers) for item in value]
    return value
