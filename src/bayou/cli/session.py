"""What a command works with: a terminal, and the datastore of the repo at hand."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from bayou.cli.progress import progress
from bayou.cli.terminal import Terminal
from bayou.config import Arguments, Settings, load
from bayou.datastore import Datastore
from bayou.datastore import open as open_datastore
from bayou.errors import UsageError


@contextmanager
def opened(repo: Path | None, terminal: Terminal, *, lock_timeout: float | None = None) -> Iterator[Datastore]:
    """The datastore. A folder that is named must be a repo itself: a parent of it is never meant."""
    with (
        progress("reading") as bar,
        open_datastore(repo=repo, lock_timeout=lock_timeout, notice=terminal.warn) as datastore,
    ):
        datastore.progress = bar
        yield datastore


def located(repo: Path | None, terminal: Terminal) -> Settings:
    """Where the datastore of the repo is, and how it is worked with; for what is done without opening it."""
    settings = load(Path.cwd(), os.environ, Arguments(repo_dir=repo), home=Path.home())
    for warning in settings.warnings:
        terminal.warn(warning)
    return settings


def pairs(given: Iterable[str], what: str) -> dict[str, str]:
    """`key=value`, as often as it was given."""
    found = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise UsageError(f"{text!r} is no {what}", remedy=f"Write a {what} as KEY=VALUE.")
        found[key] = value
    return found


def confirmed(question: str, *, yes: bool, terminal: Terminal) -> bool:
    """Whether to go on. A program that asks for JSON is never asked anything (repository spec 8.1)."""
    if yes or terminal.json:
        return True
    if not sys.stdin.isatty():
        raise UsageError(f"{question} There is nobody to ask.", remedy="Run it again with --yes.")
    return click.confirm(question, err=True)
