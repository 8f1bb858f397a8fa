"""What a query found, as files for other programs."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TextIO

from bayou.query import Results
from bayou.wire.javascript import compact


def write_csv(results: Results, stream: TextIO) -> None:
    """With a header. What is no single value is JSON within its cell."""
    import csv  # noqa: PLC0415 - for this format only

    writer = csv.writer(stream, lineterminator="\n")
    columns: list[str] | None = None
    for row in _rows(results):
        if columns is None:
            columns = list(row)
            writer.writerow(columns)
        writer.writerow([_cell(row.get(column)) for column in columns])


def write_parquet(results: Results, file: Path) -> None:
    from bayou.query.arrow import write_parquet as write  # noqa: PLC0415 - needs pyarrow

    write(results, file)


def _rows(results: Results) -> Iterable[Mapping[str, object]]:
    if not results.is_projected:
        return (record.to_dict() for record in results)
    return (value if isinstance(value, dict) else {"value": value} for value in results)


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int() | float():
            return str(value)
        case _:
            return compact(value).decode()
