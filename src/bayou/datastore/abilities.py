"""What a store was seen to do with conditional writes: asked once, and then remembered on this machine."""

import hashlib
from contextlib import suppress
from pathlib import Path

import msgspec

from bayou.config import Settings, urls
from bayou.errors import Unavailable
from bayou.storage import Ability, Prefix, Store
from bayou.storage.probing import Abilities, probe

_FILE = "abilities.json"


async def several_writers(settings: Settings, store: Store) -> Ability:
    """Whether it keeps several writers apart."""
    return (remembered(settings) or await find_out(settings, store)).several_writers


async def find_out(settings: Settings, store: Store) -> Abilities:
    """Ask the store, and remember what it does. What it did not let us find out is asked again."""
    try:
        found = await probe(within(settings, store))
    except Unavailable as error:
        # Whether the try of a write took effect matters to nobody: nobody answers, that is all.
        raise error.__cause__ if isinstance(error.__cause__, Unavailable) else error from None
    if found.several_writers is not Ability.UNKNOWN:
        file = _file(settings)
        with suppress(OSError):  # then it is asked again
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(msgspec.json.encode(found))
    return found


def within(settings: Settings, store: Store) -> Store:
    """The part of a store that is ours: nothing is tried outside of the namespace."""
    return Prefix(store, settings.namespace) if settings.namespace else store


def remembered(settings: Settings) -> Abilities | None:
    try:
        return msgspec.json.decode(_file(settings).read_bytes(), type=Abilities)
    except (OSError, msgspec.MsgspecError):
        return None


def _file(settings: Settings) -> Path:
    digest = hashlib.sha256(urls.displayed(settings.location).encode()).hexdigest()[:16]
    return settings.user_folder / "stores" / digest / _FILE
