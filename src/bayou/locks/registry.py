"""The registry of model locks: which of them there may be, so that nobody has to walk the store to find out.

One note per model that a Bayou ever locked here, left by who has the lock and before he looks at the global one; a free
lock that Bayou left says that there is a note, so a run costs no request more.
Existing clients register nothing. Their locks are found by the walk that they make themselves, among all of `data/`;
design/009 says when it can be left out.
"""

from collections.abc import AsyncIterator

from bayou.layout.keys import MODEL_LOCK, Keyspace, Role
from bayou.locks.cells import Cells

_NOTES = "bayou/leases/models"
_GLOBAL = "bayou/leases/global.json"
_SUFFIX = ".json"  # so that no note is in the way of the folder of a longer type
_DATA = "data/"


def note_of(keys: Keyspace, lock_key: str) -> str:
    """The note for a lock."""
    if lock_key == keys.global_lock:
        return keys.control(_GLOBAL)
    model = keys.locate(lock_key).name.removeprefix(_DATA)
    return keys.control(f"{_NOTES}/{model}{_SUFFIX}")


async def register(cells: Cells, keys: Keyspace, lock_key: str) -> bool:
    """Leave the note, and say whether there was none. A lock that is gone and has a note was removed by an existing
    client: we leave a body.
    """
    return await cells.note(note_of(keys, lock_key), lock_key.encode())


async def registered(cells: Cells, keys: Keyspace) -> list[str]:
    """The keys of the locks that have a note."""
    folder = keys.control(_NOTES)
    found = []
    async for page in cells.below(folder):
        for key in page:
            model = key.removeprefix(f"{folder}/").removesuffix(_SUFFIX)
            found.append(keys.data(f"{_DATA}{model}/{MODEL_LOCK}"))
    return sorted(found)


async def walked(cells: Cells, keys: Keyspace) -> AsyncIterator[str]:
    """The keys of all model locks that are there, by a walk over everything."""
    async for page in cells.locks_below(keys.data(_DATA.rstrip("/")), MODEL_LOCK):
        for key in page:
            if keys.locate(key).role is Role.MODEL_LOCK:
                yield key


async def model_locks(cells: Cells, keys: Keyspace, *, walk: bool) -> list[str]:
    found = set(await registered(cells, keys))
    if walk:
        found.update([key async for key in walked(cells, keys)])
    return sorted(found)
