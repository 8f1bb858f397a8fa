"""Packs of all that a namespace lists, made here and now."""

import hashlib
from itertools import islice

from bayou.domain.scopes import EVERYTHING
from bayou.remotes import packs
from bayou.remotes.loading import load
from bayou.remotes.looking import Place, look
from bayou.remotes.objects import read
from bayou.wire import packs as form
from bayou.wire.packs import Catalogue, Pack


async def pack_all(place: Place, most: int = 10_000) -> list[str]:
    """The keys of the packs, each with at most so many contents."""
    listed = (await load(place, EVERYTHING, await look(place))).contents()
    paths = iter(sorted(path for path in listed if packs.is_packable(path)))
    made = []
    while some := list(islice(paths, most)):
        blobs = [await read(place.store, place.keys.data(path)) for path in some]
        bodies = {hashlib.sha256(blob.content).hexdigest(): blob.content for blob in blobs if blob is not None}
        packed = form.pack_of(bodies)
        made.append(Pack(hashlib.sha256(packed).hexdigest(), some[0], some[-1], len(bodies), len(packed)))
        await place.store.put(packs.key_of(place.keys, made[-1].name), packed)
    await place.store.put(packs.catalogue_key(place.keys), form.encode(Catalogue(tuple(made))))
    return [packs.key_of(place.keys, pack.name) for pack in made]
