"""The manifest of a namespace, `{ns}/.namespace.json`: which repo registered it (sync spec 1.7)."""

import msgspec

from bayou.wire.documents import parse_object, shape
from bayou.wire.javascript import pretty

_NOUN = "the manifest of a namespace"


class Manifest(msgspec.Struct, frozen=True, rename="camel"):
    namespace: str
    repo_id: str
    registered_at: str


def decode(data: bytes, where: str) -> Manifest:
    return shape(parse_object(data, where, _NOUN), Manifest, where, _NOUN)


def encode(manifest: Manifest) -> bytes:
    """The object in the bucket."""
    return pretty(manifest)


def encode_file(manifest: Manifest) -> bytes:
    """The file in a cache or a shared folder, which ends with a newline."""
    return pretty(manifest) + b"\n"
