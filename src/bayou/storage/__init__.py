"""Storage: the object-store port, its adapters and its wrappers.

What is in it is imported when it is first used: who reads a file of this machine needs no event loop.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayou.storage.connecting import connect, open_bare
    from bayou.storage.filesystem import FilesystemStore
    from bayou.storage.limit import Limit, Window
    from bayou.storage.port import (
        ABSENT,
        ANY,
        Body,
        Condition,
        Fetched,
        FetchedBytes,
        ObjectMeta,
        Store,
        Version,
        Watched,
        Wrapper,
    )
    from bayou.storage.prefix import Prefix
    from bayou.storage.probing import Abilities, Ability, probe
    from bayou.storage.record import Record, Tally
    from bayou.storage.retry import Budget, Patience, Retry
    from bayou.storage.timelimit import TimeLimit

_HOMES = {
    "connecting": "connect open_bare",
    "filesystem": "FilesystemStore",
    "limit": "Limit Window",
    "port": "ABSENT ANY Body Condition Fetched FetchedBytes ObjectMeta Store Version Watched Wrapper",
    "prefix": "Prefix",
    "probing": "Abilities Ability probe",
    "record": "Record Tally",
    "retry": "Budget Patience Retry",
    "timelimit": "TimeLimit",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "ABSENT",
    "ANY",
    "Abilities",
    "Ability",
    "Body",
    "Budget",
    "Condition",
    "Fetched",
    "FetchedBytes",
    "FilesystemStore",
    "Limit",
    "ObjectMeta",
    "Patience",
    "Prefix",
    "Record",
    "Retry",
    "Store",
    "Tally",
    "TimeLimit",
    "Version",
    "Watched",
    "Window",
    "Wrapper",
    "connect",
    "open_bare",
    "probe",
]


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
