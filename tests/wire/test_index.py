import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.domain.entries import Entry
from bayou.errors import Corrupt, ErrorKind, Unsupported
from bayou.wire.documents import Void
from bayou.wire.index import (
    Index,
    decode_monolith,
    decode_shard,
    encode_local_copy,
    encode_monolith,
    encode_shard,
)

WHERE = ".datastore-index.json"
HASH = "3b7e" * 16
PLAIN = {"key": "audit/x", "size": 5, "lastModified": "2026-11-02T08:15:29.004Z"}
FULL = PLAIN | {"localMtime": "2026-11-02T08:15:28.771Z", "sha256": HASH}


def monolith(data: bytes) -> Index:
    return decode_monolith(data, WHERE)


def monolith_of(entries: object, **more: object) -> Index:
    return monolith(json.dumps({"version": 1, "entries": entries, **more}).encode())


def shard_of(document: object) -> Index | Void:
    return decode_shard(json.dumps(document).encode(), "_index/audit.json")


def entry(path: str = "audit/x", **changes: Any) -> Entry:  # noqa: ANN401 - whatever field a test changes
    return msgspec.structs.replace(Entry(path, 5, "2026-11-02T08:15:29.004Z"), **changes)


words = st.text(max_size=8)
paths = st.from_regex(r"[0-9a-zü@]{1,4}(/[0-9a-zü@ ]{1,4})?", fullmatch=True)
hashes = st.binary(min_size=32, max_size=32).map(bytes.hex)
contents = st.tuples(st.integers(0, 2**53 - 1), words, st.none() | words, st.none() | hashes)
extras = st.dictionaries(
    st.sampled_from(["etag", "7", "ü", ""]),
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(st.characters(), max_size=8),
    min_size=1,
    max_size=2,
)


@st.composite
def indexes(draw: st.DrawFn) -> Index:
    files = draw(st.dictionaries(paths, st.tuples(contents, st.none() | extras), max_size=4))
    entries = {path: Entry(path, *content) for path, (content, _) in files.items()}
    return Index(
        entries, draw(st.none() | words), entry_extra={path: extra for path, (_, extra) in files.items() if extra}
    )


@given(indexes())
def test_an_index_survives_the_monolith_in_both_forms(index: Index) -> None:
    for encode in (encode_monolith, encode_local_copy):
        found = monolith(encode(index))
        assert found == index
        assert encode(found) == encode(index)


@given(indexes())
def test_entries_survive_a_shard(index: Index) -> None:
    found = decode_shard(encode_shard(index), "_index/x.json")
    assert found == Index(index.entries, entry_extra=index.entry_extra)
    assert encode_shard(found) == encode_shard(index)


def test_the_bytes_are_those_of_the_specification() -> None:
    path = "data/command/shell/9f1c/report/3/raw"
    held = Entry(path, 2048, "2026-11-02T08:15:29.004Z", "2026-11-02T08:15:28.771Z", HASH)
    assert encode_monolith(Index({path: held}, "2026-11-02T08:15:30.120Z")) == (
        b'{"version":1,"lastPulled":"2026-11-02T08:15:30.120Z","entries":{"data/command/shell/9f1c/report/3/raw":{'
        b'"key":"data/command/shell/9f1c/report/3/raw","size":2048,"lastModified":"2026-11-02T08:15:29.004Z",'
        b'"localMtime":"2026-11-02T08:15:28.771Z","sha256":"' + HASH.encode() + b'"}}}'
    )


def test_a_discovered_entry_has_neither_time_nor_hash() -> None:
    assert encode_shard(Index({"audit/x": entry()})) == (
        b'{"version":1,"entries":{"audit/x":{"key":"audit/x","size":5,"lastModified":"2026-11-02T08:15:29.004Z"}}}'
    )


def test_an_empty_index_is_printed_as_javascript_does() -> None:
    assert encode_shard(Index({})) == b'{"version":1,"entries":{}}'
    assert encode_local_copy(Index({}, "t")) == b'{\n  "version": 1,\n  "lastPulled": "t",\n  "entries": {}\n}'


def test_root_files_named_like_numbers_come_first() -> None:
    entries = {path: entry(path) for path in ("b", "10", "07", "7")}
    assert list(json.loads(encode_monolith(Index(entries)))["entries"]) == ["7", "10", "b", "07"]


# --- what other writers added --------------------------------------------------------------------------------------


def test_unknown_fields_of_the_monolith_and_of_entries_are_kept() -> None:
    index = monolith_of({"audit/x": FULL | {"etag": "e", "deep": {"7": [1.5, None]}}, "y": PLAIN}, owner={"a": 1})
    assert index.extra == {"owner": {"a": 1}}
    assert index.entry_extra == {"audit/x": {"etag": "e", "deep": {"7": [1.5, None]}}}
    assert json.loads(encode_monolith(index)) == {
        "version": 1,
        "entries": {
            "audit/x": FULL | {"etag": "e", "deep": {"7": [1.5, None]}},
            "y": PLAIN | {"key": "y"},
        },
        "owner": {"a": 1},
    }


def test_unknown_fields_of_a_shard_itself_are_dropped_and_those_of_its_entries_kept() -> None:
    index = shard_of({"version": 1, "entries": {"audit/x": FULL | {"etag": "e"}}, "lastPulled": "t", "more": 1})
    assert isinstance(index, Index)
    assert (index.last_pulled, index.extra) == (None, {})
    assert json.loads(encode_shard(index)) == {"version": 1, "entries": {"audit/x": FULL | {"etag": "e"}}}


def test_an_upload_and_a_deletion_end_the_unknown_fields_of_their_paths_only() -> None:
    before = Index({path: entry(path) for path in "abc"}, "t", {"top": 1}, {path: {"etag": path} for path in "abc"})
    after = before.amended({"a": entry("a", size=9), "d": entry("d")}, ["b"])
    assert after == Index(
        {"a": entry("a", size=9), "c": entry("c"), "d": entry("d")}, "t", {"top": 1}, {"c": {"etag": "c"}}
    )
    assert list(before.entries) == ["a", "b", "c"]


def test_an_entry_that_is_uploaded_again_keeps_its_place() -> None:
    before = Index({path: entry(path) for path in "abc"})
    assert list(before.amended({"a": entry("a", size=9)}).entries) == ["a", "b", "c"]


def nested(levels: int) -> bytes:
    data = encode_monolith(Index({"audit/x": entry()}))
    return data.replace(b'"size":5', b'"size":5,"nested":' + b"[" * levels + b"]" * levels)


def test_what_is_nested_within_reason_is_kept() -> None:
    assert b"[" * 60 in encode_monolith(monolith(nested(60)))


@pytest.mark.parametrize("levels", [64, 900])
def test_what_could_be_read_and_not_written_from_a_deeper_stack_is_refused(levels: int) -> None:
    with pytest.raises(Corrupt, match=r"levels|recursion"):
        monolith(nested(levels))


def test_numbers_of_other_writers_keep_their_value() -> None:
    data = encode_monolith(Index({"audit/x": entry()})).replace(
        b'"size":5', b'"size":5.0,"ns":1793607330120999999,"far":1e400,"half":0.5'
    )
    index = monolith(data)
    assert index.entries == {"audit/x": entry()}
    # Infinity is what JavaScript makes of 1e400, and null what it writes for it.
    assert index.entry_extra == {"audit/x": {"ns": 1793607330120999999, "far": None, "half": 0.5}}


# --- single bad entries --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (None, "got null"),
        ([], "got an array"),
        ("x", "got a string"),
        (True, "got a boolean"),
        (5, "got a number"),
        ({}, "missing required field `size`"),
        ({"size": 5}, "missing required field `lastModified`"),
        (PLAIN | {"size": "5"}, "`$.size`"),
        (PLAIN | {"size": None}, "`$.size`"),
        (PLAIN | {"size": True}, "`$.size`"),
        (PLAIN | {"size": 5.5}, "`$.size`"),
        (PLAIN | {"size": -1}, "`$.size`"),
        (PLAIN | {"size": 2**53}, "`$.size`"),
        (PLAIN | {"size": 10**30}, "`$.size`"),
        (PLAIN | {"lastModified": 7}, "`$.lastModified`"),
        (PLAIN | {"localMtime": 7}, "`$.localMtime`"),
        (PLAIN | {"sha256": 7}, "`$.sha256`"),
        (PLAIN | {"sha256": ""}, "`$.sha256`"),
        (PLAIN | {"sha256": HASH[1:]}, "`$.sha256`"),
        (PLAIN | {"sha256": HASH.upper()}, "`$.sha256`"),
        (PLAIN | {"sha256": "ü" * 64}, "`$.sha256`"),
        (PLAIN | {"sha256": "\ud800" * 64}, "`$.sha256`"),
    ],
    ids=ascii,
)
def test_a_bad_entry_is_skipped_and_reported(bad: object, why: str) -> None:
    index = monolith_of({"audit/bad": bad, "audit/x": FULL})
    assert list(index.entries) == ["audit/x"]
    assert list(index.skipped) == ["audit/bad"]
    assert why in index.skipped["audit/bad"].why


@pytest.mark.parametrize("sha256", ["G" * 64, HASH.upper(), HASH[:-1] + "\n", HASH[:-1] + " ", HASH[:-2] + "\u00fc"])
def test_a_bad_hash_is_seen_in_an_index_with_nothing_else_wrong(sha256: str) -> None:
    for index in (
        monolith_of({"audit/x": FULL | {"sha256": sha256}}),
        shard_of({"version": 1, "entries": {"audit/x": FULL | {"sha256": sha256}}}),
    ):
        assert isinstance(index, Index)
        assert not index.entries
        assert list(index.skipped) == ["audit/x"]


@pytest.mark.parametrize(
    "path",
    ["../../etc/passwd", "data/../../x", "/etc/passwd", "..", "", "C:/x", "a\\..\\b", "a\x00b", "a\ud800"],
    ids=ascii,
)
def test_a_hostile_path_is_skipped_and_reported(path: str) -> None:
    hostile = {"audit/x": PLAIN, path: PLAIN | {"key": path}}
    for index in (monolith_of(hostile), shard_of({"version": 1, "entries": hostile})):
        assert isinstance(index, Index)
        assert list(index.entries) == ["audit/x"]
        assert list(index.skipped) == [path]
        assert "must not be followed" in index.skipped[path].why


def test_what_was_skipped_is_written_back_until_its_path_is_committed() -> None:
    bad = {"audit/bad": PLAIN | {"size": "5"}, "../up": PLAIN, "half\ud800": None}
    index = monolith_of(bad | {"audit/x": PLAIN})
    assert json.loads(encode_monolith(index))["entries"] == bad | {"audit/x": PLAIN}
    repaired = index.amended({"audit/bad": entry("audit/bad")}, ["../up", "half\ud800"])
    assert json.loads(encode_monolith(repaired))["entries"] == {
        "audit/x": PLAIN,
        "audit/bad": PLAIN | {"key": "audit/bad"},
    }


def test_a_hostile_key_cannot_hide_behind_a_harmless_path() -> None:
    index = monolith_of({"audit/x": PLAIN | {"key": "../../etc/passwd"}})
    assert index.entries == {"audit/x": entry()}
    assert not index.skipped


@pytest.mark.parametrize("key", [{}, {"key": None}, {"key": 7}, {"key": "infra/audit/x"}], ids=str)
def test_the_path_counts_whatever_the_key_says(key: dict[str, object]) -> None:
    rest = {name: value for name, value in PLAIN.items() if name != "key"}
    assert monolith_of({"audit/x": rest | key}).entries == {"audit/x": entry()}


def test_half_a_character_elsewhere_is_kept() -> None:
    index = monolith_of({"audit/x": PLAIN | {"lastModified": "\ud800", "note": "\udfff"}}, note="\ud800")
    assert not index.skipped
    assert monolith(encode_monolith(index)) == index
    assert monolith(encode_local_copy(index)) == index


def test_of_a_path_that_occurs_twice_the_last_entry_counts_as_in_javascript() -> None:
    first, last = json.dumps(PLAIN), json.dumps(PLAIN | {"size": 6})
    strict = f'{{"version":1,"entries":{{"audit/x":{first},"audit/x":{last}}}}}'.encode()
    tolerant = strict.replace(b'"version":1', b'"version":1,"more":0')
    assert monolith(strict).entries == monolith(tolerant).entries == {"audit/x": entry(size=6)}


# --- the document --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"null",
        b"[]",
        b"7",
        b'"entries"',
        b"{}",
        b'{"version":1}',
        b'{"version":1,"entries":null}',
        b'{"version":1,"entries":[]}',
        b'{"version":1,"entries":"x"}',
        b'{"version":1,"entries":{}',
        b'{"version":1,"entries":{}}x',
        b'{"version":1,"entries":{"a":NaN}}',
        b'{"version":1,"entries":{"a":Infinity}}',
        b"\xff\xfe{\x00}\x00",
        b'\xef\xbb\xbf{"version":1,"entries":{}}',
        b'{"version":1,"entries":{"\xff":{}}}',
        b'{"version":1,"entries":{"a\nb":{}}}',
        b'{"version":1,"entries":' + b'{"a":' * 100_000,
        b"[" * 100_000,
        b"<?xml version='1.0'?><Error/>",
    ],
    ids=lambda data: ascii(data[:40]),
)
def test_a_broken_document_is_corrupt_and_never_empty(data: bytes) -> None:
    with pytest.raises(Corrupt) as corrupt:
        monolith(data)
    assert corrupt.value.where == WHERE
    assert "monolithic index" in corrupt.value.expected
    assert len(str(corrupt.value)) < 300


@pytest.mark.parametrize("version", ["1", None, [], {}, True, 1.5], ids=str)
def test_a_monolith_with_a_version_that_is_no_number_is_corrupt(version: object) -> None:
    with pytest.raises(Corrupt, match="version number"):
        monolith_of({}, version=version)


@pytest.mark.parametrize("version", [0, -1, 2, 3, 2**70, 10**4000])
def test_a_monolith_of_an_unknown_version_is_refused(version: int) -> None:
    with pytest.raises(Unsupported) as refused:
        monolith_of({"audit/x": PLAIN}, version=version)
    assert refused.value.kind is ErrorKind.UNKNOWN_FORMAT
    assert "newer release" in refused.value.remedy
    assert len(str(refused.value)) < 200


def test_a_monolith_without_a_version_is_read_as_existing_clients_do() -> None:
    assert monolith(json.dumps({"entries": {"audit/x": PLAIN}}).encode()).entries == {"audit/x": entry()}


@pytest.mark.parametrize("last_pulled", [7, None, [], {}], ids=str)
def test_nobody_depends_on_when_the_index_was_pulled(last_pulled: object) -> None:
    index = monolith_of({"audit/x": PLAIN}, lastPulled=last_pulled)
    assert index.entries == {"audit/x": entry()}
    assert index.last_pulled is None


@pytest.mark.parametrize("version", [0, 2, 3, "1", None, True, 1.5, [], {}], ids=str)
def test_a_shard_of_another_version_counts_as_missing_and_not_as_empty(version: object) -> None:
    found = shard_of({"version": version, "entries": {"audit/x": PLAIN}})
    assert isinstance(found, Void)
    assert "_index/audit.json" in found.why


def test_a_shard_without_a_version_counts_as_missing() -> None:
    assert isinstance(shard_of({"entries": {}}), Void)


@pytest.mark.parametrize("document", [None, [], 1, "x", {"version": 1}, {"version": 1, "entries": []}], ids=str)
def test_a_broken_shard_is_corrupt_and_not_missing(document: object) -> None:
    with pytest.raises(Corrupt, match=r"^_index/audit\.json: expected .*shard"):
        shard_of(document)


def test_a_shard_without_entries_is_empty() -> None:
    assert shard_of({"version": 1, "entries": {}}) == Index({})
