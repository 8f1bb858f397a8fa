import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import Corrupt, ErrorKind, Unsupported
from bayou.layout.keys import partition_fault
from bayou.wire.documents import Void
from bayou.wire.javascript import utf16_order
from bayou.wire.meta import Fingerprints, Meta, decode, encode

WHERE = "_index/_meta.json"

fingerprints = st.builds(Fingerprints, st.none() | st.text(), st.dictionaries(st.text(), st.text(), max_size=3))
partitions = st.text().filter(lambda name: partition_fault(name) is None)
versions_1 = st.builds(
    Meta, st.just(1), st.lists(partitions, max_size=4).map(tuple), fingerprints=st.none() | fingerprints
)
versions_2 = st.builds(
    Meta,
    st.just(2),
    st.lists(partitions, max_size=4).map(lambda names: tuple(sorted(names, key=utf16_order))),
    st.none() | st.integers(0, 2**53 - 1),
    st.none() | st.text(),
    st.none() | fingerprints,
)


def meta_of(document: object) -> Meta | Void:
    return decode(json.dumps(document).encode(), WHERE)


@given(versions_1 | versions_2)
def test_a_meta_survives(meta: Meta) -> None:
    assert decode(encode(meta), WHERE) == meta


def test_version_1_lists_its_partitions_as_they_come() -> None:
    assert encode(Meta(1, ("data--a--b--ID", "_root"))) == b'{"version":1,"partitions":["data--a--b--ID","_root"]}'


def test_version_2_lists_its_partitions_in_the_order_of_utf_16() -> None:
    partitions = ("data--\uffee", "audit", "data--\U0001f600", "_root")
    assert encode(Meta(2, partitions, 42)) == (
        '{"version":2,"partitions":["_root","audit","data--\U0001f600","data--\uffee"],"commitSeq":42}'.encode()
    )


def test_the_fingerprints_stand_below_one_name_of_ours() -> None:
    meta = Meta(2, ("audit",), 42, fingerprints=Fingerprints('"m"', {"audit": '"a"'}))
    assert json.loads(encode(meta)) == {
        "version": 2,
        "partitions": ["audit"],
        "commitSeq": 42,
        "bayou": {"monolith": '"m"', "shards": {"audit": '"a"'}},
    }


def test_unknown_fields_are_dropped_because_they_spoke_of_another_commit() -> None:
    assert meta_of({"version": 1, "partitions": [], "author": "x"}) == Meta(1, ())


@pytest.mark.parametrize(
    "advice", [None, 7, "x", [], {"monolith": 7}, {"shards": []}, {"shards": {"audit": None}}, {"\ud800": 1}], ids=ascii
)
def test_fingerprints_that_cannot_be_read_vouch_for_nothing(advice: object) -> None:
    assert meta_of({"version": 2, "partitions": ["audit"], "commitSeq": 1, "bayou": advice}) == Meta(2, ("audit",), 1)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"partitions": []},
        {"version": 0, "partitions": []},
        {"version": -1, "partitions": []},
        {"version": "2", "partitions": []},
        {"version": None, "partitions": []},
        {"version": True, "partitions": []},
        {"version": 1.5, "partitions": []},
        {"version": 1},
        {"version": 2, "commitSeq": 4},
        {"version": 2, "partitions": None},
        {"version": 2, "partitions": {}},
        {"version": 2, "partitions": "audit"},
    ],
    ids=str,
)
def test_what_existing_clients_treat_as_absent_is_void_and_not_empty(document: object) -> None:
    found = meta_of(document)
    assert isinstance(found, Void)
    assert WHERE in found.why


@pytest.mark.parametrize("version", [3, 4, 2**40])
def test_a_newer_version_is_refused_and_not_taken_for_an_older_one(version: int) -> None:
    with pytest.raises(Unsupported) as refused:
        meta_of({"version": version, "partitions": []})
    assert refused.value.kind is ErrorKind.UNKNOWN_FORMAT


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        7,
        "x",
        {"version": 2, "partitions": [7]},
        {"version": 2, "partitions": ["audit", None]},
        {"version": 2, "partitions": [], "commitSeq": "42"},
        {"version": 2, "partitions": [], "commitSeq": 1.5},
        {"version": 2, "partitions": [], "commitSeq": True},
        {"version": 2, "partitions": [], "commitSeq": -1},
        {"version": 2, "partitions": [], "commitSeq": 2**53},
        {"version": 2, "partitions": [], "lastCompacted": 7},
    ],
    ids=str,
)
def test_a_broken_meta_is_corrupt(document: object) -> None:
    with pytest.raises(Corrupt, match=r"^_index/_meta\.json: expected a partition meta"):
        meta_of(document)


@pytest.mark.parametrize(
    "partition",
    [
        "",
        "_meta",
        "..",
        "../../x",
        "data/../../x",
        "/x",
        "a//b",
        "a/",
        "./a",
        "a\\b",
        "a\0b",
        "a\n",
        "\x85",
        "x" * 9999 + "\t",
        "\x1f\xa1",
    ],
    ids=lambda partition: ascii(partition[:20]),
)
@pytest.mark.parametrize("version", [1, 2])
def test_a_partition_that_leads_elsewhere_is_not_followed_and_locks_nobody_out(version: int, partition: str) -> None:
    """A type with a backslash in it is legal for existing clients, who derive the names of partitions from types."""
    document = {"version": version, "partitions": ["_root", partition, "audit"]}
    found = meta_of(document)
    assert isinstance(found, Meta)
    assert (found.partitions, found.skipped) == (("_root", "audit"), (partition,))
    written = json.loads(encode(found))
    assert sorted(written.pop("partitions")) == sorted(document.pop("partitions"))  # type: ignore[call-overload]
    assert written == document


def test_nobody_can_name_what_is_skipped() -> None:
    assert meta_of({"version": 1, "partitions": [], "skipped": ["../x"]}) == Meta(1, ())


@pytest.mark.parametrize(
    "partition",
    [
        "_root",
        "data--@acme--geo--a b",
        "data----x",
        "data--" + "x" * 600,
        "nested/audit",
        "nested/_meta",
        "_meta.old",
        "...",
        "\u00fc",
    ],
)
def test_what_existing_clients_list_is_a_partition(partition: str) -> None:
    # Nested ones are what a rebuild adopts from below `_index` (sync spec L3).
    assert meta_of({"version": 2, "partitions": [partition]}) == Meta(2, (partition,))


def test_a_commit_number_is_any_that_every_client_can_count_to() -> None:
    assert [meta_of({"version": 2, "partitions": [], "commitSeq": seq}) for seq in (0, 2**53 - 1)] == [
        Meta(2, (), 0),
        Meta(2, (), 2**53 - 1),
    ]


@pytest.mark.parametrize("data", [b"", b'{"version":2,"partitions":["_root"', b"\xff", b"[" * 100_000])
def test_a_meta_that_is_not_json_is_corrupt(data: bytes) -> None:
    with pytest.raises(Corrupt, match="bytes that are not JSON"):
        decode(data, WHERE)


def test_a_lost_commit_number_is_none() -> None:
    # undefined + 1 is NaN, which JavaScript writes as null.
    assert meta_of({"version": 2, "partitions": [], "commitSeq": None}) == Meta(2, ())
