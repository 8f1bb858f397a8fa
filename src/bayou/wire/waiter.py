"""The note of one who waits for a lock, `_control/bayou/waiting/…`: for the eyes of people only (design/009)."""

import msgspec

from bayou.errors import Corrupt
from bayou.wire.documents import Void, parse_object, shape
from bayou.wire.javascript import pretty

_NOUN = "the note of one who waits"


class WaiterNote(msgspec.Struct, frozen=True, rename="camel"):
    lock_key: str
    holder: str
    hostname: str
    pid: int
    since: str
    written_at: str


def decode(data: bytes, where: str) -> WaiterNote | Void:
    """It never raises: a note that cannot be read tells nobody anything."""
    try:
        return shape(parse_object(data, where, _NOUN), WaiterNote, where, _NOUN)
    except Corrupt as error:
        return Void(str(error))


def encode(note: WaiterNote) -> bytes:
    return pretty(note)
