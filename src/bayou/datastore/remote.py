"""The remote of a repo: its bucket, opened with the locks and the cache that go with it, for one piece of work."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from bayou.config import Folder, Settings
from bayou.config.urls import displayed
from bayou.datastore import abilities
from bayou.datastore.coordination import Notice, open_locks
from bayou.errors import ErrorKind, Unsupported, UsageError
from bayou.layout.places import LOCAL
from bayou.remotes import ObjectRemote
from bayou.storage import Ability, Patience, Store, Tally, connect
from bayou.sync.ends import Ends, installing
from bayou.sync.journal import Journal
from bayou.tree import Tree
from bayou.tree.tiers import Tiers

_Result = TypeVar("_Result")

HASTE = Patience(attempts=3, deadline=15.0)
"""For whoever waits for one file."""

_SINGLE_WRITER = (
    "this store ignores the conditions of writes, so that nothing keeps two machines from overwriting each other:"
    " let only one of them write"
)


@dataclass(frozen=True, slots=True)
class Local:
    """The end on this machine."""

    settings: Settings
    journal: Journal
    tree: Tree
    notice: Notice


@dataclass(frozen=True, slots=True)
class Joined:
    ends: Ends
    tally: Tally
    """What was asked of the store, without its locks."""


@asynccontextmanager
async def connected(settings: Settings, notice: Notice, *, writes: bool) -> AsyncIterator[Ends]:
    """Both ends of a sync, of a datastore that nobody has opened."""
    cache, repo = _places(settings)
    tiers = Tiers(settings.directories, settings.exclude)
    with Journal(cache, settings.namespace, tiers=tiers, notice=notice) as journal:
        tree = Tree(
            cache, repo / LOCAL, namespace=settings.namespace, tiers=tiers, durable=settings.durable, marks=journal
        )
        async with joined(Local(settings, journal, tree, notice), writes=writes) as found:
            yield found.ends


@asynccontextmanager
async def joined(local: Local, *, writes: bool, patience: Patience | None = None) -> AsyncIterator[Joined]:
    """Both ends. Whoever writes knows before whether the store honours conditions: it is asked once, and remembered."""
    settings, journal, tally = local.settings, local.journal, Tally()
    async with bucket(settings, patience=patience, tally=tally) as store:
        known = abilities.remembered(settings)
        several = Ability.UNKNOWN if known is None else known.several_writers
        if writes:
            several = await abilities.several_writers(settings, store)
        conditional = several is not Ability.NO
        if writes and not conditional:
            local.notice(_SINGLE_WRITER)
        remote = ObjectRemote(
            store,
            settings.namespace,
            cache=journal.place.cache,
            conditional=conditional,
            width=settings.push_concurrency,
        )
        with open_locks(settings, local.notice, several_writers=several) as held, remote:
            ends = Ends(
                journal,
                remote,
                held,
                local.tree,
                installing(local.tree, journal),
                prefix=getattr(settings.location, "prefix", ""),
                url=displayed(settings.location),
                conditional=conditional,
                pulls=settings.pull_concurrency,
                pushes=settings.push_concurrency,
            )
            yield Joined(ends, tally)


def bucket(settings: Settings, *, patience: Patience | None = None, tally: Tally | None = None) -> Store:
    """The store itself, which is the caller's to close."""
    return connect(
        settings.location,
        concurrency=max(settings.pull_concurrency, settings.push_concurrency),
        request_seconds=settings.request_timeout_ms / 1000,
        patience=patience,
        tally=tally,
    )


def _places(settings: Settings) -> tuple[Path, Path]:
    if isinstance(settings.location, Folder):
        raise Unsupported(
            f"{displayed(settings.location)}: a datastore in a folder has no index, and no cache to compare it with",
            kind=ErrorKind.UNSUPPORTED,
        )
    if settings.repo is None or settings.cache is None:
        raise UsageError("this needs a repo, whose cache it works with", kind=ErrorKind.REPO_MISSING)
    return settings.cache, settings.repo


def in_a_loop(run: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
    """In a loop of its own; in a notebook, whose thread has one already, in another thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(run())
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - for notebooks only

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(run())).result()
