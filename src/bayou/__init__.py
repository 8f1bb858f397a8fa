"""Bayou: a shared, versioned, queryable datastore for automation artifacts, on storage that a team already owns.

The front door. Nothing here is imported before it is used, so that `import bayou` costs next to nothing.
"""

from importlib import import_module

TYPE_CHECKING = False  # not from `typing`, which costs more than everything else here together
if TYPE_CHECKING:
    from bayou._version import __version__
    from bayou.datastore import Datastore, open  # noqa: A004 - what it is called
    from bayou.errors import (
        BayouError,
        Conflict,
        Corrupt,
        Denied,
        ErrorKind,
        LockTimeout,
        NotFound,
        Unavailable,
        Unsupported,
        UsageError,
    )
    from bayou.repository.record import Record

_HOMES = {
    "__version__": "bayou._version",
    "Datastore": "bayou.datastore",
    "Record": "bayou.repository.record",
    "open": "bayou.datastore",
    **dict.fromkeys(
        (
            "BayouError",
            "Conflict",
            "Corrupt",
            "Denied",
            "ErrorKind",
            "LockTimeout",
            "NotFound",
            "Unavailable",
            "Unsupported",
            "UsageError",
        ),
        "bayou.errors",
    ),
}

__all__ = [
    "BayouError",
    "Conflict",
    "Corrupt",
    "Datastore",
    "Denied",
    "ErrorKind",
    "LockTimeout",
    "NotFound",
    "Record",
    "Unavailable",
    "Unsupported",
    "UsageError",
    "__version__",
    "open",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
