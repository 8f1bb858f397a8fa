"""The identity of a store, `_control/bayou/store.json`: created once, never changed (design 4.2)."""

from typing import Literal
from uuid import UUID

import msgspec

from bayou.wire.documents import parse_object, require_version_1, shape
from bayou.wire.javascript import pretty

_NOUN = "the identity of a store"


class StoreIdentity(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    version: Literal[1] = 1
    store_id: UUID
    created_at: str


def decode(data: bytes, where: str) -> StoreIdentity:
    document = parse_object(data, where, _NOUN)
    require_version_1(document.get("version"), where, _NOUN)
    return shape(document, StoreIdentity, where, _NOUN)


def encode(identity: StoreIdentity) -> bytes:
    return pretty(identity)
