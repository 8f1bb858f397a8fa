"""The `latest` marker: it names the highest version that was advanced on either side and is still there."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from bayou.domain.merges.resolution import Point


def merge_latest(
    base: int | None,
    local: int | None,
    remote: int | None,
    *,
    versions: AbstractSet[int],
    renumbered: Mapping[int, int],
) -> Point:
    """Where the marker points once the versions are settled.

    `versions` are those that will be there, `renumbered` says where ours went. A version that no marker ever named was
    deferred and does not count, so the highest marker is the limit; below it the highest version that is left is taken.
    """
    ours = renumbered.get(local, local) if local is not None else None
    highest = _highest(base, ours, remote)
    return Point(max((version for version in versions if highest is not None and version <= highest), default=None))


def _highest(base: int | None, local: int | None, remote: int | None) -> int | None:
    if local == base:
        return remote
    if remote == base:
        return local
    sides = [side for side in (local, remote) if side is not None]
    # A removed marker stays removed, unless the other side advanced to a version that whoever removed it had not seen.
    if len(sides) < 2 and base is not None and not any(side > base for side in sides):
        return None
    return max(sides, default=None)
