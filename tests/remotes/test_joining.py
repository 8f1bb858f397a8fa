"""A monolith is put together from its parts without a look at any entry: it has to be the same, to the byte."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bayou.remotes.parts import joined, regroup
from bayou.testing.strategies.indexes import entries
from bayou.testing.strategies.paths import known_paths, safe_paths
from bayou.wire.index import decode_monolith, encode_monolith, join_shards

NUMBERS = st.sampled_from(["0", "7", "12345", "007", "99999999999"])
LEFT_ALONE = st.sampled_from(["../x", 'data/\u00e9/{"a":1},', 'audit/},"', "logs/a b"])
ODD = st.sampled_from(
    [None, 5, {"key": "x", "size": -1}, {"size": 1, "lastModified": "2026-11-02T08:15:29.004Z", "x": {}}]
)


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    """What others may have written: unknown fields, entries that are none, paths that look like JSON."""
    names = draw(st.lists(known_paths() | safe_paths() | NUMBERS | LEFT_ALONE, max_size=12, unique=True))
    found: dict[str, object] = {}
    for name in names:
        if draw(st.integers(0, 4)) == 0:
            found[name] = draw(ODD)
        else:
            good = draw(entries(name))
            found[name] = {"key": name, "size": good.size, "lastModified": good.last_modified}
    more = draw(st.dictionaries(st.sampled_from(["x", "bayou"]), st.integers() | st.text(max_size=3)))
    return json.dumps({"version": 1, "lastPulled": "2026-11-02T08:15:29.004Z", "entries": found, **more}).encode()


@given(documents())
def test_parts_make_the_monolith_that_their_entries_make(document: bytes) -> None:
    index = decode_monolith(document, "it")
    parts = regroup(index)
    whole = replace(joined(part.index() for part in parts.values()), extra=index.extra, last_pulled=index.last_pulled)
    bodies = [part.body for part in parts.values()]
    put_together = join_shards(bodies, extra=index.extra, last_pulled=index.last_pulled)
    if put_together is None:
        assert any(path.isdigit() for path in [*index.entries, *index.skipped])
    elif index.skipped:  # these come last where all entries are at hand
        assert json.loads(put_together) == json.loads(encode_monolith(whole))
    else:
        assert put_together == encode_monolith(whole)


def test_no_parts_make_an_empty_one() -> None:
    assert join_shards([], extra={}) == encode_monolith(joined([]))
