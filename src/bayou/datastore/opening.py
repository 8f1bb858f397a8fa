"""From what a user names to a datastore: a repo, a folder, a URL, or nothing at all."""

import hashlib
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bayou import config
from bayou.config import Arguments, Folder, Settings, urls
from bayou.config.locations import Mongo
from bayou.datastore.datastore import Datastore
from bayou.errors import ErrorKind, Unsupported, UsageError
from bayou.layout.places import CATALOG, LOCAL, MARKER
from bayou.storage.oserrors import translated
from bayou.tree import UNMARKED, Tree
from bayou.tree.tiers import Tiers

Notice = Callable[[str], None]


def open(  # noqa: A001, PLR0913 - `bayou.open` is what it is called
    where: str | os.PathLike[str] | None = None,
    *,
    repo: str | os.PathLike[str] | None = None,
    namespace: str | None = None,
    durable: bool | None = None,
    writable: bool | None = None,
    lock_timeout: float | None = None,
    notice: Notice | None = None,
) -> Datastore:
    """Open a datastore: that of the nearest repo upwards, of the repo at a path, or the one at a path or URL.

    `repo` names a repo where `where` might mean a folder. What is opened without a repo is read-only unless `writable`
    says otherwise. `durable=False` leaves out the syncs to the disk. `lock_timeout` is how many seconds to wait for
    locks at most, 0 not to wait at all. `notice` hears what is worth knowing but is no
    error; else that goes to the logger `bayou`.
    """
    root = Path(repo) if repo is not None else _repo_at(where)
    named = None if where is None or root else os.fspath(where)
    # 1 ms is one try.
    lock_timeout_ms = None if lock_timeout is None else max(1, round(lock_timeout * 1000))
    settings = load(
        Arguments(repo_dir=root, datastore=named, namespace=namespace, durable=durable, lock_timeout_ms=lock_timeout_ms)
    )
    say = notice or logging.getLogger("bayou").warning
    for warning in settings.warnings:
        say(warning)
    return open_settings(settings, writable=writable, notice=say)


def load(arguments: Arguments) -> Settings:
    """The settings of a session that begins here."""
    return config.load(Path.cwd(), os.environ, arguments, home=Path.home())


def open_settings(settings: Settings, *, writable: bool | None = None, notice: Notice) -> Datastore:
    """Open the datastore that these settings describe."""
    places = _places(settings)
    tiers = Tiers(settings.directories, settings.exclude)
    journal = None
    if places.is_cache:
        from bayou.sync.journal import Journal  # noqa: PLC0415 - a folder needs none

        journal = Journal(places.shared, settings.namespace, tiers=tiers, notice=notice)
    tree = Tree(
        places.shared,
        places.local,
        namespace=settings.namespace,
        tiers=tiers,
        durable=settings.durable,
        marks=UNMARKED if journal is None else journal,
    )
    may_write = places.is_ours if writable is None else writable
    return Datastore(settings, tree, places.catalog, writable=may_write, notice=notice, journal=journal)


def _repo_at(where: str | os.PathLike[str] | None) -> Path | None:
    if where is None or (isinstance(where, str) and (urls.is_url(where) or urls.is_typed(where))):
        return None
    path = Path(where).expanduser().absolute()
    return path if (path / MARKER).is_file() else None


class _Places(NamedTuple):
    shared: Path
    local: Path
    catalog: Path
    is_ours: bool
    """Whether it is the datastore of a repo."""
    is_cache: bool = False
    """Whether it mirrors another place, which a sync keeps in step."""


def _places(settings: Settings) -> _Places:
    location = settings.location
    if isinstance(location, Mongo):
        raise Unsupported(
            f"{urls.displayed(location)}: this release does not work on MongoDB yet",
            kind=ErrorKind.UNSUPPORTED,
            remedy="Configure a folder, S3, GCS or Azure in .swamp.yaml.",
        )
    if settings.repo is not None and settings.is_of_repo:
        local, catalog = settings.repo / LOCAL, settings.repo / CATALOG
        if not isinstance(location, Folder):
            return _Places(_cache(settings.cache or _own(settings)), local, catalog, is_ours=True, is_cache=True)
        if location.path == local:
            local.mkdir(exist_ok=True)  # git does not keep it, so a clone has none
        return _Places(_existing(location.path), local, catalog, is_ours=True)
    # A catalog speaks of one datastore, so one that is only named has its own, whichever repo we stand in.
    local = _own(settings)
    catalog = local / Path(CATALOG).name
    if not isinstance(location, Folder):
        return _Places(_cache(local / "cache"), local, catalog, is_ours=False, is_cache=True)
    return _Places(_existing(location.path), local, catalog, is_ours=False)


def _own(settings: Settings) -> Path:
    """Where this machine keeps what it knows of a datastore that belongs to no repo."""
    location = settings.location
    named = os.path.realpath(location.path) if isinstance(location, Folder) else urls.render(location)
    digest = hashlib.sha256(os.fsencode(named)).hexdigest()[:16]
    return settings.user_folder / "stores" / digest


def _cache(folder: Path) -> Path:
    with translated(str(folder)):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def _existing(folder: Path) -> Path:
    if folder.is_dir():
        return folder
    # Never created: a missing one may be a missing mount.
    raise UsageError(
        f"the folder {str(folder)!r} does not exist or is not a folder",
        kind=ErrorKind.CONTAINER_MISSING,
        remedy=f"Mount it, or create it with: mkdir -p {folder}",
    )
