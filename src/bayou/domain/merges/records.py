"""Output and run records: another id is another record and both are kept; the same id is one record at two stages."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from bayou.domain.content import ContentId
from bayou.domain.merges.resolution import Move, TakeLocal, TakeRemote

TERMINAL = frozenset({"succeeded", "failed", "cancelled"})


_STAMP = re.compile(r"(.*T[0-9-]+)(Z\.[^./]+)")


def merge_records(
    path: str,
    local: Mapping[str, Any],
    remote: Mapping[str, Any],
    *,
    contents: tuple[ContentId, ContentId],
    written_here: bool,
) -> TakeRemote | TakeLocal | Move:
    """`contents` are those of local and remote: they decide where the records do not, on every machine alike."""
    if local.get("id") != remote.get("id"):
        return Move(beside(path, str(local.get("id")) if local.get("id") else contents[0]))
    ours, theirs = _progress(local), _progress(remote)
    if ours == theirs:
        # What only they changed is news, such as the new number of a version; a stale copy would have got less far.
        return TakeLocal() if written_here and contents[0] > contents[1] else TakeRemote()
    return TakeLocal() if ours > theirs else TakeRemote()


def beside(path: str, identity: str) -> str:
    """The path of a record that lost its own to another: every machine that holds it derives the same one.

    The file of an output ends with a time, and is only found as long as it does (repository spec 3.1): there the
    identity goes into the time, as more of its digits.
    """
    if stamped := _STAMP.fullmatch(path):
        digits = int(hashlib.sha256(identity.encode()).hexdigest()[:12], 16)
        return f"{stamped[1]}-{digits:015}{stamped[2]}"
    folder, slash, name = path.rpartition("/")
    stem, dot, suffix = name.rpartition(".")
    return f"{folder}{slash}{stem}-{identity}{dot}{suffix}" if stem else f"{path}-{identity}"


def _progress(record: Mapping[str, Any]) -> tuple[bool, str]:
    return record.get("status") in TERMINAL, str(record.get("completedAt", ""))
