"""The environment variables that Bayou reads.

A number that makes no sense is ignored, as the existing clients do, but not in silence.
"""

import re
from collections.abc import Mapping

from bayou.config.locations import GCS, S3, Location
from bayou.config.wording import described, quoted

REPO_DIR = "SWAMP_REPO_DIR"
HOME = "SWAMP_HOME"
DATASTORE = "SWAMP_DATASTORE"
SYNC_TIMEOUT = "SWAMP_DATASTORE_SYNC_TIMEOUT_MS"
LOCK_TIMEOUT = "SWAMP_LOCK_TIMEOUT_MS"
EPHEMERAL_BUDGET = "SWAMP_EPHEMERAL_BUDGET"
DURABLE = "BAYOU_DURABLE"

_REQUEST_TIMEOUT: Mapping[type, str] = {S3: "SWAMP_S3_REQUEST_TIMEOUT_MS", GCS: "SWAMP_GCS_REQUEST_TIMEOUT_MS"}
_TRACE: Mapping[type, str] = {S3: "SWAMP_S3_SYNC_TRACE", GCS: "SWAMP_GCS_SYNC_TRACE"}

_DIGITS = re.compile(r"\s*([0-9]{1,18})\s*", re.ASCII)
_SIZE = re.compile(r"\s*([0-9]{1,15})\s*(?:([kmgt])b?|b)?\s*", re.ASCII | re.IGNORECASE)
_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def request_timeout_variable(location: Location) -> str | None:
    return _REQUEST_TIMEOUT.get(type(location))


def trace_variable(location: Location) -> str | None:
    return _TRACE.get(type(location))


def number(environ: Mapping[str, str], name: str, allowed: range) -> tuple[int | None, str | None]:
    """Read a whole number: the number if it is one, else a warning if anything is set."""
    text = environ.get(name, "")
    match = _DIGITS.fullmatch(text)
    if match and (value := int(match[1])) in allowed:
        return value, None
    return None, f"{name} is ignored: expected {described(allowed)}, found {quoted(text)}" if text else None


def size(environ: Mapping[str, str], name: str) -> tuple[int | None, str | None]:
    """Read a number of bytes: `1048576`, `256m`, `1gb`."""
    text = environ.get(name, "")
    match = _SIZE.fullmatch(text)
    if match and (value := int(match[1]) * _UNITS.get((match[2] or "").lower(), 1)):
        return value, None
    return None, f"{name} is ignored: expected a size such as 256m or 1gb, found {quoted(text)}" if text else None


def switch(environ: Mapping[str, str], name: str) -> bool | None:
    """Read a switch: `0` and `false` are off, anything else is on."""
    text = environ.get(name)
    return text.lower() not in {"0", "false"} if text else None
