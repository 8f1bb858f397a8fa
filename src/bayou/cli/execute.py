"""`bayou exec`: run any command, and record what it did."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from bayou.cli import options
from bayou.cli.session import opened, pairs
from bayou.cli.terminal import Terminal
from bayou.repository import executions
from bayou.repository.executions import Wanted


@click.command(name="exec", context_settings={"ignore_unknown_options": True})
@click.argument("command", metavar="-- COMMAND…", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--type", "model_type", metavar="T", required=True, help="The type of the model, as aws/ec2/vpc.")
@click.option("--model", metavar="M", required=True, help="The name of the model.")
@click.option("--method", metavar="NAME", required=True, help="What the command does with it.")
@options.text("--output", "NAME", "What its output is called; else `result`, if it is JSON.")
@click.option("--file", "files", metavar="NAME=PATH", multiple=True, help="A file that it writes, to be kept.")
@options.tags
@click.option("--rollback", is_flag=True, help="Keep nothing of it unless it succeeds.")
@options.waiting
@options.common
def execute(
    *,
    command: Sequence[str],
    model_type: str,
    model: str,
    method: str,
    output: str | None,
    files: Sequence[str],
    tags: Sequence[str],
    rollback: bool,
    lock_timeout: float | None,
    repo_dir: Path | None,
    as_json: bool,
) -> int:
    """Run a command as a method of a model: its output passes through, its exit code is ours, and all is recorded.

    Example: bayou exec --type aws/ec2/vpc --model prod-vpc --method create -- terraform output -json
    """
    terminal = Terminal(as_json)
    wanted = Wanted(
        output=output, files={name: Path(path) for name, path in pairs(files, "file").items()}, tags=pairs(tags, "tag")
    )
    with opened(repo_dir, terminal, lock_timeout=lock_timeout) as datastore:
        started = datastore.model(model_type, model).run(method, rollback=rollback, with_log=True)
        # With --json stdout is for one document; what the command prints goes the way of its errors.
        stdout = sys.stderr.buffer if as_json else sys.stdout.buffer
        ended, records = executions.execute(started, command, wanted, stdout=stdout, notice=terminal.warn)
        if as_json:
            document = {
                "id": started.id,
                "modelId": started.model.id,
                "modelName": model,
                "modelType": str(started.model.type),
                "methodName": method,
                "status": str(started.output.status),
                "exitCode": ended.exit_code,
                "durationMs": started.output.duration_ms,
                "logFile": started.output.log_file,
                "artifacts": [{"name": r.name, "version": r.version, "contentType": r.content_type} for r in records],
            }
            terminal.document(document)
        else:
            kept = ", ".join(f"{record.name} version {record.version}" for record in records)
            error = started.output.error
            why = f" ({error.message.splitlines()[0]})" if error else ""
            terminal.say(f"{started.model}: {method} {started.output.status}{why}" + (f"; kept {kept}" if kept else ""))
    return ended.exit_code
