"""How long imports take over an interpreter that imports nothing, each in a process of its own.

    python benchmarks/imports.py [--rounds N] [--json]

Each round starts every process once, in a random order; a cost is the difference to the bare interpreter of its round.
The processor's time is the child's, user and system.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"

# Opening an S3 store makes no request; the keys keep it from looking for a profile, which would need boto3.
CONNECT = (
    "from bayou.config.locations import S3; from bayou.storage import connect;"
    " connect(S3('bucket', 'prefix', 'us-east-1', 'http://127.0.0.1:9', path_style=True))"
)
CASES = {
    "nothing": "pass",
    "bayou": "import bayou",
    "bayou.BayouError": "import bayou; bayou.BayouError",
    "bayou.config": "import bayou.config",
    "bayou.wire.index": "import bayou.wire.index",
    "bayou.storage": "import bayou.storage",
    "bayou.storage, connect to S3": CONNECT,
    "asyncio": "import asyncio",
    "msgspec": "import msgspec",
    "obstore.store": "import obstore.store",
    "yaml": "import yaml",
}


@dataclass(frozen=True)
class Cost:
    wall: float
    cpu: float


def run(code: str, environment: dict[str, str]) -> Cost:
    """Give the milliseconds of one process."""
    wall, cpu = time.perf_counter(), children_cpu()
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)  # noqa: S603 - our own code
    return Cost((time.perf_counter() - wall) * 1000, (children_cpu() - cpu) * 1000)


def children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(rounds: int) -> dict[str, list[Cost]]:
    """Give for each case, round by round, what it costs over the bare interpreter, and that one's own cost."""
    keys = {"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing"}
    environment = {**os.environ, **keys, "PYTHONPATH": str(SOURCE)}
    environment.pop("AWS_PROFILE", None)
    for code in CASES.values():
        run(code, environment)  # compiles what is imported
    costs: dict[str, list[Cost]] = {name: [] for name in CASES}
    for _ in range(rounds):
        found = {name: run(CASES[name], environment) for name in random.sample(list(CASES), len(CASES))}
        bare = found["nothing"]
        for name, cost in found.items():
            over = cost if name == "nothing" else Cost(cost.wall - bare.wall, cost.cpu - bare.cpu)
            costs[name].append(over)
    return costs


def row(costs: list[Cost]) -> dict[str, float]:
    walls = [cost.wall for cost in costs]
    return {
        "wall": round(statistics.median(walls), 1),
        "least": round(min(walls), 1),
        "greatest": round(max(walls), 1),
        "cpu": round(statistics.median(cost.cpu for cost in costs), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="How long imports take over an interpreter that imports nothing.")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", action="store_true", help="one JSON document instead of the table")
    arguments = parser.parse_args()
    rows = {name: row(costs) for name, costs in measure(arguments.rounds).items()}
    if arguments.json:
        print(json.dumps({"rounds": arguments.rounds, "milliseconds": rows}))
        return
    print(f"{arguments.rounds} rounds, {os.cpu_count()} processors; milliseconds over the bare interpreter; medians")
    print(f"{'':30}{'clock':>8}{'spread':>16}{'cpu':>8}")
    for name, figures in rows.items():
        spread = f"{figures['least']:.0f}..{figures['greatest']:.0f}"
        print(f"{name:30}{figures['wall']:>8.0f}{spread:>16}{figures['cpu']:>8.0f}")


if __name__ == "__main__":
    main()
