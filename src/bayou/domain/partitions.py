"""Partition keys: which shard of the index an entry is in.

A key is only an address. It is cut short in places (every `latest` of a type of two segments or more is in the shard of
the type) and `--` is not escaped, so models share shards: `data/a--b/M`, `data/a/b/M` and `data/a/b--M` all have
`data--a--b--M`. That is harmless as long as an entry is judged by its path and never by its shard; see
`bayou.layout.scoping` for the reading side. The rule is frozen: existing clients find shards with it (sync spec 1.6).
"""

from collections.abc import Iterable

ROOT = "_root"
"""The shard of what lies in no folder."""

_BY_MODEL = frozenset({"data", "outputs", "definitions-evaluated"})
_BY_FOLDER = frozenset({"workflows-evaluated", "auto-definitions", "audit", "telemetry", "logs", "files"})

PARTITIONED = _BY_MODEL | _BY_FOLDER | {"workflow-runs"}
"""The folders that have shards at all."""


def partition_key(path: str) -> str | None:
    """The shard that this path belongs to, or None: no shard can hold it. The path is relative to its namespace."""
    segments = path.split("/")
    count, first = len(segments), segments[0]
    if count == 1:
        return ROOT if first else None
    if first in _BY_MODEL:
        if count < 4:
            return None
        return "--".join(segments[: count - 3 if count >= 6 else count - 1])
    if first == "workflow-runs":
        return f"workflow-runs--{segments[1]}" if count >= 3 else None
    return first if first in _BY_FOLDER else None


def by_partition(paths: Iterable[str]) -> dict[str | None, list[str]]:
    """The paths of each shard, in the order given; those that no shard can hold are under None."""
    groups: dict[str | None, list[str]] = {}
    for path in paths:
        groups.setdefault(partition_key(path), []).append(path)
    return groups
