"""Writers on one datastore, killed, stopped for longer than their locks are good for, with clocks an hour apart; and a
look at what is left. In a bucket they work through several caches, and of its requests 5 % fail before they are carried
out, and 5 % after, those of locks as those of syncs.

    .venv/bin/python -m tests.soak.hammer [folder|ministack|seaweedfs|…] [--writers N] [--rounds N] [--seed N] …

The seed decides what happens to whom and after how long; the machine decides where that meets the victim. Exit code 1,
with all that is wrong, if anything that was acknowledged is not there or is there twice, if two wrote at a time without
a reason, if the caches do not come to agree, or if a lock, a run or a catalog was left as it should not be.
"""

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.soak.places import FOLDER, Computer, computers
from tests.soak.verdict import Story, judge, look, settle

from bayou.testing.servers import SERVERS

ROOT = Path(__file__).parents[2]
HOUR = 3600
BARS = 40


class Wanted(NamedTuple):
    place: str
    seed: int
    writers: int
    caches: int
    rounds: int
    models: int
    ttl: float
    every: float
    """Seconds between two blows."""
    blows: int
    """How many at most: on a busy machine writers could be killed faster than they come to anything."""
    verbose: bool


class Writer:
    """One writer, in as many processes, one after the other, as it takes."""

    def __init__(self, number: int, computer: Computer, wanted: Wanted, story: Story) -> None:
        self.name = f"w{number}"
        self._skew = (-HOUR, 0, HOUR)[number % 3]
        self._computer = computer
        self._wanted = wanted
        self._story = story
        self.process = self._start()

    def _start(self) -> "subprocess.Popen[str]":
        w, first = self._wanted, self._story.done[self.name]
        arguments = (self._computer.repo, self.name, w.seed, first, w.rounds, w.models, w.ttl, self._skew)
        process = subprocess.Popen(  # noqa: S603 - our own script
            [sys.executable, "-m", "tests.soak.writer", *map(str, arguments)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"SWAMP_HOME": str(self._computer.home)},
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


def hammer(on: Sequence[Computer], wanted: Wanted) -> tuple[Story, list[str]]:
    """Let them write, and do them harm. Gives what happened, and what is wrong with how they ended."""
    story, dice = Story(), Random(wanted.seed)  # noqa: S311 - repeatable on purpose
    writers = [Writer(number, on[number % len(on)], wanted, story) for number in range(wanted.writers)]
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


def histogram(waits: Sequence[float]) -> str:
    width = max(waits) / 12 or 1.0
    counts = Counter(min(11, int(wait / width)) for wait in waits)
    most = max(counts.values())
    return "\n".join(
        f"  {number * width:6.2f} s  {'#' * round(BARS * counts[number] / most):{BARS}} {counts[number]}"
        for number in range(12)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("place", nargs="?", default=FOLDER, choices=[FOLDER, *SERVERS])
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--caches", type=int, default=3, help="in front of a bucket")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--models", type=int, default=4)
    parser.add_argument("--ttl", type=float, default=3.0, help="seconds that a lock is good for")
    parser.add_argument("--every", type=float, default=1.0, help="seconds between two blows")
    parser.add_argument("--blows", type=int, default=100)
    parser.add_argument("--verbose", action="store_true", help="what the writers were told, word by word")
    wanted = Wanted(**vars(parser.parse_args()))
    with computers(wanted.place, wanted.caches) as on:
        story, wrong = hammer(on, wanted)
        wrong += settle(on, wanted.ttl)
        left = [look(computer, wanted.ttl) for computer in on]
        wrong += judge(story, left, wanted.rounds)
    say(f"{len(story.acks)} artifacts acknowledged through {len(left)} computers")
    say(f"{story.kills} killed, {story.pauses} stopped")
    say(f"told by writers: {dict(story.told)}; longest wait {max(story.waits):.1f} s")
    say(histogram(story.waits))
    for line, count in story.heard.most_common() if wanted.verbose else ():
        say(f"{count:4} {line}")
    for one in wrong:
        say(f"WRONG: {one}")
    return 1 if wrong else 0


def say(text: str) -> None:
    print(text)  # noqa: T201 - to whoever asked


if __name__ == "__main__":
    sys.exit(main())
