"""Whatever bytes arrive: a decoder answers with a value, or with `Corrupt` or `Unsupported`, and with nothing else."""

import json
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import Corrupt, Unsupported
from bayou.layout import safety
from bayou.wire import export, index, lock, manifest, meta, packs, sidecar, store, tombstones
from bayou.wire.documents import Void

HASH = "3b7e" * 16
ENTRY = {"key": "audit/ü", "size": 5, "lastModified": "t", "localMtime": "t", "sha256": HASH}


DOCUMENTS: dict[str, tuple[Callable[[bytes, str], object], Callable[..., bytes], object]] = {
    "monolith": (
        index.decode_monolith,
        index.encode_monolith,
        {"version": 1, "lastPulled": "t", "entries": {"audit/ü": ENTRY, "7": ENTRY | {"key": "7", "extra": [{}]}}},
    ),
    "local copy": (
        index.decode_monolith,
        index.encode_local_copy,
        {"version": 1, "lastPulled": "t", "entries": {"audit/ü": ENTRY}, "extra": {"a": 1.5}},
    ),
    "shard": (
        index.decode_shard,
        index.encode_shard,
        {"version": 1, "entries": {"audit/ü": ENTRY}},
    ),
    "meta": (
        meta.decode,
        meta.encode,
        {"version": 2, "partitions": ["_root"], "commitSeq": 4, "bayou": {"monolith": "m", "shards": {"_root": "r"}}},
    ),
    "sidecar": (
        sidecar.decode,
        sidecar.encode,
        {
            "version": 2,
            "remoteIndexETag": "e",
            "lastVerifiedAt": "t",
            "localDirty": False,
            "dirtyPaths": ["data/x"],
            "bulkInvalidated": False,
            "lazyPullActive": False,
            "commitSeq": 4,
        },
    ),
    "lock": (
        lock.decode,
        lock.encode,
        {"holder": "a@b", "hostname": "b", "pid": 7, "acquiredAt": "t", "ttlMs": 30000, "nonce": "n"},
    ),
    "manifest": (
        manifest.decode,
        manifest.encode,
        {"namespace": "infra", "repoId": "r", "registeredAt": "t"},
    ),
    "export": (export.decode, export.encode, [{"namespace": "infra", "version": 3, "tags": "{}"}]),
    "store": (
        store.decode,
        store.encode,
        {"version": 1, "storeId": "0b9f6c1e-8a53-4f4e-9d0e-1f1d2c3b4a59", "createdAt": "t"},
    ),
    "tombstones": (
        tombstones.decode,
        tombstones.encode,
        {"version": 1, "tombstones": [{"path": "a", "deletedAt": "t", "sha256": HASH}]},
    ),
    "packs": (
        packs.decode,
        packs.encode,
        {
            "version": 1,
            "packs": [{"name": HASH, "first": "data/a", "last": "data/b", "count": 2, "size": 99}],
            "retired": [{"name": HASH, "retiredAt": "t"}],
        },
    ),
}
MARK = "here"
every_document = pytest.mark.parametrize("name", DOCUMENTS)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner, max_size=3),
    max_leaves=6,
)


def survives(name: str, data: bytes) -> None:
    """A value that was read can also be written, and reads as the same value again."""
    decode, encode, _ = DOCUMENTS[name]
    try:
        value = decode(data, "some/key")
    except (Corrupt, Unsupported) as error:
        is_fit_to_print(error)
        return
    if isinstance(value, Void):
        is_fit_to_print(value.why)
        return
    if isinstance(value, index.Index):
        assert all(path == entry.key for path, entry in value.entries.items())
        assert not any(safety.fault(path) for path in value.entries)
    again = decode(encode(value), "some/key")
    assert encode(again) == encode(value)


def with_each_value_marked(document: object) -> Iterator[object]:
    """The document, once for each value in it, with a mark in the place of that value."""
    yield MARK
    if isinstance(document, dict):
        for name, value in document.items():
            yield from ({**document, name: inside} for inside in with_each_value_marked(value))
    if isinstance(document, list):
        for at, value in enumerate(document):
            yield from ([*document[:at], inside, *document[at + 1 :]] for inside in with_each_value_marked(value))


def is_fit_to_print(report: object) -> None:
    text = str(report)
    assert text.startswith("some/key: ")
    assert text.encode().isascii()
    assert len(text) < 500


def dumped(document: object) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode(errors="backslashreplace")


@every_document
def test_the_documents_of_these_tests_are_sound(name: str) -> None:
    decode, _, document = DOCUMENTS[name]
    assert not isinstance(decode(dumped(document), "some/key"), Void)


@every_document
@given(data=st.binary(max_size=60))
def test_any_bytes(name: str, data: bytes) -> None:
    survives(name, data)


@every_document
@given(value=json_values)
def test_any_json(name: str, value: object) -> None:
    survives(name, dumped(value))


@every_document
@given(data=st.data())
def test_a_document_with_one_value_replaced(name: str, data: st.DataObject) -> None:
    document = json.loads(dumped(DOCUMENTS[name][2]))
    inside = document
    while True:
        places = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
        place = data.draw(st.sampled_from(places))
        if isinstance(inside[place], dict | list) and inside[place] and data.draw(st.booleans()):
            inside = inside[place]
            continue
        inside[place] = data.draw(json_values)
        break
    survives(name, dumped(document))


@every_document
@given(data=st.data())
def test_a_document_with_one_name_added_or_removed(name: str, data: st.DataObject) -> None:
    document = json.loads(dumped(DOCUMENTS[name][2]))
    target = document[0] if isinstance(document, list) else document
    if data.draw(st.booleans()):
        del target[data.draw(st.sampled_from(sorted(target)))]
    else:
        target[data.draw(st.text(st.characters()))] = data.draw(json_values)
    survives(name, dumped(document))


@every_document
@given(data=st.data())
def test_a_document_cut_off_or_with_one_byte_changed(name: str, data: st.DataObject) -> None:
    sound = dumped(DOCUMENTS[name][2])
    at = data.draw(st.integers(0, len(sound) - 1))
    survives(name, sound[:at])
    survives(name, sound[:at] + bytes([data.draw(st.integers(0, 255))]) + sound[at + 1 :])


@every_document
@pytest.mark.parametrize(
    "value",
    [
        b"1" * 5000,
        b"-" + b"9" * 400,
        b"1e999",
        b"NaN",
        b"-Infinity",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'"\\ud800"',
        b'"\\ud800\\u0041"',
        b'"\xed\xa0\x80"',
        b'"\\u0000"',
        b"\x00",
    ],
    ids=lambda value: ascii(value[:20]),
)
def test_a_document_with_a_monster_in_it(name: str, value: bytes) -> None:
    for document in with_each_value_marked(DOCUMENTS[name][2]):
        survives(name, dumped(document).replace(dumped(MARK), value))
