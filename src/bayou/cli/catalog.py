"""`bayou catalog …`: the index of artifacts, which can always be made again."""

from pathlib import Path

import click

from bayou.cli import options
from bayou.cli.session import opened
from bayou.cli.terminal import Terminal, size_text
from bayou.errors import UsageError


@click.group()
def catalog() -> None:
    """The index of artifacts: a cache, which can always be made again."""


@catalog.command()
@options.common
def rebuild(*, repo_dir: Path | None, as_json: bool) -> None:
    """Read all metadata again.

    Example: bayou catalog rebuild
    """
    terminal = Terminal(as_json)
    with opened(repo_dir, terminal) as datastore:
        datastore.catalog.rebuild(datastore.progress)
        found = datastore.catalog.stats()
    if as_json:
        terminal.document({"artifacts": found.names, "versions": found.versions, "problems": found.problems})
    else:
        terminal.say(f"{found.versions} versions of {found.names} artifacts")


@catalog.command()
@click.argument("file", metavar="[FILE]", required=False, type=click.Path(path_type=Path))
@options.common
def export(*, file: Path | None, repo_dir: Path | None, as_json: bool) -> None:
    """Write the catalog to a file: as Parquet, or as other clients read it, by default where they look for it.

    Example: bayou catalog export catalog.parquet
    """
    terminal = Terminal(as_json)
    with opened(repo_dir, terminal) as datastore:
        target, rows = datastore.cataloguing.export(file)
    if as_json:
        terminal.document({"path": str(target), "rows": rows})
    else:
        terminal.say(f"{target}: {rows} rows")


@catalog.command()
@click.option("--namespaces", metavar="A,B", required=True, help="The namespaces whose catalogs to take over.")
@options.text("--url", "URL", "From the catalogs in Parquet in this bucket; else from the exports in the datastore.")
@options.common
def pull(*, namespaces: str, url: str | None, repo_dir: Path | None, as_json: bool) -> None:
    """Take over what other namespaces of the datastore say is in them, in place of what was known of it.

    Example: bayou catalog pull --namespaces infra,web
    """
    terminal = Terminal(as_json)
    wanted = [name.strip() for name in namespaces.split(",") if name.strip()]
    if not wanted:
        raise UsageError("no namespace is named", remedy="Give --namespaces infra,web.")
    with opened(repo_dir, terminal) as datastore:
        cataloguing = datastore.cataloguing
        pulled, skipped = cataloguing.pull(wanted) if url is None else cataloguing.pull_from(url, wanted)
    if as_json:
        rows = [{"namespace": name, "rows": count} for name, count in pulled.items()]
        terminal.document({"pulled": rows, "skipped": skipped, "totalRows": sum(pulled.values())})
        return
    terminal.table(("namespace", "rows"), list(pulled.items()))
    for name in skipped:
        terminal.warn(f"{name} has no catalog here that can be read")


@catalog.command()
@options.common
def stats(*, repo_dir: Path | None, as_json: bool) -> None:
    """Show what the catalog holds.

    Example: bayou catalog stats
    """
    terminal = Terminal(as_json)
    with opened(repo_dir, terminal) as datastore:
        datastore.catalog.current(datastore.progress)
        found = datastore.catalog.stats()
    document = {
        "artifacts": found.names,
        "versions": found.versions,
        "latest": found.latest,
        "models": found.models,
        "bytes": found.bytes,
        "latestByType": found.latest_by_type,
        "problems": found.problems,
        "foreign": found.foreign,
    }
    if as_json:
        terminal.document(document)
        return
    terminal.table(
        ("", ""),
        [*((key, value) for key, value in document.items() if key != "bytes"), ("size", size_text(found.bytes))],
    )


@catalog.command()
@options.common
def compact(*, repo_dir: Path | None, as_json: bool) -> None:
    """Give back the space that removed rows took.

    Example: bayou catalog compact
    """
    terminal = Terminal(as_json)
    with opened(repo_dir, terminal) as datastore:
        before = datastore.cataloguing.size()
        datastore.catalog.vacuum()
        reclaimed = before - datastore.cataloguing.size()
    if as_json:
        terminal.document({"dbBytesReclaimed": reclaimed})
    else:
        terminal.say(f"{size_text(max(reclaimed, 0))} given back")
