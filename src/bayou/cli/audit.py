"""`bayou audit …`: which commands were run."""

import json
import sys
from pathlib import Path

import click

from bayou.cli import options
from bayou.cli.session import opened
from bayou.cli.terminal import Terminal
from bayou.errors import BayouError
from bayou.repository.hooks import heard


@click.group()
def audit() -> None:
    """The log of commands."""


@audit.command()
@click.argument("command", metavar="[COMMAND]", default="")
@click.option("--exit-code", metavar="N", type=int, help="How it ended.")
@options.text("--error", "TEXT", "What it said when it failed.")
@options.text("--session", "ID", "Of which session.")
@click.option("--from-hook", is_flag=True, help="Read what an agent's hook says, on stdin.")
@options.repo_dir
def record(
    *,
    command: str,
    exit_code: int | None,
    error: str | None,
    session: str | None,
    from_hook: bool,
    repo_dir: Path | None,
) -> None:
    """Record a command. It fails nothing: what goes wrong is said, and that is all.

    Example: bayou audit record 'terraform apply' --exit-code 1
    """
    terminal = Terminal()
    try:
        with opened(repo_dir, terminal) as datastore:
            if from_hook:
                found = heard(_document(sys.stdin.read()))
                problem = found and datastore.audit.record(
                    found.command, exit_code=found.exit_code, session=found.session, cwd=found.cwd
                )
            else:
                problem = datastore.audit.record(command, exit_code=exit_code, error=error, session=session)
        if problem:
            terminal.warn(problem)
    except BayouError as failure:
        terminal.warn(f"not recorded in the audit log: {failure}")


@audit.command(name="list")
@click.option("--hours", metavar="N", type=click.IntRange(min=1), default=24, show_default=True, help="How far back.")
@click.option("--all", "everything", is_flag=True, help="Also what only looks around: ls, cat, git status.")
@options.text("--session", "ID", "Of this session only.")
@click.option("--include-diagnostic", is_flag=True, help="Also what checks of the recording left.")
@options.limit(100)
@options.common
def listing(
    *,
    hours: int,
    everything: bool,
    session: str | None,
    include_diagnostic: bool,
    limit: int,
    repo_dir: Path | None,
    as_json: bool,
) -> None:
    """List the commands that were run, oldest first.

    Example: bayou audit list --hours 48
    """
    terminal = Terminal(as_json)
    with opened(repo_dir, terminal) as datastore:
        document = datastore.audit.timeline(
            hours=hours, session=session, with_noise=everything, with_diagnostic=include_diagnostic
        )
    if as_json:
        terminal.document(document.to_dict())
        return
    entries = document.entries
    rows = [(e["timestamp"], e["source"], e["status"], e["summary"]) for e in entries[-limit:] if limit]
    terminal.table(("time", "by", "status", "command"), rows, footer=f"{len(entries)} commands in {hours} hours")


@audit.command()
@options.common
def verify(*, repo_dir: Path | None, as_json: bool) -> int:
    """Check that no line of the logs was changed, removed or put in.

    Example: bayou audit verify
    """
    terminal = Terminal(as_json)
    with opened(repo_dir, terminal) as datastore:
        found = datastore.audit.verify()
    broken = [one for one in found if one.breaks]
    if as_json:
        logs = [
            {"path": one.path, "lines": one.lines, "unlinked": one.unlinked, "breaks": list(one.breaks)}
            for one in found
        ]
        terminal.document({"logs": logs, "healthy": not broken})
    else:
        rows = [(one.path, one.lines, one.unlinked, ", ".join(map(str, one.breaks))) for one in found]
        terminal.table(("log", "lines", "unlinked", "broken at line"), rows)
    return 4 if broken else 0


def _document(text: str) -> dict[str, object]:
    """What a hook says. One that says nothing sensible is no reason to stop anybody's work."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
