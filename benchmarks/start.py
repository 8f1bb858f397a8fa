"""How long a Spark session takes to start, to its first job in Python, with the class archive and without.

    python benchmarks/start.py [--rounds N] [--json]

For the Java of this machine and for the one of the extra `jdk`, each with a cache of its own in which `bayou pipeline
warm` leaves the archive. Each round starts all of them in a random order. "cpu" is the processor time of Java until
then, which a busy machine changes less.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bayou.errors import Unsupported
from bayou.pipelines.java import find_java

# As a command starts it; the first job goes through a Python worker, as all of ours do.
_START = """
import json, os, sys, time
from pathlib import Path
from bayou.pipelines.sessions import session
spark = session("local[2]", log=Path(sys.argv[1], "java.log"))
reader = spark.read.format("bayou").option("url", sys.argv[1]).option("table", "objects")
assert reader.load().count() == 0
fields = Path(f"/proc/{spark._jvm.java.lang.ProcessHandle.current().pid()}/stat").read_text().rpartition(")")[2].split()
cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
print(json.dumps({"cpu": cpu, "clock": time.time() - float(sys.argv[2])}))
spark.stop()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bayou-bench-") as folder:
        found = measure(Path(folder), arguments.rounds)
    if arguments.json:
        print(json.dumps(found))
        return
    print(f"{arguments.rounds} rounds, {os.cpu_count()} processors, load {os.getloadavg()[0]:.0f}; seconds, medians")
    for name, one in found.items():
        print(f"{name:<24} clock {one['clock']:>6.1f}  cpu {one['cpu']:>6.1f}")


def measure(folder: Path, rounds: int) -> dict[str, dict[str, float]]:
    places = {}
    for java, environment in surroundings(folder).items():
        cold, warm = folder / f"{java}-cold", folder / f"{java}-warm"
        places[f"{java}, no archive"] = environment | {"XDG_CACHE_HOME": str(cold)}
        places[f"{java}, archive"] = environment | {"XDG_CACHE_HOME": str(warm)}
        command = [str(Path(sys.executable).with_name("bayou")), "pipeline", "warm"]
        subprocess.run(command, env=places[f"{java}, archive"], check=True)  # noqa: S603 - ours
    taken: dict[str, list[dict[str, float]]] = {name: [] for name in places}
    for _ in range(rounds):
        for name in random.sample(list(places), len(places)):
            command = [sys.executable, "-c", _START, str(folder), str(time.time())]
            done = subprocess.run(command, env=places[name], check=True, capture_output=True, text=True)  # noqa: S603 - ours
            taken[name].append(json.loads(done.stdout))
    return {
        name: {what: statistics.median(one[what] for one in found) for what in ("clock", "cpu")}
        for name, found in taken.items()
    }


def surroundings(folder: Path) -> dict[str, dict[str, str]]:
    """The environments in which each Java is found."""
    plain = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    others = {"packaged": plain | {"PATH": path_without_java(folder)}}
    try:
        machine = find_java(folder / "cache")
    except Unsupported:
        return others
    return {"machine": plain | {"JAVA_HOME": str(machine.home)}} | others


def path_without_java(folder: Path) -> str:
    """A folder with all programs that are on the PATH, but for Java."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    for place in os.get_exec_path():
        for program in Path(place).glob("*") if Path(place).is_dir() else ():
            link = programs / program.name
            if program.name != "java" and not link.is_symlink():
                link.symlink_to(program)
    return str(programs)


if __name__ == "__main__":
    main()
