"""What all of this room works on: the files of a datastore, and the catalog that is kept in step with them."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from bayou.catalog import Catalog
from bayou.domain.artifacts import ArtifactKey
from bayou.domain.names import check_data_name
from bayou.layout.artifacts import name_folder
from bayou.repository.ephemeral import Ephemeral
from bayou.tree import Tree
from bayou.wire.times import to_text


@dataclass(frozen=True, slots=True)
class Holdings:
    """`auto_gc`: each write also drops what its own policy lets go (`autoGc` of the repo)."""

    tree: Tree
    catalog: Catalog
    auto_gc: bool = False
    clock: Callable[[], int] = time.time_ns
    ephemeral: Ephemeral | None = None
    """What the run at hand holds in memory. None outside of runs."""

    def now(self) -> str:
        return to_text(self.clock())

    def moment(self) -> datetime:
        return datetime.fromisoformat(self.now())


def folder_of(key: ArtifactKey) -> str:
    """The folder of a name, which is also what its lock is called."""
    check_data_name(key.name)
    return name_folder(key.model, key.name)
