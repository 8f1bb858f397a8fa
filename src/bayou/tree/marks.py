"""Marks: whoever syncs the tree hears of every change before it is made, and again when it is done."""

from collections.abc import Callable, Sequence
from typing import Protocol

Close = Callable[[], None]


class Marks(Protocol):
    """Paths are relative to the namespace; a folder stands for all that is in it."""

    def changing(self, paths: Sequence[str]) -> Close:
        """Note that these are about to be written. What it returns is called when they are."""

    def removing(self, paths: Sequence[str]) -> Close:
        """Note that these are about to be removed on purpose: without that, nothing is removed elsewhere."""


class _Unmarked:
    def changing(self, paths: Sequence[str]) -> Close:  # noqa: ARG002 - nobody listens
        return _nothing

    removing = changing


def _nothing() -> None:
    pass


UNMARKED: Marks = _Unmarked()
"""For a datastore that nobody syncs."""
