"""Quarantine: damaged index objects are kept aside, byte by byte, before anything is written in their place."""

import hashlib
from contextlib import suppress

from bayou.errors import Conflict
from bayou.layout.relative import in_namespace
from bayou.remotes.looking import Place
from bayou.storage.port import ABSENT


async def set_aside(place: Place, key: str, content: bytes) -> str:
    """Copy an object out of everybody's way. The name follows from its bytes, so doing it twice is doing it once."""
    path = in_namespace(place.namespace, key)
    kept = place.keys.control(f"bayou/quarantine/{hashlib.sha256(content).hexdigest()[:16]}/{path}")
    with suppress(Conflict):  # it is there already
        await place.store.put(kept, content, when=ABSENT)
    return kept
