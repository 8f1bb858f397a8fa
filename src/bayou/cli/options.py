"""The options and arguments that many commands share."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(?:([kmgt])i?)?b?", re.IGNORECASE | re.ASCII)

F = TypeVar("F", bound=Callable[..., Any])
Decorator = Callable[[F], F]


class Seconds(click.FloatRange):
    """How long to wait. What is no number, and what never ends, are none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401 - click's own types
        seconds = float(super().convert(value, param, ctx))
        if not math.isfinite(seconds):
            self.fail(f"{value!r} is no number of seconds.", param, ctx)
        return seconds


as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
repo_dir = click.option(
    "--repo-dir",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="The repo; else $SWAMP_REPO_DIR, else the nearest one upwards.",
)
yes = click.option("--yes", "-y", "--force", "-f", "yes", is_flag=True, help="Do not ask.")
models = click.option("--model", "models", metavar="TYPE/NAME", multiple=True, help="Only this model; again for more.")
dry_run = click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
seconds = click.option("--timeout", "seconds", metavar="S", type=Seconds(min=0), help="End after so many seconds.")
_lock_timeout = click.option(
    "--lock-timeout", metavar="SECONDS", type=Seconds(min=0), help="Wait so long for locks at most."
)
_no_wait = click.option("--no-wait", "lock_timeout", flag_value=0.0, type=float, help="Do not wait for locks.")
page = click.option("--page", type=click.IntRange(min=1), default=1, help="Which page of that many.")
tags = click.option("--tag", "tags", metavar="K=V", multiple=True, help="May be given several times.")
model_type = click.option("--type", "model_type", metavar="T", help="The type of the model, as aws/ec2/vpc.")

model = click.argument("model", metavar="MODEL")
name = click.argument("name", metavar="NAME")


def size(_ctx: click.Context, _option: click.Parameter, text: str) -> int:
    """A number of bytes, as a person writes it: `500m`, `10GiB`, `0`."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise click.BadParameter(f"{text!r} is no size; write 500M or 10GiB")
    return int(float(match[1]) * 1024 ** " kmgt".index((match[2] or " ").lower()))


def limit(default: int) -> Decorator[Any]:
    return click.option(
        "--limit", type=click.IntRange(min=0), default=default, show_default=True, help="At most so many."
    )


def common(function: F) -> F:
    """What every command has."""
    return as_json(repo_dir(function))


def waiting(function: F) -> F:
    """What a command has that takes locks."""
    return _lock_timeout(_no_wait(function))


def text(flag: str, metavar: str, help: str = "", **more: Any) -> Decorator[Any]:  # noqa: ANN401 - click's own names
    return click.option(flag, metavar=metavar, help=help, **more)
