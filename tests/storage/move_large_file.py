"""Move one file into a store or out of it, in a process of its own, and print what that took.

python move_large_file.py push|pull FOLDER|[BUCKET,REGION,ENDPOINT] FILE
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from bayou.config.locations import S3, Folder, Location
from bayou.storage import Store, connect


def memory(name: str) -> int:
    """What the kernel says of this process, in bytes: VmRSS now, VmHWM at most."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) << 10
    raise LookupError(name)


def location(text: str) -> Location:
    if not text.startswith("["):
        return Folder(Path(text))
    bucket, region, endpoint = json.loads(text)
    return S3(bucket, region=region, endpoint=endpoint, path_style=True)


async def move(direction: str, store: Store, file: Path) -> None:
    if direction == "push":
        await store.put("large", file)
        return
    size = 0
    async for chunk in (await store.get("large")).chunks():
        size += len(chunk)
    assert size == file.stat().st_size  # noqa: ASYNC240 - nothing else is going on


async def main() -> None:
    direction, where, file = sys.argv[1:]
    async with connect(location(where)) as store:
        await store.put("warm-up", b"x" * (1 << 20))  # imports, threads, connections
        before, started = memory("VmRSS"), time.monotonic()
        await move(direction, store, Path(file))
        print(json.dumps({"peak": memory("VmHWM") - before, "seconds": time.monotonic() - started}))  # noqa: T201


asyncio.run(main())
