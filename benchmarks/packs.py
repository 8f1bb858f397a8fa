"""Fetching many small artifacts to a machine that has nothing, with packs and without.

    python -m benchmarks.packs [--artifacts N] [--size BYTES] [--latency MS] [--rounds N] [--json]

The server is ministack, and each request is answered so many milliseconds later. `content` is what a hydration fetches
where metadata is here, `all` is a first pull of everything. In each round both take turns in a random order; a
ratio is that of the medians. Every file is verified against its hash either way.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

from bayou.config import urls
from bayou.remotes import Changeset, packs
from bayou.remotes.objects import each
from bayou.storage import connect
from bayou.sync import hydrating
from bayou.sync.report import Report
from bayou.testing.computers import TYPE, Computer, metadata
from bayou.testing.machines import Machine, change
from bayou.testing.servers import SERVERS, Server
from bayou.testing.servers.faraway import far_away

WIDTH = 50
OF_MODEL, OF_NAME = 200, 10
NEVER = 10**9


def main() -> None:
    arguments = _arguments()
    with SERVERS["ministack"]() as server, far_away(server, arguments.latency) as away:
        os.environ["AWS_ACCESS_KEY_ID"] = server.settings["access_key_id"]
        os.environ["AWS_SECRET_ACCESS_KEY"] = server.settings["secret_access_key"]
        bucket = server.new_bucket()
        near, far = (_url(one, bucket) for one in (server, away))
        asyncio.run(fill(near, arguments.artifacts, arguments.size))
        began = time.perf_counter()
        command = [str(Path(sys.executable).with_name("bayou")), "pipeline", "run", "compact", "--url", near, "--json"]
        compacted = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)  # noqa: S603 - ours
        seconds = time.perf_counter() - began
        with tempfile.TemporaryDirectory(prefix="bayou-bench-") as folder:
            results = asyncio.run(measure(far, Path(folder), arguments))
    if arguments.json:
        print(json.dumps({"compact": seconds, "packs": compacted["packsMade"], "results": results}))
        return
    print(f"compact: {compacted['contents']} contents in {compacted['packsMade']} packs, {seconds:.0f} s in all")
    print(f"{'':>8} {'files':>7} {'without packs':>22} {'with packs':>22}")
    for one in results:
        ways = "".join(f"{one[way]:>8.1f} s {one[f'{way} requests']:>6.0f} requests" for way in ("without", "with"))
        print(f"{one['work']:>8} {one['files']:>7.0f} {ways}   {one['without'] / one['with']:.1f}x as fast")


async def measure(url: str, folder: Path, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    async with connect(urls.parse(url), concurrency=WIDTH) as store:
        lazy = Computer(folder / "lazy", store, lazy=True, pulls=WIDTH)
        await lazy.pull()
        lazy.close()

        async def content(place: Path) -> Computer:
            computer = Computer(place, store, lazy=True, pulls=WIDTH)
            report = Report()
            await hydrating.hydrate(computer.ends, hydrating.absent(computer.journal), report)
            assert not report.failed
            assert len(report.pulled) == arguments.artifacts
            return computer

        async def everything(place: Path) -> Computer:
            computer = Computer(place, store, pulls=WIDTH)
            report = await computer.pull()
            assert not report.failed
            assert len(report.pulled) >= 2 * arguments.artifacts
            return computer

        found = []
        for name, work, files in (
            ("content", content, arguments.artifacts),
            ("all", everything, 2 * arguments.artifacts + arguments.artifacts // OF_NAME),
        ):
            taken: dict[str, list[float]] = {"without": [], "with": []}
            asked = {}
            for _ in range(arguments.rounds):
                for way in random.sample(list(taken), len(taken)):
                    place = folder / "fresh"
                    shutil.rmtree(place, ignore_errors=True)
                    if work is content:
                        shutil.copytree(folder / "lazy", place)
                    with mock.patch.object(packs, "MANY", NEVER if way == "without" else packs.MANY):
                        began = time.perf_counter()
                        computer = await work(place)
                        taken[way].append(time.perf_counter() - began)
                    asked[f"{way} requests"] = len(computer.asked())
                    computer.close()
            medians = {way: statistics.median(times) for way, times in taken.items()}
            found.append({"work": name, "files": files, **medians, **asked})
        return found


async def fill(url: str, artifacts: int, size: int) -> None:
    """Versions with their metadata, in a sharded index."""
    async with connect(urls.parse(url), concurrency=WIDTH) as store:
        machine = Machine(store)
        for first in range(0, artifacts, 2_000):
            files: dict[str, bytes] = {}
            for number in range(first, min(first + 2_000, artifacts)):
                name = f"data/{TYPE}/model-{number // OF_MODEL:05}/state-{number % OF_MODEL // OF_NAME}"
                raw, version = os.urandom(size), number % OF_NAME + 1
                files[f"{name}/{version}/raw"] = raw
                files[f"{name}/{version}/metadata.yaml"] = metadata(version, raw)
                files[f"{name}/latest"] = str(version).encode()
            await each(WIDTH, files.items(), lambda item: store.put(*item))
            await machine.commit(Changeset("", (change({}, files),)))
        await machine.remote.migrate(lambda: True)


def _url(server: Server, bucket: str) -> str:
    return f"s3://{bucket}/lake?endpoint={server.endpoint}&path_style=true&region={server.settings['region']}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--artifacts", type=int, default=20_000)
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--latency", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
