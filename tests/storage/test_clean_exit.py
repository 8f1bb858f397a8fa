"""A process that ends right after its last call of a bucket ends well. Without the pause at exit some would abort."""

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from bayou.config.locations import S3, Location
from bayou.testing.servers import Server

PARALLEL, RUNS = 4, 50

# Everything is loaded once. Each child then starts obstore's threads itself, and ends like any interpreter.
SCRIPT = """
import asyncio, os, sys
import obstore.store
import bayou.storage.bucket
from bayou.config.locations import S3
from bayou.storage import open_bare

bucket, region, endpoint, runs = sys.argv[1:]

async def main():
    store = open_bare(S3(bucket, region=region, endpoint=endpoint, path_style=True))
    await asyncio.gather(*(store.put(f"{number}", b"x") for number in range(4)))

codes = []
for _ in range(int(runs)):
    child = os.fork()
    if child == 0:
        asyncio.run(main())
        break
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
else:
    print(*codes)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="starts its processes by forking")
def test_a_process_ends_with_code_0_right_after_its_last_call(
    ministack: Server, new_location: Callable[[Server], Location]
) -> None:
    location = new_location(ministack)
    assert isinstance(location, S3)
    where = [location.bucket, str(location.region), str(location.endpoint), str(RUNS)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def run(_: int) -> tuple[list[str], str]:
        done = subprocess.run(  # noqa: S603 - the script above
            [sys.executable, "-c", SCRIPT, *where], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.split(), done.stderr

    with ThreadPoolExecutor(PARALLEL) as pool:
        assert list(pool.map(run, range(PARALLEL))) == [(["0"] * RUNS, "")] * PARALLEL
