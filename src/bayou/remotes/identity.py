"""The identity of a store: a UUID that somebody created once, for the whole bucket (design 4.2)."""

from contextlib import suppress
from uuid import UUID, uuid4

from bayou.errors import Conflict, NotFound
from bayou.layout.keys import STORE_ID
from bayou.remotes.objects import read
from bayou.storage.port import ABSENT, Store
from bayou.wire import store as form
from bayou.wire.store import StoreIdentity
from bayou.wire.times import to_text


async def identity(store: Store) -> UUID | None:
    """Who the store is; None if nobody has said so yet. A reader leaves it at that."""
    blob = await read(store, STORE_ID)
    return None if blob is None else form.decode(blob.content, STORE_ID).store_id


async def establish(store: Store, now: int, *, conditional: bool = True) -> UUID:
    """Say who the store is, unless somebody has. It is read again where a store may have overwritten what exists."""
    return await identity(store) or await create(store, now, conditional=conditional)


async def create(store: Store, now: int, *, conditional: bool = True) -> UUID:
    """The same, where nobody had a moment ago."""
    new = uuid4()
    body = form.encode(StoreIdentity(store_id=new, created_at=to_text(now)))
    with suppress(Conflict):
        await store.put(STORE_ID, body, when=ABSENT)
        if conditional:
            return new
    known = await identity(store)
    if known is None:
        raise NotFound(f"{STORE_ID!r} was written and is not there", remedy="Somebody removed it: try again.")
    return known
