"""Connecting: from a datastore to the two ends of a sync, for as long as one call takes."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

import msgspec

from bayou.config import Settings
from bayou.layout.keys import Keyspace
from bayou.locks import Locks, Waiting, open_cells
from bayou.remotes import ObjectRemote
from bayou.storage import Abilities, Ability, Patience, Prefix, Store, Tally, connect, probe
from bayou.sync.ends import Ends, installing
from bayou.sync.journal import Journal
from bayou.tree import Tree

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
class Connected:
    ends: Ends
    tally: Tally
    """What was asked of the store, without its locks."""


@asynccontextmanager
async def connected(local: Local, *, writes: bool, patience: Patience | None = None) -> AsyncIterator[Connected]:
    """Both ends. Who `writes` knows before whether the store honours conditions: it is asked once, and remembered."""
    settings, journal = local.settings, local.journal
    tally = Tally()
    async with connect(
        settings.location,
        concurrency=max(settings.pull_concurrency, settings.push_concurrency),
        request_seconds=settings.request_timeout_ms / 1000,
        patience=patience,
        tally=tally,
    ) as store:
        known = remembered(journal)
        abilities = known or (await ask(settings, store) if writes else None)
        several = Ability.UNKNOWN if abilities is None else abilities.several_writers
        conditional = several is not Ability.NO
        if writes and not conditional:
            local.notice(_SINGLE_WRITER)
        with (
            _locks(local, several) as locks,
            ObjectRemote(
                store,
                settings.namespace,
                cache=journal.place.cache,
                conditional=conditional,
                width=settings.push_concurrency,
            ) as remote,
        ):
            ends = Ends(
                journal,
                remote,
                locks,
                local.tree,
                installing(local.tree, journal),
                prefix=getattr(settings.location, "prefix", ""),
                conditional=conditional,
                pulls=settings.pull_concurrency,
                pushes=settings.push_concurrency,
            )
            try:
                yield Connected(ends, tally)
            finally:
                if abilities is not None and known is None and several is not Ability.UNKNOWN:
                    journal.reports.set_note(_ABILITIES, msgspec.json.encode(abilities))


def remembered(journal: Journal) -> Abilities | None:
    """What this store was seen to do."""
    note = journal.reports.note(_ABILITIES)
    return None if note is None else msgspec.json.decode(note, type=Abilities)


async def ask(settings: Settings, store: Store) -> Abilities:
    """See what the store does. Nothing is tried outside of the namespace."""
    return await probe(Prefix(store, settings.namespace) if settings.namespace else store)


def _locks(local: Local, several: Ability) -> Locks:
    settings = local.settings

    def waiting(news: Waiting) -> None:
        local.notice(f"waiting for {news.holder}, who has the lock {news.lock_key!r}")

    return Locks(
        partial(open_cells, settings.location, several_writers=several),
        Keyspace(settings.namespace),
        timeout=settings.lock_timeout_ms / 1000,
        notice=waiting,
        trouble=lambda error: local.notice(f"a lock could not be given back, and ends by itself: {error}"),
    )
