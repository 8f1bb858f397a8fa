"""Files that nothing is known about, and files that can be made again."""

import msgspec

from bayou.domain.content import ContentId
from bayou.domain.merges.resolution import TakeLocal, TakeRemote


class Stamp(msgspec.Struct, frozen=True, order=True):
    """When a file was written; the content decides between equal times, on every machine alike."""

    modified: str
    content: ContentId


def merge_derived(local: Stamp, remote: Stamp) -> TakeLocal | TakeRemote:
    """The newer one, silently: a wrong clock costs a regeneration."""
    return TakeLocal() if local > remote else TakeRemote()


def merge_other() -> TakeRemote:
    return TakeRemote(keep_aside=True)
