"""Output and run records: another id is another record and both are kept; the same id is one record at two stages."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from bayou.domain.content import ContentId
from bayou.domain.merges.resolution import Move, TakeLocal, TakeRemote

TERMINAL = frozenset({"succeeded", "failed", "cancelled"})


def merge_records(
    path: str,
    local: Mapping[str, Any],
    remote: Mapping[str, Any],
    *,
    contents: tuple[ContentId, ContentId],
) -> TakeRemote | TakeLocal | Move:
    """`contents` are those of local and remote: they decide where the records do not, on every machine alike."""
    if local.get("id") != remote.get("id"):
        return Move(beside(path, str(local.get("id")) if local.get("id") else contents[0]))
    ours, theirs = ((_progress(record), content) for record, content in zip((local, remote), contents, strict=True))
    return TakeLocal() if ours > theirs else TakeRemote()


def beside(path: str, identity: str) -> str:
    """The path of a record that lost its own to another: every machine that holds it derives the same one."""
    pure = PurePosixPath(path)
    return str(pure.with_name(f"{pure.stem}-{identity}{pure.suffix}"))


def _progress(record: Mapping[str, Any]) -> tuple[bool, str]:
    return record.get("status") in TERMINAL, str(record.get("completedAt", ""))
