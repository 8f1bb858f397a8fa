"""The usual questions, with names in place of predicates (repository spec 5.8). Values are bound, never part of SQL.

A model goes by its name or its id, with a namespace before the first colon: `prod-vpc` is our own, `infra:prod-vpc`
that of `infra`, `*:prod-vpc` of any, as long as it is one.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from bayou.catalog import Catalog, Row
from bayou.domain.namespaces import check_namespace
from bayou.errors import ErrorKind, UsageError

ANY: Final = "*"


class Named(NamedTuple):
    """A model as a user names it."""

    namespace: str
    """`*` for all."""
    model: str


def named(text: str, own: str) -> Named:
    namespace, colon, model = text.partition(":")
    if not colon:
        namespace, model = own, text
    elif namespace not in ("", ANY):
        check_namespace(namespace)
    if not model:
        raise UsageError(
            f"{text!r} names no model",
            kind=ErrorKind.INVALID_NAME,
            remedy="Write the name of a model; before it a namespace and a colon, if it is another's: infra:prod-vpc.",
        )
    return Named(namespace, model)


def latest(catalog: Catalog, own: str, model: str, name: str) -> list[Row]:
    """The latest versions of a name, one for each chain of writers, newest first."""
    found = named(model, own)
    if found.namespace == ANY:
        rows = _rows(catalog, found, "is_latest = 1 AND name = ? AND lifecycle = 'active'", (name,))
        return _newest_first(_of_one_namespace(model, rows))
    return _newest_first(
        row for row in catalog.latest(found.namespace, found.model, name) if not row.artifact.is_deleted
    )


def version(catalog: Catalog, own: str, model: str, name: str, number: int) -> Row | None:
    """A version by its number; markers of deletions are none."""
    rows = _versions(catalog, own, model, name, "version = ? AND lifecycle = 'active'", (number,))
    return next(iter(_newest_first(rows)), None)


def list_versions(catalog: Catalog, own: str, model: str, name: str) -> list[int]:
    """The numbers of all versions, lowest first."""
    return sorted({row.artifact.version for row in _versions(catalog, own, model, name, "lifecycle = 'active'")})


def find_by_tag(catalog: Catalog, own: str, key: str, value: str) -> list[Row]:
    """The latest versions in our own namespace that have the tag."""
    condition = (
        "row IN (SELECT artifact FROM tag WHERE key = ? AND value = ?) "
        "AND +is_latest = 1 AND lifecycle = 'active' AND namespace = ?"
    )
    return _deduplicated(catalog.rows(condition, (key, value, own), order_by=_ORDER))


def find_by_spec(catalog: Catalog, own: str, model: str, spec: str) -> list[Row]:
    """The latest versions that a model wrote by one of its specs."""
    condition = "is_latest = 1 AND spec_name = ? AND lifecycle = 'active'"
    return _deduplicated(_of_one_namespace(model, _rows(catalog, named(model, own), condition, (spec,))))


_ORDER: Final = "namespace, type, model_id, name, version"


def _versions(  # noqa: PLR0913, PLR0917 - a name, and what is asked about it
    catalog: Catalog, own: str, model: str, name: str, condition: str, parameters: Sequence[Any] = ()
) -> list[Row]:
    rows = _rows(catalog, named(model, own), f"name = ? AND {condition}", (name, *parameters))
    return _of_one_namespace(model, rows)


def _rows(catalog: Catalog, model: Named, condition: str, parameters: Sequence[Any]) -> list[Row]:
    where, values = condition, [*parameters]
    if model.namespace != ANY:
        where, values = f"{where} AND namespace = ?", [*values, model.namespace]
    # Each has an index of its own, which an OR would not find.
    found = {
        row.row: row
        for column in ("model_name", "model_id")
        for row in catalog.rows(f"{column} = ? AND {where}", (model.model, *values), order_by=_ORDER)
    }
    return list(found.values())


def _of_one_namespace(model: str, rows: list[Row]) -> list[Row]:
    namespaces = sorted({row.namespace for row in rows})
    if len(namespaces) > 1:
        raise UsageError(
            f"{model!r} is in several namespaces: {', '.join(one or 'none' for one in namespaces)}",
            kind=ErrorKind.INVALID_NAME,
            remedy=f"Say which: {namespaces[-1]}:{model.partition(':')[2]}.",
        )
    return rows


def _newest_first(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row.artifact.created_at, row.artifact.version), reverse=True)


def _deduplicated(rows: Iterable[Row]) -> list[Row]:
    """One for each model, name and step: the newest. What has no model stays (repository spec 5.8)."""
    kept: dict[tuple[object, ...], Row] = {}
    for row in rows:
        named = (row.namespace, row.model.name, row.artifact.name, row.artifact.chain.step)
        key = named if row.model.name else (row.row,)
        known = kept.get(key)
        if known is None or row.artifact.created_at > known.artifact.created_at:
            kept[key] = row
    return list(kept.values())
