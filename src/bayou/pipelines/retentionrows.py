"""Rows about retention: what it asks about each version, in numbers that can be compared.

What a policy or a lifetime means is said by the rules of the local gc, here and now: they give the moment up to which
what was made is over. What follows from that for the versions of a name is `bayou.pipelines.retention`'s.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from bayou.domain.artifacts import Lifecycle
from bayou.domain.durations import Duration
from bayou.domain.entries import Entry
from bayou.domain.lifetimes import Bound, Expired, parse_lifetime
from bayou.domain.retention import KeepNewest, parse_policy
from bayou.errors import NotFound, UsageError
from bayou.layout.records import RunRecord
from bayou.pipelines.artifactrows import names_of, rows_of
from bayou.pipelines.reading import AT_ONCE, Batches, Row, Task, grouped
from bayou.remotes.objects import each

_BOUND = {Bound.WORKFLOW: Expired.WORKFLOW, Bound.JOB: Expired.JOB}
_CALENDAR = (-62_135_596_800_000, 253_402_300_799_999)
"""Milliseconds since 1970 of the first and the last moment that a date can have."""


async def retention(task: Task, entries: Mapping[str, Entry]) -> Batches:
    """A row for each version that can be read."""
    assert task.now is not None  # noqa: S101 - the planner sees to it
    names = [(name, len(name.metadata)) for name in names_of(task, entries)]
    knowing = replace(task, columns=task.columns | {"is_latest"})
    for group in grouped(names, AT_ONCE):
        rows = [row for row, _ in await rows_of(knowing, group) if row["problem"] is None]
        gone = await _gone_runs(task, rows)
        yield [asked(row, task.now, run_is_gone=_run(row) in gone) for row in rows]


def asked(row: Row, now: datetime, *, run_is_gone: bool) -> Row:
    """Of the row of a version what retention asks about it."""
    created = row["created_ms"]
    found: Row = {name: row[name] for name in ("namespace", "type", "model_id", "name", "version", "is_latest")}
    found["created_ms"] = created if created is not None and _CALENDAR[0] <= created <= _CALENDAR[1] else None
    found["bytes"] = row["size"] or 0
    try:
        policy = parse_policy(row["policy"])
    except UsageError:
        policy = None  # written by hand: it asks for nothing that anybody could do
    if isinstance(policy, KeepNewest):
        found["keep"] = policy.count
    elif policy is not None:
        found["keep_until"] = _over_until(policy.duration, now)
    lifetime = parse_lifetime(row["lifetime"])
    if row["lifecycle"] == Lifecycle.DELETED:
        return found
    if isinstance(lifetime, Duration):
        found["live_until"] = _over_until(lifetime, now)
    elif lifetime in _BOUND and run_is_gone:
        found["ended"] = _BOUND[lifetime].value
    return found


def _over_until(duration: Duration, now: datetime) -> int:
    return max(duration.over_until(now), _CALENDAR[0] - 1)


def _run(row: Row) -> tuple[str, str] | None:
    """The run that a version lives as long as, if any."""
    is_bound = row["lifetime"] in _BOUND and row["workflow_id"] and row["workflow_run_id"]
    return (row["workflow_id"], row["workflow_run_id"]) if is_bound else None


async def _gone_runs(task: Task, rows: list[Row]) -> frozenset[tuple[str, str] | None]:
    """The runs whose records are known not to exist, of those that names live as long as: their latest versions say."""
    heads = {(row["type"], row["model_id"], row["name"]): row for row in rows if row["is_latest"]}
    pairs = sorted({pair for row in heads.values() if (pair := _run(row))})
    there = await each(task.place.width, pairs, lambda pair: _is_there(task, *pair))
    return frozenset(pair for pair, is_there in zip(pairs, there, strict=True) if not is_there)


async def _is_there(task: Task, workflow_id: str, run_id: str) -> bool:
    try:
        await task.place.store.head(task.place.keys.data(RunRecord(workflow_id, run_id).path))
    except NotFound:
        return False
    except UsageError:
        return True  # no record can be called that: nothing is known of it
    return True
