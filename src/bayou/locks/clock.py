"""The clock of leases: it only ever counts, and a machine that slept has aged. Nobody looks at another's clock."""

import time

# Linux stops its monotonic clock while the machine sleeps, and the lease goes on running out meanwhile.
_ID = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def now() -> float:
    """Seconds since some moment."""
    return time.clock_gettime(_ID)
