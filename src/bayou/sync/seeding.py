"""Seeding: the first base of a cache that existing clients filled, from the copy of the index that they left in it.

Without one, whatever both sides hold differently would be a conflict, and what was deleted elsewhere would travel again
(design 4.2).
"""

from datetime import timedelta

from bayou.domain.sides import seed as agreeing
from bayou.errors import BayouError
from bayou.layout.places import LOCAL_INDEX
from bayou.remotes.parts import part_name
from bayou.remotes.tombstones import KEPT
from bayou.sync.agreed import Agreed
from bayou.sync.ends import Ends
from bayou.sync.scan import Scan
from bayou.wire.index import decode_monolith


def seed(ends: Ends, agreed: Agreed, scan: Scan) -> None:
    """Take for agreed what that copy says of files that are here as it says, unless something is agreed already."""
    place = ends.journal.place.cache / LOCAL_INDEX
    if not scan.stamps or not place.is_file() or ends.journal.base.count():
        return
    age = timedelta(seconds=ends.now() / 1e9 - place.stat().st_mtime)
    if age > KEPT:
        return  # tombstones may have expired since
    try:
        index = decode_monolith(place.read_bytes(), LOCAL_INDEX)
    except BayouError:
        return
    indexed = {path: entry.sha256 for path, entry in index.entries.items()}
    found = agreeing(indexed, scan.local.files)
    agreed.open(map(part_name, found))
    ends.journal.base.agree(found.items(), as_of=scan.sequence)
