"""`bayou index …` and `bayou verify`: what the bucket says that it holds, and whether it does."""

from pathlib import Path

import click

from bayou.cli import options
from bayou.cli.progress import progress
from bayou.cli.session import located
from bayou.cli.terminal import Terminal
from bayou.datastore.upkeep import Upkeep

DIFFERS = 4


@click.group()
def index() -> None:
    """The index of a bucket: which files of the datastore lie in it."""


@index.command()
@options.common
def status(*, repo_dir: Path | None, as_json: bool) -> None:
    """Show the format of the index, its size, and what is wrong with it.

    Example: bayou index status --json
    """
    terminal = Terminal(as_json)
    found = _upkeep(repo_dir, terminal).status()
    document = {
        "format": str(found.format),
        "entries": found.entries,
        "partitions": found.partitions,
        "commitSeq": found.commit_seq,
        "vouched": found.is_vouched,
        "unpartitioned": found.unpartitioned,
        "withoutHash": found.without_hash,
        "badEntries": found.skipped,
        "missingShards": found.shards.missing,
        "orphanShards": found.shards.left_over,
        "staleShards": found.shards.differing,
        "shouldMigrate": found.should_migrate,
    }
    if as_json:
        terminal.document(document)
        return
    terminal.table(("", ""), [(key, value) for key, value in document.items() if value not in ({}, ())])
    if not found.is_sound:
        terminal.warn("the index is damaged; put it right with: bayou index rebuild")
    if found.should_migrate:
        terminal.say("Each push writes all of it. Make that a small part with: bayou index migrate")


@index.command()
@options.common
def migrate(*, repo_dir: Path | None, as_json: bool) -> None:
    """Change the index to shards, of which each push writes only those that it touches.

    There is no way back. It can be run again at any time, and while others push.

    Example: bayou index migrate
    """
    terminal = Terminal(as_json)
    done = _upkeep(repo_dir, terminal).migrate()
    meta = done.head.meta
    if as_json:
        terminal.document(
            {
                "version": 2,
                "partitions": [] if meta is None else list(meta.partitions),
                "commitSeq": None if meta is None else meta.commit_seq,
                "entries": done.entries,
                "wasSharded": done.was_sharded,
                "repaired": done.repaired,
            }
        )
    elif done.was_sharded:
        terminal.say(f"it has shards already: {done.partitions}")
    else:
        terminal.say(f"{done.entries} entries are in {done.partitions} shards now")


@index.command()
@options.common
def rebuild(*, repo_dir: Path | None, as_json: bool) -> None:
    """Make a damaged index anew, from what is left of it and from what lies in the bucket.

    What is damaged is kept aside. The format stays what it was.

    Example: bayou index rebuild
    """
    terminal = Terminal(as_json)
    done = _upkeep(repo_dir, terminal).rebuild()
    if as_json:
        terminal.document(
            {
                "format": str(done.format),
                "partitions": done.partitions,
                "quarantined": done.quarantined,
                "dropped": done.dropped,
                "recovered": done.recovered,
                "repaired": done.repaired,
            }
        )
        return
    rows = [("kept aside", done.quarantined), ("not there any more", done.dropped), ("listed again", done.recovered)]
    terminal.table(("", "path"), [(what, path) for what, paths in rows for path in paths])
    terminal.say(f"{done.partitions} partitions, of which {len(done.repaired)} had to be written")


@click.command()
@click.option("--content", is_flag=True, help="Read everything and compare hashes, not only sizes.")
@options.common
def verify(*, content: bool, repo_dir: Path | None, as_json: bool) -> None:
    """Compare the bucket, its index and the cache, and name each difference. Nothing is changed.

    The exit code is 4 where something differs.

    Example: bayou verify --content
    """
    terminal = Terminal(as_json)
    upkeep = _upkeep(repo_dir, terminal)
    with progress("comparing") as bar:
        found = upkeep.verify(content=content, progress=bar or (lambda _: None))
    if as_json:
        terminal.document(found.to_dict())
    else:
        terminal.table(("difference", "path", "why"), [(each.kind, each.path, each.why) for each in found.differences])
        later = "".join(f", {count} {kind}" for kind, count in found.pending.items())
        terminal.say(f"{found.looked_at} files and objects, {len(found.differences)} differences{later}")
    if found.differences:
        click.get_current_context().exit(DIFFERS)


def _upkeep(repo: Path | None, terminal: Terminal) -> Upkeep:
    return Upkeep(located(repo, terminal), terminal.warn)
