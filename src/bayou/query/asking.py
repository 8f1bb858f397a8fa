"""Ask the catalog: check, plan, run, and hand out what was found."""

from collections.abc import Iterable

from bayou.catalog import Catalog
from bayou.errors import UsageError
from bayou.query import running
from bayou.query.memory import rows_of, run_in_memory
from bayou.query.notices import notices
from bayou.query.planning import plan
from bayou.query.reach import Abroad, Hydrate
from bayou.query.results import Results
from bayou.query.running import Found
from bayou.repository.record import Record
from bayou.tree import Tree


def query(  # noqa: PLR0913 - all that a query can be told
    catalog: Catalog,
    tree: Tree,
    predicate: str | None = None,
    *,
    select: str | None = None,
    limit: int | None = None,
    order_by: str | None = None,
    strict: bool = False,
    hydrate: Hydrate | None = None,
    abroad: Abroad | None = None,
    memory: Iterable[Record] = (),
) -> Results:
    """What matches the predicate, as the catalog has it; whoever calls brings that up to date first.

    Only the latest versions, and no markers of deletions, unless the predicate speaks of `version` or `isLatest`, or of
    `lifecycle`. Namespaces are not told apart, unless it speaks of `ns`. With `hydrate`, content that decides or is
    projected is fetched, with `abroad` that of other namespaces; without, rows that it would decide are counted.
    `strict` makes the first row that fails fatal.
    Records in `memory` come first, and hide those of the same version.
    """
    if limit is not None and limit < 0:
        raise UsageError(f"{limit} is no limit", remedy="Give a number from 0 up, or none for all.")
    planned = plan(predicate, select=select, order_by=order_by)
    found = Found()
    records = list(memory)
    held = run_in_memory(planned, records, limit=limit, strict=strict, found=found)
    running.run(
        planned,
        catalog,
        tree,
        limit=limit,
        strict=strict,
        hydrate=hydrate,
        abroad=abroad,
        found=found,
        without=rows_of(catalog, records),
    )
    found.cut(limit)
    return Results(
        found,
        catalog=catalog,
        tree=tree,
        held=held,
        predicate=predicate,
        projected=select is not None,
        hydrate=hydrate,
        abroad=abroad,
        notices=list(notices(planned, catalog, found)),
    )


def count(catalog: Catalog, tree: Tree, predicate: str | None = None) -> int:
    """How many match, without a list of them."""
    return running.count(plan(predicate), catalog, tree)
