"""The small records: locks, manifests, exports, the identity of a store, tombstones."""

import json
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import Corrupt, ErrorKind, Unsupported
from bayou.wire import export, lock, manifest, store, tombstones
from bayou.wire.documents import Void
from bayou.wire.lock import LockBody
from bayou.wire.manifest import Manifest
from bayou.wire.store import StoreIdentity
from bayou.wire.tombstones import Tombstone

HASH = "3b7e" * 16
LOCK = {
    "holder": "ci@runner-7",
    "hostname": "runner-7",
    "pid": 4121,
    "acquiredAt": "2026-11-02T08:15:30.120Z",
    "ttlMs": 30000,
    "nonce": "0b9f6c1e-8a53-4f4e-9d0e-1f1d2c3b4a59",
}
MANIFEST = {"namespace": "infra", "repoId": "6f0d7a52", "registeredAt": "2026-11-02T08:15:30.120Z"}
STORE = {
    "version": 1,
    "storeId": "0b9f6c1e-8a53-4f4e-9d0e-1f1d2c3b4a59",
    "createdAt": "2026-11-02T08:15:30.120Z",
}
TOMBSTONE = {"path": "data/t/9f1c/report/1/raw", "sha256": HASH, "deletedAt": "2026-11-02T08:15:30.120Z"}

anything = st.text(st.characters())


def encoded(document: object) -> bytes:
    return json.dumps(document).encode()


# --- locks ---------------------------------------------------------------------------------------------------------


@given(st.builds(LockBody, anything, anything, st.integers(), anything, st.integers(), st.none() | anything))
def test_a_lock_body_survives(body: LockBody) -> None:
    assert lock.decode(lock.encode(body), "k") == body


def test_a_lock_body_is_pretty_and_in_the_order_of_the_specification() -> None:
    body = LockBody("ci@runner-7", "runner-7", 4121, "2026-11-02T08:15:30.120Z", 30000, str(LOCK["nonce"]))
    assert lock.encode(body) == json.dumps(LOCK, indent=2).encode()


def test_the_nonce_is_optional() -> None:
    body = lock.decode(encoded({name: LOCK[name] for name in LOCK if name != "nonce"}), "k")
    assert isinstance(body, LockBody)
    assert body.nonce is None
    assert b"nonce" not in lock.encode(body)


def test_unknown_fields_of_a_lock_are_ignored() -> None:
    assert lock.decode(encoded(LOCK | {"more": 1}), "k") == lock.decode(encoded(LOCK), "k")


@pytest.mark.parametrize("missing", [name for name in LOCK if name != "nonce"])
def test_a_lock_that_does_not_say_who_or_how_long_is_void(missing: str) -> None:
    assert isinstance(lock.decode(encoded({name: LOCK[name] for name in LOCK if name != missing}), "k"), Void)


@pytest.mark.parametrize("data", [b"", b"not json", b"null", b"[]", b"\xff", encoded(LOCK | {"ttlMs": "30000"})])
def test_an_unreadable_lock_is_void_and_says_which(data: bytes) -> None:
    found = lock.decode(data, "data/t/9f1c/.lock")
    assert isinstance(found, Void)
    assert found.why.startswith("data/t/9f1c/.lock: ")


# --- manifests -----------------------------------------------------------------------------------------------------


@given(st.builds(Manifest, anything, anything, anything))
def test_a_manifest_survives_in_the_bucket_and_as_a_file(value: Manifest) -> None:
    assert manifest.decode(manifest.encode(value), "k") == value
    assert manifest.decode(manifest.encode_file(value), "k") == value


def test_a_manifest_ends_with_a_newline_only_as_a_file() -> None:
    value = Manifest("infra", "6f0d7a52", "2026-11-02T08:15:30.120Z")
    assert manifest.encode(value) == json.dumps(MANIFEST, indent=2).encode()
    assert manifest.encode_file(value) == manifest.encode(value) + b"\n"


def test_a_manifest_without_an_owner_is_one() -> None:
    assert manifest.decode(encoded(MANIFEST | {"repoId": ""}), "k").repo_id == ""


@pytest.mark.parametrize("document", [None, [], {}, MANIFEST | {"repoId": 7}, {"namespace": "infra"}], ids=str)
def test_a_broken_manifest_is_corrupt(document: object) -> None:
    with pytest.raises(Corrupt, match=r"^infra/\.namespace\.json: expected the manifest"):
        manifest.decode(encoded(document), "infra/.namespace.json")


# --- exports -------------------------------------------------------------------------------------------------------

json_rows = st.lists(
    st.dictionaries(anything, st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | anything, max_size=4),
    max_size=4,
)


@given(json_rows)
def test_rows_survive_both_producers(rows: list[dict[str, object]]) -> None:
    assert export.decode(export.encode(rows), "k") == rows
    assert export.decode(export.encode_file(rows), "k") == rows


def test_the_two_producers_write_different_bytes() -> None:
    rows = [{"namespace": "infra", "version": 3, "is_latest": 1, "tags": '{"type":"resource"}', "owner": "ü"}]
    assert export.encode(rows) == (
        '[{"namespace":"infra","version":3,"is_latest":1,"tags":"{\\"type\\":\\"resource\\"}","owner":"ü"}]'.encode()
    )
    assert export.encode_file(rows) == (
        '[\n  {\n    "namespace": "infra",\n    "version": 3,\n    "is_latest": 1,\n'
        '    "tags": "{\\"type\\":\\"resource\\"}",\n    "owner": "ü"\n  }\n]\n'.encode()
    )


def test_no_rows_are_an_empty_array() -> None:
    assert export.encode([]) == b"[]"
    assert export.encode_file([]) == b"[]\n"


@pytest.mark.parametrize("document", [None, {}, "x", 7, [7], [[]], [{}, None]], ids=str)
def test_an_export_that_is_no_array_of_objects_is_corrupt(document: object) -> None:
    with pytest.raises(Corrupt, match=r"^k: expected a catalog export"):
        export.decode(encoded(document), "k")


# --- the identity of a store, tombstones ---------------------------------------------------------------------------


@given(st.builds(StoreIdentity, store_id=st.uuids(), created_at=anything))
def test_the_identity_of_a_store_survives(identity: StoreIdentity) -> None:
    assert store.decode(store.encode(identity), "k") == identity


def test_the_identity_of_a_store_is_for_people_to_read_as_well() -> None:
    identity = StoreIdentity(store_id=UUID(str(STORE["storeId"])), created_at=str(STORE["createdAt"]))
    assert store.encode(identity) == json.dumps(STORE, indent=2).encode()


@pytest.mark.parametrize("store_id", ["", "../../etc", "x" * 36, 7, None], ids=str)
def test_an_identity_that_is_no_uuid_is_corrupt(store_id: object) -> None:
    with pytest.raises(Corrupt, match="storeId"):
        store.decode(encoded(STORE | {"storeId": store_id}), "k")


tombstone_values = st.builds(Tombstone, anything, st.binary(min_size=32, max_size=32).map(bytes.hex), anything)


@given(st.lists(tombstone_values, max_size=4).map(tuple))
def test_tombstones_survive(values: tuple[Tombstone, ...]) -> None:
    assert tombstones.decode(tombstones.encode(values), "k") == values


def test_a_path_may_die_more_than_once() -> None:
    values = (Tombstone("a", HASH, "2026-11-02T08:15:30.120Z"), Tombstone("a", "0" * 64, "2026-11-03T08:15:30.120Z"))
    assert tombstones.decode(tombstones.encode(values), "k") == values


def test_tombstones_are_compact() -> None:
    value = Tombstone(TOMBSTONE["path"], HASH, TOMBSTONE["deletedAt"])
    assert tombstones.encode([value]) == (
        b'{"version":1,"tombstones":[{"path":"data/t/9f1c/report/1/raw",'
        b'"sha256":"' + HASH.encode() + b'","deletedAt":"2026-11-02T08:15:30.120Z"}]}'
    )


@pytest.mark.parametrize(
    "damaged",
    [
        None,
        7,
        {},
        TOMBSTONE | {"path": None},
        TOMBSTONE | {"sha256": "3b7e"},
        TOMBSTONE | {"sha256": "g" * 64},
        TOMBSTONE | {"sha256": HASH + "\n"},
    ],
    ids=str,
)
def test_one_damaged_tombstone_makes_the_list_corrupt(damaged: object) -> None:
    with pytest.raises(Corrupt, match="a list of tombstones"):
        tombstones.decode(encoded({"version": 1, "tombstones": [TOMBSTONE, damaged]}), "k")


@pytest.mark.parametrize("decode", [store.decode, tombstones.decode])
@pytest.mark.parametrize("version", [0, 2, 7])
def test_an_unknown_version_of_our_own_records_is_refused(decode: object, version: int) -> None:
    assert callable(decode)
    with pytest.raises(Unsupported) as refused:
        decode(encoded(STORE | {"version": version, "tombstones": []}), "k")
    assert refused.value.kind is ErrorKind.UNKNOWN_FORMAT


@pytest.mark.parametrize("decode", [store.decode, tombstones.decode])
@pytest.mark.parametrize("version", [None, "1", True, 1.5], ids=str)
def test_a_version_that_is_no_number_is_corrupt(decode: object, version: object) -> None:
    assert callable(decode)
    with pytest.raises(Corrupt, match="a version number"):
        decode(encoded(STORE | {"version": version, "tombstones": []}), "k")
