"""Storage: the object-store port, its adapters and its wrappers."""

from bayou.storage.connect import connect, open_bare
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
from bayou.storage.probe import Abilities, Ability, probe
from bayou.storage.record import Record, Tally
from bayou.storage.retry import Budget, Patience, Retry
from bayou.storage.timelimit import TimeLimit

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
