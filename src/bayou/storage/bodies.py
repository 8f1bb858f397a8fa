"""Bodies: how large one is, and whether an object holds the same bytes."""

import asyncio
import stat
from pathlib import Path

from bayou.errors import UsageError
from bayou.storage.port import Body, Fetched

WHOLE = 8 << 20
"""Up to here a file goes in one request, which may be conditional."""


def size_of(body: Body) -> int:
    if isinstance(body, bytes):
        return len(body)
    try:
        status = body.stat()
    except OSError as error:
        raise UsageError(f"cannot read the file to store, {body}: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"cannot store {body}: it is not a file")
    return status.st_size


async def same_bytes(fetched: Fetched, body: Body) -> bool:
    """Compare without holding a file in memory; sizes first."""
    if fetched.meta.size != size_of(body):
        return False
    if isinstance(body, bytes):
        return await fetched.bytes() == body
    return await _same_as_file(fetched, body)


async def _same_as_file(fetched: Fetched, path: Path) -> bool:
    with path.open("rb") as file:
        async for chunk in fetched.chunks():
            if await asyncio.to_thread(file.read, len(chunk)) != chunk:
                return False
        return not file.read(1)
