"""Results: which rows a query found, as records, values, a table, Arrow or JSON."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, overload

from bayou.catalog import Catalog, Row
from bayou.catalog.attributes import has_attributes
from bayou.domain.artifacts import ArtifactKey
from bayou.errors import ErrorKind, NotFound
from bayou.query.fields import ATTRIBUTES, CONTENT
from bayou.query.projecting import Table, table
from bayou.query.reach import Abroad, Hydrate, Stored
from bayou.query.running import Failures, Found
from bayou.repository.record import Record
from bayou.tree import Tree

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_BATCH: Final = 500
_SHOWN: Final = 20
COLUMNS: Final = ("name", "modelName", "specName", "dataType", "version", "size", "createdAt")
"""What a table shows of a record."""


class Results(Sequence[Any]):
    """What a query found: records, or with a projection its values.

    Which rows match was decided when the query ran. A record is made when it is looked at, and its content read when
    that is. A version that somebody removed in between is left out by an iteration.
    """

    def __init__(  # noqa: PLR0913 - what a query knows at its end
        self,
        found: Found,
        *,
        catalog: Catalog,
        tree: Tree,
        held: Sequence[Record],
        predicate: str | None,
        projected: bool,
        hydrate: Hydrate | None,
        abroad: Abroad | None,
        notices: Sequence[str],
    ) -> None:
        self._found = found
        self._catalog = catalog
        self._tree = tree
        self._held = held
        self._projected = projected
        self._hydrate = hydrate
        self._abroad = abroad
        self._page: tuple[int, dict[int, Record]] = (-1, {})
        self.predicate = predicate
        self.notices = tuple(notices)
        """What whoever asked should know, in sentences."""

    @property
    def total(self) -> int:
        return len(self._found.rows)

    @property
    def limited(self) -> bool:
        """Whether there are more than the limit let through."""
        return self._found.limited

    @property
    def errors(self) -> Mapping[str, Failures]:
        """How many rows failed, by what went wrong, each with an example."""
        return self._found.failures

    @property
    def undecided(self) -> int:
        """How many rows could not be decided, because their content is not on this machine."""
        return self._found.undecided

    @property
    def is_projected(self) -> bool:
        return self._projected

    def __len__(self) -> int:
        return self.total

    def __iter__(self) -> Iterator[Any]:
        if self._projected:
            yield from self._found.projected
            return
        for start in range(0, self.total, _BATCH):
            records = self._records(start)
            yield from (records[at] for at in range(start, min(start + _BATCH, self.total)) if at in records)

    @overload
    def __getitem__(self, index: int) -> Any: ...  # noqa: ANN401 - a record, or any value
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self._slice(range(self.total)[index])
        at = index + self.total if index < 0 else index
        if not 0 <= at < self.total:
            raise IndexError(f"{index} of {self.total} results")
        if self._projected:
            return self._found.projected[at]
        record = self._records(at // _BATCH * _BATCH).get(at)
        if record is None:
            raise NotFound(
                f"result {index} was removed after the query", kind=ErrorKind.DATA_MISSING, remedy="Ask again."
            )
        return record

    def __repr__(self) -> str:
        more = ", and there are more" if self.limited else ""
        return f"<Results of {self.predicate or 'everything'!r}: {self.total}{more}>"

    def table(self, most: int | None = None) -> Table:
        """As a terminal shows it: of records the columns that tell them apart, of projected values all."""
        shown = self[: self.total if most is None else most]
        if self._projected:
            return table(shown)
        columns = (*COLUMNS[:-1], "namespace") if any(record.namespace for record in shown) else COLUMNS
        return Table(columns, [_cells(record, columns) for record in shown])

    def to_json(self, *, content: bool = False) -> dict[str, object]:
        """What `--json` prints (repository spec 8.2). `content` asks for texts too, which may be long."""
        document: dict[str, object] = {} if self._projected else {"predicate": self.predicate}
        results = self._found.projected if self._projected else [_json(record, content=content) for record in self]
        document |= {"results": results, "total": self.total, "limited": self.limited}
        if self.undecided:
            document["undecided"] = self.undecided
        if self.errors:
            document["errors"] = {
                message: {"count": failure.count, "example": failure.example}
                for message, failure in self.errors.items()
            }
        return document

    def to_arrow(self) -> "pa.Table":
        """All as an Arrow table. Attributes are JSON texts, tags maps."""
        from bayou.query.arrow import reader  # noqa: PLC0415 - needs pyarrow

        return reader(self).read_all()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """For whatever takes Arrow: Polars, DuckDB, pandas. Batch by batch, never all in memory."""
        from bayou.query.arrow import reader  # noqa: PLC0415 - needs pyarrow

        return reader(self).__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> "pd.DataFrame":
        from bayou.query.arrow import frame  # noqa: PLC0415 - needs pandas

        return frame(self)

    def _repr_html_(self) -> str:
        from bayou.query.html import page  # noqa: PLC0415 - for notebooks only

        return page(self, _SHOWN)

    def _slice(self, places: range) -> list[Any]:
        if self._projected:
            return [self._found.projected[at] for at in places]
        found = ((at, self._records(at // _BATCH * _BATCH)) for at in places)
        return [records[at] for at, records in found if at in records]

    def _records(self, start: int) -> dict[int, Record]:
        """The records from there on, by their place, as far as they are still there."""
        if self._page[0] != start:
            wanted = self._found.rows[start : start + _BATCH]
            stored = [row for row in wanted if row >= 0]
            marks = ", ".join("?" * len(stored))
            rows = {row.row: row for row in self._catalog.rows(f"row IN ({marks})", stored)} if stored else {}
            self._page = (
                start,
                {
                    start + at: self._held[-1 - row] if row < 0 else self._record(rows[row])
                    for at, row in enumerate(wanted)
                    if row < 0 or row in rows
                },
            )
        return self._page[1]

    def _record(self, row: Row) -> Record:
        if row.namespace == self._tree.namespace:
            return Record(row, self._tree, hydrate=_one_by_one(self._hydrate))
        stored = Stored(row.namespace, ArtifactKey(row.model, row.artifact.name), row.artifact.version)
        return Record(row, None, abroad=_read_abroad(self._abroad, stored))


def _one_by_one(hydrate: Hydrate | None) -> Callable[[ArtifactKey, int], bool] | None:
    """For one record what a query does for many."""
    return None if hydrate is None else lambda key, version: bool(hydrate([(key, version)]))


def _read_abroad(abroad: Abroad | None, stored: Stored) -> Callable[[], bytes | None] | None:
    return None if abroad is None else lambda: abroad([stored]).get(stored)


def _cells(record: Record, columns: Sequence[str]) -> tuple[object, ...]:
    fields = {
        "name": record.name,
        "modelName": record.model_name,
        "specName": record.spec_name,
        "dataType": record.data_type,
        "version": record.version,
        "size": record.size,
        "createdAt": record.created_at,
        "namespace": record.namespace,
    }
    return tuple(fields[column] for column in columns)


def _json(record: Record, *, content: bool) -> dict[str, object]:
    """The record without attributes; `content` is those of a JSON object, else "" unless texts are asked for."""
    fields: dict[str, object] = {}
    for name, value in record.to_dict().items():
        if name != ATTRIBUTES:
            fields[name] = value
        if name == "size":
            is_json = has_attributes(record.content_type)
            fields[CONTENT] = dict(record.attributes) if is_json else record.content if content else ""
    return fields
