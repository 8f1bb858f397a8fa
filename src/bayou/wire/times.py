"""Times as text: `2026-11-02T08:15:30.120Z`, always UTC, always three decimals (sync spec 1.2)."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_FIRST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND


def to_text(nanoseconds: int) -> str:
    """The text of a time since the epoch, as `time.time_ns()` and `st_mtime_ns` give it.

    Milliseconds are cut off, never rounded: existing clients compare `localMtime` as text, and cut it off too. File
    systems hold any number, so a time outside the years 1 to 9999 becomes the nearest one inside.
    """
    milliseconds = min(max(nanoseconds // 1_000_000, _FIRST), _LAST)
    moment = _EPOCH + milliseconds * _MILLISECOND
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def to_milliseconds(text: str) -> int | None:
    """Milliseconds since the epoch of any ISO text (UTC if it names no zone); None if it is not a time."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _MILLISECOND
