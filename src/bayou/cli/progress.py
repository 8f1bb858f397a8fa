"""A bar for whatever takes more than a second, on a terminal and nowhere else."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from bayou.cli.terminal import size_text

_PATIENCE = 1.0  # seconds without a sign of life that nobody minds


class Progress(Protocol):
    def __call__(self, done: int, total: int | None = None, *, note: str = "") -> None: ...


class Moved(Protocol):
    """How far transfers are, as a sync tells it."""

    files: int
    bytes: int
    files_done: int
    bytes_done: int

    @property
    def rate(self) -> float: ...


@contextmanager
def progress(what: str) -> Iterator[Progress | None]:
    """Something to call with how much is done; None where nobody would see it."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = _Bar(what)
    try:
        yield bar
    finally:
        bar.close()


@contextmanager
def transfers(what: str) -> Iterator[Callable[[Moved], None] | None]:
    """The same for files on their way: how many of how many, how much of how much, how fast."""
    with progress(what) as bar:
        if bar is None:
            yield None
            return

        def moved(amount: Moved) -> None:
            bar(
                amount.files_done,
                amount.files,
                note=f"{size_text(amount.bytes_done)}{_of(amount)}, {size_text(int(amount.rate))}/s",
            )

        yield moved


def _of(amount: Moved) -> str:
    """Who fetches what was left elsewhere knows how many files it is, and not how large they are."""
    return f" of {size_text(amount.bytes)}" if amount.bytes >= amount.bytes_done else ""


class _Bar:
    def __init__(self, what: str) -> None:
        self._what = what
        self._started = time.monotonic()
        self._drawn: object = None

    def __call__(self, done: int, total: int | None = None, *, note: str = "") -> None:
        if self._drawn is None:
            if time.monotonic() - self._started < _PATIENCE:
                return
            self._draw()
        self._bar.update(self._task, completed=done, total=total, note=note)

    def _draw(self) -> None:
        from rich import progress as rich  # noqa: PLC0415 - rich takes 40 ms, which is nothing by now
        from rich.console import Console  # noqa: PLC0415 - as above

        columns = (
            rich.TextColumn("{task.description}"),
            rich.BarColumn(),
            rich.MofNCompleteColumn(),
            rich.TextColumn("{task.fields[note]}"),
            rich.TimeElapsedColumn(),
        )
        self._bar = rich.Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(self._what, total=None, note="")
        self._bar.start()
        self._drawn = self._bar

    def close(self) -> None:
        if self._drawn is not None:
            self._bar.stop()
