"""Results as Arrow and pandas."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from bayou.errors import Unsupported
from bayou.query.fields import FIELDS, IN_CONTENT, TAGS, Type

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from bayou.query.results import Results

_BATCH: Final = 5_000
_COLUMNS: Final = (
    "id", "name", "version", "isLatest", "createdAt", "namespace", "attributes", "tags", "modelName", "modelId",
    "modelType", "specName", "dataType", "contentType", "lifetime", "ownerType", "streaming", "size", "ownerRef",
    "workflowRunId", "workflowName", "jobName", "stepName", "source",
)  # fmt: skip


def reader(results: "Results") -> "pa.RecordBatchReader":
    """Batch after batch. Records have the columns of a record; values those of their table."""
    arrow = _pyarrow()
    if results.is_projected:
        table = _of_values(arrow, results)
        return table.to_reader()
    schema = _schema(arrow)

    def batches() -> Iterator[Any]:
        records = iter(results)
        while batch := [_row(record.to_dict()) for record in islice(records, _BATCH)]:
            yield arrow.RecordBatch.from_pylist(batch, schema=schema)

    return arrow.RecordBatchReader.from_batches(schema, batches())


def write_parquet(results: "Results", target: Path) -> None:
    """Batch by batch, never all in memory."""
    rows = reader(results)
    from pyarrow import parquet  # noqa: PLC0415 - as all of it

    with parquet.ParquetWriter(target, rows.schema) as writer:
        for batch in rows:
            writer.write_batch(batch)


def frame(results: "Results") -> "pd.DataFrame":
    try:
        import pandas  # noqa: F401, ICN001, PLC0415 - half a second, and optional
    except ImportError:
        raise _missing("pandas", "pandas") from None
    return reader(results).read_all().to_pandas(maps_as_pydicts="strict")


def _schema(arrow: ModuleType) -> Any:  # noqa: ANN401 - a type of a package that may not be there
    of_type: dict[Type, Callable[[], Any]] = {Type.INT: arrow.int64, Type.BOOL: arrow.bool_}
    fields = []
    for name in _COLUMNS:
        field = FIELDS.get(name)
        kind = of_type.get(field.type, arrow.string)() if field and name not in IN_CONTENT else arrow.string()
        fields.append((name, arrow.map_(arrow.string(), arrow.string()) if name == TAGS else kind))
    return arrow.schema(fields)


def _row(record: Mapping[str, Any]) -> dict[str, object]:
    return {
        **record,
        "attributes": json.dumps(record["attributes"], ensure_ascii=False, separators=(",", ":")),
        "tags": list(record["tags"].items()),
    }


def _of_values(arrow: ModuleType, results: "Results") -> Any:  # noqa: ANN401 - the same
    columns, rows = results.table()
    return arrow.table({column: _array(arrow, [row[at] for row in rows]) for at, column in enumerate(columns)})


def _array(arrow: ModuleType, values: Iterable[object]) -> Any:  # noqa: ANN401 - the same
    """As what the values are; as JSON texts where they are of different kinds."""
    values = list(values)
    try:
        return arrow.array(values)
    except (arrow.ArrowInvalid, arrow.ArrowTypeError, arrow.ArrowNotImplementedError, OverflowError):
        texts = (None if value is None else json.dumps(value, ensure_ascii=False) for value in values)
        return arrow.array(list(texts), arrow.string())


def _pyarrow() -> ModuleType:
    try:
        import pyarrow  # noqa: ICN001, PLC0415 - 46 ms, and optional
    except ImportError:
        raise _missing("PyArrow", "arrow") from None
    return pyarrow  # type: ignore[no-any-return] # it has no types


def _missing(package: str, extra: str) -> Unsupported:
    return Unsupported(
        f"{package} is not installed, and this takes it", remedy=f"pip install 'bayou-datastore[{extra}]'"
    )
