"""What it takes to write one artifact, beside MLflow's `log_dict` and a file that is just written.

    python -m venv /tmp/mlflow && /tmp/mlflow/bin/pip install mlflow-skinny sqlalchemy alembic
    python benchmarks/writes.py [--mlflow /tmp/mlflow/bin/python] [--writes N] [--rounds N] [--json]

Each round writes the same document so many times in each way, in a process of its own, in a random order. Ours is a new
version of one name each time, of another name each time, and the same synced to the disk; each with its metadata, its
checksum and its rows in the catalog. MLflow keeps its records in files or, as it does by default, in SQLite; it is no
dependency of the project, so without `--mlflow` it is left out. The ratio is how many of ours go into one of theirs,
round by round.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_CLOCKED = """
import json, statistics, sys, time
def clocked(write, count):
    for number in range(20):
        write(number)
    taken = []
    cpu = time.process_time()
    for number in range(20, count + 20):
        began = time.perf_counter()
        write(number)
        taken.append((time.perf_counter() - began) * 1000)
    print(json.dumps([statistics.median(taken), (time.process_time() - cpu) * 1000 / count]))
count, folder = int(sys.argv[1]), sys.argv[2]
document = {"VpcId": "vpc-1", "status": "ok", "cidr": "10.0.0.0/16", "count": 7, "tags": {"env": "prod"}}
"""
_OURS = """
import bayou
from bayou.config import newrepo
from pathlib import Path
newrepo.create(Path(folder))
with bayou.open(folder, durable={durable}) as ds, ds.model("aws/ec2/vpc", "prod-vpc").run("create") as run:
    clocked(lambda number: run.write({name}, document, tags={{"env": "prod"}}, keep=1000), count)
"""
_MLFLOW = """
import logging, os
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
import mlflow
logging.disable(logging.CRITICAL)
mlflow.set_tracking_uri({place})
with mlflow.start_run():
    clocked(lambda number: mlflow.log_dict(document, f"state-{{number}}.json"), count)
"""
_PLAIN = """
def write(number):
    with open(f"{folder}/state-{number}.json", "w") as file:
        json.dump(document, file)
clocked(write, count)
"""
WAYS = {
    "a plain file": _PLAIN,
    "Bayou, a new version": _OURS.format(durable=False, name='"state"'),
    "Bayou, a new name": _OURS.format(durable=False, name='f"state-{number}"'),
    "Bayou, synced to the disk": _OURS.format(durable=True, name='"state"'),
}
PEERS = {
    "MLflow log_dict, folder": _MLFLOW.format(place='f"file://{folder}/mlruns"'),
    "MLflow log_dict, SQLite": _MLFLOW.format(place='f"sqlite:///{folder}/mlflow.db"'),
}


class Cost(NamedTuple):
    """Of one write, in milliseconds: the median by the clock, and the mean of the processor's time."""

    clock: float
    cpu: float


def once(python: str, code: str, writes: int) -> Cost:
    """In a new process and a new folder."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SWAMP_", "BAYOU_"))}
    with tempfile.TemporaryDirectory() as folder:
        command = [python, "-c", _CLOCKED + code, str(writes), folder]
        done = subprocess.run(  # noqa: S603 - our own code
            command, cwd=folder, env=environment, check=True, capture_output=True, text=True
        )
    return Cost(*json.loads(done.stdout.splitlines()[-1]))


def measure(ways: Mapping[str, tuple[str, str]], writes: int, rounds: int) -> dict[str, list[Cost]]:
    taken: dict[str, list[Cost]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name in random.sample(list(ways), len(ways)):
            taken[name].append(once(*ways[name], writes))
    return taken


def ratio(theirs: Sequence[float], ours: Sequence[float]) -> str:
    ratios = [one / other for one, other in zip(theirs, ours, strict=True)]
    return f"{statistics.median(ratios):.1f}x ({min(ratios):.1f}..{max(ratios):.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description="How long it takes to write one artifact.")
    parser.add_argument("--mlflow", metavar="PYTHON", help="an interpreter that has MLflow")
    parser.add_argument("--writes", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="one JSON document instead of the table")
    arguments = parser.parse_args()
    ways = {name: (sys.executable, code) for name, code in WAYS.items()}
    peers = PEERS if arguments.mlflow else {}
    ways |= {name: (arguments.mlflow, code) for name, code in peers.items()}
    taken = measure(ways, arguments.writes, arguments.rounds)
    if arguments.json:
        print(json.dumps({"writes": arguments.writes, "rounds": arguments.rounds, "milliseconds": taken}))
        return
    print(f"{arguments.writes} writes, {arguments.rounds} rounds, {os.cpu_count()} processors; ms for a write")
    print(f"{'':28}{'clock':>8}{'spread':>16}{'cpu':>8}{'spread':>16}")
    for name, costs in taken.items():
        clocks, cpus = zip(*costs, strict=True)
        print(
            f"{name:28}{statistics.median(clocks):>8.2f}{min(clocks):>9.2f}..{max(clocks):<5.2f}"
            f"{statistics.median(cpus):>8.2f}{min(cpus):>9.2f}..{max(cpus):<5.2f}"
        )
    for peer in peers:
        print(f"\nOf ours in one of theirs ({peer}), by the clock and in processor time:")
        for name in WAYS:
            ratios = (ratio([cost[of] for cost in taken[peer]], [cost[of] for cost in taken[name]]) for of in (0, 1))
            print(f"  {name:26}" + "".join(f"{one:>22}" for one in ratios))


if __name__ == "__main__":
    main()
