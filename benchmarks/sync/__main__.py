"""What a sync costs: requests and bytes, counted; times beside s5cmd and rclone; memory.

    python -m benchmarks.sync [--quick] [--part counts|times|memory]… [--on seaweedfs|ministack] [--rounds N] [--write]

`--quick` takes about two minutes and leaves out what is large and far away; `--write` puts all tables into
docs/benchmarks.md.
"""

import argparse
import asyncio
import os
import platform
import re
import statistics
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.sync import memory, times
from benchmarks.sync.counts import FILES, Counted, count
from benchmarks.sync.times import DOWN, OURS, UP, Field, Timed

from bayou.testing.copiers import COPIERS
from bayou.testing.servers import SERVERS, Server
from bayou.testing.servers.faraway import far_away

HEAD = """# What a sync costs

Made by `python -m benchmarks.sync --write`. The server and all programs are on one machine: times say as much about it
as about the programs, so compare them within a row only. `benchmarks/README.md` says how they are made."""

MOST_FILLED = 10_000
"""With more files only what starts from a full bucket is timed: it takes minutes to fill one."""

DOCUMENT = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--on", default="seaweedfs", choices=["seaweedfs", "ministack"])
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    rounds = arguments.rounds or (2 if arguments.quick else 5)
    for part in arguments.part or PARTS:
        with SERVERS[arguments.on]() as server:
            table = shown(PARTS[part](server, rounds, quick=arguments.quick))
        if arguments.write:
            write(part, f"{table}\n\n{made(arguments.on)}")


def shown(lines: Iterable[str]) -> str:
    """Print each line as soon as it is known."""
    kept = []
    for line in lines:
        print(line, flush=True)
        kept.append(line)
    print()
    return "\n".join(kept)


# Requests and bytes.


def counted(server: Server, _: int, *, quick: bool) -> Iterator[str]:  # noqa: ARG001 - it takes no time
    yield f"### Requests and bytes: {FILES:,} files in 50 models"
    yield ""
    yield "| scenario | dual | up | down | existing client | sharded | up | down | existing client |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    dual, sharded = (asyncio.run(_count(server, sharded=sharded)) for sharded in (False, True))
    for one, other in zip(dual, sharded, strict=True):
        yield f"| {one.scenario} | {_cells(one)} | {_cells(other)} |"


async def _count(server: Server, *, sharded: bool) -> list[Counted]:
    with tempfile.TemporaryDirectory(prefix="bayou-sync-") as folder:
        return [each async for each in count(server, Path(folder), sharded=sharded)]


def _cells(row: Counted) -> str:
    existing = "" if row.existing is None else f"{row.existing:,}"
    return f"**{row.requests:,}** | {row.up:,} | {row.down:,} | {existing}"


# Times.


def timed(server: Server, rounds: int, *, quick: bool) -> Iterator[str]:
    yield f"### Times: {UP} requests at a time up and {DOWN} down, medians of {rounds} rounds"
    yield ""
    for name, remedy in times.missing().items():
        yield f"{name} is not installed here, and so not in the table. {remedy}"
        yield ""
    yield "Seconds of whole processes; of ours also those inside, once Python runs and everything is imported."
    yield "In brackets how many times as long as Bayou inside: of the medians; the least and greatest of a round."
    yield ""
    yield "| work | files | latency | Bayou, inside | Bayou, process | s5cmd | rclone |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    sizes = [(1000, 0)] if quick else [(1000, 0), (1000, 50), (10_000, 0), (10_000, 50), (100_000, 0)]
    for files, milliseconds in sizes:
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="bayou-sync-"))
            place = stack.enter_context(far_away(server, milliseconds)) if milliseconds else server
            field = Field(place, Path(folder), files, shared=files > MOST_FILLED)
            cold = 0 if field.shared else max(1, min(rounds, rounds * 3000 // files))
            for row in times.measure(field, cold=cold, warm=rounds):
                yield f"| {row.work} | {files:,} | {milliseconds} ms | {' | '.join(_figures(row))} |"


def _figures(row: Timed) -> Iterator[str]:
    yield f"**{statistics.median(row.inside):.2f}**"
    yield f"{statistics.median(row.seconds[OURS]):.2f}"
    for copier in COPIERS:
        yield _beside(row.seconds.get(copier.name, ()), row.inside)


def _beside(theirs: Sequence[float], ours: Sequence[float]) -> str:
    if not theirs:
        return ""
    ratios = [their / our for their, our in zip(theirs, ours, strict=True)]
    middle = statistics.median(theirs) / statistics.median(ours)
    return f"{statistics.median(theirs):.2f} ({middle:.2f}, {min(ratios):.2f}..{max(ratios):.2f})"


PARTS = {"counts": counted, "times": timed, "memory": memory.lines}


def made(on: str) -> str:
    command = " ".join(["python -m benchmarks.sync", *sys.argv[1:]])
    load = " ".join(f"{each:.0f}" for each in os.getloadavg())
    machine = f"{os.cpu_count()} processors with a load of {load}, Python {platform.python_version()}"
    return f"`{command}`: on {on}, {machine}."


def write(part: str, text: str) -> None:
    """Replace what the document says of a part, and leave the rest."""
    found = dict(re.findall(r"<!-- (\w+) -->\n(.*?)\n<!-- end -->", DOCUMENT.read_text(), re.DOTALL))
    found[part] = text
    sections = [f"<!-- {name} -->\n{found[name]}\n<!-- end -->" for name in PARTS if name in found]
    DOCUMENT.write_text("\n\n".join([HEAD, *sections]) + "\n")


if __name__ == "__main__":
    main()
