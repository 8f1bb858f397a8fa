"""What it takes to check, plan and run a predicate, against the engine evaluating every row.

    python benchmarks/query.py [--rows N] [--rounds N] [--json]

Both ways run in turn over the same catalog, whose rows are made by SQLite: one version in four is an older one, 100
of a million rows have a given tag. The ratio is how many times longer it takes to evaluate every row. Where content is
asked for it is in files, so what evaluating all of them would take is left out: both read only what they must.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from bayou.catalog import Catalog
from bayou.query.planning import Plan, plan
from bayou.query.running import Found, run
from bayou.query.verdicts import only_engine
from bayou.tree import Tree

CASES: list[tuple[str, dict[str, object]]] = [
    ('tags.team == "t7" && size > 100', {}),
    ('tags.team == "t7" && name.lowerAscii().startsWith("state")', {}),
    ('modelName == "model-7" && dataType == "resource"', {}),
    ('tags.env == "prod" && tags.team == "t7"', {}),
    ('name.startsWith("state-77")', {}),
    ("size > 900000", {"limit": 10}),
    ('timestamp(createdAt) > timestamp("2026-03-01T00:00:00Z")', {"limit": 20, "order_by": "createdAt desc"}),
    ('name.matches("^state-[0-9]*77$")', {"limit": 100}),
    ('modelName == "model-7" && version > 1', {}),
]

# Fields of content are compared with what the catalog knows of it, so there is no evaluation of every row beside them:
# that would read every file.
INDEXED: list[tuple[str, dict[str, object]]] = [
    ('attributes.status == "failed" && attributes.code == 7', {}),
    ('attributes.status == "failed" && tags.team == "t7"', {}),
    ("attributes.code > 990", {"limit": 10}),
]

_ROWS = """
WITH RECURSIVE number(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM number WHERE i < ?1 - 1)
INSERT INTO artifact({columns})
SELECT {values} FROM number
"""

_VALUES = {
    "name_row": "i / 4",
    "is_latest": "i % 4 = 3",
    "version": "i % 4 + 1",
    "namespace": "''",
    "type": "'acme/host'",
    "model_id": "printf('00000000-0000-4000-8000-%012d', i / 400)",
    "name": "printf('state-%d', i / 4)",
    "id": "printf('id-%d', i)",
    "model_name": "printf('model-%d', i / 400)",
    "spec_name": "'result'",
    "data_type": "CASE i % 8 WHEN 3 THEN 'resource' ELSE 'file' END",
    "content_type": "'application/json'",
    "lifetime": "'infinite'",
    "garbage_collection": "10",
    "owner_type": "'model-method'",
    "size": "i * 7919 % 1000000",
    "created_at": "strftime('%Y-%m-%dT%H:%M:%S.000Z', 1770000000 + i * 3, 'unixepoch')",
    "created_ms": "(1770000000 + i * 3) * 1000",
    "tags": "json_object('type', 'resource', 'env', iif(i % 3, 'prod', 'dev'), 'team', printf('t%d', i / 4 % 2500))",
    "lifecycle": "'active'",
    "hydrated": "1",
    "attributes_known": "1",
}
_NUMBERS = frozenset({"streaming", "size_known", "stamp"})


def fill(catalog: Catalog, rows: int) -> None:
    """Rows without files, as SQLite makes them."""
    with catalog._database.writing() as connection:  # noqa: SLF001 - no door is as wide as this
        columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(artifact)") if name != "row"]
        values = [_VALUES.get(column, "0" if column in _NUMBERS else "''") for column in columns]
        connection.execute(_ROWS.format(columns=", ".join(columns), values=", ".join(values)), (rows,))
        connection.execute(
            "INSERT INTO tag SELECT row, key, value FROM artifact, json_each(artifact.tags) ORDER BY row, key"
        )
        connection.execute(
            """INSERT INTO attribute
            SELECT row, 'code', 'int', row % 1000 FROM artifact UNION ALL
            SELECT row, 'status', 'string', iif(row % 50, 'ok', 'failed') FROM artifact"""
        )


def clock(work: Callable[[], int], rounds: int) -> tuple[float, int]:
    """Give the median of milliseconds, and what was found."""
    times, found = [], 0
    for _ in range(rounds):
        began = time.perf_counter()
        found = work()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times), found


def asking(catalog: Catalog, tree: Tree, prepare: Callable[[], Plan], limit: int | None) -> Callable[[], int]:
    def work() -> int:
        found = Found()
        run(prepare(), catalog, tree, limit=limit, strict=False, hydrate=None, found=found)
        found.cut(limit)
        return len(found.rows)

    return work


def row_by_row(planned: Plan) -> Plan:
    """The same, with SQL knowing nothing."""
    conditions = tuple(replace(condition, verdict=only_engine()) for condition in planned.conditions)
    return replace(planned, conditions=conditions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one JSON document instead of the table")
    arguments = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(Path(folder) / "tree", Path(folder) / "tree")
        with Catalog.open(Path(folder) / "catalog.db", tree) as catalog:
            fill(catalog, arguments.rows)
            for predicate, options in [*CASES, *INDEXED]:
                order_by, limit = options.get("order_by"), options.get("limit")
                assert order_by is None or isinstance(order_by, str)
                assert limit is None or isinstance(limit, int)

                def prepare(predicate: str = predicate, order_by: str | None = order_by) -> Plan:
                    return plan(predicate, order_by=order_by)

                ours, found = clock(asking(catalog, tree, prepare, limit), arguments.rounds)
                all_rows = None
                if (predicate, options) in CASES:
                    whole = partial(row_by_row, prepare())
                    all_rows, same = clock(asking(catalog, tree, whole, None if order_by is None else limit), 1)
                    assert same == found or limit is not None, (predicate, found, same)
                results.append(
                    {"predicate": predicate, **options, "found": found, "ms": ours, "every_row_ms": all_rows}
                )
    if arguments.json:
        print(json.dumps({"rows": arguments.rows, "results": results}))
        return
    print(
        f"{arguments.rows} rows, {os.cpu_count()} processors; check, plan and run; medians of {arguments.rounds} rounds"
    )
    print(f"{'predicate':64}{'found':>8}{'ms':>10}{'every row':>12}{'ratio':>8}")
    for one in results:
        every, took = one["every_row_ms"], one["ms"]
        ratio = ""
        if isinstance(every, float) and isinstance(took, float):
            ratio = f"{every:>10.0f}ms{every / took:>8.0f}"
        print(f"{one['predicate']:64}{one['found']:>8}{took:>10.2f}{ratio}")


if __name__ == "__main__":
    main()
