"""What the local half of sync costs: a mark at any number of marks, a scan of one changed file among many, the base.

    python benchmarks/sync_local.py [--files N] [--rounds N] [--rows N]

A mark is compared with a bare SQLite transaction of one row and with the same mark while nothing else is marked; a scan
with the same number of `lstat` calls; the base with a table of the same rows written in one transaction.
"""

import argparse
import hashlib
import os
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from bayou.sync.journal import Journal, Side

SIZES = (0, 100, 1_000, 10_000, 100_000)


@contextmanager
def folder() -> Iterator[Path]:
    place = Path(tempfile.mkdtemp(prefix="bayou-bench-"))
    try:
        yield place
    finally:
        shutil.rmtree(place)


def microseconds(work: Callable[[int], object], rounds: int) -> list[float]:
    times = []
    for number in range(rounds):
        started = time.perf_counter()
        work(number)
        times.append((time.perf_counter() - started) * 1e6)
    return times


def show(name: str, times: list[float], peer: float) -> float:
    times = sorted(times)
    median, late = statistics.median(times), times[int(len(times) * 0.99)]
    print(f"{name:44}{median:>9.0f}{late:>9.0f}{statistics.mean(times):>9.0f}{median / peer if peer else 1:>9.2f}x")
    return median


def bare(rounds: int) -> list[float]:
    with folder() as place:
        connection = apsw.Connection(str(place / "peer.db"))
        connection.execute(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE mark(path TEXT PRIMARY KEY)"
        )

        def write(number: int) -> None:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO mark VALUES(?)", (f"data/t/m/n{number}",))
            connection.execute("COMMIT")

        times = microseconds(write, rounds)
        connection.close()
    return times


def marks(rounds: int) -> None:
    print(f"\na mark, microseconds; {rounds} each{'median':>18}{'99 %':>9}{'mean':>9}{'to bare':>10}")
    peer = show("bare transaction of one row", bare(rounds), 0)
    with folder() as place, Journal(place) as journal:
        journal.acknowledge(journal.scan())
        marked = 0
        for size in SIZES:
            while marked < size:
                journal.changing([f"data/t/m/n{number}/1" for number in range(marked, min(marked + 1000, size))])()
                marked = min(marked + 1000, size)

            def mark_new(number: int, size: int = size) -> None:
                journal.changing([f"logs/{size}/{number}"])()

            show(f"a new path, {size:,} marked", microseconds(mark_new, rounds), peer)
            show(
                f"mark_dirty, known path, {size:,} marked",
                microseconds(lambda _: journal.mark_dirty("logs/0/0"), rounds),
                peer,
            )
            marked += rounds
            marked = max(marked, size)


def scans(files: int) -> None:
    print(f"\na scan among {files:,} files{'seconds':>20}{'stats':>9}{'listed':>9}{'read':>9}")
    with folder() as place, Journal(place) as journal:
        journal.bind(Side("bench"))
        for number in range(files // 2):
            version = place / f"data/type/m{number % 100}/n{number // 100}/1"
            version.mkdir(parents=True)
            (version / "raw").write_bytes(str(number).encode())
            (version / "metadata.yaml").write_bytes(b"id: 1\n")
        for name in ("everything, for the first time", "everything, unchanged", "one of them"):
            if name == "one of them":
                close = journal.changing(["data/type/m1/n1/1"])
                (place / "data/type/m1/n1/1/raw").write_bytes(b"new")
                close()
            started = time.perf_counter()
            scan = journal.scan(everything="unchanged" in name)
            seconds = time.perf_counter() - started
            looks = scan.looks
            print(f"{name:36}{seconds:>10.3f}{looks.stats:>9,}{looks.listings:>9,}{looks.reads:>9,}")
            hashes = ((path, sha) for path, sha in scan.local.files.items() if sha is not None)
            journal.base.agree(hashes, as_of=scan.sequence)
            journal.acknowledge(scan)
        started = time.perf_counter()
        for parent, _, names in os.walk(place / "data"):
            for name in names:
                os.lstat(f"{parent}/{name}")
        print(f"{'peer: os.walk and lstat of everything':36}{time.perf_counter() - started:>10.3f}{files:>9,}")
        started = time.perf_counter()
        missing, _ = journal.missing()
        print(f"{'what is missing, by listing':36}{time.perf_counter() - started:>10.3f}{0:>9}  {len(missing)} missing")


def base(rows: int) -> None:
    print(f"\na base of {rows:,} rows{'seconds':>25}")

    def entries() -> Iterator[tuple[str, str]]:
        for number in range(rows):
            digest = hashlib.sha256(str(number).encode()).hexdigest()
            yield f"data/aws/ec2/vpc/{digest[:8]}-7a51-4c3e-9a55-1f4f0d6a1c01/state-{number % 20}/{number}/raw", digest

    with folder() as place, Journal(place) as journal:
        journal.bind(Side("bench"))
        started = time.perf_counter()
        journal.base.know(entries())
        print(f"{'written in chunks':36}{time.perf_counter() - started:>10.2f}")
        slow = sorted(microseconds(lambda n: journal.mark_dirty(f"logs/{n}"), 1000))
        print(f"{'a mark beside it, median':36}{statistics.median(slow):>10.0f} us")
        started = time.perf_counter()
        count = sum(1 for _ in journal.base.files())
        print(f"{'read as a stream':36}{time.perf_counter() - started:>10.2f}  {count:,} rows")
        started = time.perf_counter()
        assert journal.base.has_absent()
        print(f"{'is anything absent?':36}{time.perf_counter() - started:>10.4f}")
        print(
            f"{'most memory of the process, MiB':36}{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:>10.0f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="What the local half of sync costs.")
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=1_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    arguments = parser.parse_args()
    base(arguments.rows)  # first, while no other work has added to the most memory
    marks(arguments.rounds)
    scans(arguments.files)


if __name__ == "__main__":
    main()
