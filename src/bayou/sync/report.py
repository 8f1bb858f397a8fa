"""The report of a sync: what it did, what it left, and why. For people and for programs."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from bayou.domain.plan import Stop

Progress = Callable[["Amount"], None]


@dataclass(slots=True)
class Amount:
    """How far the transfers are. `files` and `bytes` are what is known to be ahead."""

    files: int = 0
    bytes: int = 0
    files_done: int = 0
    bytes_done: int = 0
    since: float = field(default_factory=time.monotonic)

    @property
    def rate(self) -> float:
        """Bytes a second."""
        return self.bytes_done / max(time.monotonic() - self.since, 1e-9)


@dataclass(slots=True)
class Renumbered:
    """Our version of a number that was taken has another one now."""

    path: str
    to: str


@dataclass(slots=True)
class Report:
    pushed: list[str] = field(default_factory=list)
    pulled: list[str] = field(default_factory=list)
    listed: list[str] = field(default_factory=list)
    """Paths whose objects the index knows only now."""
    known: int = 0
    """Files of which only the metadata was pulled: their content is fetched when somebody asks for it."""
    deleted_here: list[str] = field(default_factory=list)
    deleted_there: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    """What was kept aside."""
    renumbered: list[Renumbered] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    """Why, by path. It is tried again by the next sync."""
    skipped: dict[str, str] = field(default_factory=dict)
    """What is never synced, and why."""
    collisions: list[tuple[str, ...]] = field(default_factory=list)
    stop: Stop | None = None
    deletions: int = 0
    """How many, where that is why it stopped."""
    amount: Amount = field(default_factory=Amount)
    progress: Progress = lambda _: None

    @property
    def is_complete(self) -> bool:
        return not self.failed and self.stop is None

    def expect(self, files: int, size: int = 0) -> None:
        self.amount.files += files
        self.amount.bytes += size
        self.progress(self.amount)

    def moved(self, size: int) -> None:
        self.amount.bytes_done += size
        self.progress(self.amount)

    def done(self, files: int = 1) -> None:
        self.amount.files_done += files
        self.progress(self.amount)
