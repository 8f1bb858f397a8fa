"""`bayou cache …`: the files of this machine that mirror a bucket."""

from pathlib import Path

import click

from bayou.cli import options
from bayou.cli.datatidy import PARTLY
from bayou.cli.session import opened
from bayou.cli.terminal import Terminal, size_text


@click.group()
def cache() -> None:
    """The files of this machine that mirror a bucket: what was pushed can always be fetched again."""


@cache.command()
@options.common
def status(*, repo_dir: Path | None, as_json: bool) -> None:
    """Show where the cache is, how large it is, and how much of it could go.

    Example: bayou cache status
    """
    terminal = Terminal(as_json)
    with opened(repo_dir, terminal) as datastore:
        standing, size = datastore.syncing.standing(), datastore.syncing.size()
    document = {
        "path": standing.cache,
        "hydration": standing.hydration,
        "files": size.files,
        "bytes": size.bytes,
        "evictableFiles": size.evictable_files,
        "evictableBytes": size.evictable_bytes,
        "unhydrated": size.absent,
        "dirty": standing.dirty,
    }
    if as_json:
        terminal.document(document)
        return
    terminal.line(f"{standing.cache}: {size.files} files, {size_text(size.bytes)}, {standing.hydration} hydration")
    terminal.line(f"{size_text(size.evictable_bytes)} in {size.evictable_files} files can be fetched again")
    terminal.line(f"{size.absent} files are not here, and are fetched when they are asked for")


@cache.command()
@click.option("--keep", metavar="SIZE", required=True, callback=options.size, help="How much content may stay: 10GiB.")
@options.common
def evict(*, keep: int, repo_dir: Path | None, as_json: bool) -> int:
    """Remove content that can be fetched again, least recently used first, until only so much is left. Nothing that
    waits to be pushed goes.

    Example: bayou cache evict --keep 10GiB
    """
    terminal = Terminal(as_json)
    with opened(repo_dir, terminal) as datastore:
        evicted = datastore.syncing.evict(keep)
    if as_json:
        terminal.document({"files": evicted.files, "bytes": evicted.bytes, "waits": evicted.waits})
    elif evicted.waits:
        terminal.say(
            "nothing was removed yet: another client uses this cache, and was only now told that files may be missing;"
            " run it again in five minutes"
        )
    else:
        terminal.say(f"removed {size_text(evicted.bytes)} in {evicted.files} files")
    return PARTLY if evicted.waits else 0
