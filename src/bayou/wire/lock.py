"""The body of a lock: who holds it, since when, and for how long without a sign of life (sync spec 1.9)."""

import msgspec

from bayou.errors import Corrupt
from bayou.wire.documents import Void, parse_object, shape
from bayou.wire.javascript import pretty

_NOUN = "the body of a lock"


class LockBody(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    holder: str
    hostname: str
    pid: int
    acquired_at: str
    ttl_ms: int
    nonce: str | None = None


def decode(data: bytes, where: str) -> LockBody | Void:
    """`Void` is a lock that somebody holds and that does not say who or how long (sync spec W-59). It never raises."""
    try:
        return shape(parse_object(data, where, _NOUN), LockBody, where, _NOUN)
    except Corrupt as error:
        return Void(str(error))


def encode(body: LockBody) -> bytes:
    return pretty(body)
