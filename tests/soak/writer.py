"""One of the writers of `hammer.py`: runs of models that write artifacts, and say so once that is certain.

    writer.py REPO NAME SEED FIRST ROUNDS MODELS TTL SKEW

Every artifact has a token, and says after which one it was written, as its writer saw it under the lock: so the end
shows whether two were ever at it at a time, and which of them did not know of the other. Lines on stdout:
`ack MODEL VERSION TOKEN SHA256`, `waited SECONDS`, `round NUMBER`, or why a round went otherwise.
"""

import hashlib
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from random import Random
from unittest.mock import patch
from uuid import uuid4

import bayou
from bayou.config.locations import Location
from bayou.datastore import coordination, remote
from bayou.errors import Conflict, LockTimeout, NotFound, Unavailable
from bayou.locks import LockLost
from bayou.storage import Store, connecting
from bayou.testing.faults import Fault, Faulty, sometimes

TYPE = "soak/model"
NAME = "state"
SHARE = 0.05  # of the requests, before and after they are carried out
WAIT = 120.0  # seconds


def say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201 - to the hammer


@contextmanager
def harm(dice: Random, ttl: float, skew: float) -> Iterator[None]:
    """Requests that are lost, locks that are soon good for nothing, and a clock that is wrong."""
    bare, clock, clock_ns = connecting.open_bare, time.time, time.time_ns

    def faulty(location: Location) -> Store:
        lost = sometimes(2 * SHARE, Fault.FAIL_BEFORE, Fault.FAIL_AFTER, seed=dice.randrange(2**32))
        return Faulty(bare(location), lost)

    brief = partial(coordination.open_locks, ttl=ttl)
    with (
        patch.object(connecting, "open_bare", faulty),
        patch.object(coordination, "open_locks", brief),
        patch.object(remote, "open_locks", brief),
        patch.object(time, "time", lambda: clock() + skew),
        patch.object(time, "time_ns", lambda: clock_ns() + int(skew * 1e9)),
    ):
        yield


def hear(notice: str) -> None:
    """Pass on whether a run may not have seen, or shown, the newest state."""
    if "waits on this machine" in notice or "next sync" in notice or notice.startswith("nothing was pushed"):
        say("unsynced", notice)
    elif not notice.startswith("waiting for"):
        say("noticed", notice)


def write(datastore: bayou.Datastore, model: str, name: str, dice: Random) -> None:
    began = time.monotonic()
    with datastore.model(TYPE, model).run("work") as run:
        say("waited", round(time.monotonic() - began, 3))
        try:
            after = json.loads(run.latest(NAME).read())["token"]
        except NotFound:
            after = ""
        time.sleep(dice.random() * 0.05)
        token = str(uuid4())
        body = json.dumps({"token": token, "after": after, "writer": name}).encode()
        version = run.write(NAME, body, keep="90d").version
        say("ack", model, version, token, hashlib.sha256(body).hexdigest())


def main(repo: str, name: str, seed: str, first: str, rounds: str, models: str, ttl: str, skew: str) -> None:  # noqa: PLR0917 - a command line
    dice = Random(f"{seed} {name} {first}")  # noqa: S311 - repeatable on purpose
    number = int(first)
    with (
        harm(dice, float(ttl), float(skew)),
        bayou.open(repo, durable=False, lock_timeout=WAIT, notice=hear) as datastore,
    ):
        while number < int(rounds):
            try:
                write(datastore, f"m{dice.randrange(int(models))}", name, dice)
            except LockLost:
                say("lost")
            except Conflict:
                say("overtaken")
            except (LockTimeout, Unavailable) as error:
                say("gave-up", type(error).__name__)
            else:
                number += 1
                say("round", number)


if __name__ == "__main__":
    main(*sys.argv[1:])
