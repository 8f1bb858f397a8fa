"""A migration in one process, on stores that nobody else uses."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from bayou.migration.carrying import Fault, Parcel, carry
from bayou.migration.ends import End
from bayou.migration.migrate import Outcome, migrate
from bayou.remotes.changes import StillHeld
from bayou.storage.arriving import content_of


async def carried(source: End, target: End, *, lost: Callable[[], bool] = lambda: False) -> Outcome:
    """`lost` says whether the lock is, by now."""

    async def wave(parcels: Sequence[Parcel]) -> list[Fault]:
        return [fault for parcel in parcels for fault in await carry(source, target, parcel)]

    @asynccontextmanager
    async def lock() -> AsyncIterator[StillHeld]:
        yield lambda: not lost()

    return await migrate(source, target, wave, lock, lambda _: None)


async def listed_in(end: End) -> dict[str, int]:
    """What the index lists, with the sizes; each file that lies there has the hash that is listed."""
    listed = (await end.remote.load()).all()
    for path, entry in listed.items():
        found = await content_of(end.store, end.key(path))
        assert found is not None, path
        assert found == entry.sha256, path
    return {path: entry.size for path, entry in listed.items()}
