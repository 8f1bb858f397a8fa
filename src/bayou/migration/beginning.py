"""Beginning: whether this may be carried there at all, and an index there that lists nothing yet.

A target holds nothing, or what came from this very source. Anything else is somebody's.
"""

import time
from uuid import UUID

from bayou.errors import Conflict, ErrorKind, UsageError
from bayou.migration.ends import End, is_data, is_record
from bayou.remotes import Format
from bayou.remotes.changes import StillHeld
from bayou.remotes.discovery import discover
from bayou.remotes.identity import identity
from bayou.remotes.namespaces import manifest, register
from bayou.wire.migration import Origin
from bayou.wire.times import to_text

_SOME = 3


async def check(source: End, target: End) -> Origin | None:
    """Refuse what must not be. Gives what the target says of its origin, if it says so already."""
    ours, theirs = [await identity(end.store) for end in (source, target)]
    if source.url == target.url or (ours is not None and ours == theirs):
        raise UsageError(
            f"{source.url} and {target.url} are one store",
            remedy="To move between namespaces of a store: bayou namespace migrate. If one is a copy that was made by"
            " other means, remove its `_control/bayou/store.json` first.",
        )
    origin = await target.pages.origin()
    if origin is not None:
        if not _is_from(origin, ours, source):
            raise Conflict(
                f"{target.url} holds what was migrated from {origin.url}, and not from {source.url}",
                kind=ErrorKind.ALREADY_EXISTS,
                remedy="Choose another place, or a namespace of its own.",
            )
        return origin
    found = sorted(await _held(target))
    if found:
        more = "" if len(found) <= _SOME else f", and {len(found) - _SOME} more"
        raise Conflict(
            f"{target.url} holds data already that does not come from {source.url}: {', '.join(found[:_SOME])}{more}",
            kind=ErrorKind.ALREADY_EXISTS,
            remedy="Choose an empty place, or a namespace of its own. Nothing was changed.",
        )
    return None


async def begin(source: End, target: End, *, still_held: StillHeld) -> None:
    """Make the target ready to be filled, under its global lock: its own identity, an index in the format of the
    source that lists nothing, the source's registration, and where all comes from.
    """
    origin = await check(source, target)
    if not target.is_folder:
        await target.remote.establish()
        is_sharded = not source.is_folder and (await source.remote.head()).format is Format.SHARDED
        if (await target.remote.head()).format is Format.NONE:
            await target.remote.begin(still_held)
        if is_sharded and (await target.remote.head()).format is Format.DUAL:
            await target.remote.migrate(still_held)
    registered = await manifest(source.store, source.namespace) if source.namespace else None
    if registered is not None:
        await register(target.store, target.namespace, registered.repo_id, time.time_ns())
    if origin is None:
        started = to_text(time.time_ns())
        ours = await identity(source.store)
        await target.pages.begin(Origin(store_id=ours, url=source.url, namespace=source.namespace, started_at=started))
        await check(source, target)  # somebody may have been faster


def _is_from(origin: Origin, store: UUID | None, source: End) -> bool:
    is_same = store == origin.store_id if None not in (store, origin.store_id) else source.url == origin.url
    return is_same and origin.namespace == source.namespace


async def _held(target: End) -> set[str]:
    found = await discover(target.remote.place)
    lying = {path for path in found.entries if not target.is_folder or is_data(path)}
    listed = set() if target.is_folder else set((await target.remote.load()).contents())
    return lying | listed | {path for path in found.sizes if is_record(path)}
