"""Which source declares the datastore, and what it says: an argument, the environment, the marker, or nobody."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bayou.config import environment, typed, urls
from bayou.config.block import Block
from bayou.config.declaration import config_of, read
from bayou.config.locations import Folder, Location
from bayou.config.marker import Marker
from bayou.config.marker import read as read_marker
from bayou.config.paths import resolved
from bayou.config.repo import user_folder
from bayou.config.settings import Origin, Source
from bayou.config.wording import escaped
from bayou.errors import ErrorKind, NotFound
from bayou.layout.places import LOCAL, MARKER


@dataclass(frozen=True, slots=True)
class Declared:
    """What one source says about the datastore: where it is, and the blocks to read its other settings from."""

    origin: Origin
    location: Location
    block: Block
    config: Block


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a declaration is read against: the folder of the session, its repo, the environment."""

    start: Path
    repo: Path | None
    environ: Mapping[str, str]
    home: Path
    plugins: Callable[[], Iterable[str]]


def declared(argument: str | None, marker: Marker | None, around: Surroundings) -> Declared:
    if argument is not None:
        return _by_argument(argument, around)
    if text := around.environ.get(environment.DATASTORE):
        return _by_variable(text, around)
    if around.repo is None or marker is None:
        if around.start / LOCAL not in {around.home / LOCAL, user_folder(around.environ, around.home)}:
            read_marker(around.start)  # complains about half a repo, which says more than that there is none
        raise NotFound(
            escaped(f"{around.start} is not in a repo: neither it nor a folder above it has a {MARKER}"),
            kind=ErrorKind.REPO_MISSING,
            remedy=f"Run `bayou init`, name the repo with {environment.REPO_DIR}, or name a datastore such as s3://bucket/prefix.",
        )
    block = marker.block().block("datastore")
    if marker.values.get("datastore") is None:
        return Declared(Origin(Source.DEFAULT), Folder(around.repo / LOCAL), block, block)
    return _by_block(block, Origin(Source.MARKER, str(marker.path)), around.repo, around)


def _by_argument(text: str, around: Surroundings) -> Declared:
    where = "the datastore argument"
    if urls.is_url(text):
        return _by_url(text, Origin(Source.URL), where)
    # A path that somebody types is relative to where they stand; a path in the environment belongs to the repo.
    values = typed.parse(text, where=where) if urls.is_typed(text) else {"type": Folder.type, "path": text}
    return _by_block(Block(values, where=where), Origin(Source.ARGUMENT, "datastore"), around.start, around)


def _by_variable(text: str, around: Surroundings) -> Declared:
    where = environment.DATASTORE
    kind, _, value = text.partition(":")
    if value.startswith("//") and kind != Folder.type:
        return _by_url(text, Origin(Source.ENVIRONMENT, where), where)
    block = Block(typed.parse(text, where=where), where=where)
    return _by_block(block, Origin(Source.ENVIRONMENT, where), around.repo or around.start, around)


def _by_url(text: str, origin: Origin, where: str) -> Declared:
    nothing = Block({}, where=where)
    return Declared(origin, urls.parse(text), nothing, nothing)


def _by_block(block: Block, origin: Origin, base: Path, around: Surroundings) -> Declared:
    def folder(path: str) -> Path:
        return resolved(path, base=base, environ=around.environ, home=around.home)

    config = config_of(block)
    return Declared(origin, read(block, config, folder=folder, plugins=around.plugins), block, config)
