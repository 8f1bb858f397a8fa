"""Processes that write and die: the first at the first call of the system, the next at the second, and so on.

`die_everywhere.py FOLDER WHAT` leaves a datastore `FOLDER/N` for each, and ends with the first that lived.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from bayou.repository.deferred import Deferred
from bayou.repository.deletions import delete
from bayou.repository.renames import rename
from bayou.repository.saving import save
from bayou.repository.streams import append
from bayou.testing.bench import Bench, bench_in

CALLS = ("open", "write", "mkdir", "replace", "rename", "link", "unlink", "rmdir")


def deferred(bench: Bench) -> None:
    with Deferred(bench.holdings) as writes:
        writes.save(bench.key(), "three", bench.draft(streaming=True))


DEEDS: dict[str, Callable[[Bench], object]] = {
    "save": lambda bench: save(bench.holdings, bench.key(), "three", bench.draft()),
    "stream": lambda bench: save(bench.holdings, bench.key(), iter([b"th", b"ree"]), bench.draft()),
    "append": lambda bench: append(bench.holdings, bench.key(), "-more", bench.owner),
    "rename": lambda bench: rename(bench.holdings, bench.key(), "other"),
    "delete version": lambda bench: delete(bench.holdings, bench.key(), 2),
    "delete": lambda bench: delete(bench.holdings, bench.key()),
    "deferred": deferred,
}


def die_at(call: int) -> None:
    count = iter(range(call))

    def dying(whole: Callable[..., object]) -> Callable[..., object]:
        def step(*arguments: object, **named: object) -> object:
            if next(count, None) is None:
                os._exit(9)
            return whole(*arguments, **named)

        return step

    for name in CALLS:
        setattr(os, name, dying(getattr(os, name)))


def main(folder: Path, what: str) -> None:
    for call in range(1000):
        child = os.fork()
        if child == 0:
            with bench_in(folder / str(call)) as bench:
                for text in ("one", "two"):
                    save(bench.holdings, bench.key(), text, bench.draft(streaming=True))
                die_at(call)
                DEEDS[what](bench)
                os._exit(0)
        if os.waitpid(child, 0)[1] == 0:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
