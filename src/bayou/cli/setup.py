"""`bayou setup`: move the datastore of a repo to another place: bucket or folder, from bucket or folder."""

from pathlib import Path

import click

from bayou.cli import options
from bayou.cli.datatidy import PARTLY
from bayou.cli.progress import progress, transfers
from bayou.cli.sync import lines
from bayou.cli.terminal import Terminal, size_text
from bayou.config import Hydration


@click.command()
@click.argument("url", metavar="URL")
@options.text("--namespace", "NS", "The part of the place that is this repo's; else all of it.")
@click.option(
    "--hydration",
    type=click.Choice([str(each) for each in Hydration]),
    help="Fetch content with each sync, or when it is asked for; else full where there is nothing yet, lazy where is.",
)
@click.option("--skip-migration", is_flag=True, help="Leave what this repo has recorded where it is.")
@click.option("--single-writer", is_flag=True, help="Accept a store that cannot keep several writers apart.")
@click.option("--from", "late_from", metavar="URL", help="Bring what was written since to where this repo was before.")
@click.option("--content", is_flag=True, help="Read back what was carried out of a bucket, before the switch.")
@click.option("--accept-damaged", is_flag=True, help="Leave behind what is not what its index says.")
@options.seconds
@options.common
def setup(
    *,
    url: str,
    namespace: str | None,
    hydration: str | None,
    skip_migration: bool,
    single_writer: bool,
    late_from: str | None,
    content: bool,
    accept_damaged: bool,
    seconds: float | None,
    repo_dir: Path | None,
    as_json: bool,
) -> int:
    """Move the datastore of this repo to a bucket or a folder: verify it, bring there what there is, then switch.
    Until the end the repo works as before; run it again after whatever stopped it.

    Example: bayou setup s3://team-lake/swamp --namespace infra
    """
    from bayou.datastore.setup import Wishes, set_up  # noqa: PLC0415 - connects, which its help need not

    terminal = Terminal(as_json)
    wishes = Wishes(
        url,
        namespace=namespace or "",
        hydration=Hydration(hydration) if hydration else None,
        migrates=not skip_migration,
        single_writer=single_writer,
        seconds=seconds,
        late_from=late_from,
        content=content,
        accepts_damaged=accept_damaged,
    )
    with progress("copying") as copying, transfers("syncing") as moving:
        done = set_up(repo_dir, wishes, terminal.warn, progress=copying, transfers=moving)
    document = done.to_dict()
    if as_json:
        terminal.document(document)
    else:
        if done.migrated.files:
            terminal.say(f"{done.migrated.files} files copied, {size_text(done.migrated.bytes)}")
        for line in lines(done.synced) if done.synced is not None else ():
            terminal.say(line)
        if done.aside is not None:
            terminal.say(f"what was migrated is in {done.aside} now, and may be removed")
        if done.synced is None or done.synced.report.stop is None:
            terminal.say(f"the datastore of this repo is {document['location']}, hydration {document['hydration']}")
        for fault in done.faults:
            terminal.warn(f"left behind: {fault.path} is {fault.trouble}")
    return 0 if done.synced is None or done.synced.is_complete else PARTLY
