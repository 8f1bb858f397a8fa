"""One of the writers of `hammer.py`: runs of models that write artifacts, and say so once that is certain.

    writer.py PLACE NAME SEED ROUNDS MODELS TTL SKEW

A place is the folder of a repo, or `s3:ENDPOINT:BUCKET`. Every artifact says after which one it was written, as seen
under the lock; so the end shows whether two were ever at it at a time. Lines on stdout: `ack MODEL VERSION SHA256`,
`waited SECONDS`, `round NUMBER`, or why a
round is tried again.
"""

import asyncio
import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from random import Random

import bayou
from bayou.config.locations import S3, Folder
from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.errors import Conflict, LockTimeout, NotFound, Unavailable
from bayou.layout.keys import Keyspace
from bayou.locks import LockLost, Locks, StoreCells, open_cells
from bayou.storage import ABSENT, Patience, Prefix, Retry, Store, TimeLimit, Version, open_bare
from bayou.testing.faults import Fault, Faulty, sometimes

TYPE = "soak/model"
SHARE = 0.05  # of the requests, before and after they are carried out
PATIENCE = Patience(attempts=6, first_pause=0.05, longest_pause=0.5, deadline=10.0)
WAIT = 120.0  # seconds

Work = Callable[[str, int], tuple[int, bytes]]


def say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201 - to the hammer


def content(name: str, number: int, after: int) -> bytes:
    return json.dumps({"writer": name, "round": number, "after": after}).encode()


@contextmanager
def in_folder(root: str, name: str, dice: Random, ttl: float) -> Iterator[Work]:
    with bayou.open(root, durable=False) as datastore:
        location = datastore.settings.location
        assert isinstance(location, Folder)
        locks = Locks(partial(open_cells, location, ttl=ttl), Keyspace(), ttl=ttl, timeout=WAIT)
        datastore.coordination.__dict__["locks"] = locks

        def work(model: str, number: int) -> tuple[int, bytes]:
            began = time.monotonic()
            with datastore.model(TYPE, model).run("work") as run:
                say("waited", round(time.monotonic() - began, 3))
                try:
                    after = run.latest("state").version
                except NotFound:
                    after = 0
                time.sleep(dice.random() * 0.05)
                body = content(name, number, after)
                version = run.write("state", body, keep="90d").version
                say("ack", model, version, hashlib.sha256(body).hexdigest())
            return version, body

        yield work


@contextmanager
def in_bucket(place: str, name: str, dice: Random, ttl: float) -> Iterator[Work]:
    endpoint, _, bucket = place.rpartition(":")
    location = S3(bucket, region="us-east-1", endpoint=endpoint, path_style=True)

    def faulty() -> Store:
        choose = sometimes(2 * SHARE, Fault.FAIL_BEFORE, Fault.FAIL_AFTER, seed=dice.randrange(2**32))
        return Retry(TimeLimit(Faulty(Prefix(open_bare(location), "soak"), choose), ttl), PATIENCE)

    with asyncio.Runner() as runner, Locks(lambda: StoreCells(faulty()), Keyspace(), ttl=ttl, timeout=WAIT) as locks:
        store = faulty()

        def work(model: str, number: int) -> tuple[int, bytes]:
            began = time.monotonic()
            with locks.models([Model(ModelType(TYPE), model)]) as hold:
                say("waited", round(time.monotonic() - began, 3))
                return runner.run(write(model, number, hold.confirm))

        async def write(model: str, number: int, confirm: Callable[[], None]) -> tuple[int, bytes]:
            folder = f"data/{TYPE}/{model}/state"
            after, seen = await latest(f"{folder}/latest")
            await asyncio.sleep(dice.random() * 0.05)
            body, version = content(name, number, after), after
            while True:
                version += 1
                await asyncio.to_thread(confirm)
                try:
                    await store.put(f"{folder}/{version}/raw", body, when=ABSENT)
                except Conflict:
                    continue  # of one who was killed before he could say so
                break
            await store.put(f"{folder}/latest", json.dumps([version, name, number]).encode(), when=seen or ABSENT)
            say("ack", model, version, hashlib.sha256(body).hexdigest())
            return version, body

        async def latest(key: str) -> tuple[int, Version | None]:
            try:
                fetched = await store.get(key)
            except NotFound:
                return 0, None
            return int(json.loads(await fetched.bytes())[0]), fetched.version

        yield work


def main(place: str, name: str, seed: str, first: str, rounds: str, models: str, ttl: str, skew: str) -> None:  # noqa: PLR0917 - a command line
    moved, at_once = float(skew), (time.time, time.time_ns)
    time.time = lambda: at_once[0]() + moved
    time.time_ns = lambda: at_once[1]() + int(moved * 1e9)
    dice = Random(f"{seed} {name} {first}")  # noqa: S311 - repeatable on purpose
    is_bucket = place.startswith("s3:")
    opened = in_bucket(place[3:], name, dice, float(ttl)) if is_bucket else in_folder(place, name, dice, float(ttl))
    with opened as work:
        number = int(first)
        while number < int(rounds):
            try:
                work(f"m{dice.randrange(int(models))}", number)
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
