"""A base for a cache that has none: where the index that an existing client left in it agrees with the files.

That client wrote the index when both sides held what it says. So what differs from it there was changed there, and what
differs from it here was changed here; without it all that differs would be a conflict.
"""

from bayou.domain.sides import seed
from bayou.errors import Corrupt
from bayou.layout.places import LOCAL_INDEX
from bayou.sync.ends import Ends
from bayou.sync.scan import Scan
from bayou.wire.documents import Void
from bayou.wire.index import decode_monolith


def seed_base(ends: Ends, scan: Scan) -> None:
    """Give an empty base what can be known. An index that cannot be read says nothing."""
    base, place = ends.journal.base, ends.journal.place.cache / LOCAL_INDEX
    if not scan.local.files or not place.is_file() or base.count():
        return
    try:
        index = decode_monolith(place.read_bytes(), str(place))
    except Corrupt:
        return
    if not isinstance(index, Void):
        indexed = {path: entry.sha256 for path, entry in index.entries.items()}
        base.agree(seed(indexed, scan.local.files).items(), as_of=scan.sequence)
