"""Retention: which older versions of an artifact may go. Pure, so that a dry run equals the run (promise 9)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from bayou.domain.durations import Duration, is_duration, parse_duration
from bayou.errors import UsageError


@dataclass(frozen=True, slots=True)
class KeepNewest:
    """Keep the highest `count` versions."""

    count: int


@dataclass(frozen=True, slots=True)
class KeepFor:
    """Keep what is not older than `duration`."""

    duration: Duration


Policy = KeepNewest | KeepFor


def parse_policy(value: int | str) -> Policy:
    """Read `garbageCollection` of metadata: a number of versions, or a duration; neither may be nothing."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return KeepNewest(value)
    if isinstance(value, str) and is_duration(value):
        duration = parse_duration(value)
        if duration.seconds:
            return KeepFor(duration)
    raise UsageError(
        f"{value!r} is not a retention policy",
        remedy="Write how many versions to keep, such as 10, or for how long, such as 30d.",
    )


def versions_to_drop(
    versions: Mapping[int, datetime | None], policy: Policy, now: datetime, *, keep: Collection[int] = ()
) -> list[int]:
    """The versions that the policy lets go, lowest first. `versions` maps each to its `createdAt`.

    The policy is that of the highest version, and the highest always stays. So does what is in `keep`, which is what
    else is still reached (the heads of other steps' chains), and, under a duration, a version whose age is unknown.
    """
    ascending = sorted(versions)
    if isinstance(policy, KeepNewest):
        candidates = ascending[: -policy.count]
    else:
        candidates = [
            version
            for version in ascending[:-1]
            if (created_at := versions[version]) is not None and policy.duration.is_over(created_at, now)
        ]
    return [version for version in candidates if version not in keep]
