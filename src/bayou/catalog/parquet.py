"""Parquet: the catalog as a table for pandas, DuckDB and their like."""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bayou.catalog.attributes import attributes_of, has_attributes
from bayou.catalog.database import Database
from bayou.catalog.export import appearing, ordered_rows
from bayou.errors import Unsupported
from bayou.layout.artifacts import Part
from bayou.tree import Tree
from bayou.wire.javascript import compact

if TYPE_CHECKING:
    import pyarrow as pa

_AT_ONCE = 10_000
_TEXTS = (
    "namespace", "type", "model_id", "name", "id", "model_name", "spec_name", "data_type", "content_type", "lifetime",
    "owner_type", "owner_ref", "definition_hash", "workflow_id", "workflow_run_id", "workflow_name", "job_name",
    "step_name", "source", "created_at", "tags", "checksum", "lifecycle", "renamed_to",
)  # fmt: skip
_FLAGS = ("is_latest", "streaming", "hydrated")
_COLUMNS: Final = (*_TEXTS, *_FLAGS, "version", "size", "size_known", "created_ms", "garbage_collection")


def export_parquet(database: Database, tree: Tree, target: Path) -> int:
    """Write all rows, with tags and attributes as JSON text; null where attributes are not on this machine."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - 46 ms, and an extra
        import pyarrow.parquet as pq  # noqa: PLC0415 - the same
    except ImportError:
        raise Unsupported(
            "Parquet files need pyarrow, which is not installed", remedy="pip install 'bayou-datastore[arrow]'"
        ) from None
    schema = _schema(pa)
    count = 0
    rows = ordered_rows(database, "1", (), _COLUMNS)
    with appearing(target, tree) as file, pq.ParquetWriter(file, schema) as writer:
        while batch := [_record(tree, dict(zip(_COLUMNS, row, strict=True))) for row in islice(rows, _AT_ONCE)]:
            writer.write_batch(pa.RecordBatch.from_pylist(batch, schema))
            count += len(batch)
    return count


def _schema(pa: Any) -> "pa.Schema":  # noqa: ANN401 - the module, which may not be there
    return pa.schema(
        [(name, pa.string()) for name in _TEXTS]
        + [(name, pa.bool_()) for name in _FLAGS]
        + [
            ("version", pa.int64()),
            ("size", pa.int64()),
            ("garbage_collection", pa.string()),
            ("created", pa.timestamp("ms", "UTC")),
            ("attributes", pa.string()),
        ]
    )


def _record(tree: Tree, cell: dict[str, Any]) -> Mapping[str, object]:
    record = {name: cell[name] for name in _TEXTS} | {name: bool(cell[name]) for name in _FLAGS}
    return record | {
        "version": cell["version"],
        "size": cell["size"] if cell["size_known"] else None,
        "garbage_collection": str(cell["garbage_collection"]),
        "created": cell["created_ms"],
        "attributes": _attributes(tree, cell),
    }


def _attributes(tree: Tree, cell: Mapping[str, Any]) -> str | None:
    if cell["namespace"] != tree.namespace or not has_attributes(cell["content_type"]):
        return None
    path = f"data/{cell['type']}/{cell['model_id']}/{cell['name']}/{cell['version']}/{Part.RAW}"
    content = tree.read(path) if cell["hydrated"] else None
    return None if content is None else compact(attributes_of(content)).decode()
