"""A monolith is put together from its parts without a look at any entry: it has to be the same, to the byte. And it is
taken apart while it arrives, in pieces of any size: as if it had been there whole.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import Corrupt, Unsupported
from bayou.remotes.gathering import Gathering
from bayou.remotes.parts import joined, regroup
from bayou.testing.strategies.indexes import entries
from bayou.testing.strategies.paths import known_paths, safe_paths
from bayou.wire.index import Index, decode_monolith, encode_monolith, join_shards
from bayou.wire.pieces import Pieces

NUMBERS = st.sampled_from(["0", "7", "12345", "007", "99999999999"])
LEFT_ALONE = st.sampled_from(["../x", 'data/\u00e9/{"a":1},', 'audit/},"', "logs/a b"])
ODD = st.sampled_from(
    [None, 5, {"key": "x", "size": -1}, {"size": 1, "lastModified": "2026-11-02T08:15:29.004Z", "x": {}}]
)
BESIDE = st.sampled_from([{"x": {}, "y": 1}, {"x": {"y": {}, "z": {}}, "entries": {}}, {"},": "},"}])
SEPARATORS = st.sampled_from([(",", ":"), (",", ":"), (", ", ": ")])


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
    more = draw(st.dictionaries(st.sampled_from(["x", "bayou"]), st.integers() | st.text(max_size=3) | BESIDE))
    document = {"version": 1, "lastPulled": "2026-11-02T08:15:29.004Z", "entries": found, **more}
    return json.dumps(document, ensure_ascii=False, separators=draw(SEPARATORS)).encode()


def joined_bodies(bodies: Iterable[bytes], index: Index) -> bytes | None:
    document = bytearray()
    is_joined = join_shards(bodies, document.extend, extra=index.extra, last_pulled=index.last_pulled)
    return bytes(document) if is_joined else None


@given(documents())
def test_parts_make_the_monolith_that_their_entries_make(document: bytes) -> None:
    index = decode_monolith(document, "it")
    parts = regroup(index)
    whole = replace(joined(part.index() for part in parts.values()), extra=index.extra, last_pulled=index.last_pulled)
    bodies = [part.body for part in parts.values()]
    put_together = joined_bodies(bodies, index)
    if put_together is None:
        assert any(path.isdigit() for path in [*index.entries, *index.skipped])
    elif index.skipped:  # these come last where all entries are at hand
        assert json.loads(put_together) == json.loads(encode_monolith(whole))
    else:
        assert put_together == encode_monolith(whole)


def test_no_parts_make_an_empty_one() -> None:
    assert joined_bodies([], Index({})) == encode_monolith(joined([]))


def gathered(document: bytes, size: int, step: int) -> tuple[dict[str, str], Mapping[str, object], str | None]:
    pieces = Pieces("it", size)
    with Gathering() as gathering:
        for start in range(0, len(document), step):
            piece = pieces.feed(document[start : start + step])
            if piece is not None:
                gathering.add(piece)
        last = pieces.end()
        gathering.add(last)
        return {name: part.digest for name, part in gathering.parts()}, last.extra, last.last_pulled


@given(documents(), st.integers(1, 400), st.integers(1, 400))
def test_a_monolith_may_come_in_pieces_of_any_size(document: bytes, size: int, step: int) -> None:
    index = decode_monolith(document, "it")
    parts = {name: part.digest for name, part in regroup(index).items()}
    assert gathered(document, size, step) == (parts, index.extra, index.last_pulled)


@pytest.mark.parametrize("beside", ['"x":{"y":{},"z":1}', '"x":[{},"y"]', '"x":{"y":"},","z":{"":{},"w":1}}'])
def test_what_stands_beside_the_entries_is_never_taken_for_one(beside: str) -> None:
    entry = '{"key":"logs/a","size":1,"lastModified":"t","x":{"y":{},"z":1}}'
    document = f'{{"version":1,"entries":{{"logs/a":{entry},"logs/b":{entry}}},{beside}}}'.encode()
    whole = gathered(document, len(document) + 1, len(document))
    for size in range(len(document) - len(beside) - 2, len(document)):
        assert gathered(document, size, 1) == whole


@given(documents(), st.data(), st.integers(1, 400))
def test_damage_in_any_piece_is_found(document: bytes, data: st.DataObject, size: int) -> None:
    place = data.draw(st.integers(0, len(document) - 1))
    damage = data.draw(st.sampled_from([b"", b"}", b"{", b'"', b",", b'},"']))
    damaged = document[:place] + damage + document[place + 1 :]
    try:
        index = decode_monolith(damaged, "it")
    except (Corrupt, Unsupported):
        index = None
    try:
        parts, *_ = gathered(damaged, size, size)
    except (Corrupt, Unsupported):
        parts = None
    assert parts == (None if index is None else {name: part.digest for name, part in regroup(index).items()})


def test_a_large_monolith_never_waits_for_its_end() -> None:
    entry = '{"key":"%s","size":1,"lastModified":"2026-11-02T08:15:29.004Z"}'
    paths = [f"audit/{number:05}" for number in range(1000)]
    document = f'{{"version":1,"entries":{{{",".join(f"{json.dumps(p)}:{entry % p}" for p in paths)}}}}}'.encode()
    pieces, longest, came = Pieces("it", 4096), 0, 0
    for start in range(0, len(document), 512):
        piece = pieces.feed(document[start : start + 512])
        longest = max(longest, len(pieces))
        came += 0 if piece is None else len(piece.entries)
    assert longest < 8192
    assert came + len(pieces.end().entries) == len(paths)
