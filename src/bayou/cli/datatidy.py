"""`bayou data delete|gc|prune`: what goes, shown before it does."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol

import click

from bayou.cli import options
from bayou.cli.session import confirmed, opened
from bayou.cli.terminal import Terminal, size_text
from bayou.errors import UsageError

PARTLY = 3
"""The exit code for what was done in part."""


@click.command()
@options.model
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--version", metavar="N", type=int, help="This version only.")
@options.text("--prefix", "P", "All names that begin like this.")
@click.option("--all", "everything", is_flag=True, help="All names of the model.")
@options.dry_run
@options.yes
@options.waiting
@options.common
def delete(
    *,
    model: str,
    name: str | None,
    version: int | None,
    prefix: str | None,
    everything: bool,
    dry_run: bool,
    yes: bool,
    lock_timeout: float | None,
    repo_dir: Path | None,
    as_json: bool,
) -> int:
    """Delete an artifact, one version of it, or many artifacts.

    Example: bayou data delete prod-vpc state --version 3 --yes
    """
    terminal = Terminal(as_json)
    ways = (name is not None, everything, prefix is not None)
    if sum(ways) != 1 or prefix == "" or (version is not None and name is None):
        remedy = "Give a NAME, with --version N or without, or --prefix, or --all."
        raise UsageError("it is not clear what to delete", remedy=remedy)
    with opened(repo_dir, terminal, lock_timeout=lock_timeout) as datastore:
        targets = datastore.tidying.targets(model, name, version=version, prefix=prefix or "")
        owner = targets[0].key.model if targets else datastore.find_model(model)
        of_model = {"modelId": owner.id, "modelName": owner.name or "", "modelType": str(owner.type)}
        if dry_run:
            document = {**of_model, "totalDeleted": len(targets), "failed": [], "dryRun": True}
            document["dataNames"] = [target.key.name for target in targets]
            _show(terminal, document, f"would delete {', '.join(map(str, targets)) or 'nothing'}")
            return 0
        question = f"Delete {targets[0] if len(targets) == 1 else f'{len(targets)} artifacts of {owner}'}?"
        if not confirmed(question, yes=yes, terminal=terminal):
            _show(terminal, {"cancelled": True}, "nothing was deleted")
            return 0
        deleted = datastore.tidying.delete_each(targets)
    if not deleted.versions and deleted.failures:
        raise next(iter(deleted.failures.values()))
    versions = sum(map(len, deleted.versions.values()))
    if name is not None:
        document = {
            **of_model,
            "dataName": name,
            **({"version": version} if version else {}),
            "versionsDeleted": versions,
        }
    else:
        failed = [{"dataName": target.key.name, "error": str(error)} for target, error in deleted.failures.items()]
        document = {
            **of_model,
            "totalDeleted": len(deleted.versions),
            "totalVersionsDeleted": versions,
            "failed": failed,
            "dryRun": False,
        }
    for target, error in deleted.failures.items():
        terminal.warn(f"{target}: {error}")
    _show(terminal, document, f"deleted {versions} versions of {len(deleted.versions)} artifacts")
    return PARTLY if deleted.failures else 0


@click.command()
@options.dry_run
@options.yes
@options.waiting
@options.common
def gc(*, dry_run: bool, yes: bool, lock_timeout: float | None, repo_dir: Path | None, as_json: bool) -> int:
    """Remove what has expired, and the versions that their retention lets go.

    Example: bayou data gc --dry-run
    """
    terminal = Terminal(as_json)
    with opened(repo_dir, terminal, lock_timeout=lock_timeout) as datastore:
        plan = datastore.tidying.plan_gc()
        carry_out = partial(datastore.tidying.gc, plan)
        return _carried_out(carry_out, dry_run=dry_run, yes=yes, terminal=terminal)


@click.command()
@options.dry_run
@options.yes
@options.waiting
@options.common
def prune(*, dry_run: bool, yes: bool, lock_timeout: float | None, repo_dir: Path | None, as_json: bool) -> int:
    """Remove the data of models that are defined nowhere any more.

    Example: bayou data prune --dry-run
    """
    terminal = Terminal(as_json)
    with opened(repo_dir, terminal, lock_timeout=lock_timeout) as datastore:
        plan = datastore.tidying.plan_prune()
        carry_out = partial(datastore.tidying.prune, plan)
        return _carried_out(carry_out, dry_run=dry_run, yes=yes, terminal=terminal)


COMMANDS = (delete, gc, prune)


class _Outcome(Protocol):
    """What removed things, or would."""

    def to_dict(self) -> dict[str, object]: ...


def _carried_out(carry_out: Callable[..., _Outcome], *, dry_run: bool, yes: bool, terminal: Terminal) -> int:
    """Show what would go, ask, and let it go; the exit code."""
    document = carry_out(dry_run=True).to_dict()
    if not dry_run:
        if not _agreed(document, yes=yes, terminal=terminal):
            return 0
        document = carry_out().to_dict()
    return _told(terminal, document)


def _agreed(document: dict[str, object], *, yes: bool, terminal: Terminal) -> bool:
    """Whether to go on. Where there is nothing to do there is nothing to ask."""
    if not document["versionsDeleted"] or confirmed(f"Remove {_summary(document)}?", yes=yes, terminal=terminal):
        return True
    _show(terminal, {"cancelled": True}, "nothing was removed")
    return False


def _told(terminal: Terminal, document: dict[str, object]) -> int:
    would = "would remove" if document["dryRun"] else "removed"
    failed = document.get("failed") or []
    _show(
        terminal,
        document,
        f"{would} {_summary(document)}" if document["versionsDeleted"] or failed else "Nothing to clean up.",
    )
    for failure in failed:  # type: ignore[attr-defined] # a list of documents
        terminal.warn(f"{failure['data']}: {failure['error']}")
    return PARTLY if failed else 0


def _summary(document: dict[str, object]) -> str:
    return f"{document['versionsDeleted']} versions, {size_text(int(str(document['bytesReclaimed'])))}"


def _show(terminal: Terminal, document: dict[str, object], text: str) -> None:
    if terminal.json:
        terminal.document(document)
    else:
        terminal.say(text)
