"""The two ends of a sync: a cache with its journal on this machine, a namespace of a bucket there, and the locks."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bayou.locks.front import Locks
from bayou.remotes import ObjectRemote
from bayou.storage.port import Store
from bayou.sync.journal import Journal
from bayou.tree import Tree
from bayou.tree.marks import Close


@dataclass(frozen=True, slots=True)
class Installs:
    """The marks of sync's own writes: nothing to ship, but something to look at should this process die."""

    journal: Journal

    def changing(self, paths: Sequence[str]) -> Close:
        return self.journal.installing(paths)

    removing = changing


@dataclass(frozen=True, slots=True)
class Ends:
    journal: Journal
    remote: ObjectRemote
    locks: Locks
    tree: Tree
    """The cache. What people do in it is theirs to mark; it is `installs` that sync writes through."""
    installs: Tree
    prefix: str = ""
    url: str = ""
    """Where the bucket is. The cache outlives a move of it."""
    conditional: bool = True
    """Whether the store honours conditional writes. If not, there is one writer, who relies on the index alone."""
    pulls: int = 50
    pushes: int = 25
    now: Callable[[], int] = field(default=time.time_ns)

    @property
    def namespace(self) -> str:
        return self.journal.namespace

    @property
    def store(self) -> Store:
        return self.remote.place.store

    def key(self, path: str) -> str:
        return self.remote.place.keys.data(path)

    def file(self, path: str) -> Path:
        return self.tree.root / path


def installing(tree: Tree, journal: Journal) -> Tree:
    """The same tree, as sync writes to it: whatever the index lists lies below the namespace, in no other tier."""
    return Tree(
        tree.root.parent if tree.namespace else tree.root,
        tree.root,
        namespace=tree.namespace,
        tiers=tree.tiers,
        durable=tree.durable,
        marks=Installs(journal),
    )
