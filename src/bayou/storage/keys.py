"""Which keys every store can hold."""

import re

from bayou.errors import ErrorKind, UsageError
from bayou.layout.safety import MAX_KEY_BYTES

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def check_key(key: str) -> None:
    """Refuse a key that some store would refuse, normalise or resolve to another place.

    Wider than what may become a path in a cache (`bayou.layout.safety`): it says what can be stored, not what is wise.
    So a segment may be longer than a disk allows, and U+0080 to U+009F pass, which stores keep and terminals act on.
    """
    reason = objection(key)
    if reason is not None:
        message = f"{key!r} cannot be the key of an object: {reason}"
        remedy = "Rename the file or change the configured prefix."
        raise UsageError(message, kind=ErrorKind.INVALID_PATH, remedy=remedy)


def check_listing(prefix: str, after: str | None) -> None:
    """Refuse a prefix that is not a folder's key (the empty one is the whole store), or no key to go on behind."""
    if prefix:
        check_key(prefix)
    if after is not None:
        check_key(after)


def objection(key: str) -> str | None:
    """Say what is wrong with a key; None where nothing is."""
    # One regular expression and one split: this runs for every call of every store.
    segments = key.split("/")
    if "" in segments:
        return "it is empty or has an empty segment"
    if "." in segments or ".." in segments:
        return "it has a segment '.' or '..'"
    if "\\" in key:
        return "it has a backslash, which some stores turn into a slash"
    if _CONTROL.search(key):
        return "it has a control character"
    try:
        length = len(key.encode())
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    return None if length <= MAX_KEY_BYTES else f"it is {length} bytes long, more than {MAX_KEY_BYTES}"
