"""Packs: what was put in is found in its place, and no bytes are taken for more than they are."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import Corrupt
from bayou.wire import packs

contents = st.dictionaries(st.binary(min_size=32, max_size=32).map(bytes.hex), st.binary(max_size=20), min_size=1)


@given(contents)
def test_every_content_is_where_the_head_says(held: dict[str, bytes]) -> None:
    packed = packs.pack_of(held)
    head = packed[: packs.head_size(len(held))]
    found = {content: packed[start:stop] for content, start, stop in packs.places(head, "some/key")}
    assert found == held
    assert packs.pack_of(held) == packed


@given(st.binary(max_size=100) | contents.map(packs.pack_of), st.integers(0, 200), st.binary(max_size=4))
def test_any_bytes_are_places_one_after_the_other_or_damage(data: bytes, at: int, other: bytes) -> None:
    head = data[:at] + other + data[at + len(other) :]
    try:
        found = list(packs.places(head, "some/key"))
    except Corrupt:
        return
    assert all(start <= stop for _, start, stop in found)
    assert all(stop == start for (_, _, stop), (_, start, _) in pairwise(found))
