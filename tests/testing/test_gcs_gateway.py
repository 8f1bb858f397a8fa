"""The gateway in front of fake-gcs-server: every call that obstore makes of Google's XML API."""

import json
from collections.abc import Mapping
from typing import Any

import obstore
import pytest
from obstore.exceptions import AlreadyExistsError, GenericError, NotModifiedError, PreconditionError
from obstore.store import GCSStore

from bayou.testing.servers import Server

PART = 5 * 1024 * 1024


def open_store(server: Server, bucket: str) -> GCSStore:
    return GCSStore(
        bucket,
        service_account_key=server.settings["service_account_key"],
        client_options={"allow_http": True},
        retry_config={"max_retries": 0},
    )


@pytest.fixture
def store(fake_gcs: Server) -> GCSStore:
    return open_store(fake_gcs, fake_gcs.new_bucket())


def keys(store: GCSStore, prefix: str | None = None, offset: str | None = None) -> list[str]:
    return [entry["path"] for page in obstore.list(store, prefix, offset=offset) for entry in page]


def generation(written: Mapping[str, Any]) -> str:
    version = written["version"]
    assert isinstance(version, str)
    return version


@pytest.mark.parametrize("key", ["plain", "a/b/c", "a b+c%20.txt", "é/😀", "query?x=1&y#z", "quote'\"<&>"])
def test_a_name_survives_writing_listing_reading_and_deleting(store: GCSStore, key: str) -> None:
    obstore.put(store, key, b"content")
    assert keys(store) == [key]
    assert obstore.get(store, key).bytes() == b"content"
    obstore.copy(store, key, "copy")
    obstore.delete(store, key)
    assert keys(store) == ["copy"]


def test_create_refuses_an_object_that_exists(store: GCSStore) -> None:
    obstore.put(store, "key", b"first", mode="create")
    with pytest.raises(AlreadyExistsError):
        obstore.put(store, "key", b"second", mode="create")
    assert obstore.get(store, "key").bytes() == b"first"


def test_update_replaces_the_named_generation_only(store: GCSStore) -> None:
    first = obstore.put(store, "key", b"first")
    second = obstore.put(store, "key", b"second", mode={"version": generation(first)})
    assert generation(second) != generation(first)
    for stale in (generation(first), "1"):
        with pytest.raises(PreconditionError):
            obstore.put(store, "key", b"third", mode={"version": stale})
    with pytest.raises(PreconditionError):
        obstore.put(store, "missing", b"third", mode={"version": generation(second)})
    assert obstore.get(store, "key").bytes() == b"second"


def test_reads_tell_the_generation_that_a_write_told(store: GCSStore) -> None:
    written = obstore.put(store, "key", b"content")
    for read in (obstore.head(store, "key"), obstore.get(store, "key").meta):
        assert (read["version"], read["e_tag"], read["size"]) == (written["version"], written["e_tag"], 7)


def test_a_conditional_read_answers_only_when_its_condition_holds(store: GCSStore) -> None:
    etag = obstore.put(store, "key", b"content")["e_tag"]
    assert etag is not None
    with pytest.raises(NotModifiedError):
        obstore.get(store, "key", options={"if_none_match": etag})
    with pytest.raises(NotModifiedError):
        obstore.get(store, "key", options={"if_none_match": f'"other", {etag}'})
    assert obstore.get(store, "key", options={"if_none_match": '"other"'}).bytes() == b"content"
    assert obstore.get(store, "key", options={"if_match": etag}).bytes() == b"content"
    with pytest.raises(PreconditionError):
        obstore.get(store, "key", options={"if_match": '"other"'})


def test_a_generation_that_was_replaced_is_missing(store: GCSStore) -> None:
    first = generation(obstore.put(store, "key", b"first"))
    second = generation(obstore.put(store, "key", b"second"))
    assert obstore.get(store, "key", options={"version": second}).bytes() == b"second"
    with pytest.raises(FileNotFoundError):
        obstore.get(store, "key", options={"version": first})


def test_ranges(store: GCSStore) -> None:
    obstore.put(store, "key", b"0123456789")
    assert obstore.get_range(store, "key", start=2, end=5) == b"234"
    assert obstore.get(store, "key", options={"range": {"offset": 7}}).bytes() == b"789"
    assert obstore.get(store, "key", options={"range": {"suffix": 2}}).bytes() == b"89"
    with pytest.raises(GenericError, match="416"):
        obstore.get_range(store, "key", start=20, end=25)


def test_what_is_not_there_is_missing(store: GCSStore, fake_gcs: Server) -> None:
    for call in (obstore.get, obstore.head, obstore.delete):
        with pytest.raises(FileNotFoundError):
            call(store, "missing")
    with pytest.raises(FileNotFoundError):
        obstore.copy(store, "missing", "copy")
    nowhere = open_store(fake_gcs, "test-no-such-bucket")
    with pytest.raises(FileNotFoundError):
        obstore.put(nowhere, "key", b"content")
    with pytest.raises(GenericError, match="NoSuchBucket"):
        keys(nowhere)


def test_a_listing_is_complete_sorted_and_cut_as_asked(store: GCSStore) -> None:
    names = [f"n/{number:04}" for number in range(1100)]  # more than the 1,000 of one page
    obstore.put(store, "other", b"")
    for name in names:
        obstore.put(store, name, b"")
    assert keys(store, "n") == names
    assert keys(store, "n", offset="n/0500") == names[501:]
    assert keys(store, offset="n/1098") == ["n/1099", "other"]
    cut = obstore.list_with_delimiter(store)
    assert (cut["common_prefixes"], [entry["path"] for entry in cut["objects"]]) == (["n"], ["other"])


def test_a_large_object_arrives_in_parts_and_whole(store: GCSStore) -> None:
    content = bytes(range(256)) * (2 * PART // 256) + b"the rest"
    obstore.put(store, "large", content, chunk_size=PART, use_multipart=True)
    assert obstore.get(store, "large").bytes() == content


def test_a_copy_can_be_told_not_to_overwrite(store: GCSStore) -> None:
    obstore.put(store, "from", b"new")
    obstore.put(store, "to", b"old")
    with pytest.raises(AlreadyExistsError):
        obstore.copy(store, "from", "to", overwrite=False)
    assert obstore.get(store, "to").bytes() == b"old"
    obstore.copy(store, "from", "to")
    assert obstore.get(store, "to").bytes() == b"new"


def test_the_settings_ask_for_no_token(fake_gcs: Server) -> None:
    account = json.loads(fake_gcs.settings["service_account_key"])
    assert account["disable_oauth"] is True
    assert account["gcs_base_url"] == fake_gcs.endpoint
