"""The catalog export, `{ns}/.catalog-export.json`: rows for other namespaces to read (sync spec 1.8).

There are two kinds of rows in the wild and more may come: here they are objects, and no more is asked of them.
"""

from collections.abc import Mapping, Sequence

from bayou.wire.documents import parse, require_shallow, shape
from bayou.wire.javascript import compact, pretty

Row = Mapping[str, object]

_NOUN = "a catalog export"


def decode(data: bytes, where: str) -> list[dict[str, object]]:
    rows = shape(parse(data, where, _NOUN), list[dict[str, object]], where, _NOUN)
    require_shallow(rows, where, _NOUN)
    return rows


def encode(rows: Sequence[Row]) -> bytes:
    """The object as a sync service puts it into the bucket."""
    return compact(rows)


def encode_file(rows: Sequence[Row]) -> bytes:
    """The file in the cache, which is then pushed like any other."""
    return pretty(rows) + b"\n"
