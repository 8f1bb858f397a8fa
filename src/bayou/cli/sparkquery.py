"""`bayou data query --engine spark`: the same rows, for datastores that one machine would take long to go through."""

import os
from pathlib import Path

from bayou import config
from bayou.cli.terminal import Terminal
from bayou.config import Arguments, urls
from bayou.pipelines.queries import ask, documents
from bayou.pipelines.reach import Reach
from bayou.pipelines.sessions import log_path, session

_COLUMNS = ("name", "version", "modelName", "modelType", "dataType", "size", "createdAt")


def query(
    terminal: Terminal,
    repo: Path | None,
    predicate: str | None,
    *,
    select: str | None,
    limit: int | None,
    order_by: str | None,
) -> None:
    settings = config.load(Path.cwd(), os.environ, Arguments(repo_dir=repo), home=Path.home())
    reach = Reach(urls.render(settings.location), (settings.namespace,))
    spark = session(brief=True, log=log_path())
    try:
        asked = ask(spark, reach, predicate, select=select, order_by=order_by)
        asked.rows.cache()
        results, limited = documents(asked, limit)
        trouble = asked.trouble()
    finally:
        spark.stop()
    for message, count in trouble.items():
        terminal.warn(f"{count} rows: {message}")
    if terminal.json:
        said: dict[str, object] = {} if select is not None else {"predicate": predicate}
        terminal.document(said | {"results": results, "total": len(results), "limited": limited})
    elif select is not None:
        terminal.table(("value",), [(value,) for value in results])
    else:
        rows = [tuple(row.get(name) for name in _COLUMNS) for row in results if isinstance(row, dict)]
        terminal.table(_COLUMNS, rows, footer=f"{len(results)} found{', and there are more' if limited else ''}")
