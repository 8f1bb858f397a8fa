"""Locking: the locks of a datastore as a job reaches it, from wherever its driver runs."""

from collections.abc import Iterator
from contextlib import contextmanager

from bayou.config import urls
from bayou.layout.keys import Keyspace
from bayou.locks import Locks, open_cells
from bayou.locks.patience import Notice, silently
from bayou.pipelines.reach import Reach
from bayou.storage.probing import Ability


@contextmanager
def locks_of(reach: Reach, namespace: str, several: Ability, notice: Notice = silently) -> Iterator[Locks]:
    """`several` is what a probe found of the store's being fit for several writers."""
    location = urls.parse(reach.url)
    with Locks(lambda: open_cells(location, several_writers=several), Keyspace(namespace), notice=notice) as locks:
        yield locks
