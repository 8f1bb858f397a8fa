"""Setup: move the datastore of a repo to another place. The repo works as before until the very end, which is one
change of its marker; whatever interrupts it before, the same call goes on from there.
"""

import asyncio
import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from bayou import config
from bayou.config import Arguments, Folder, Hydration, Location, Settings, marker, urls
from bayou.config import repo as repos
from bayou.config.declaration import written
from bayou.config.locations import Mongo
from bayou.config.marker import Marker
from bayou.datastore import abilities
from bayou.datastore.coordination import open_locks
from bayou.datastore.datastore import Datastore
from bayou.datastore.migrating import Migrated, Progress, migrate, set_aside
from bayou.datastore.moving import Moving
from bayou.datastore.opening import open_settings
from bayou.datastore.remote import bucket
from bayou.datastore.synced import Synced
from bayou.domain.namespaces import SOLO, check_namespace
from bayou.errors import Conflict, Denied, ErrorKind, LockTimeout, NotFound, Unavailable, Unsupported, UsageError
from bayou.layout.places import LOCAL
from bayou.migration.carrying import Fault
from bayou.remotes import ObjectRemote
from bayou.remotes.namespaces import register
from bayou.storage import Ability
from bayou.sync.report import Progress as Transfers
from bayou.tree import Tree

Notice = Callable[[str], None]

_ASIDE = "migrated"
_KEPT = ("directories", "exclude", "syncTimeoutMs")
_WITHDRAWN = (
    "it ignores the conditions of writes: nothing keeps two machines from overwriting each other, and a writer that"
    " lost its lock is not stopped"
)


class Wishes(NamedTuple):
    """What to move to, and how. None: what suits the place."""

    url: str
    namespace: str = SOLO
    hydration: Hydration | None = None
    migrates: bool = True
    single_writer: bool = False
    seconds: float | None = None
    late_from: str | None = None
    """Where this repo was before: what others wrote there since is to be brought too."""
    content: bool = False
    """Whether what was carried out of a bucket is read back."""
    accepts_damaged: bool = False
    """Whether what is not what its index says may stay behind."""


class SetUp(NamedTuple):
    """What was done."""

    settings: Settings
    held_data: bool
    """Whether somebody's data was there before."""
    migrated: Migrated
    aside: Path | None
    """Where the files that were migrated are now."""
    synced: Synced | None
    """None for a folder, which needs no sync."""
    faults: tuple[Fault, ...] = ()
    """What is damaged in the old place, and stayed there."""

    def to_dict(self) -> dict[str, object]:
        synced = self.synced
        return {
            "type": self.settings.location.type,
            "location": urls.displayed(self.settings.location),
            "namespace": self.settings.namespace,
            "hydration": str(self.settings.hydration),
            "remoteHeldData": self.held_data,
            "filesCopied": self.migrated.files,
            "bytesCopied": self.migrated.bytes,
            "directoriesMigrated": list(self.migrated.folders),
            "sourcePath": None if self.aside is None else str(self.aside),
            "filesPushed": 0 if synced is None else len(synced.report.pushed),
            "filesPulled": 0 if synced is None else len(synced.report.pulled),
            "unhydrated": 0 if synced is None else synced.absent,
            "conflicts": [] if synced is None else synced.report.conflicts,
            "errors": {} if synced is None else synced.report.failed,
            "damaged": {fault.path: fault.trouble.value for fault in self.faults},
        }


def set_up(
    repo: Path | None,
    wishes: Wishes,
    notice: Notice,
    *,
    progress: Progress | None = None,
    transfers: Transfers | None = None,
) -> SetUp:
    """Verify the place, bring what this repo has there, and only then say in its marker where its datastore is."""
    before = config.load(Path.cwd(), os.environ, Arguments(repo_dir=repo), home=Path.home())
    plan = _planned(before, wishes)
    with open_settings(plan.old, notice=notice) as old:
        after, held_data = plan.new, False
        if not isinstance(after.location, Folder):
            held_data = asyncio.run(_verify(after, old.tree, notice, single_writer=wishes.single_writer))
            after = replace(after, hydration=_hydration(plan, wishes, held_data, notice))
        if plan.leaves_bucket:
            seconds = math.inf if wishes.seconds is None else wishes.seconds
            moving = Moving(plan.old, after, notice, transfers, seconds, wishes.content, wishes.accepts_damaged)
            return _move(plan, old, moving)
        with open_settings(after, writable=True, notice=notice) as new:
            migrated = _migrate(old.tree, new.tree, progress) if wishes.migrates else Migrated(0, 0, (), ())
            synced = _sync(new, wishes, transfers) if new.is_synced else None
            aside = None
            if synced is None or synced.report.stop is None:
                # Whoever runs in the old place comes to his end first, and what he left there comes along.
                with open_locks(plan.old, notice) as locks, locks.structure():
                    late = _migrate(old.tree, new.tree, None) if wishes.migrates else migrated
                    _switch(plan.found, after)
                    aside = _leave(plan, old.tree, new.tree) if wishes.migrates else None
                if late.files and synced is not None and late is not migrated:
                    notice(f"{late.files} files were written meanwhile: the next sync delivers them")
    return SetUp(after, held_data, migrated, aside, synced)


def _move(plan: "_Planned", old: Datastore, moving: Moving) -> SetUp:
    """Out of a bucket: from bucket to bucket, or to a folder. The cache is the same as before."""
    moved = moving.late() if plan.is_switched else moving.move(old, lambda: _switch(plan.found, moving.after))
    with open_settings(moving.after, writable=True, notice=moving.notice) as new:
        synced = new.sync() if new.is_synced else None
    migrated = Migrated(moved.files, moved.size, moved.folders, ())
    return SetUp(moving.after, False, migrated, None, synced, moved.faults)


class _Planned(NamedTuple):
    found: Marker
    old: Settings
    new: Settings
    is_switched: bool
    """By a call before, which may have been interrupted since."""

    @property
    def leaves_bucket(self) -> bool:
        """Whether what is to be moved is in a bucket."""
        return not isinstance(self.old.location, Folder)

    @property
    def is_in_repo(self) -> bool:
        return self.old.repo is not None and self.old.location == Folder(self.old.repo / LOCAL)


def _planned(before: Settings, wishes: Wishes) -> _Planned:
    if before.repo is None:
        raise NotFound(
            f"there is no repo at {Path.cwd()} or above",
            kind=ErrorKind.REPO_MISSING,
            remedy="Make one: bayou init.",
        )
    location = _location(wishes.url)
    namespace = check_namespace(wishes.namespace or before.namespace)
    if not before.is_of_repo:
        raise UsageError(
            f"the datastore is named by {before.origins['location']}, which counts more than what setup would write",
            remedy="Unset it, then run this again.",
        )
    is_switched = (location, namespace) == (before.location, before.namespace)
    if not (is_switched or isinstance(before.location, Folder)):
        _check_leaving(before, namespace, wishes)
    late = None if wishes.late_from is None else _location(wishes.late_from)
    if late is not None and not is_switched:
        raise UsageError(
            "--from brings what was written to the place where this repo was before, and it is not here yet",
            remedy=f"Leave out --from: bayou setup moves what is in {urls.displayed(before.location)}.",
        )
    found = marker.read(before.repo)
    if found is None:
        raise NotFound(f"{before.repo} is no repo any more", kind=ErrorKind.REPO_MISSING)
    if not before.repo_id:
        found = marker.save(found, {**found.values, "repoId": str(uuid4())})
    repo_id = str(found.values["repoId"])
    in_repo = replace(before, location=Folder(before.repo / LOCAL), namespace=SOLO, cache=None)
    new = replace(
        before,
        location=location,
        namespace=namespace,
        repo_id=repo_id,
        cache=None if isinstance(location, Folder) else repos.cache(before.user_folder, repo_id),
    )
    if late is not None:
        return _Planned(found, replace(new, location=late), new, is_switched)
    return _Planned(found, in_repo if is_switched else before, new, is_switched)


def _check_leaving(before: Settings, namespace: str, wishes: Wishes) -> None:
    """Out of a bucket all goes, as it is: its cache would carry it over in any case, and without its history."""
    if not wishes.migrates:
        raise UsageError(
            f"what this repo recorded is in {urls.displayed(before.location)}, and in its cache",
            remedy="Leave out --skip-migration; or make another repo for the new place: bayou init.",
        )
    if namespace != before.namespace:
        raise UsageError(
            f"this repo has the namespace {before.namespace!r} there, and keeps it",
            remedy="Leave out --namespace. Before or after, `bayou namespace` changes it.",
        )


def _location(url: str) -> Location:
    match urls.parse(url):
        case Folder(path):
            return Folder(Path(os.path.abspath(path.expanduser())))  # noqa: PTH100 - links stay as they are
        case Mongo():
            raise Unsupported("a MongoDB datastore cannot be set up yet", kind=ErrorKind.STORE_CANNOT)
        case location:
            return location


def _hydration(plan: _Planned, wishes: Wishes, held_data: bool, notice: Notice) -> Hydration:  # noqa: FBT001 - a fact
    if wishes.hydration is not None:
        return wishes.hydration
    if plan.is_switched or plan.leaves_bucket:
        return plan.new.hydration
    if held_data:
        notice("there is data already: its content is fetched when it is asked for (--hydration full fetches all)")
    return Hydration.LAZY if held_data else Hydration.FULL


async def _verify(settings: Settings, old: Tree, notice: Notice, *, single_writer: bool) -> bool:
    """Find out whether this place can be worked with, make the namespace ours, and say whether it holds anything else
    than what this repo has.
    """
    async with bucket(settings) as store:
        match await abilities.several_writers(settings, store):
            case Ability.UNKNOWN:
                raise Denied(
                    "these credentials may not write there",
                    remedy="Use credentials that may; whoever only reads opens the URL, and needs no setup.",
                )
            case Ability.NO if not single_writer:
                raise Unsupported(
                    f"this store cannot be shared by several writers: {_WITHDRAWN}",
                    kind=ErrorKind.STORE_CANNOT,
                    remedy="Use another store; or, if only one machine will ever write, give --single-writer.",
                )
            case Ability.NO:
                notice(f"this store is for a single writer: {_WITHDRAWN}")
        if settings.namespace:
            await register(store, settings.namespace, settings.repo_id or "", time.time_ns())
        with ObjectRemote(store, settings.namespace) as remote:
            there = await remote.load()
            return any(old.size(path) is None for part in there.parts for path in there.entries(part))


def _migrate(old: Tree, new: Tree, progress: Progress | None) -> Migrated:
    migrated = migrate(old, new, progress)
    if migrated.conflicts:
        more = "" if len(migrated.conflicts) < 4 else f", and {len(migrated.conflicts) - 3} more"
        raise Conflict(
            f"{new.root} holds something else at {', '.join(migrated.conflicts[:3])}{more}",
            kind=ErrorKind.ALREADY_EXISTS,
            remedy="Nothing was switched. Choose an empty place or a namespace of its own, or give --skip-migration.",
        )
    return migrated


def _sync(new: Datastore, wishes: Wishes, transfers: Transfers | None) -> Synced:
    try:
        return new.sync(seconds=math.inf if wishes.seconds is None else wishes.seconds, progress=transfers)
    except (Unavailable, LockTimeout) as error:
        error.remedy = (
            "Run the same command again: it goes on where it stopped. Until it is through, this repo works as before."
        )
        raise


def _switch(found: Marker, settings: Settings) -> None:
    there = found.values.get("datastore")
    kept = {key: there[key] for key in _KEPT if key in there} if isinstance(there, dict) else {}
    block = written(settings.location, Path.home())
    place = {"type": block.pop("type")}
    if settings.namespace:
        place["namespace"] = settings.namespace
    if settings.hydration is Hydration.LAZY:
        place["hydrationStrategy"] = str(Hydration.LAZY)
    marker.save(found, {**found.values, "datastore": {**place, **kept, **block}})


def _leave(plan: _Planned, old: Tree, new: Tree) -> Path | None:
    """Only what was in the repo itself is this repo's to move."""
    if not plan.is_in_repo:
        return None
    aside = old.local / _ASIDE
    return aside if set_aside(old, new, aside).folders else None
