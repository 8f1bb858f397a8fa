"""Durations as artifacts carry them: `5m`, `1h`, `10d`, `2w`, `1mo`, `10y`."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from bayou.errors import UsageError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HOUR = 3600
_DAY = 24 * _HOUR
_SECONDS = {"m": 60, "h": _HOUR, "d": _DAY, "w": 7 * _DAY, "mo": 30 * _DAY, "y": 365 * _DAY}

# The spec allows any number of digits; what matters is that `int` never meets a text that it refuses.
_DURATION = re.compile(r"([0-9]{1,64})(mo|y|h|m|d|w)")


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A length of time. The text is kept (`007h` stays `007h`), but only the length is compared."""

    seconds: int
    text: str = field(compare=False)

    def __str__(self) -> str:
        return self.text

    def is_over(self, since: datetime, now: datetime) -> bool:
        """Whether more than this has passed. Not `since + self < now`: that sum can leave the calendar."""
        return (now - since) // timedelta(microseconds=1) > self.seconds * 1_000_000

    def over_until(self, now: datetime) -> int:
        """The last moment, in milliseconds since 1970, since which more than this has passed."""
        return ((now - _EPOCH) // timedelta(microseconds=1) - self.seconds * 1_000_000 - 1) // 1_000

    def after(self, since: datetime) -> datetime | None:
        """The end of it, or None when it is beyond the calendar."""
        try:
            return since + timedelta(seconds=self.seconds)
        except OverflowError:
            return None


def is_duration(text: str) -> bool:
    return _DURATION.fullmatch(text) is not None


def parse_duration(text: str) -> Duration:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise UsageError(
            f"{text!r} is not a duration",
            remedy="Write a number and a unit: m (minutes), h, d, w, mo (30 days) or y (365 days), as in 30d.",
        )
    return Duration(int(match[1]) * _SECONDS[match[2]], text)
