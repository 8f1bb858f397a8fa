"""Paths of bundles: by content in the datastore, by their source folder on this machine."""

from dataclasses import dataclass
from typing import Literal

from bayou.domain.hashes import is_sha256
from bayou.errors import ErrorKind, UsageError
from bayou.layout.safety import check_path

_FNV_OFFSET, _FNV_PRIME, _32_BITS = 0x811C9DC5, 0x01000193, 0xFFFFFFFF

BundleFolder = Literal["bundles", "vault-bundles", "driver-bundles", "datastore-bundles", "report-bundles"]


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle in the datastore, named by the sha256 of its bytes.

    Below `files`, since that folder has a shard; `bundles` has none (W-38 in the sync spec).
    """

    sha256: str

    def __post_init__(self) -> None:
        if not is_sha256(self.sha256):
            raise UsageError(f"{self.sha256!r} is not a sha256 in lower-case hex", kind=ErrorKind.INVALID_NAME)

    @property
    def path(self) -> str:
        return f"files/bundles/{self.sha256}"


def read_bundle(segments: list[str]) -> Bundle | None:
    if len(segments) == 3 and segments[1] == "bundles" and is_sha256(segments[2]):
        return Bundle(segments[2])
    return None


def local_bundle(folder: BundleFolder, source: str, script: str) -> str:
    """Where existing clients keep what they made of `script` (a `.ts` below `source`), relative to `.swamp`."""
    return check_path(f"{folder}/{_fnv1a(source):08x}/{script.removesuffix('.ts')}.js")


def _fnv1a(text: str) -> int:
    """FNV-1a over UTF-16 code units, each taken as one step (repository spec 1.5)."""
    units = text.encode("utf-16-le", "surrogatepass")
    value = _FNV_OFFSET
    for low, high in zip(units[::2], units[1::2], strict=True):
        value = (value ^ (low | high << 8)) * _FNV_PRIME & _32_BITS
    return value
