"""`bayou namespace …`: share one bucket or folder with other repos."""

from pathlib import Path

import click

from bayou.cli import options
from bayou.cli.session import located
from bayou.cli.terminal import Terminal, size_text
from bayou.config.urls import displayed
from bayou.datastore.namespacing import Namespacing
from bayou.datastore.relocating import Relocated

_migrate = click.option("--migrate", is_flag=True, help="Move what is there, in the bucket and on this machine.")
_reverse = click.option("--reverse", is_flag=True, help="Move it out of the namespace instead.")


@click.group()
def namespace() -> None:
    """Share one bucket or folder with other repos: each has a part of it that nobody else touches."""


@namespace.command("set")
@click.argument("name", metavar="NAME")
@_migrate
@options.common
def set_(*, name: str, migrate: bool, repo_dir: Path | None, as_json: bool) -> None:
    """Register a namespace for this repo, and use it from now on.

    What the repo has so far stays where it is, unless it is moved with --migrate or later.

    Example: bayou namespace set infra --migrate
    """
    terminal = Terminal(as_json)
    settings = located(repo_dir, terminal)
    moved = Namespacing(settings, terminal.warn).set(name, migrate=migrate)
    stays = "what was recorded before is not seen until it is moved: bayou namespace migrate"
    if as_json:
        warning = {} if migrate else {"warning": stays}
        terminal.document(
            {"namespace": name, "datastorePath": displayed(settings.location), **warning, **_moved(moved)}
        )
        return
    terminal.say(f"this repo has the namespace {name} now")
    if not migrate:
        terminal.warn(stays)
    _say(terminal, moved)


@namespace.command()
@_migrate
@options.common
def unset(*, migrate: bool, repo_dir: Path | None, as_json: bool) -> None:
    """Let this repo have its datastore to itself again. Refused as long as others share it.

    Example: bayou namespace unset --migrate
    """
    terminal = Terminal(as_json)
    settings = located(repo_dir, terminal)
    moved = Namespacing(settings, terminal.warn).unset(migrate=migrate)
    if as_json:
        terminal.document({"previousNamespace": settings.namespace, **_moved(moved)})
        return
    terminal.say(f"this repo has no namespace any more; it was {settings.namespace}")
    _say(terminal, moved)


@namespace.command("list")
@options.common
def list_(*, repo_dir: Path | None, as_json: bool) -> None:
    """Show who registered which namespace of this datastore.

    Example: bayou namespace list --json
    """
    terminal = Terminal(as_json)
    settings = located(repo_dir, terminal)
    found = Namespacing(settings, terminal.warn).list()
    if as_json:
        rows = [
            {
                "namespace": each.namespace,
                "repoId": each.repo_id,
                "registeredAt": each.registered_at,
                "isCurrent": each.namespace == settings.namespace,
            }
            for each in found
        ]
        terminal.document({"namespaces": rows, "currentNamespace": settings.namespace})
        return
    terminal.table(
        ("namespace", "repo", "registered", ""),
        [(m.namespace, m.repo_id, m.registered_at, "*" if m.namespace == settings.namespace else "") for m in found],
        footer=f"{len(found)} namespaces",
    )


@namespace.command()
@_reverse
@options.yes
@options.common
def migrate(*, reverse: bool, yes: bool, repo_dir: Path | None, as_json: bool) -> None:
    """Move what this repo recorded without a namespace into its namespace, in the bucket and on this machine.

    Without --yes it shows what would move. It can be killed, and run again, at any time.

    Example: bayou namespace migrate --yes
    """
    terminal = Terminal(as_json)
    settings = located(repo_dir, terminal)
    namespacing = Namespacing(settings, terminal.warn)
    done = namespacing.migrate(reverse=reverse) if yes else namespacing.plan(reverse=reverse)
    if as_json:
        what = {"namespace": settings.namespace, "datastorePath": displayed(settings.location), "reverse": reverse}
        terminal.document({**what, "confirm": yes, **_moved(done)})
        return
    _say(terminal, done)
    if not yes and done:
        terminal.say("Nothing was moved. Do it with: bayou namespace migrate --yes")


@namespace.command()
@options.yes
@options.common
def repair(*, yes: bool, repo_dir: Path | None, as_json: bool) -> None:
    """Show the copies of other namespaces that lie inside of this one, and remove them with --yes.

    Example: bayou namespace repair
    """
    terminal = Terminal(as_json)
    namespacing = Namespacing(located(repo_dir, terminal), terminal.warn)
    found, deleted = namespacing.repair() if yes else (namespacing.foreign(), 0)
    rows = [(name, len(paths)) for name, paths in found.foreign.items()]
    if as_json:
        terminal.document(
            {
                "foreignNamespaces": [{"namespace": name, "objectCount": count} for name, count in rows],
                "totalForeignObjects": len(found.paths),
                "deleted": deleted,
            }
        )
        return
    terminal.table(("namespace", "objects"), rows)
    terminal.say(f"{len(found.paths)} foreign objects, {deleted} removed")


def _moved(done: Relocated | None) -> dict[str, object]:
    if done is None:
        return {}
    return {
        "directories": [
            {
                "subdir": folder.name,
                "source": str(folder.source),
                "destination": str(folder.target),
                "fileCount": folder.files,
                "totalBytes": folder.size,
            }
            for folder in done.folders
        ],
        "totalFiles": sum(folder.files for folder in done.folders),
        "totalBytes": sum(folder.size for folder in done.folders),
        "objects": len(done.bucket.entries),
        "objectBytes": done.bucket.size,
    }


def _say(terminal: Terminal, done: Relocated | None) -> None:
    if done is None:
        return
    terminal.table(
        ("folder", "files", "size"),
        [(str(folder.target), folder.files, size_text(folder.size)) for folder in done.folders],
    )
    terminal.say(f"{len(done.bucket.entries)} objects, {size_text(done.bucket.size)}, in the bucket")
