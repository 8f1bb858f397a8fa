"""The remote of a repo: its bucket, opened with the locks and the cache that go with it, for one piece of work."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bayou.config import Folder, Settings
from bayou.config.urls import displayed
from bayou.errors import ErrorKind, Unsupported, UsageError
from bayou.layout.keys import Keyspace
from bayou.layout.places import LOCAL
from bayou.locks import Locks, Waiting, open_cells
from bayou.remotes import ObjectRemote
from bayou.storage import Ability, Patience, Prefix, Store, Tally, connect, probe
from bayou.sync.ends import Ends, installing
from bayou.sync.journal import Journal
from bayou.tree import Tree
from bayou.tree.tiers import Tiers

Notice = Callable[[str], None]


HASTE = Patience(attempts=3, deadline=15.0)
"""For whoever waits for one file."""

_ABILITIES = "abilities"
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
        note = journal.reports.note(_ABILITIES)
        known = None if note is None else Ability(note.decode())
        several = known or (await abilities(settings, store) if writes else Ability.UNKNOWN)
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
        with locks(settings, settings.namespace, several, local.notice) as held, remote:
            ends = Ends(
                journal,
                remote,
                held,
                local.tree,
                installing(local.tree, journal),
                prefix=getattr(settings.location, "prefix", ""),
                conditional=conditional,
                pulls=settings.pull_concurrency,
                pushes=settings.push_concurrency,
            )
            try:
                yield Joined(ends, tally)
            finally:
                if known is None and several is not Ability.UNKNOWN:
                    journal.reports.set_note(_ABILITIES, several.value.encode())


def bucket(settings: Settings, *, patience: Patience | None = None, tally: Tally | None = None) -> Store:
    """The store itself, which is the caller's to close."""
    return connect(
        settings.location,
        concurrency=max(settings.pull_concurrency, settings.push_concurrency),
        request_seconds=settings.request_timeout_ms / 1000,
        patience=patience,
        tally=tally,
    )


async def abilities(settings: Settings, store: Store) -> Ability:
    """Whether it keeps several writers apart. Nothing is tried outside of the namespace."""
    own = Prefix(store, settings.namespace) if settings.namespace else store
    return (await probe(own)).several_writers


def locks(settings: Settings, namespace: str, several: Ability, notice: Notice) -> Locks:
    def waiting(news: Waiting) -> None:
        notice(f"waiting for {news.holder}, who has the lock {news.lock_key!r}")

    return Locks(
        partial(open_cells, settings.location, several_writers=several),
        Keyspace(namespace),
        timeout=settings.lock_timeout_ms / 1000,
        notice=waiting,
        trouble=lambda error: notice(f"a lock could not be given back, and ends by itself: {error}"),
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
