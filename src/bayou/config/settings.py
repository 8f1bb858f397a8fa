"""The settings: one value with everything that was configured, and where each setting comes from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from bayou.config.locations import Location
from bayou.config.urls import displayed
from bayou.config.wording import escaped


class Source(StrEnum):
    """Who said it. A URL is an argument that says the datastore, and settings of it, in one text."""

    DEFAULT = "default"
    MARKER = "marker"
    ENVIRONMENT = "environment"
    ARGUMENT = "argument"
    URL = "URL"


@dataclass(frozen=True, slots=True)
class Origin:
    """A source, and which one: the path of the marker, the name of the variable or of the argument."""

    source: Source
    name: str = ""

    def __str__(self) -> str:
        return f"{self.source} {self.name}".rstrip()


class Hydration(StrEnum):
    """Whether a sync fetches the content of artifacts, or their metadata only until content is asked for."""

    FULL = "full"
    LAZY = "lazy"


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a command line or a call says. None means that it says nothing."""

    repo_dir: Path | None = None
    datastore: str | None = None
    namespace: str | None = None
    hydration: str | None = None
    sync_timeout_ms: int | None = None
    lock_timeout_ms: int | None = None
    pull_concurrency: int | None = None
    push_concurrency: int | None = None
    request_timeout_ms: int | None = None
    durable: bool | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """What one session works with. `origins` has the origin of each field up to `trace`."""

    location: Location
    namespace: str
    directories: tuple[str, ...]
    exclude: tuple[str, ...]
    hydration: Hydration
    sync_timeout_ms: int
    lock_timeout_ms: int
    pull_concurrency: int
    push_concurrency: int
    request_timeout_ms: int
    ephemeral_budget: int
    durable: bool
    """Whether a write is only done when it would outlast a power failure."""
    auto_gc: bool
    """Whether each run removes what its models' retention lets go."""
    trace: bool

    repo: Path | None
    repo_id: str | None
    user_folder: Path
    cache: Path | None
    """The cache of the repo. None for a folder, which is worked on in place, and for a datastore that the repo does not
    name itself, whose cache is found by its URL."""

    origins: Mapping[str, Origin] = field(hash=False)
    warnings: tuple[str, ...] = ()

    @property
    def is_of_repo(self) -> bool:
        """Whether it is the repo itself that says where its datastore is, or says nothing."""
        return self.repo is not None and self.origins["location"].source in {Source.DEFAULT, Source.MARKER}

    def listing(self) -> tuple[tuple[str, str, str], ...]:
        """List name, value and origin of each setting, as text that is safe to print."""
        return tuple(
            (name, escaped(_text(getattr(self, name))), escaped(str(origin))) for name, origin in self.origins.items()
        )


def _text(value: object) -> str:
    match value:
        case bool():
            return "on" if value else "off"
        case tuple():
            return ", ".join(map(str, value)) or "none"
        case str() | int():
            return str(value) or "none"
        case _:
            return displayed(value)  # type: ignore[arg-type] # the one field that is neither text, number nor list is the location
