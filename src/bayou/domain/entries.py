"""An entry: what the index says about one file."""

from typing import Annotated

import msgspec

from bayou.domain.hashes import LooseSha256

Count = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]  # the integers that every client can hold


class Entry(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """One file of a datastore, as every client writes it into the index.

    This is the wire form as well as the value: an index of 100,000 entries is decoded straight into these, with no copy
    in between (design/002). The field order is the order on the wire. Times are ISO text, compared only as text.
    """

    key: str
    size: Count
    last_modified: str
    local_mtime: str | None = None
    sha256: LooseSha256 | None = None
