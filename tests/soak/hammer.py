"""Writers on one place, killed, stopped for longer than their locks are good for, with clocks an hour apart; and a look
at what is left. In a bucket 5 % of the requests fail before they are carried out, and 5 % after.

    .venv/bin/python tests/soak/hammer.py [folder|ministack|seaweedfs] [--writers N] [--rounds N] [--seed N] …

The seed decides what happens to whom and after how long; the machine decides where that meets the victim. Exit code 1,
with all that is wrong, if anything that was acknowledged is not there or is there twice, if two wrote at a time, or if
a lock, a run or the catalog was left as it should not be.
"""

import argparse
import asyncio
import hashlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

import bayou
from bayou.config import newrepo
from bayou.config.locations import S3, Location
from bayou.layout.keys import Keyspace
from bayou.locks import Locks, open_cells
from bayou.storage import connect
from bayou.testing.servers import SERVERS

TYPE = "soak/model"
HOUR = 3600
BARS = 40


class Wanted(NamedTuple):
    place: str
    seed: int
    writers: int
    rounds: int
    models: int
    ttl: float
    every: float
    """Seconds between two blows."""
    blows: int
    """How many at most: on a busy machine writers could be killed faster than they come to anything."""


class Written(NamedTuple):
    version: int
    digest: str
    after: int


@dataclass
class Story:
    """What happened."""

    acks: list[tuple[str, int, str]] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    told: Counter[str] = field(default_factory=Counter)
    kills: int = 0
    pauses: int = 0

    def hear(self, name: str, line: str) -> None:
        match line.split():
            case ["ack", model, version, digest]:
                self.acks.append((model, int(version), digest))
            case ["waited", seconds]:
                self.waits.append(float(seconds))
            case ["round", number]:
                self.done[name] = int(number)
            case [word, *_]:
                self.told[word] += 1


class Writer:
    """One writer, in as many processes, one after the other, as it takes."""

    def __init__(self, name: str, place: str, wanted: Wanted, story: Story) -> None:
        self.name = name
        self._place = place
        self._wanted = wanted
        self._story = story
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.process = self._start()

    def _start(self) -> "subprocess.Popen[str]":
        w = self._wanted
        skew = (-HOUR, 0, HOUR)[int(self.name[1:]) % 3]
        arguments = (self._place, self.name, w.seed, self._story.done[self.name], w.rounds, w.models, w.ttl, skew)
        process = subprocess.Popen(  # noqa: S603 - our own script
            [sys.executable, str(Path(__file__).with_name("writer.py")), *map(str, arguments)],
            stdout=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, args=(process,))
        self._reader.start()
        return process

    def _read(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if line.endswith("\n"):  # the last word of one who was killed may be half a word
                self._story.hear(self.name, line)

    def kill(self) -> None:
        self.process.kill()
        self.join()
        self._story.kills += 1
        self.process = self._start()

    def join(self) -> int:
        code = self.process.wait()
        self._reader.join()
        return code

    def is_at_work(self) -> bool:
        return self.process.poll() is None


def hammer(place: str, wanted: Wanted) -> tuple[Story, list[str]]:
    """Let them write, and do them harm. Gives what happened, and what is wrong with how they ended."""
    story, dice = Story(), Random(wanted.seed)  # noqa: S311 - repeatable on purpose
    writers = [Writer(f"w{number}", place, wanted, story) for number in range(wanted.writers)]
    stopped: dict[Writer, float] = {}
    try:
        while any(writer.is_at_work() for writer in writers):
            time.sleep(wanted.every * dice.uniform(0.5, 1.5))
            for writer, until in list(stopped.items()):
                if time.monotonic() > until:
                    writer.process.send_signal(signal.SIGCONT)
                    del stopped[writer]
            victim = writers[dice.randrange(len(writers))]
            if not victim.is_at_work() or victim in stopped or story.kills + story.pauses >= wanted.blows:
                continue
            if dice.random() < 0.6:
                victim.kill()
            else:
                victim.process.send_signal(signal.SIGSTOP)
                stopped[victim] = time.monotonic() + 1.5 * wanted.ttl
                story.pauses += 1
        codes = {writer.name: writer.join() for writer in writers}
    finally:
        for writer in writers:
            writer.process.kill()
            writer.join()
    return story, [f"{name} ended with exit code {code}" for name, code in codes.items() if code]


def check(story: Story, found: Mapping[str, list[Written]], wanted: Wanted) -> list[str]:
    """What is wrong with what is left."""
    wrong = []
    if sum(story.done.values()) != wanted.writers * wanted.rounds:
        wrong.append(f"{story.done} rounds were done")
    overlaps = holes = 0
    for model, written in found.items():
        there = Counter((one.version, one.digest) for one in written)
        for version, digest in ((version, digest) for of, version, digest in story.acks if of == model):
            if there[version, digest] != 1:
                wrong.append(f"{model} version {version} was acknowledged, and is there {there[version, digest]} times")
        before = 0
        for one in sorted(written):
            overlaps += one.after != before
            holes += one.version - before - 1
            before = one.version
    wrong += [f"nothing is left of {model}" for model in {model for model, _, _ in story.acks} - found.keys()]
    # Who was stopped between his last look at his lock and his write is the one who cannot know.
    overlaps += story.told["overtaken"]
    if overlaps > story.pauses + story.told["lost"]:
        wrong.append(f"{overlaps} times two wrote at a time, with {story.pauses} pauses")
    if holes > story.kills + sum(story.told.values()):
        wrong.append(f"{holes} numbers are missing, with {story.kills} kills")
    return wrong


def left_in_folder(root: Path, wanted: Wanted) -> tuple[dict[str, list[Written]], list[str]]:
    wrong = []
    with bayou.open(root, durable=False) as datastore:
        datastore.coordination.__dict__["locks"] = locks_of(datastore.settings.location, wanted)
        with datastore.coordination.alone():  # every lock is free, or its holder is dead and replaced
            datastore.runs.reconcile()
        held = [info.lock_key for info in datastore.coordination.locks.status(walk=True) if info.is_held]
        if held:
            wrong.append(f"locks are held: {held}")
        running = [found for found in datastore.runs.methods().records if not found.output.is_over]
        if running:
            wrong.append(f"{len(running)} runs never ended")
        models = [str(model) for model in datastore.models.all()]
        records = {model: datastore.versions(model, "state") for model in models}
        found = {
            model.rpartition("/")[2]: [written(record.version, record.path.read_bytes()) for record in of]
            for model, of in records.items()
        }
        before = datastore.catalog.rows()
        datastore.catalog.rebuild()
        if {row_of(row) for row in before} != {row_of(row) for row in datastore.catalog.rows()}:
            wrong.append("the catalog is not what a rebuild makes of the data")
    return found, wrong


def left_in_bucket(location: Location, wanted: Wanted) -> tuple[dict[str, list[Written]], list[str]]:
    with locks_of(location, wanted) as locks, locks.structure():
        pass
    with locks_of(location, wanted) as locks:
        held = [info.lock_key for info in locks.status(walk=True) if info.is_held]

    async def read() -> dict[str, list[Written]]:
        found: dict[str, list[Written]] = {}
        async with connect(location) as store:
            latest: dict[str, int] = {}
            raw: dict[tuple[str, int], Written] = {}
            async for page in store.list("data"):
                for meta in page:
                    body = await (await store.get(meta.key)).bytes()
                    match meta.key.split("/"):
                        case [*_, model, "state", "latest"]:
                            latest[model] = json.loads(body)[0]
                        case [*_, model, "state", version, "raw"]:
                            raw[model, int(version)] = written(int(version), body)
        # What nobody ever moved the marker to was not acknowledged, and is nobody's version.
        for model, at in latest.items():
            while at:
                found.setdefault(model, []).append(raw[model, at])
                at = raw[model, at].after  # noqa: PLW2901 - back to the first
        return found

    return asyncio.run(read()), [f"locks are held: {held}"] if held else []


def written(version: int, body: bytes) -> Written:
    return Written(version, hashlib.sha256(body).hexdigest(), int(json.loads(body)["after"]))


def row_of(row: object) -> str:
    return str(getattr(row, "artifact", row))


def locks_of(location: Location, wanted: Wanted) -> Locks:
    return Locks(partial(open_cells, location, ttl=wanted.ttl), Keyspace(), ttl=wanted.ttl, timeout=60 + 5 * wanted.ttl)


def histogram(waits: list[float]) -> str:
    width = max(waits) / 12 or 1.0
    counts = Counter(min(11, int(wait / width)) for wait in waits)
    most = max(counts.values())
    return "\n".join(
        f"  {number * width:6.2f} s  {'#' * round(BARS * counts[number] / most):{BARS}} {counts[number]}"
        for number in range(12)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("place", nargs="?", default="folder", choices=["folder", "ministack", "seaweedfs", "moto"])
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--models", type=int, default=4)
    parser.add_argument("--ttl", type=float, default=3.0)
    parser.add_argument("--every", type=float, default=1.0, help="seconds between two blows")
    parser.add_argument("--blows", type=int, default=100)
    wanted = Wanted(**vars(parser.parse_args()))
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        os.environ["SWAMP_HOME"] = str(folder / "home")
        if wanted.place == "folder":
            newrepo.create(folder / "repo")
            story, wrong = hammer(str(folder / "repo"), wanted)
            found, also = left_in_folder(folder / "repo", wanted)
        else:
            server = opened.enter_context(SERVERS[wanted.place]())
            os.environ["AWS_ACCESS_KEY_ID"] = server.settings["access_key_id"]
            os.environ["AWS_SECRET_ACCESS_KEY"] = server.settings["secret_access_key"]
            bucket = server.new_bucket()
            story, wrong = hammer(f"s3:{server.endpoint}:{bucket}", wanted)
            location = S3(bucket, "soak", region="us-east-1", endpoint=server.endpoint, path_style=True)
            found, also = left_in_bucket(location, wanted)
    wrong += also + check(story, found, wanted)
    say(
        f"{len(story.acks)} artifacts acknowledged in {len(found)} models; {story.kills} killed, {story.pauses} stopped"
    )
    say(f"told by writers: {dict(story.told)}; longest wait {max(story.waits):.1f} s")
    say(histogram(story.waits))
    for one in wrong:
        say(f"WRONG: {one}")
    return 1 if wrong else 0


def say(text: str) -> None:
    print(text)  # noqa: T201 - to whoever asked


if __name__ == "__main__":
    sys.exit(main())
