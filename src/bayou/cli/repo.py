"""`bayou init`, `bayou status`: the repo itself."""

from pathlib import Path

import click

from bayou.cli import options
from bayou.cli.session import opened
from bayou.cli.shapes import standing_lines
from bayou.cli.terminal import Terminal, size_text


@click.command()
@click.argument("folder", metavar="[DIR]", default=Path(), type=click.Path(path_type=Path))
@options.as_json
def init(folder: Path, *, as_json: bool) -> None:
    """Make a folder a repo, whose runs are recorded in it.

    Example: bayou init my-infra
    """
    from bayou.config import newrepo  # noqa: PLC0415 - for this command only

    made = newrepo.create(folder.absolute())
    terminal = Terminal(as_json)
    if as_json:
        terminal.document({"path": str(made.path.parent), "repoId": made.values["repoId"]})
    else:
        terminal.say(f"{made.path.parent} is a repo now: its runtime data goes to .swamp/, which git ignores")


@click.command()
@options.common
def status(repo_dir: Path | None, *, as_json: bool) -> None:
    """Show where the datastore is, what is in it, and where each setting comes from.

    Example: bayou status --json
    """
    terminal = Terminal(as_json)
    with opened(repo_dir, terminal) as datastore:
        datastore.catalog.current(datastore.progress)
        stats = datastore.catalog.stats()
        problems = datastore.catalog.problems()
        settings = datastore.settings.listing()
        document: dict[str, object] = {
            "repo": str(datastore.settings.repo),
            "repoId": datastore.settings.repo_id,
            "type": datastore.settings.location.type,
            "path": str(datastore.tree.root),
            "namespace": datastore.namespace,
            "artifacts": stats.names,
            "versions": stats.versions,
            "models": stats.models,
            "bytes": stats.bytes,
            "latestByType": stats.latest_by_type,
            "foreign": stats.foreign,
            "problems": [{"path": problem.path, "message": problem.message} for problem in problems],
            "settings": [{"name": name, "value": value, "origin": origin} for name, value, origin in settings],
        }
        standing = datastore.syncing.standing() if datastore.is_synced else None
        if standing is not None:
            document["sync"] = standing.to_dict()
    if as_json:
        terminal.document(document)
        return
    terminal.table(("setting", "value", "from"), settings)
    terminal.line("")
    terminal.line(
        f"{stats.names} artifacts of {stats.models} models in {stats.versions} versions, {size_text(stats.bytes)}"
    )
    if standing is not None:
        for line in standing_lines(standing):
            terminal.line(line)
    for problem in problems:
        terminal.warn(f"{problem.path}: {problem.message}")
