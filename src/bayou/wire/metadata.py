"""`metadata.yaml`, which says all about one version but its bytes (repository spec 1.3)."""

import re
from typing import Final

import msgspec

from bayou.domain.artifacts import Artifact, Lifecycle
from bayou.domain.lifetimes import normalised_lifetime
from bayou.errors import Corrupt, UsageError
from bayou.wire import ourmetadata, yamlmapping
from bayou.wire.documents import problem
from bayou.wire.times import to_milliseconds, to_text

_NOUN: Final = "the metadata of a version"
_CANONICAL_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")


def decode(data: bytes, where: str) -> Artifact:
    """Read strictly what must be right to use the version at all, and pass over keys that nobody knows."""
    ours = ourmetadata.read(data)
    if ours is not None:
        return ours
    document = yamlmapping.decode(data, where, _NOUN)
    try:
        artifact = msgspec.convert(document, Artifact)
        lifetime = normalised_lifetime(artifact.lifetime)
    except (msgspec.ValidationError, UsageError) as error:
        raise Corrupt(where, expected=_NOUN, found=f"YAML of another shape ({problem(error)})") from None
    return _canonical(artifact, lifetime)


def encode(artifact: Artifact) -> bytes:
    """In the order of the fields; what is absent is left out, and `lifecycle` is only written when it is `deleted`."""
    document = msgspec.to_builtins(artifact)
    if artifact.lifecycle is Lifecycle.ACTIVE:
        del document["lifecycle"]
    return yamlmapping.encode({key: value for key, value in document.items() if value is not None}, _NOUN)


def _canonical(artifact: Artifact, lifetime: str) -> Artifact:
    """With the texts in the one form that is compared: `0h` is `workflow`, and a time has three decimals and a Z."""
    created_at = artifact.created_at
    if not _CANONICAL_TIME.fullmatch(created_at):
        milliseconds = to_milliseconds(created_at)
        created_at = created_at if milliseconds is None else to_text(milliseconds * 1_000_000)
    if lifetime == artifact.lifetime and created_at == artifact.created_at:
        return artifact
    return msgspec.structs.replace(artifact, lifetime=lifetime, created_at=created_at)
