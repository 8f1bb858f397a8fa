"""Creating a large object only if it is absent, on stores whose uploads in parts have no condition.

The key is claimed first by a small object that only one writer can create; the winner then uploads over its own claim.
Until that is done a reader sees the claim: nobody reads a key that no index names yet, and whoever does finds bytes
whose hash is not the expected one. A writer that dies leaves its claim behind; it is never overwritten (another writer
takes another key) and goes with the sweep of objects that no index names.
"""

import uuid
from pathlib import Path

import msgspec

from bayou.errors import Conflict, NotFound
from bayou.storage.port import ABSENT, Store


class Claims:
    """The claims that this store made and has not fulfilled yet, so that a second try recognises its own."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, Path], bytes] = {}

    async def take(self, store: Store, key: str, file: Path) -> None:
        """Claim a key for a file, or raise Conflict if an object or somebody else's claim is there."""
        claim = self._open.setdefault((key, file), msgspec.json.encode({"bayouClaim": str(uuid.uuid4())}))
        try:
            await store.put(key, claim, when=ABSENT)
        except Conflict:
            # Ours after all, if the answer to an earlier try was lost.
            if not await _holds(store, key, claim):
                self.close(key, file)
                raise

    def close(self, key: str, file: Path) -> None:
        self._open.pop((key, file), None)


async def _holds(store: Store, key: str, claim: bytes) -> bool:
    try:
        fetched = await store.get(key)
        return fetched.meta.size == len(claim) and await fetched.bytes() == claim
    except NotFound:
        return False  # deleted since
