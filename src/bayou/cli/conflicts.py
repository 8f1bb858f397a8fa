"""`bayou conflicts …`: what both sides changed, until somebody decides. None of it needs the network."""

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from bayou.cli import options
from bayou.cli.session import confirmed, opened
from bayou.cli.terminal import Terminal
from bayou.errors import UsageError

_paths = click.argument("paths", metavar="[PATH]…", nargs=-1)
_everything = click.option("--all", "everything", is_flag=True, help="Of all conflicts.")


@click.group()
def conflicts() -> None:
    """What two machines changed, where theirs stayed and ours is kept aside until somebody decides."""


@conflicts.command(name="list")
@options.common
def listing(*, repo_dir: Path | None, as_json: bool) -> None:
    """List what is to be decided, and where our side of it is.

    Example: bayou conflicts list
    """
    terminal = Terminal(as_json)
    with opened(repo_dir, terminal) as datastore:
        found = [(kept, datastore.syncing.kept_at(kept.path)) for kept in datastore.syncing.conflicts()]
    if as_json:
        documents = [
            {
                "path": kept.path,
                "reason": kept.reason,
                "keptAt": kept.kept_at,
                "ours": kept.ours,
                "theirs": kept.theirs,
                "file": file,
            }
            for kept, file in found
        ]
        terminal.document({"conflicts": documents, "total": len(found)})
        return
    rows = [(kept.path, kept.reason, kept.kept_at, file) for kept, file in found]
    terminal.table(("path", "reason", "since", "our side"), rows, footer=f"{len(found)} to be decided")


@conflicts.command(name="take-mine")
@_paths
@_everything
@options.common
def take_mine(*, paths: Sequence[str], everything: bool, repo_dir: Path | None, as_json: bool) -> None:
    """Let our side stand after all; the next push delivers it.

    Example: bayou conflicts take-mine reports/weekly.md
    """
    terminal = Terminal(as_json)
    with opened(repo_dir, terminal) as datastore:
        chosen = _chosen(paths, [kept.path for kept in datastore.syncing.conflicts()], everything=everything)
        _decide(terminal, chosen, datastore.syncing.take_mine, "ours stands now, and waits for the next push")


@conflicts.command(name="take-theirs")
@_paths
@_everything
@options.yes
@options.common
def take_theirs(*, paths: Sequence[str], everything: bool, yes: bool, repo_dir: Path | None, as_json: bool) -> None:
    """Let their side stand, and drop ours for good.

    Example: bayou conflicts take-theirs --all --yes
    """
    terminal = Terminal(as_json)
    with opened(repo_dir, terminal) as datastore:
        chosen = _chosen(paths, [kept.path for kept in datastore.syncing.conflicts()], everything=everything)
        if chosen and not confirmed(f"Drop our side of {', '.join(chosen)}?", yes=yes, terminal=terminal):
            terminal.say("nothing was dropped")
            return
        _decide(terminal, chosen, datastore.syncing.take_theirs, "theirs stands, ours is dropped")


def _chosen(paths: Sequence[str], known: Sequence[str], *, everything: bool) -> Sequence[str]:
    if everything == bool(paths):
        raise UsageError("it is not clear what to decide", remedy="Give the PATHs that are meant, or --all.")
    return known if everything else paths


def _decide(terminal: Terminal, paths: Sequence[str], take: Callable[[str], None], how: str) -> None:
    for path in paths:
        take(path)
        terminal.say(f"{path}: {how}")
    if terminal.json:
        terminal.document({"decided": list(paths)})
