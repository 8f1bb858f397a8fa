"""Bears children that sync and die, by no fault of theirs, at a step that the test chooses."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from bayou.layout.keys import Keyspace
from bayou.locks import Locks, StoreCells
from bayou.storage import FilesystemStore
from bayou.sync import database
from bayou.sync.machine import Machine
from bayou.testing.computers import Computer

STEPS = {"os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir"}


def live(cache: str, bucket: str, how: str, last: int) -> None:
    left = last

    def step() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(lambda event, _: step() if event in STEPS else None)
    transact = database._transact

    def transacted(*arguments: object) -> object:
        step()
        result: object = transact(*arguments)  # type: ignore[arg-type]
        step()
        return result

    database._transact = transacted  # type: ignore[assignment]
    store = FilesystemStore(Path(bucket))
    locks = Locks(lambda: StoreCells(store), Keyspace(), ttl=0.3)
    computer = Computer(Path(cache), store, machine=Machine(pause=lambda _: None), locks=locks)
    asyncio.run(getattr(computer, how)())
    computer.close()


def main() -> None:
    for line in sys.stdin:
        cache, bucket, how, last = line.rstrip("\n").split("\t")
        child = os.fork()
        if child == 0:
            live(cache, bucket, how, int(last))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
