"""`bayou sync`: let the cache and the bucket agree."""

from collections.abc import Sequence
from pathlib import Path

import click

from bayou.cli import options
from bayou.cli.datatidy import PARTLY
from bayou.cli.progress import transfers
from bayou.cli.session import opened
from bayou.cli.terminal import Terminal, size_text
from bayou.datastore.synced import Preview, Synced
from bayou.domain.plan import Stop
from bayou.errors import UsageError

_STOPS = {
    Stop.TOO_MANY_DELETIONS: "nothing was done: it would delete {deletions} files."
    " If that is meant, run it again with --accept-deletions; `bayou sync --dry-run` shows which",
    Stop.INDEX_VANISHED: "nothing was done: the index that was there is gone."
    " If that is meant, run it again with --accept-deletions; else look for what became of the bucket",
    Stop.BASE_TOO_OLD: "nothing was done: this cache was not synced for so long that nobody knows any more what was"
    " deleted meanwhile. Save what only it has, and begin with an empty cache",
}


@click.command()
@click.option("--push", "pushes", is_flag=True, help="Only deliver what changed here.")
@click.option("--pull", "pulls", is_flag=True, help="Only fetch what changed there.")
@options.models
@click.option("--metadata-only", is_flag=True, help="Leave content there until it is asked for.")
@click.option("--hydrate", is_flag=True, help="Fetch all content that is not here yet.")
@click.option("--full", is_flag=True, help="Look at all files, marked or not.")
@click.option("--accept-deletions", is_flag=True, help="Also if it deletes much, or all.")
@options.dry_run
@options.seconds
@options.common
def sync(
    *,
    pushes: bool,
    pulls: bool,
    models: Sequence[str],
    metadata_only: bool,
    hydrate: bool,
    full: bool,
    accept_deletions: bool,
    dry_run: bool,
    seconds: float | None,
    repo_dir: Path | None,
    as_json: bool,
) -> int:
    """Push what changed here, pull what changed there; of some models, or of all. What it could not do it says, and
    the exit code is 3; what it did stays done.

    Example: bayou sync --model aws/ec2/vpc/prod-vpc --timeout 60
    """
    terminal = Terminal(as_json)
    if metadata_only and hydrate:
        raise UsageError("--metadata-only and --hydrate do not go together")
    lazy = True if metadata_only else None
    pushes, pulls = pushes or not pulls, pulls or not pushes
    with opened(repo_dir, terminal) as datastore:
        if dry_run:
            preview = datastore.syncing.plan(
                models=models, pushes=pushes, pulls=pulls, lazy=lazy, hydrate=hydrate, everything=full
            )
            return _previewed(terminal, preview)
        with transfers("syncing") as bar:
            synced = datastore.sync(
                models=models,
                pushes=pushes,
                pulls=pulls,
                lazy=lazy,
                hydrate=hydrate,
                everything=full,
                accept_deletions=accept_deletions,
                seconds=seconds,
                progress=bar,
            )
    return told(terminal, synced)


def told(terminal: Terminal, synced: Synced) -> int:
    """Show what a sync did; its exit code."""
    if terminal.json:
        terminal.document(synced.to_dict())
    else:
        for line in lines(synced):
            terminal.say(line)
    return 0 if synced.is_complete else PARTLY


def lines(synced: Synced) -> Sequence[str]:
    """What a sync did, in sentences."""
    report = synced.report
    deleted = len(report.deleted_here) + len(report.deleted_there)
    moved = f"{size_text(report.amount.bytes_done)} in {synced.seconds:.1f} s, {synced.requests} requests"
    done = [f"{synced.mode}: {len(report.pulled)} pulled, {len(report.pushed)} pushed, {deleted} deleted; {moved}"]
    if synced.absent:
        done.append(f"{synced.absent} files are fetched when they are asked for; all of them: bayou sync --hydrate")
    done += [f"{each.path} is {each.to} now: its number was taken" for each in report.renumbered]
    done += [f"conflict: {path}: theirs stayed, ours is kept aside: bayou conflicts list" for path in report.conflicts]
    done += [f"warning: skipped {path}: {why}" for path, why in report.skipped.items()]
    done += [f"warning: not every disk can hold these side by side: {', '.join(c)}" for c in report.collisions]
    done += [f"warning: left {path}: {why}" for path, why in report.failed.items()]
    if report.stop is not None:
        done.append(f"warning: {_STOPS[report.stop].format(deletions=report.deletions)}")
    return done


def _previewed(terminal: Terminal, preview: Preview) -> int:
    if terminal.json:
        terminal.document(preview.to_dict())
    else:
        hydrates = f", and the content of {preview.hydrates} known files" if preview.hydrates else ""
        footer = f"{len(preview.steps)} steps{hydrates}"
        terminal.table(("action", "path", "files", "because"), preview.steps, footer=footer)
        if not preview.steps:
            terminal.say(f"nothing to do{hydrates}")
    return 0 if preview.plan.stop is None else PARTLY
