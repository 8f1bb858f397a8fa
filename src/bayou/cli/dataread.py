"""`bayou data get|latest|list|versions|query|search`."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click

from bayou.cli import options, shapes
from bayou.cli.session import opened, pairs
from bayou.cli.terminal import Terminal, size_text
from bayou.domain.durations import parse_duration
from bayou.errors import UsageError
from bayou.repository.record import Record


@click.command()
@options.model
@options.name
@click.option("--version", metavar="N", type=int, help="This version; else the latest.")
@click.option("--output", "-o", metavar="FILE", type=click.Path(path_type=Path), help="Write the content there.")
@click.option("--no-content", is_flag=True, help="With --json: without the content.")
@click.option("--verify", is_flag=True, help="Compare the content with its checksum.")
@options.common
def get(
    *,
    model: str,
    name: str,
    version: int | None,
    output: Path | None,
    no_content: bool,
    verify: bool,
    repo_dir: Path | None,
    as_json: bool,
) -> None:
    """Write the content of an artifact to stdout, byte for byte; with --json, what is known of it.

    Example: bayou data get prod-vpc plan --version 2 > plan.txt
    """
    terminal = Terminal(as_json)
    with opened(repo_dir, terminal) as datastore:
        record = datastore.latest(model, name) if version is None else datastore.version(model, name, version)
        if verify:
            record.verify()
        if output is not None:
            record.save(output)
            terminal.say(f"{output}: {size_text(record.size)}")
        if as_json:
            terminal.document(shapes.detailed(record, datastore.tree.root, content=not no_content))
        elif output is None:
            _copy(record)


@click.command()
@options.model
@options.name
@options.common
def latest(*, model: str, name: str, repo_dir: Path | None, as_json: bool) -> None:
    """Show the latest version of an artifact.

    Example: bayou data latest prod-vpc state
    """
    terminal = Terminal(as_json)
    with opened(repo_dir, terminal) as datastore:
        record = datastore.latest(model, name)
        document = record.to_dict()
    if as_json:
        terminal.document(document)
        return
    terminal.table(("field", "value"), [item for item in document.items() if item[1] not in ("", {}, None)])


@click.command()
@options.model
@options.name
@options.limit(100)
@options.page
@options.common
def versions(*, model: str, name: str, limit: int, page: int, repo_dir: Path | None, as_json: bool) -> None:
    """List the versions of an artifact, newest first.

    Example: bayou data versions prod-vpc state
    """
    terminal = Terminal(as_json)
    with opened(repo_dir, terminal) as datastore:
        records = datastore.versions(model, name)
    shown = shapes.page(records, limit, page)
    if as_json:
        terminal.document(shapes.versions(records, shown))
        return
    rows = [
        (r.version, r.created_at, size_text(r.size), r.lifecycle if r.lifecycle != "active" else "", r.is_latest)
        for r in shown
    ]
    terminal.table(
        ("version", "created", "size", "", "latest"), rows, footer=shapes.footer(len(records), shown, "versions")
    )


@click.command(name="list")
@click.argument("model", metavar="[MODEL]", required=False)
@options.text("--type", "T", "Of this kind only: resource, file, log, …")
@options.text("--workflow", "W", "Written by this workflow.")
@options.text("--run", "ID", "Written by this run of a workflow.")
@options.limit(100)
@options.page
@options.common
def listing(
    *,
    model: str | None,
    type: str | None,
    workflow: str | None,
    run: str | None,
    limit: int,
    page: int,
    repo_dir: Path | None,
    as_json: bool,
) -> None:
    """List the artifacts of a model, of a workflow, or all.

    Example: bayou data list prod-vpc
    """
    terminal = Terminal(as_json)
    with opened(repo_dir, terminal) as datastore:
        owner = None if model is None else datastore.find_model(model)
        from bayou.query.search import Filters  # noqa: PLC0415 - a query takes what `get` and `latest` need not wait for

        filters = Filters(model_id=owner.id if owner else None, data_type=type, workflow=workflow, workflow_run=run)
        records = datastore.search(filters, newest_first=False)
        if as_json:
            terminal.document(shapes.listing(shapes.page(records, limit, page), len(records), owner))
            return
        shown = shapes.page(records, limit, page)
        rows = [
            (r.model_name or r.model_id, r.name, r.data_type, r.version, size_text(r.size), r.created_at) for r in shown
        ]
        columns = ("model", "name", "type", "version", "size", "created")
        terminal.table(columns, rows, footer=shapes.footer(len(records), shown, "artifacts"))


@click.command()
@click.argument("predicate", metavar="[PREDICATE]", required=False)
@options.text("--select", "EXPR", "What to show of each, as a CEL expression.")
@click.option("--limit", metavar="N", type=click.IntRange(min=0), help="At most so many.")
@options.text("--order-by", "FIELD", "createdAt, or 'createdAt desc'.")
@click.option("--count", is_flag=True, help="Only how many.")
@click.option("--strict", is_flag=True, help="Fail at the first row that cannot be evaluated.")
@click.option("--hydrate", is_flag=True, help="Fetch the content that it takes to decide and to show.")
@click.option("--content", is_flag=True, help="With --json: texts too, which may be long.")
@click.option("--engine", type=click.Choice(["sql", "spark"]), default="sql", show_default=True, help="Who answers.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option("--parquet", metavar="FILE", type=click.Path(path_type=Path), help="Write a Parquet file.")
@options.common
def query(
    *,
    predicate: str | None,
    select: str | None,
    limit: int | None,
    order_by: str | None,
    count: bool,
    strict: bool,
    hydrate: bool,
    content: bool,
    engine: str,
    as_csv: bool,
    parquet: Path | None,
    repo_dir: Path | None,
    as_json: bool,
) -> None:
    """Find artifacts by what is known of them and by what they say.

    Example: bayou data query 'tags.env == "prod" && attributes.status == "failed"' --order-by 'createdAt desc'
    """
    terminal = Terminal(as_json)
    if as_json + as_csv + (parquet is not None) > 1:
        raise UsageError("--json, --csv and --parquet do not go together")
    if engine == "spark":
        if as_csv or parquet is not None or strict or count or content:
            raise UsageError("--engine spark goes with --select, --order-by, --limit and --json only")
        from bayou.cli import sparkquery  # noqa: PLC0415 - with Spark

        sparkquery.query(terminal, repo_dir, predicate, select=select, limit=limit, order_by=order_by)
        return
    with opened(repo_dir, terminal) as datastore:
        if count:
            number = datastore.count(predicate)
            terminal.document({"predicate": predicate, "total": number}) if as_json else terminal.line(str(number))
            return
        results = datastore.query(
            predicate, select=select, limit=limit, order_by=order_by, strict=strict, hydrate=hydrate
        )
        for notice in results.notices:
            terminal.warn(notice)
        if as_json:
            terminal.document(results.to_json(content=content))
        elif as_csv:
            from bayou.cli import exports  # noqa: PLC0415 - as Filters

            exports.write_csv(results, sys.stdout)
        elif parquet is not None:
            from bayou.cli import exports  # noqa: PLC0415 - as Filters

            exports.write_parquet(results, parquet)
            terminal.say(f"{parquet}: {results.total} rows")
        else:
            table = results.table()
            more = ", and there are more" if results.limited else ""
            terminal.table(table.columns, table.rows, footer=f"{results.total} found{more}")


@click.command()
@click.argument("text", metavar="[TEXT]", required=False)
@options.text("--type", "T", "Of this kind only: resource, file, log, …")
@options.text("--lifetime", "L", "30d, infinite, …")
@options.text("--owner-type", "O", "model-method, workflow-step or manual.")
@options.text("--workflow", "W", "Written by this workflow.")
@options.text("--model", "M", "Of this model only.")
@options.text("--content-type", "CT", "As application/json.")
@options.text("--since", "D", "Not older than this: 7d, 12h.")
@options.text("--output", "ID", "Owned by this output.")
@options.text("--run", "ID", "Owned by this run.")
@options.tags
@click.option("--streaming", is_flag=True, help="Streaming data only.")
@options.limit(50)
@options.common
def search(
    *,
    text: str | None,
    type: str | None,
    lifetime: str | None,
    owner_type: str | None,
    workflow: str | None,
    model: str | None,
    content_type: str | None,
    since: str | None,
    output: str | None,
    run: str | None,
    tags: Sequence[str],
    streaming: bool,
    limit: int,
    repo_dir: Path | None,
    as_json: bool,
) -> None:
    """Find artifacts by words and filters, newest first.

    Example: bayou data search vpc --since 7d --tag env=prod
    """
    terminal = Terminal(as_json)
    filters = {
        "type": type,
        "lifetime": lifetime,
        "ownerType": owner_type,
        "workflow": workflow,
        "model": model,
        "contentType": content_type,
        "since": since,
        "output": output,
        "run": run,
        "tags": pairs(tags, "tag") or None,
        "streaming": streaming or None,
    }
    with opened(repo_dir, terminal) as datastore:
        from bayou.query.search import Filters  # noqa: PLC0415 - as in listing

        wanted = Filters(
            text=text,
            data_type=type,
            lifetime=lifetime,
            owner_type=owner_type,
            workflow=workflow,
            model_id=None if model is None else datastore.find_model(model).id,
            content_type=content_type,
            since_ms=None if since is None else _ago_ms(since),
            owner_parts=tuple(part for part in (output, run) if part),
            tags=pairs(tags, "tag"),
            streaming=streaming or None,
        )
        records = datastore.search(wanted)
        shown = records[:limit]
        if as_json:
            terminal.document(shapes.found(text, filters, shown, len(records)))
            return
        rows = [
            (r.model_name or r.model_id, r.name, r.data_type, r.version, size_text(r.size), r.created_at) for r in shown
        ]
        columns = ("model", "name", "type", "version", "size", "created")
        terminal.table(columns, rows, footer=shapes.footer(len(records), shown, "artifacts"))


COMMANDS = (get, latest, versions, listing, query, search)


def _ago_ms(since: str) -> int:
    return time.time_ns() // 1_000_000 - parse_duration(since).seconds * 1000


def _copy(record: Record) -> None:
    """Pipe-safe: what is written is what is stored, whatever that is."""
    for chunk in record.chunks():
        sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()
