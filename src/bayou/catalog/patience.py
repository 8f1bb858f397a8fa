"""Do one thing to many items: one after the other where that keeps the processor busy, else in threads.

On a disk of this machine threads only stand in each other's way. On a network file system every look waits for a
server, which answers many at once.
"""

import resource
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

THREADS = 16
_SAMPLE = 8
_WAITING = 3  # times as long by the clock as by the processor
_THIS_THREAD = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)
_WORTH_IT = 0.002  # seconds for the sample


def _sleeps() -> int:
    """How often this thread has waited of its own accord, as it does for a server."""
    return resource.getrusage(_THIS_THREAD).ru_nvcsw


def patiently(work: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
    started, worked, slept = time.perf_counter(), time.thread_time(), _sleeps()
    done = [work(item) for item in items[:_SAMPLE]]
    elapsed, busy = time.perf_counter() - started, time.thread_time() - worked
    rest = items[_SAMPLE:]
    # On a busy machine a thread waits as well, but it is put to sleep: it does not go by itself.
    waited = elapsed > max(_WORTH_IT, _WAITING * busy) and _sleeps() - slept >= _SAMPLE
    if not waited or len(rest) <= _SAMPLE:
        return done + [work(item) for item in rest]
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - 10 ms, and only on slow disks

    with ThreadPoolExecutor(THREADS) as pool:
        return done + list(pool.map(work, rest))
