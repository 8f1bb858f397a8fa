"""What an error of obstore means: which of the port's four kinds, and what the user can do about it.

obstore's classes are too coarse on their own (a missing bucket and a missing object are both "not found", a 503 is
"generic"), and the status and the code of the answer are only in its text. This is the one place that reads it. The
text repeats the key as well, which may spell anything, so nothing is read where a key could stand.
"""

import re
from collections.abc import Mapping
from html import unescape
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
_NO_STORE = Meaning(
    Unavailable,
    None,
    "Something that is no object store answered, such as a proxy: check the endpoint, then run the command again.",
)
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
    # Parts that are put together twice, as the answer to the first time was lost; or that are gone, since somebody
    # cleaned them away or, on Azure, put together parts of the same object.
    **dict.fromkeys(("NoSuchUpload", "InvalidPart", "InvalidBlockList"), _PASSING),
}
_OBJECT_MISSING = frozenset({"NoSuchKey", "BlobNotFound", "PathNotFound", "CannotVerifyCopySource"})
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
    # An address that settings add up to and that none can be, found when the request was signed.
    "rust future panicked": _WRONG_SETTINGS,
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

_ANSWER = re.compile(r"Server returned non-2xx status code: (\d{3})([^:]*):?(.*)", re.DOTALL)
_CODE = re.compile(r"<Code>(\w+)</Code>|\"(?:code|reason|error)\":\s*\"(\w+)\"")
_MESSAGE = re.compile(r"<Message>([^<\n]+)|\"(?:message|error_description)\":\s*\"([^\"\n]+)")
_BULK_CODE = re.compile(r"\(code: (\w+)\)\s*\Z")
_REQUEST = re.compile(r"Error performing ([A-Z]+) (\w+://[^/ ]+)\S* in .*? - (.*)", re.DOTALL)
_FRAMES = ("Object at location {} ", " for path {}:", " for key {}:")
_OUR_PROVIDER = "External AWS credential provider: "
_LONGEST = 200  # characters of somebody else's text in a message; all of it is in the cause


class Answer(NamedTuple):
    """What a store said in an answer that was no success."""

    verb: str
    status: int
    reason: str
    code: str
    message: str


def translate(error: Exception, *keys: str) -> BayouError:
    """Turn whatever obstore raised over a request for these keys into an error of the port."""
    # The rest is a debug dump of the same, several screens long.
    text = str(error).split("\n\nDebug source", 1)[0]
    for key in keys:
        for frame in _FRAMES:
            text = text.replace(frame.format(key), " ")
    answer = _answer(text)
    meaning = _of_failure(error, text) if answer is None else _of_answer(error, answer)
    said = _shortened(text) if answer is None else _said(answer)
    return meaning.category(f"{keys[0]!r}: {said}", kind=meaning.kind, remedy=meaning.remedy)


def says_deleted(error: BaseException | None) -> bool:
    """Whether this is the answer to a delete that was done.

    obstore takes it for a failure where the key that it repeats has `SlowDown` or `InternalError` in it.
    """
    text = str(error)
    return "Server returned error response" in text and "<DeleteResult" in text and "<Deleted>" in text


def _answer(text: str) -> Answer | None:
    found = _ANSWER.search(text)
    if found is None:
        return None
    request = _REQUEST.search(text[: found.end(1)])
    body = found[3]
    return Answer(request[1] if request else "", int(found[1]), found[2].strip(), _in(_CODE, body), _in(_MESSAGE, body))


def _of_answer(error: Exception, answer: Answer) -> Meaning:
    if answer.code in _BY_CODE:
        return _BY_CODE[answer.code]
    if answer.status == 404 and answer.code not in _OBJECT_MISSING and answer.verb != "HEAD":
        # Anybody may answer 404. Only a store can know that it does not have the object.
        return _NO_STORE
    if isinstance(error, obs.AlreadyExistsError | obs.PreconditionError | FileNotFoundError):
        return _of_class(error) or _PASSING
    refused = _WRONG_SETTINGS if 400 <= answer.status < 500 else _PASSING
    return _BY_STATUS.get(answer.status) or _of_class(error) or refused


def _of_failure(error: Exception, text: str) -> Meaning:
    """What it means that there was no answer, or none that is told as such."""
    if _OUR_PROVIDER in text:
        return _of_our_provider(text)
    code = _in(_BULK_CODE, text)
    status = int(code) if code.isdigit() else 0
    known = _BY_CODE.get(code) or _first(_BY_TEXT, text) or _BY_STATUS.get(status) or _of_class(error)
    return known or (_WRONG_SETTINGS if isinstance(error, ValueError) else _PASSING)


def _of_our_provider(text: str) -> Meaning:
    """Say what an error of boto3 means that arose when credentials were due for renewal."""
    return _EXPIRED if re.search(r"sso|token|expired", text, re.IGNORECASE) else _NO_CREDENTIALS


def _of_class(error: Exception) -> Meaning | None:
    return next((meaning for category, meaning in _BY_CLASS.items() if isinstance(error, category)), None)


def _first(meanings: Mapping[str, Meaning], text: str) -> Meaning | None:
    return next((meaning for mark, meaning in meanings.items() if mark in text), None)


def _in(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return next((group for group in found.groups() if group), "") if found else ""


def _said(answer: Answer) -> str:
    told = ": ".join(part for part in (answer.code, unescape(answer.message)[:_LONGEST]) if part)
    return f"the store answered {answer.status} {answer.reason}" + (f" ({told})" if told else "")


def _shortened(text: str) -> str:
    """What went wrong, and with whom, without the address of the object."""
    request = _REQUEST.search(text)
    said = f"{request[3]} ({request[2]})" if request else text
    return " ".join(said.split())[:_LONGEST]
