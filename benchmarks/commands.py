"""How long a command takes from a cold process to its end, beside an interpreter that does nothing.

    python benchmarks/commands.py [--artifacts N] [--rounds N] [--json]

A repo with so many artifacts of two versions each, whose catalog is there. Each round starts every command once, in a
random order.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import bayou
from bayou.config import newrepo

NOTHING = "python -c pass"
COMMANDS = {
    NOTHING: (),
    "bayou --version": ("--version",),
    "bayou data latest": ("data", "latest", "model-3", "state-3", "--json"),
    "bayou data get": ("data", "get", "model-3", "state-3"),
    "bayou data versions": ("data", "versions", "model-3", "state-3"),
    "bayou data list MODEL": ("data", "list", "model-3"),
    "bayou data query": ("data", "query", 'tags.env == "prod" && attributes.n == 3', "--json"),
    "bayou data write": ("data", "write", "model-3", "hand", "pyproject.toml", "--type", "acme/host"),
    "bayou exec -- true": ("exec", "--type", "acme/host", "--model", "model-3", "--method", "m", "--", "true"),
    "bayou runs list": ("runs", "list"),
}


def fill(folder: Path, artifacts: int) -> None:
    newrepo.create(folder)
    (folder / "pyproject.toml").write_text("[project]\n")
    with bayou.open(folder, durable=False) as ds:
        for number in range(artifacts):
            model = ds.model("acme/host", f"model-{number // 20}")
            for _ in range(2):
                model.write(f"state-{number % 20}", {"n": number, "status": "ok"}, tags={"env": "prod"})
        ds.query("true")


class Cost(NamedTuple):
    """In milliseconds; the processor's time is the child's, user and system."""

    clock: float
    cpu: float


def once(arguments: tuple[str, ...], folder: Path) -> Cost:
    command = Path(sys.executable).with_name("bayou")
    line = [str(command), *arguments] if arguments else [sys.executable, "-c", "pass"]
    # Nor what keeps Python from keeping what it compiled: an installed command is not compiled each time.
    own = ("SWAMP_", "BAYOU_", "PYTHONDONTWRITEBYTECODE")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    clock, cpu = time.perf_counter(), children_cpu()
    subprocess.run(line, cwd=folder, env=environment, check=True, capture_output=True)  # noqa: S603 - our own commands
    return Cost((time.perf_counter() - clock) * 1000, (children_cpu() - cpu) * 1000)


def children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(artifacts: int, rounds: int) -> dict[str, list[Cost]]:
    taken: dict[str, list[Cost]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "repo"
        fill(folder, artifacts)
        for arguments in COMMANDS.values():
            once(arguments, folder)  # compiles what is imported
        for _ in range(rounds):
            for name in random.sample(list(COMMANDS), len(COMMANDS)):
                taken[name].append(once(COMMANDS[name], folder))
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description="How long commands take from a cold process.")
    parser.add_argument("--artifacts", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", action="store_true", help="one JSON document instead of the table")
    arguments = parser.parse_args()
    taken = measure(arguments.artifacts, arguments.rounds)
    if arguments.json:
        print(json.dumps({"artifacts": arguments.artifacts, "rounds": arguments.rounds, "milliseconds": taken}))
        return
    print(f"{arguments.artifacts} artifacts, {arguments.rounds} rounds, {os.cpu_count()} processors; medians of ms")
    print(f"{'':28}{'clock':>8}{'spread':>14}{'cpu':>8}{'spread':>14}{'cpu of nothing':>18}")
    for name, costs in taken.items():
        ratios = [cost.cpu / bare.cpu for cost, bare in zip(costs, taken[NOTHING], strict=True)]
        told = f"{name:28}"
        for values in zip(*costs, strict=True):
            spread = f"{min(values):.0f}..{max(values):.0f}"
            told += f"{statistics.median(values):>8.0f}{spread:>14}"
        print(f"{told}{statistics.median(ratios):>17.1f}x")


if __name__ == "__main__":
    main()
