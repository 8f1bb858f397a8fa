"""What a side holds: paths and the identity of their bytes. Sizes and times decide nothing (sync spec W-07)."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TypeAlias

ContentId: TypeAlias = str
"""The lowercase sha256 of the bytes."""

Snapshot: TypeAlias = Mapping[str, ContentId | None]
"""The files of one side by path. None: a file that nobody has hashed. It equals nothing, not even another None."""

State: TypeAlias = Mapping[str, ContentId]
"""The files of one unit on one side. Empty: the unit is not there."""

Graves: TypeAlias = Mapping[str, AbstractSet[ContentId]]
"""Tombstones by path: the contents that were deleted there on purpose and not written there again since."""
