"""What can go wrong between a machine and a bucket, and what becomes of it."""

import os
import resource
from pathlib import Path

from bayou.config.locations import Location
from bayou.storage import ABSENT, Patience, Retry, connect
from bayou.testing.faults import Fault, Faulty, at
from demo.show import say

MIB = 1 << 20


async def lost_answers(location: Location) -> None:
    """Lose the answer to a create-if-absent that took effect: repeated naively, it would meet itself as a conflict."""
    async with connect(location) as bucket:
        faulty = Faulty(bucket, at(1, Fault.FAIL_AFTER, verb="put"))
        store = Retry(faulty, Patience(first_pause=0.01))
        await store.put("claims/version-4", b"written once", when=ABSENT)
        verbs = [request.verb for request in faulty.requests]
        say(
            f"create-if-absent, applied, answer lost: success after {', '.join(verbs)} - its own bytes were found there"
        )

        faulty = Faulty(bucket, at(1, Fault.BREAK_OFF, verb="get"))
        store = Retry(faulty, Patience(first_pause=0.01))
        content = os.urandom(MIB)
        await bucket.put("large-ish", content)
        whole = b"".join([chunk async for chunk in (await store.get("large-ish")).chunks()])
        say(f"a read that broke off half-way went on where it was: {len(whole)} bytes, equal: {whole == content}")


async def large_file(location: Location, scratch: Path) -> None:
    path = scratch / "large"
    with path.open("wb") as file:
        file.truncate(128 * MIB)
    before = _peak()
    async with connect(location) as store:
        await store.put("large", path, when=ABSENT)
        size = 0
        async for chunk in (await store.get("large")).chunks():
            size += len(chunk)
    say(f"up and down again, {size // MIB} MiB, streamed: the peak of memory rose by {_peak() - before} MiB")


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
