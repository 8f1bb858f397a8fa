"""The place where everybody sees the datastore: whether it answers, how fast, by which clock, and what it can do."""

import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime

from bayou.datastore import abilities
from bayou.errors import Denied, NotFound
from bayou.health.findings import Finding, notice, ok, problem
from bayou.health.patient import Patient
from bayou.storage import ABSENT, Ability, Store
from bayou.storage.probing import FOLDER

_TIMES = 3
_SLOW = 1.0  # seconds
_RESOLUTION = 1.0  # seconds: dates of objects have no fractions
_SKEW = 5.0
_GROSS = 30.0
"""What existing clients give a lock, and judge by two machines' clocks."""


def reach(patient: Patient) -> Iterator[Finding]:
    """Ask for what is not there: who may ask gets "missing", and everybody else is told why not."""

    async def ask(store: Store) -> float:
        began = time.monotonic()
        with suppress(NotFound):
            await abilities.within(patient.settings, store).head(f"{FOLDER}/{uuid.uuid4()}")
        return time.monotonic() - began

    async def listed(store: Store) -> None:
        # A missing bucket is only told apart from a missing object by a listing.
        async for _ in abilities.within(patient.settings, store).list(FOLDER):
            return

    patient.ask(listed)
    latency = min(patient.ask(ask) for _ in range(_TIMES))
    if latency > _SLOW:
        remedy = "Look at the network between here and there."
        yield notice(f"it answers after {latency:.1f} s", remedy, details={"latencyMs": _ms(latency)})
    else:
        yield ok(f"it answers after {_ms(latency)} ms", latencyMs=_ms(latency))


def clock(patient: Patient) -> Iterator[Finding]:
    """Nothing of Bayou's safety rests on a clock; retention, dates, and the locks of existing clients do."""

    async def stamped(store: Store) -> tuple[float, datetime, float]:
        inside, key = abilities.within(patient.settings, store), f"{FOLDER}/{uuid.uuid4()}"
        before = time.time()
        await inside.put(key, b"what time is it?", when=ABSENT)
        try:
            return before, (await inside.head(key)).modified, time.time()
        finally:
            await inside.delete(key)

    try:
        before, modified, after = patient.ask(stamped)
    except Denied:
        yield notice("its clock cannot be compared, as nothing may be written here")
        return
    skew = _skew(before, modified.astimezone(UTC).timestamp(), after)
    said = "with its clock" if abs(skew) < _SKEW else f"this machine is {abs(skew):.0f} s {_side(skew)} its clock"
    details = {"skewSeconds": round(skew, 1)}
    if abs(skew) >= _GROSS:
        yield problem(said, "Let the machine get its time from the network (NTP).", details=details)
    elif abs(skew) >= _SKEW:
        yield notice(said, "Let the machine get its time from the network (NTP).", details=details)
    else:
        yield ok("this machine agrees with its clock", **details)


def conditional_writes(patient: Patient) -> Iterator[Finding]:
    # Through the facade, which remembers the answer for the locks.
    found = patient.ask(lambda store: abilities.find_out(patient.settings, store))
    details = {"createIfAbsent": found.create_if_absent.value, "replaceIfMatch": found.replace_if_match.value}
    match found.several_writers:
        case Ability.YES:
            yield ok("conditional writes are honoured", **details)
        case Ability.UNKNOWN:
            yield notice(
                "whether conditional writes are honoured is not known, as nothing may be written here",
                "For reading that is enough; for more, `bayou doctor --policy` shows which rights are needed.",
                details=details,
            )
        case Ability.NO:
            yield problem(
                "conditional writes are ignored: it is safe for a single writer only",
                "Let one writer at a time write, or use a store that honours them (docs/stores.md names some).",
                details=details,
            )


def _skew(before: float, stamp: float, after: float) -> float:
    """How far ahead of theirs our clock is, as far as it is certain."""
    if before - _RESOLUTION <= stamp <= after + _RESOLUTION:
        return 0.0
    return (before - _RESOLUTION - stamp) if stamp < before else (after + _RESOLUTION - stamp)


def _side(skew: float) -> str:
    return "ahead of" if skew > 0 else "behind"


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
