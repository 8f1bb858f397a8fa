"""Batches: rows as Arrow, exactly as Spark takes them."""

from collections.abc import Sequence

import pyarrow as pa

from bayou.pipelines.reading import Row


def batch_of(rows: Sequence[Row], schema: pa.Schema) -> pa.RecordBatch:
    """These columns in this order, of these types; what a row does not have is null."""
    arrays = [pa.array([row.get(one.name) for row in rows], type=one.type) for one in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
