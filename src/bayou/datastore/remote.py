"""The remote of a repo: its bucket, opened with the locks and the cache that go with it, for one piece of work."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from bayou.config import Folder, Settings
from bayou.config.urls import displayed
from bayou.errors import ErrorKind, Unsupported, UsageError
from bayou.layout.keys import Keyspace
from bayou.layout.places import LOCAL
from bayou.locks import Locks, Waiting, open_cells
from bayou.remotes import ObjectRemote
from bayou.storage import Ability, Prefix, Store, connect
from bayou.storage.probing import probe
from bayou.sync.ends import Ends, installing
from bayou.sync.journal import Journal
from bayou.tree import Tree
from bayou.tree.tiers import Tiers

Notice = Callable[[str], None]


@asynccontextmanager
async def connected(settings: Settings, notice: Notice, *, writes: bool) -> AsyncIterator[Ends]:
    """Both ends of a sync. Whoever writes has the store probed first: some ignore the conditions of a write."""
    cache, repo = _places(settings)
    async with bucket(settings) as store:
        several = await abilities(settings, store) if writes else Ability.UNKNOWN
        tiers = Tiers(settings.directories, settings.exclude)
        conditional = several is not Ability.NO
        remote = ObjectRemote(
            store, settings.namespace, cache=cache, conditional=conditional, width=settings.push_concurrency
        )
        with (
            Journal(cache, settings.namespace, tiers=tiers, notice=notice) as journal,
            locks(settings, settings.namespace, several, notice) as held,
            remote,
        ):
            tree = Tree(
                cache,
                repo / LOCAL,
                namespace=settings.namespace,
                tiers=tiers,
                durable=settings.durable,
                marks=journal,
            )
            yield Ends(
                journal,
                remote,
                held,
                tree,
                installing(tree, journal),
                prefix=getattr(settings.location, "prefix", ""),
                conditional=conditional,
                pulls=settings.pull_concurrency,
                pushes=settings.push_concurrency,
            )


def bucket(settings: Settings) -> Store:
    """The store itself, which is the caller's to close."""
    return connect(
        settings.location,
        concurrency=max(settings.pull_concurrency, settings.push_concurrency),
        request_seconds=settings.request_timeout_ms / 1000,
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
