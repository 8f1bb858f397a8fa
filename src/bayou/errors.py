"""Every error that Bayou raises: one root, categories named by what a handler would do.

A handler catches a category; a program or a dashboard switches on `kind`; a person reads the message and the remedy.
The table of categories is in docs/errors.md.
"""

import copyreg
from enum import StrEnum
from typing import ClassVar


class ErrorKind(StrEnum):
    """A stable name for each situation. Append only: names are never changed or reused."""

    # UsageError
    INVALID_NAME = "invalid_name"
    INVALID_PATH = "invalid_path"
    INVALID_CONFIG = "invalid_config"
    INVALID_URL = "invalid_url"
    INVALID_ARGUMENT = "invalid_argument"
    INVALID_QUERY = "invalid_query"
    INVALID_CONTENT = "invalid_content"
    REPO_INCOMPLETE = "repo_incomplete"
    CONTAINER_MISSING = "container_missing"
    # NotFound
    OBJECT_MISSING = "object_missing"
    REPO_MISSING = "repo_missing"
    MODEL_MISSING = "model_missing"
    DATA_MISSING = "data_missing"
    RECORD_MISSING = "record_missing"
    CONTENT_MISSING = "content_missing"
    # Conflict
    PRECONDITION_FAILED = "precondition_failed"
    ALREADY_EXISTS = "already_exists"
    NOT_OWNER = "not_owner"
    LOCK_LOST = "lock_lost"
    # LockTimeout
    LOCK_TIMEOUT = "lock_timeout"
    # Unavailable
    TRANSIENT = "transient"
    THROTTLED = "throttled"
    STORE_FULL = "store_full"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    OUTCOME_UNKNOWN = "outcome_unknown"
    # Denied
    CREDENTIALS_MISSING = "credentials_missing"
    CREDENTIALS_EXPIRED = "credentials_expired"
    CREDENTIALS_REJECTED = "credentials_rejected"
    PERMISSION_DENIED = "permission_denied"
    # Corrupt
    MALFORMED = "malformed"
    HASH_MISMATCH = "hash_mismatch"
    # Unsupported
    UNSUPPORTED = "unsupported"
    UNKNOWN_FORMAT = "unknown_format"
    STORE_CANNOT = "store_cannot"


class BayouError(Exception):
    """The root. Catch it to catch whatever Bayou raises on purpose."""

    exit_code: ClassVar[int] = 1
    default_kind: ClassVar[ErrorKind]
    default_remedy: ClassVar[str]

    def __init__(self, message: str, *, kind: ErrorKind | None = None, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind if kind is not None else self.default_kind
        self.remedy = remedy if remedy is not None else self.default_remedy

    def __str__(self) -> str:
        # Not the base's: KeyError, which NotFound also is, would show the repr of the message.
        return self.message

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process boundaries. Restored by their state, not by a call: each class has its own signature.
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class UsageError(BayouError, ValueError):
    """What was asked for makes no sense: a wrong name, path, URL, setting or argument."""

    exit_code = 2
    default_kind = ErrorKind.INVALID_ARGUMENT
    default_remedy = "Correct what the message names and run the command again."


class NotFound(BayouError, KeyError):  # noqa: N818 - named by what it is, as all categories are
    """What was asked for does not exist."""

    default_kind = ErrorKind.OBJECT_MISSING
    default_remedy = "Check the name; list what is there to see what it could have been."


class Conflict(BayouError):  # noqa: N818
    """Somebody else changed it first. Look again, then decide."""

    default_kind = ErrorKind.PRECONDITION_FAILED
    default_remedy = "Read the current state and apply the change to it again."


class LockTimeout(BayouError):  # noqa: N818
    """A lock was not free within the time that the caller wanted to wait."""

    exit_code = 75
    default_kind = ErrorKind.LOCK_TIMEOUT
    default_remedy = "Wait for the holder to finish and run the command again, or allow more time."


class Unavailable(BayouError):  # noqa: N818
    """The other side did not answer properly in time. The same call may succeed later: after `retry_after` seconds, if
    it said so.
    """

    exit_code = 75
    default_kind = ErrorKind.TRANSIENT
    default_remedy = (
        "Check the network and the store's status, then run the command again: it goes on where it stopped."
    )

    def __init__(
        self,
        message: str,
        *,
        kind: ErrorKind | None = None,
        remedy: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, kind=kind, remedy=remedy)
        self.retry_after = retry_after


class Denied(BayouError):  # noqa: N818
    """The store refused who we are or what we want."""

    default_kind = ErrorKind.PERMISSION_DENIED
    default_remedy = "Check which credentials are in use and that they may read and write this bucket and prefix."


class Corrupt(BayouError):  # noqa: N818
    """Something stored is not what it should be: `where` names it, with what was expected and what was found."""

    default_kind = ErrorKind.MALFORMED
    default_remedy = "Do not overwrite it by hand. Restore or repair the named object from another copy."

    def __init__(
        self,
        where: str,
        *,
        expected: str,
        found: str,
        kind: ErrorKind | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(f"{where}: expected {expected}, found {found}", kind=kind, remedy=remedy)
        self.where = where
        self.expected = expected
        self.found = found


class Unsupported(BayouError):  # noqa: N818
    """It makes sense, but this store, this platform or this release cannot do it."""

    default_kind = ErrorKind.UNSUPPORTED
    default_remedy = "Use a store or a release that can; the message names what is missing."
