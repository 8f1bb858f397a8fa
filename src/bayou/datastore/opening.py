"""From what a user names to a datastore: a repo, a folder, a URL, or nothing at all."""

import hashlib
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bayou import config
from bayou.config import Arguments, Folder, Settings, Source, urls
from bayou.datastore.datastore import Datastore
from bayou.errors import ErrorKind, Unsupported, UsageError
from bayou.layout.places import CATALOG, LOCAL, MARKER
from bayou.tree import Tree
from bayou.tree.tiers import Tiers

Notice = Callable[[str], None]


def open(  # noqa: A001, PLR0913 - `bayou.open` is what it is called
    where: str | os.PathLike[str] | None = None,
    *,
    repo: str | os.PathLike[str] | None = None,
    namespace: str | None = None,
    durable: bool | None = None,
    writable: bool | None = None,
    notice: Notice | None = None,
) -> Datastore:
    """Open a datastore: that of the nearest repo upwards, of the repo at a path, or the one at a path or URL.

    `repo` names a repo where `where` might mean a folder. What is opened without a repo is read-only unless `writable`
    says otherwise. `durable=False` leaves out the syncs to the disk. `notice` hears what is worth knowing but is no
    error; else that goes to the logger `bayou`.
    """
    root = Path(repo) if repo is not None else _repo_at(where)
    named = None if where is None or root else os.fspath(where)
    arguments = Arguments(repo_dir=root, datastore=named, namespace=namespace, durable=durable)
    settings = config.load(Path.cwd(), os.environ, arguments, home=Path.home())
    say = notice or logging.getLogger("bayou").warning
    for warning in settings.warnings:
        say(warning)
    places = _places(settings)
    tree = Tree(
        places.shared,
        places.local,
        namespace=settings.namespace,
        tiers=Tiers(settings.directories, settings.exclude),
        durable=settings.durable,
    )
    may_write = places.is_ours if writable is None else writable
    return Datastore(settings, tree, places.catalog, writable=may_write, notice=say)


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


def _places(settings: Settings) -> _Places:
    location = settings.location
    if not isinstance(location, Folder):
        raise Unsupported(
            f"{config.urls.displayed(location)}: this release works on datastores in folders only",
            kind=ErrorKind.UNSUPPORTED,
            remedy="Configure a datastore of the type `filesystem`, or none, in .swamp.yaml.",
        )
    if settings.repo is not None and settings.origins["location"].source in {Source.DEFAULT, Source.MARKER}:
        local = settings.repo / LOCAL
        if location.path == local:
            local.mkdir(exist_ok=True)  # git does not keep it, so a clone has none
        return _Places(_existing(location.path), local, settings.repo / CATALOG, is_ours=True)
    # A catalog speaks of one datastore, so one that is only named has its own, whichever repo we stand in.
    digest = hashlib.sha256(os.fsencode(os.path.realpath(location.path))).hexdigest()[:16]
    local = settings.user_folder / "stores" / digest
    return _Places(_existing(location.path), local, local / Path(CATALOG).name, is_ours=False)


def _existing(folder: Path) -> Path:
    if folder.is_dir():
        return folder
    # Never created: a missing one may be a missing mount.
    raise UsageError(
        f"the folder {str(folder)!r} does not exist or is not a folder",
        kind=ErrorKind.CONTAINER_MISSING,
        remedy=f"Mount it, or create it with: mkdir -p {folder}",
    )
