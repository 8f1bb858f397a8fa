"""What an error of obstore means: which of the port's four kinds, and what the user can do about it.

obstore's classes are too coarse on their own (a missing bucket and a missing object are both "not found", a 503 is
"generic"), and the status and the code of the answer are only in its text. This is the one place that reads it.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from obstore import exceptions as obs

from bayou.errors import BayouError, Conflict, Denied, ErrorKind, NotFound, Unavailable, Unsupported, UsageError


class Meaning(NamedTuple):
    category: type[BayouError]
    kind: ErrorKind | None = None
    remedy: str | None = None


_NO_CONTAINER = Meaning(
    UsageError,
    ErrorKind.CONTAINER_MISSING,
    "Create the bucket or container, or correct its name in the configuration.",
)
_EXPIRED = Meaning(
    Denied,
    ErrorKind.CREDENTIALS_EXPIRED,
    "Log in again (for example `aws sso login`, `gcloud auth application-default login` or `az login`).",
)
_REJECTED = Meaning(
    Denied,
    ErrorKind.CREDENTIALS_REJECTED,
    "The store does not accept these credentials: check the access key, the account and the machine's clock.",
)
_NO_CREDENTIALS = Meaning(
    Denied,
    ErrorKind.CREDENTIALS_MISSING,
    "No credentials were found. Set them in the environment, or log in with the provider's own tool.",
)
_WRONG_SETTINGS = Meaning(UsageError, ErrorKind.INVALID_CONFIG, "Check endpoint, region, bucket and addressing style.")
_WRONG_RANGE = Meaning(UsageError, None, "Ask for a range inside of the object.")
_CANNOT = Meaning(Unsupported, ErrorKind.STORE_CANNOT)
_THROTTLED = Meaning(Unavailable, ErrorKind.THROTTLED)
_PASSING = Meaning(Unavailable)

_BY_CODE: Mapping[str, Meaning] = {
    **dict.fromkeys(("NoSuchBucket", "ContainerNotFound", "ContainerBeingDeleted"), _NO_CONTAINER),
    **dict.fromkeys(("ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "invalid_grant"), _EXPIRED),
    **dict.fromkeys(("InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "AuthenticationFailed"), _REJECTED),
    **dict.fromkeys(("InvalidSecurity", "RequestTimeTooSkewed", "AuthorizationHeaderMalformed"), _REJECTED),
    **dict.fromkeys(("AccessDenied", "AllAccessDisabled", "AuthorizationFailure"), Meaning(Denied)),
    **dict.fromkeys(("SlowDown", "Throttling", "ThrottlingException", "RequestLimitExceeded"), _THROTTLED),
    **dict.fromkeys(("ServerBusy", "TooManyRequests"), _THROTTLED),
    # 409s and 400s of S3 that mean: another request was under way, or this one did not arrive whole.
    **dict.fromkeys(("ConditionalRequestConflict", "OperationAborted", "RequestTimeout", "IncompleteBody"), _PASSING),
}
_BY_TEXT: Mapping[str, Meaning] = {
    # Where a chain of credentials ends when nothing before it answered: the machine is not in that cloud.
    "http://169.254.169.254/": _NO_CREDENTIALS,
    "http://metadata.google.internal/": _NO_CREDENTIALS,
    "http://metadata/": _NO_CREDENTIALS,
    "incorrectly configured region": Meaning(
        UsageError, ErrorKind.INVALID_CONFIG, "Set the region that the bucket is in."
    ),
    "The specified container does not exist": _NO_CONTAINER,  # of a delete, which Azure answers in another form
    "Wanted range": _WRONG_RANGE,
    "Received non-partial response when range requested": _CANNOT,
}
_BY_STATUS: Mapping[int, Meaning] = {
    401: _REJECTED,
    403: Meaning(Denied),
    408: _PASSING,
    416: _WRONG_RANGE,
    429: _THROTTLED,
    501: _CANNOT,
    503: _THROTTLED,
}
_BY_CLASS: Mapping[type[Exception], Meaning] = {
    obs.UnauthenticatedError: _REJECTED,
    obs.PermissionDeniedError: Meaning(Denied),
    PermissionError: Meaning(Denied),
    obs.AlreadyExistsError: Meaning(Conflict, ErrorKind.ALREADY_EXISTS),
    obs.PreconditionError: Meaning(Conflict),
    FileNotFoundError: Meaning(NotFound),
    obs.NotSupportedError: _CANNOT,
    NotImplementedError: _CANNOT,
    obs.InvalidPathError: Meaning(
        UsageError, ErrorKind.INVALID_PATH, "obstore cannot list around such a key: rename or remove that object."
    ),
    obs.UnknownConfigurationKeyError: _WRONG_SETTINGS,
}

_STATUS = re.compile(r"status code: (\d{3})|status: (\d{3}),|\(code: (\d{3})\)")
_CODE = re.compile(r"<Code>(\w+)</Code>|\(code: (\w+)\)|\"(?:code|reason|error)\":\s*\"(\w+)\"")
_OUR_PROVIDER = "External AWS credential provider: "


def translate(error: Exception, key: str) -> BayouError:
    """Turn whatever obstore raised into an error of the port."""
    text = str(error)
    meaning = _meaning(error, text)
    return meaning.category(f"{key!r}: {_first_line(text)}", kind=meaning.kind, remedy=meaning.remedy)


def _meaning(error: Exception, text: str) -> Meaning:
    if _OUR_PROVIDER in text:
        return _of_our_provider(text)
    status = _status(text)
    known = _BY_CODE.get(_code(text) or "") or _first(_BY_TEXT, text) or _BY_STATUS.get(status or 0)
    if known is not None:
        return known
    for category, meaning in _BY_CLASS.items():
        if isinstance(error, category):
            return meaning
    refused = status is not None and 400 <= status < 500
    return _WRONG_SETTINGS if refused or isinstance(error, ValueError) else _PASSING


def _of_our_provider(text: str) -> Meaning:
    """Say what an error of boto3 means that arose when credentials were due for renewal."""
    return _EXPIRED if re.search(r"sso|token|expired", text, re.IGNORECASE) else _NO_CREDENTIALS


def _first(meanings: Mapping[str, Meaning], text: str) -> Meaning | None:
    return next((meaning for mark, meaning in meanings.items() if mark in text), None)


def _status(text: str) -> int | None:
    found = _STATUS.search(text)
    return int(found[1] or found[2] or found[3]) if found else None


def _code(text: str) -> str | None:
    found = _CODE.search(text)
    return found[1] or found[2] or found[3] if found else None


def _first_line(text: str) -> str:
    # The rest is a debug dump of the same, several screens long.
    return text.split("\n\nDebug source", 1)[0].replace("\n", " ")[:600]
