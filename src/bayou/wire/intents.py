"""The intents of a bulk write, `_control/bayou/writes/{id}/intent-{n}.json`: what it is about to put in its place."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from bayou.domain.content import ContentId
from bayou.wire.documents import parse_object, require_version_1, shape

_NOUN = "an intent of a bulk write"


class Intent(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    version: Literal[1] = 1
    at: str
    """When it was declared."""
    firsts: Mapping[str, int] = {}
    """The number of the first version of each name, by the name's folder."""
    contents: Mapping[str, tuple[ContentId, ...]] = {}
    """What may come to lie at each path."""


def decode(data: bytes, where: str) -> Intent:
    document = parse_object(data, where, _NOUN)
    require_version_1(document.get("version"), where, _NOUN)
    return shape(document, Intent, where, _NOUN)


def encode(intent: Intent) -> bytes:
    return msgspec.json.encode(intent)
