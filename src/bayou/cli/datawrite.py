"""`bayou data write|append|rename`."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from bayou.catalog.attributes import LARGEST
from bayou.cli import options
from bayou.cli.session import opened, pairs
from bayou.cli.terminal import Terminal, size_text
from bayou.domain.artifacts import JSON
from bayou.repository import jsontext
from bayou.repository.record import Record


@click.command()
@options.model
@options.name
@click.argument("file", metavar="FILE|-")
@options.model_type
@options.tags
@options.text("--content-type", "CT", "Else guessed from the name of the file.")
@options.text("--lifetime", "L", "30d, infinite, workflow, …", default="infinite", show_default=True)
@options.text("--gc", "P", "How many versions to keep, or for how long.", default="10", show_default=True)
@click.option("--streaming", is_flag=True, help="Let `data append` add to it.")
@options.common
def write(
    *,
    model: str,
    name: str,
    file: str,
    model_type: str | None,
    tags: Sequence[str],
    content_type: str | None,
    lifetime: str,
    gc: str,
    streaming: bool,
    repo_dir: Path | None,
    as_json: bool,
) -> None:
    """Write a new version of an artifact.

    Example: echo '{"ok": true}' | bayou data write web-01 health - --type acme/host --content-type application/json
    """
    terminal = Terminal(as_json)
    with opened(repo_dir, terminal) as datastore:
        record = datastore.write(
            model,
            name,
            sys.stdin.buffer if file == "-" else Path(file),
            type=model_type,
            tags={"type": "file", **pairs(tags, "tag")},
            content_type=content_type,
            lifetime=lifetime,
            keep=int(gc) if gc.isdecimal() else gc,
            streaming=streaming,
        )
        if trouble := _trouble(record):
            terminal.warn(
                f"{record.model}/{name} is no JSON, whatever its type says, so no query looks into it: {trouble}"
            )
        _tell(terminal, record.to_dict(), f"{record.model}/{name} version {record.version}, {size_text(record.size)}")


@click.command()
@options.model
@options.name
@click.argument("file", metavar="FILE|-")
@options.model_type
@options.common
def append(*, model: str, name: str, file: str, model_type: str | None, repo_dir: Path | None, as_json: bool) -> None:
    """Add to the end of streaming data.

    Example: journalctl -u web | bayou data append web-01 journal -
    """
    terminal = Terminal(as_json)
    with opened(repo_dir, terminal) as datastore:
        record = datastore.append(model, name, sys.stdin.buffer if file == "-" else Path(file), type=model_type)
        _tell(terminal, record.to_dict(), f"{record.model}/{name} version {record.version}, {size_text(record.size)}")


@click.command()
@options.model
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@options.common
def rename(*, model: str, old: str, new: str, repo_dir: Path | None, as_json: bool) -> None:
    """Give an artifact another name; whoever asks for the old one is led to it. Older versions stay under the old name.

    Example: bayou data rename prod-vpc state network-state
    """
    terminal = Terminal(as_json)
    with opened(repo_dir, terminal) as datastore:
        before = datastore.latest(model, old)
        record = datastore.rename(model, old, new)
        document = {
            "oldName": old,
            "newName": new,
            "modelId": record.model_id,
            "modelName": record.model_name,
            "modelType": record.model_type,
            "copiedVersion": before.version,
            "newVersion": record.version,
            "warning": f"Only version {before.version} was copied; older versions stay under {old!r}.",
        }
    _tell(terminal, document, f"{old} is called {new} now")


COMMANDS = (write, append, rename)


def _trouble(record: Record) -> str | None:
    """Why the content is not what its type says, as far as queries look into it."""
    if record.content_type != JSON or record.streaming or record.size > LARGEST:
        return None
    try:
        jsontext.check(record.read())
    except ValueError as error:
        return str(error)
    return None


def _tell(terminal: Terminal, document: dict[str, object], text: str) -> None:
    if terminal.json:
        terminal.document(document)
    else:
        terminal.say(text)
