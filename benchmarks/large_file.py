"""How much memory and time it takes to move one large file in and out of a store, whole.

    python benchmarks/large_file.py [--on rclone|ministack|folder]… [--gib N] [--json]

Each direction runs in a process of its own, through all of `connect()`. The memory is the peak of the resident set over
what the process took before the first byte moved. The file is sparse, so that the disk matters little.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bayou.testing.servers import SERVERS

MOVE = Path(__file__).parents[1] / "tests" / "storage" / "move_large_file.py"


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--on", action="append", choices=["rclone", "ministack", "folder"])
    parser.add_argument("--gib", type=float, default=5.0)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    results = [measured for name in arguments.on or ["rclone", "folder"] for measured in measure(name, arguments.gib)]
    if arguments.json:
        print(json.dumps(results, indent=2))
        return
    print(f"{'store':12}{'direction':12}{'GiB':>6}{'seconds':>10}{'MiB/s':>8}{'peak MiB':>10}")
    for row in results:
        speed = arguments.gib * 1024 / row["seconds"]
        print(
            f"{row['store']:12}{row['direction']:12}{arguments.gib:6.1f}{row['seconds']:10.1f}{speed:8.0f}"
            f"{row['peak'] / 2**20:10.0f}"
        )


def measure(name: str, gib: float) -> list[dict[str, Any]]:
    """Push a file, then pull it."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        source = folder / "source"
        with source.open("wb") as file:
            file.truncate(int(gib * 2**30))
        environment = dict(os.environ)
        if name == "folder":
            (folder / "store").mkdir()
            where = str(folder / "store")
        else:
            server = stack.enter_context(SERVERS[name]())
            where = json.dumps([server.new_bucket(), server.settings["region"], server.endpoint])
            environment["AWS_ACCESS_KEY_ID"] = server.settings["access_key_id"]
            environment["AWS_SECRET_ACCESS_KEY"] = server.settings["secret_access_key"]
        return [
            {"store": name, "direction": direction} | move(direction, where, source, environment)
            for direction in ("push", "pull")
        ]


def move(direction: str, where: str, file: Path, environment: dict[str, str]) -> dict[str, Any]:
    """Move the file in a process of its own; give what that took."""
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, MOVE, direction, where, file], env=environment, stdout=subprocess.PIPE, check=True
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


if __name__ == "__main__":
    main()
