"""`bayou runs …`: what was executed, and what became of it."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from bayou.cli import options
from bayou.cli.session import confirmed, opened
from bayou.cli.terminal import Terminal, size_text
from bayou.datastore.recorded import Recorded
from bayou.domain.outputs import Output, OutputStatus
from bayou.domain.runs import RunStatus, RunSummary
from bayou.errors import UsageError
from bayou.repository.outputs import Unreadable

_STATES = sorted({state.value for state in (*OutputStatus, *RunStatus)})


@click.group()
def runs() -> None:
    """What was executed: methods of models, and runs of workflows."""


@runs.command(name="list")
@options.text("--model", "M", "Of this model only.")
@options.text("--method", "NAME", "Of this method only.")
@click.option("--status", multiple=True, type=click.Choice(_STATES), help="In this state only; may be repeated.")
@options.text("--since", "D", "Not older than this: 7d, 12h.")
@click.option("--workflows", is_flag=True, help="Runs of workflows instead of methods.")
@options.limit(50)
@options.text("--after", "KEY", "What the page before said is next.")
@options.common
def listing(
    *,
    model: str | None,
    method: str | None,
    status: Sequence[str],
    since: str | None,
    workflows: bool,
    limit: int,
    after: str | None,
    repo_dir: Path | None,
    as_json: bool,
) -> None:
    """List what was executed, newest first.

    Example: bayou runs list --model prod-vpc --status failed
    """
    terminal = Terminal(as_json)
    with opened(repo_dir, terminal) as datastore:
        show = _workflow_runs if workflows else _method_runs
        listed = show(datastore.runs, model=model, method=method, status=status, since=since, limit=limit, after=after)
        for unreadable in listed.unreadable:
            terminal.warn(f"{unreadable.path}: {unreadable.why}")
    if as_json:
        terminal.document({"runs": listed.documents, "next": listed.next})
        return
    terminal.table(listed.columns, listed.rows, footer=f"more with: --after '{listed.next}'" if listed.next else "")


@runs.command()
@click.argument("prefix", metavar="ID")
@click.option("--log", is_flag=True, help="Its log instead.")
@options.common
def show(*, prefix: str, log: bool, repo_dir: Path | None, as_json: bool) -> None:
    """Show one execution of a method, or one run of a workflow, or its log.

    Example: bayou runs show 0d2b4f7a --log
    """
    terminal = Terminal(as_json)
    with opened(repo_dir, terminal) as datastore:
        if log:
            for chunk in datastore.runs.log(prefix):
                sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
            return
        document = datastore.runs.show(prefix)
    if as_json:
        terminal.document(document)
        return
    terminal.table(("field", "value"), [item for item in document.items() if item[1] not in ("", {}, [], None)])


@runs.command()
@options.text("--older-than", "D", "What ended longer ago than this.", default="30d", show_default=True)
@options.dry_run
@options.yes
@options.waiting
@options.common
def gc(
    *, older_than: str, dry_run: bool, yes: bool, lock_timeout: float | None, repo_dir: Path | None, as_json: bool
) -> int:
    """Remove the records of what ended long ago. Data that is bound to a run expires with it at the next `data gc`.

    Example: bayou runs gc --older-than 90d --dry-run
    """
    terminal = Terminal(as_json)
    with opened(repo_dir, terminal, lock_timeout=lock_timeout) as datastore:
        plan = datastore.runs.gc(older_than=older_than, dry_run=True)
        document = plan.report(dry_run=True)
        count = int(str(document["workflowRunsDeleted"])) + int(str(document["outputsDeleted"]))
        if not dry_run:
            if count and not confirmed(f"Remove {count} records?", yes=yes, terminal=terminal):
                terminal.document({"cancelled": True}) if as_json else terminal.say("nothing was removed")
                return 0
            plan = datastore.runs.gc(older_than=older_than)
            document = plan.report(dry_run=False)
    for failure in plan.failed:
        terminal.warn(f"{failure.path}: {failure.why}")
    if as_json:
        terminal.document(document)
    else:
        size = size_text(int(str(document["totalBytesReclaimed"])))
        terminal.say(
            f"{'would remove' if dry_run else 'removed'} {count} records, {size}" if count else "Nothing to clean up."
        )
    return 3 if plan.failed and not dry_run else 0


class _Listed(NamedTuple):
    documents: list[dict[str, Any]]
    columns: tuple[str, ...]
    rows: Sequence[tuple[object, ...]]
    unreadable: Sequence[Unreadable]
    next: str | None


def _method_runs(  # what one may ask for
    recorded: Recorded,
    *,
    model: str | None,
    method: str | None,
    status: Sequence[str],
    since: str | None,
    limit: int,
    after: str | None,
) -> _Listed:
    wanted = [OutputStatus(one) for one in status]
    page = recorded.methods(model=model, method=method, statuses=wanted, since=since, limit=limit, after=after)
    documents = [
        {"modelType": found.model_type, **_present(found.output), "stale": recorded.is_stale(found)}
        for found in page.records
    ]
    rows = [
        (d["startedAt"], d["modelType"], d["methodName"], _status(d), d.get("durationMs"), d["id"]) for d in documents
    ]
    return _Listed(documents, ("started", "type", "method", "status", "ms", "id"), rows, page.unreadable, page.next)


def _workflow_runs(
    recorded: Recorded,
    *,
    model: str | None,
    method: str | None,
    status: Sequence[str],
    since: str | None,
    limit: int,
    after: str | None,
) -> _Listed:
    if model or method:
        raise UsageError("--model and --method are about executions of methods", remedy="Leave out --workflows.")
    page = recorded.workflows(statuses=[RunStatus(one) for one in status], since=since, limit=limit, after=after)
    documents = [{**_present(found.run), "stale": recorded.is_stale(found)} for found in page.runs]
    rows = [(d.get("startedAt"), d["workflowName"], _status(d), d["id"]) for d in documents]
    return _Listed(documents, ("started", "workflow", "status", "id"), rows, page.unreadable, page.next)


def _present(record: Output | RunSummary) -> dict[str, Any]:
    return {key: value for key, value in msgspec.to_builtins(record).items() if value is not None}


def _status(document: dict[str, object]) -> str:
    return f"{document['status']} (its process is gone)" if document["stale"] else str(document["status"])
