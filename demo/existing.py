"""Reading a bucket that an existing client wrote: its index, its partitions, its entries."""

import asyncio
import hashlib
from pathlib import Path

from bayou.config.locations import Location
from bayou.domain.partitions import by_partition
from bayou.storage import Store, connect
from bayou.wire import index, meta
from demo.show import say

GOLDEN = Path(__file__).parent.parent / "tests" / "golden" / "a-v1-dual-write" / "bucket"
MONOLITH, META = ".datastore-index.json", "_index/_meta.json"


async def tour(location: Location) -> None:
    async with connect(location) as store:
        await fill(store)
        data = await (await store.get(MONOLITH)).bytes()
        monolith = index.decode_monolith(data, MONOLITH)
        listed = meta.decode(await (await store.get(META)).bytes(), META)
        partitions = listed.partitions if isinstance(listed, meta.Meta) else ()
        say(f"its index names {len(monolith.entries)} files in {len(partitions)} partitions")
        derived = by_partition(monolith.entries)
        say(f"the partitions that Bayou derives from the paths are the same: {derived.keys() == set(partitions)}")
        say(f"decoded and encoded again, the index has the same bytes: {index.encode_monolith(monolith) == data}")
        good = await asyncio.gather(*(verified(store, path, entry.sha256) for path, entry in monolith.entries.items()))
        say(f"{sum(good)} of {len(good)} objects have the content that the index says")


async def fill(store: Store) -> None:
    """Put the bucket of an existing client, as it was recorded, onto the server."""
    files = [path for path in GOLDEN.rglob("*") if path.is_file()]
    await asyncio.gather(*(store.put(path.relative_to(GOLDEN).as_posix(), path) for path in files))


async def verified(store: Store, key: str, sha256: str | None) -> bool:
    return hashlib.sha256(await (await store.get(key)).bytes()).hexdigest() == sha256
