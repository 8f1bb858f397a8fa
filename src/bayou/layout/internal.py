"""Internal files: what is in a cache or a bucket and is not data.

There are two answers, on purpose. `legacy_internal` is the rule of the existing clients, to the letter: it says what
they take for data, and so what stands in the indexes that they wrote. `never_crosses` is ours and takes in more; what
only it covers is left alone where an existing client has already put it into an index: neither fetched nor deleted.
"""

import re

from bayou.domain.namespaces import is_slug
from bayou.layout.collisions import folded
from bayou.layout.directories import DEFAULT, MACHINE_LOCAL, lies_in

_STATE = frozenset({".datastore-index.json", ".push-queue.json", ".datastore.lock", ".datastore-sync-state.json"})
_CONTROL = frozenset({"_index", "_control"})
_MARKERS = frozenset({".lock", ".namespace.json"})
_CATALOG = "_catalog.db"

# Databases of this machine, each with its journal files.
_DATABASE = re.compile(
    r"_catalog\.db(?:-.*)?|(?:catalog\.bayou|run_tracker|_extension_catalog)\.db(?:-(?:wal|shm|journal))?", re.DOTALL
)
_TEMPORARY = re.compile(r"\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp", re.IGNORECASE)
_OUTERMOST = _CONTROL | MACHINE_LOCAL | {".locks"}
_BELOW_NAMESPACES = _CONTROL | {".locks"}
_VAULT = "secrets/local_encryption/"


def legacy_internal(path: str) -> bool:
    """Whether existing clients keep this path out of a sync (sync spec 2.5); they test it with its namespace on."""
    basename = path.rpartition("/")[2]
    return (
        path in _STATE
        or lies_in(path, _CONTROL)
        or basename in _MARKERS
        or basename == _CATALOG
        or basename.startswith(f"{_CATALOG}-")
    )


def never_crosses(path: str) -> bool:
    """Whether Bayou keeps this path on its side, whichever side that is.

    Beyond the legacy rule: state files at any depth and control folders below anything that can be a namespace (W-43 in
    the sync spec: pushing `<ns>/_index/…` overwrites live objects), temporary files of atomic writes (W-41), locks of
    other namespaces (W-38), and secrets, bundles and databases, which are this machine's (promise 7). What may be a
    namespace may also be a folder that people chose, with `secrets` in it that are reports: of the names below one only
    those count that nobody chooses. In any case of letters, as a disk may know none: `_Control/journal.db` out of an
    index must not become our journal.
    """
    first, slash, rest = folded(path).partition("/")
    basename = rest.rpartition("/")[2] if slash else first
    return (
        first in _OUTERMOST
        or basename in _STATE
        or basename in _MARKERS
        or (basename.endswith(".tmp") and _TEMPORARY.fullmatch(basename) is not None)
        or (".db" in basename and _DATABASE.fullmatch(basename) is not None)
        or ((lies_in(rest, _BELOW_NAMESPACES) or rest.startswith(_VAULT)) and first not in DEFAULT and is_slug(first))
    )


def lazily_skippable(path: str) -> bool:
    """Whether a metadata-only pull leaves this file for later: the content of an artifact."""
    return path.startswith("data/") and path.endswith("/raw") and path.count("/") >= 2
