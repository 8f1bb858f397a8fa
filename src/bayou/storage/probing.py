"""Finding out whether a store honours conditional writes, as some accept the condition and ignore it."""

import uuid
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

from bayou.errors import Conflict, Denied, Unsupported
from bayou.storage.port import ABSENT, Condition, Store, Version

FOLDER = "_control/bayou/probes"


class Ability(Enum):
    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a store was seen to do. Without both it is safe for a single writer only (design/001)."""

    create_if_absent: Ability
    replace_if_match: Ability

    @property
    def several_writers(self) -> Ability:
        seen = {self.create_if_absent, self.replace_if_match}
        if Ability.NO in seen:
            return Ability.NO
        return Ability.UNKNOWN if Ability.UNKNOWN in seen else Ability.YES


async def probe(store: Store) -> Abilities:
    """Try both conditions on an object of our own, which is removed again. Who may not write learns nothing: UNKNOWN.

    Nothing is written without a condition, as the policy of a bucket may forbid that.
    """
    key = f"{FOLDER}/{uuid.uuid4()}"
    first = await _try(store, key, b"first", ABSENT)
    if isinstance(first, Ability):
        # Nobody else has this key. A store that finds it taken refuses what it should accept, which is no ability.
        return Abilities(Ability.NO if first is Ability.YES else first, Ability.UNKNOWN)
    try:
        again = await _try(store, key, b"again", ABSENT)
        if isinstance(again, Ability):
            return Abilities(again, await _replaces(store, key, first))
        return Abilities(Ability.NO, await _replaces(store, key, again))
    finally:
        with suppress(Denied):
            await store.delete(key)


async def _replaces(store: Store, key: str, current: Version) -> Ability:
    accepted = await _try(store, key, b"next", current)
    if isinstance(accepted, Ability):
        # Refused although it holds: that is no better than a condition which is ignored.
        return Ability.UNKNOWN if accepted is Ability.UNKNOWN else Ability.NO
    refused = await _try(store, key, b"stale", current)
    return refused if isinstance(refused, Ability) else Ability.NO


async def _try(store: Store, key: str, body: bytes, when: Condition) -> Version | Ability:
    """Give the version if the write is accepted, else what the refusal says of the ability."""
    try:
        return await store.put(key, body, when=when)
    except Conflict:
        return Ability.YES
    except Denied:
        return Ability.UNKNOWN
    except Unsupported:
        return Ability.NO
