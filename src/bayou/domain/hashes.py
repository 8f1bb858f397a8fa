"""Hashes: the sha256 of a content, in 64 lower-case hexadecimal digits."""

import re
from typing import Annotated, Final

import msgspec

_SHA256: Final = r"\A[0-9a-f]{64}\Z"

Sha256 = Annotated[str, msgspec.Meta(pattern=_SHA256)]

LooseSha256 = Annotated[str, msgspec.Meta(min_length=64, max_length=64)]
"""Of the right length only. For an index, where a pattern doubles the time of decoding: its decoder checks the digits
of all hashes at once.
"""


def is_sha256(text: str) -> bool:
    return re.match(_SHA256, text) is not None
