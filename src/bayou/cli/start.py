"""From a command line to an exit code (docs/errors.md has the table of codes)."""

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from types import FrameType

import click

from bayou._version import __version__
from bayou.cli.terminal import Terminal
from bayou.errors import BayouError, UsageError

INTERRUPTED = 130
_OPTIONS = {"SWAMP_LOCK_TIMEOUT_MS": "--lock-timeout", "SWAMP_DATASTORE_SYNC_TIMEOUT_MS": "--timeout"}
_ENDING = (signal.SIGTERM, signal.SIGHUP)


def heed_signals() -> None:
    """Let whatever asks us to end do so like an interrupt: locks are given back, and a run is recorded as cancelled."""
    for number in _ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:  # `nohup` has SIGHUP ignored
            signal.signal(number, _end)


def _end(number: int, _frame: FrameType | None) -> None:
    for other in _ENDING:
        signal.signal(other, signal.SIG_IGN)  # once is enough, and giving back takes a moment
    sys.exit(128 + number)


def run(arguments: Sequence[str]) -> int:
    terminal = Terminal(json="--json" in _before_dashes(arguments))
    try:
        code = bayou.main(list(arguments), prog_name="bayou", standalone_mode=False)
        sys.stdout.flush()
    except BayouError as error:
        error.remedy = _fitting(error.remedy, arguments)
        terminal.failure(error)
        return error.exit_code
    except click.ClickException as error:  # what was typed makes no sense
        if terminal.json:
            terminal.failure(UsageError(error.format_message(), remedy="`--help` says what may be written."))
        else:
            error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        terminal.say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough. Nothing may be flushed into the pipe when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code if isinstance(code, int) else 0


class Commands(click.Group):
    """A group whose commands are imported when they are asked for."""

    places = {  # noqa: RUF012 - never changed
        "init": "bayou.cli.repo:init",
        "status": "bayou.cli.repo:status",
        "setup": "bayou.cli.setup:setup",
        "sync": "bayou.cli.sync:sync",
        "conflicts": "bayou.cli.conflicts:conflicts",
        "cache": "bayou.cli.cache:cache",
        "doctor": "bayou.cli.doctor:doctor",
        "data": "bayou.cli.data:data",
        "exec": "bayou.cli.execute:execute",
        "runs": "bayou.cli.runs:runs",
        "audit": "bayou.cli.audit:audit",
        "lock": "bayou.cli.lock:lock",
        "catalog": "bayou.cli.catalog:catalog",
        "verify": "bayou.cli.index:verify",
        "index": "bayou.cli.index:index",
        "namespace": "bayou.cli.namespace:namespace",
        "pipeline": "bayou.cli.pipeline:pipeline",
    }

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        place = self.places.get(cmd_name)
        if place is None:
            return None
        module, _, name = place.partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog='Shell completion: eval "$(_BAYOU_COMPLETE=bash_source bayou)", or zsh_source, or fish_source.',
)
@click.version_option(__version__, message="bayou %(version)s")
def bayou() -> None:
    """A shared, versioned, queryable datastore for automation artifacts."""


def _fitting(remedy: str, arguments: Sequence[str]) -> str:
    """A remedy as this very command can take it: with its option, if it has one for what a variable says, too."""
    command: click.Command = bayou
    for argument in arguments:
        if isinstance(command, click.Group):
            command = command.get_command(click.Context(command), argument) or command
    known = {option for parameter in command.params for option in parameter.opts}
    for variable, option in _OPTIONS.items():
        if option in known:
            remedy = remedy.replace(variable, f"{option} SECONDS, {variable}")
    return remedy


def _before_dashes(arguments: Sequence[str]) -> Sequence[str]:
    """What is ours of a command line that may hold the command line of another program."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments
