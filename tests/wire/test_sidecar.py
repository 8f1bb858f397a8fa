import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.wire.documents import Void
from bayou.wire.sidecar import Sidecar, decode, encode

WHERE = ".datastore-sync-state.json"
VERSION_1: dict[str, Any] = {"version": 1, "remoteIndexETag": "e", "lastVerifiedAt": "t", "localDirty": True}
VERSION_2: dict[str, Any] = VERSION_1 | {
    "version": 2,
    "dirtyPaths": ["data/x"],
    "bulkInvalidated": False,
    "lazyPullActive": True,
}

fingerprints = st.sampled_from(["remote_index_etag", "remote_index_generation"]).flatmap(
    lambda name: st.fixed_dictionaries({name: st.text()})
)
sidecars = st.builds(
    lambda fingerprint, fields: Sidecar(version=2, **fingerprint, **fields),
    fingerprints,
    st.fixed_dictionaries(
        {
            "last_verified_at": st.text(),
            "local_dirty": st.booleans(),
            "dirty_paths": st.lists(st.text(st.characters()), max_size=4).map(tuple),
            "bulk_invalidated": st.booleans(),
            "lazy_pull_active": st.booleans(),
            "dirty_paths_overflowed": st.none() | st.booleans(),
            "last_catalog_hash": st.none() | st.text(),
            "data_key_migrated": st.none() | st.booleans(),
            "commit_seq": st.none() | st.integers(0, 2**53 - 1),
        }
    ),
)


def sidecar_of(document: object) -> Sidecar | Void:
    return decode(json.dumps(document).encode(), WHERE)


@given(sidecars)
def test_a_sidecar_survives(sidecar: Sidecar) -> None:
    assert decode(encode(sidecar), WHERE) == sidecar


def test_every_field_stands_where_the_specification_has_it() -> None:
    sidecar = Sidecar(
        version=2,
        remote_index_etag="9a0364b9e99bb480dd25e1f0284c8555",
        last_verified_at="2026-11-02T08:15:31.001Z",
        local_dirty=False,
        dirty_paths=(),
        bulk_invalidated=False,
        lazy_pull_active=False,
        dirty_paths_overflowed=False,
        last_catalog_hash="optional",
        data_key_migrated=True,
        commit_seq=42,
    )
    assert encode(sidecar).decode() == (
        "{\n"
        '  "version": 2,\n'
        '  "remoteIndexETag": "9a0364b9e99bb480dd25e1f0284c8555",\n'
        '  "lastVerifiedAt": "2026-11-02T08:15:31.001Z",\n'
        '  "localDirty": false,\n'
        '  "dirtyPaths": [],\n'
        '  "bulkInvalidated": false,\n'
        '  "lazyPullActive": false,\n'
        '  "dirtyPathsOverflowed": false,\n'
        '  "lastCatalogHash": "optional",\n'
        '  "dataKeyMigrated": true,\n'
        '  "commitSeq": 42\n'
        "}"
    )


def test_gcs_keeps_a_generation_in_the_place_of_the_etag() -> None:
    document = {name.replace("remoteIndexETag", "remoteIndexGeneration"): value for name, value in VERSION_2.items()}
    sidecar = sidecar_of(document | {"remoteIndexGeneration": "1762071330120345"})
    assert isinstance(sidecar, Sidecar)
    assert sidecar.remote_index_etag is None
    assert sidecar.remote_index_generation == "1762071330120345"
    assert list(json.loads(encode(sidecar)))[1] == "remoteIndexGeneration"


def test_version_1_loads_its_scalars_and_no_paths() -> None:
    sidecar = sidecar_of(VERSION_1 | {"dirtyPaths": ["data/x"], "bulkInvalidated": True, "commitSeq": 4})
    assert sidecar == Sidecar(
        version=1,
        remote_index_etag="e",
        last_verified_at="t",
        local_dirty=True,
        dirty_paths=(),
        bulk_invalidated=False,
        lazy_pull_active=False,
    )


def test_version_1_is_not_silently_made_version_2() -> None:
    # It says nothing about paths; as version 2 it would say that there are none (sync spec W-28).
    sidecar = sidecar_of(VERSION_1)
    assert isinstance(sidecar, Sidecar)
    assert json.loads(encode(sidecar)) == VERSION_1


@pytest.mark.parametrize("optional", ["dirtyPathsOverflowed", "lastCatalogHash", "dataKeyMigrated", "commitSeq"])
def test_an_absent_optional_field_stays_absent(optional: str) -> None:
    sidecar = sidecar_of(VERSION_2)
    assert isinstance(sidecar, Sidecar)
    assert optional not in json.loads(encode(sidecar))


@pytest.mark.parametrize(
    ("missing", "as_if"), [("dirtyPaths", []), ("bulkInvalidated", False), ("lazyPullActive", False)]
)
def test_version_2_says_nothing_with_a_field_left_out(missing: str, as_if: object) -> None:
    document = {name: value for name, value in VERSION_2.items() if name != missing}
    assert sidecar_of(document) == sidecar_of(VERSION_2 | {missing: as_if})


def test_a_dirty_sidecar_without_paths_reads_as_a_full_walk_in_both_versions() -> None:
    without = {name: value for name, value in VERSION_2.items() if name != "dirtyPaths"}
    for document in (VERSION_1, without):
        sidecar = sidecar_of(document)
        assert isinstance(sidecar, Sidecar)
        assert (sidecar.local_dirty, sidecar.dirty_paths) == (True, ())


def test_unknown_fields_are_ignored() -> None:
    assert sidecar_of(VERSION_2 | {"more": 1}) == sidecar_of(VERSION_2)


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 0},
        {"version": 3},
        {"version": 999},
        {"version": "2"},
        {"version": True},
        {"version": None},
        {"remoteIndexETag": 7},
        {"remoteIndexETag": None},
        {"lastVerifiedAt": 7},
        {"lastVerifiedAt": None},
        {"localDirty": "yes"},
        {"localDirty": 1},
        {"localDirty": None},
        {"dirtyPaths": None},
        {"dirtyPaths": "data/x"},
        {"dirtyPaths": [7]},
        {"bulkInvalidated": None},
        {"lazyPullActive": 0},
        {"commitSeq": "42"},
    ],
    ids=str,
)
def test_anything_else_is_no_sidecar(changes: dict[str, object]) -> None:
    found = sidecar_of(VERSION_2 | changes)
    assert isinstance(found, Void)
    assert WHERE in found.why


@pytest.mark.parametrize(
    ("document", "missing"),
    [
        *((VERSION_1, name) for name in VERSION_1),
        *((VERSION_2, name) for name in VERSION_1),
    ],
    ids=lambda case: str(case) if isinstance(case, str) else f"version {case['version']}",
)
def test_a_sidecar_without_one_of_its_fields_is_no_sidecar(document: dict[str, object], missing: str) -> None:
    assert isinstance(sidecar_of(document), Sidecar)
    assert isinstance(sidecar_of({name: document[name] for name in document if name != missing}), Void)


@pytest.mark.parametrize("data", [b"", b"{", b"null", b"[]", b"\xff", b"[" * 100_000])
def test_bytes_that_are_no_document_are_no_sidecar(data: bytes) -> None:
    assert isinstance(decode(data, WHERE), Void)


def test_a_sidecar_can_be_changed_field_by_field() -> None:
    sidecar = sidecar_of(VERSION_2)
    assert isinstance(sidecar, Sidecar)
    assert json.loads(encode(msgspec.structs.replace(sidecar, dirty_paths=())))["dirtyPaths"] == []
