"""Path safety: which text may be used as a path at all, by looking at nothing but the text.

Every path that comes from outside (an index, a listing, an argument) passes here before it is joined to anything.
Symbolic links need a look at the disk; `bayou.storage.confine` has that.

Names that only Windows reserves (`con`, `nul`) are let through: artifacts of existing clients may well be called that.
"""

import re

from bayou.domain.names import CONTROL_CHARACTER, HALF_CHARACTER, MAX_SEGMENT_BYTES
from bayou.errors import ErrorKind, UsageError

# What S3 and Azure allow. A path is most of a key.
MAX_KEY_BYTES = 1024

_FAULTS = {
    r"\A\Z": "it is empty",
    r"\A/": "it is absolute",
    r"\A[A-Za-z]:": "it names a drive",
    r"\\": "it contains a backslash",
    CONTROL_CHARACTER: "it contains a control character",
    HALF_CHARACTER: "it is not valid Unicode",
    r"(?:\A|/)\.\.(?:/|\Z)": "it contains '..'",
    r"(?:\A|/)\.(?:/|\Z)": "it contains '.'",
    r"//|/\Z": "it contains an empty segment",
}
_ANY_FAULT = re.compile("|".join(_FAULTS))

# What nearly all paths look like; it only saves the slower look at them.
_PLAIN = re.compile(r"[A-Za-z0-9_@][A-Za-z0-9_@. -]*(?:/[A-Za-z0-9_@][A-Za-z0-9_@. -]*)*")


def fault(path: str) -> str | None:
    """Why this is not a path relative to a namespace, or None when it is one."""
    if len(path) <= MAX_SEGMENT_BYTES and _PLAIN.fullmatch(path):
        return None
    misspelt = spelling_fault(path)
    if misspelt is not None:
        return misspelt
    if len(path.encode()) > MAX_KEY_BYTES:
        return f"it takes more than {MAX_KEY_BYTES} bytes"
    if any(len(segment.encode()) > MAX_SEGMENT_BYTES for segment in path.split("/")):
        return f"a segment takes more than {MAX_SEGMENT_BYTES} bytes"
    return None


def spelling_fault(text: str) -> str | None:
    """Why this, however short, is not a relative path, or None. For names in keys, which no disk has to hold."""
    if _ANY_FAULT.search(text):
        return next(reason for pattern, reason in _FAULTS.items() if re.search(pattern, text))
    return None


def check_path(path: str) -> str:
    """The path, when it is safe to use."""
    reason = fault(path)
    if reason is not None:
        raise UsageError(
            f"unsafe path {path!r}: {reason}",
            kind=ErrorKind.INVALID_PATH,
            remedy="Use a relative path with '/' between plain names. If it came from an index or a bucket, "
            "whoever wrote it there is broken or hostile: remove that entry.",
        )
    return path
