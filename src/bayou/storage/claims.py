"""Creating a large object only if it is absent, on stores whose uploads in parts have no condition.

The key is claimed first by a small object that only one writer can create; the winner then uploads over its own claim.
Until that is done a reader sees the claim: nobody reads a key that no index names yet, and whoever does finds bytes
whose hash is not the expected one. A writer that dies leaves its claim behind; it is never overwritten (another writer
takes another key) and goes with the sweep of objects that no index names.
"""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from bayou.errors import Conflict, NotFound
from bayou.storage.port import ABSENT, Store


class Claims:
    """The claims of calls that failed before the upload was done, so that a second try recognises its own.

    A claim belongs to one call at a time: of several that create one key from one file at once, one wins.
    """

    def __init__(self) -> None:
        self._unfulfilled: dict[tuple[str, Path], bytes] = {}

    @asynccontextmanager
    async def claimed(self, store: Store, key: str, file: Path) -> AsyncIterator[None]:
        """Claim a key for a file that is uploaded within; Conflict if an object or somebody else's claim is there."""
        claim = self._unfulfilled.pop((key, file), None) or msgspec.json.encode({"bayouClaim": str(uuid.uuid4())})
        try:
            await _take(store, key, claim)
            yield
        except Conflict:
            raise
        except BaseException:
            self._unfulfilled[key, file] = claim
            raise


async def _take(store: Store, key: str, claim: bytes) -> None:
    try:
        await store.put(key, claim, when=ABSENT)
    except Conflict:
        # Ours after all, if the answer to an earlier try was lost.
        if not await _holds(store, key, claim):
            raise


async def _holds(store: Store, key: str, claim: bytes) -> bool:
    try:
        fetched = await store.get(key)
        return fetched.meta.size == len(claim) and await fetched.bytes() == claim
    except NotFound:
        return False  # deleted since
