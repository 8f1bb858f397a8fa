"""Lifetimes: when an artifact as a whole expires. All arithmetic is on times that the caller gives."""

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum

from bayou.domain.durations import Duration, is_duration, parse_duration
from bayou.errors import UsageError


class Bound(StrEnum):
    """A lifetime that is not a length of time but is bound to something."""

    EPHEMERAL = "ephemeral"
    """Never on disk: held in memory for one run."""
    INFINITE = "infinite"
    JOB = "job"
    WORKFLOW = "workflow"


Lifetime = Duration | Bound


class Expired(StrEnum):
    """Why something expired, in the words of `data gc` (repository spec 3.7)."""

    DURATION = "duration-expired"
    WORKFLOW = "workflow-deleted"
    JOB = "job-deleted"


_WORDS = frozenset(Bound)


def parse_lifetime(text: str) -> Lifetime:
    """Read a lifetime. No time at all means `workflow`, whatever its unit (repository spec 2.2)."""
    if text in _WORDS:
        return Bound(text)
    if not is_duration(text):
        raise UsageError(
            f"{text!r} is not a lifetime",
            remedy="Write a duration such as 30d, or one of ephemeral, infinite, job, workflow.",
        )
    duration = parse_duration(text)
    return duration if duration.seconds else Bound.WORKFLOW


def normalised_lifetime(text: str) -> str:
    """The text to store."""
    return str(parse_lifetime(text))


def expires_at(lifetime: Lifetime, created_at: datetime) -> datetime | None:
    """When it expires, where a clock alone can say."""
    return lifetime.after(created_at) if isinstance(lifetime, Duration) else None


def expiry(
    lifetime: Lifetime, *, created_at: datetime, now: datetime, run_is_gone: Callable[[], bool]
) -> Expired | None:
    """Why the artifact has expired, or None.

    `created_at` is that of the latest version. `run_is_gone` is asked only for a lifetime that is bound to a run. It
    answers True only when the record of the owning run is known not to exist: with no run recorded as the owner, or a
    record that could not be read, it answers False, and the artifact stays.
    """
    if isinstance(lifetime, Duration):
        return Expired.DURATION if lifetime.is_over(created_at, now) else None
    if lifetime is Bound.WORKFLOW:
        return Expired.WORKFLOW if run_is_gone() else None
    if lifetime is Bound.JOB:
        return Expired.JOB if run_is_gone() else None
    return None
