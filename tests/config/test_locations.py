"""A location is valid by construction: the rules of names are those of the existing clients and the providers."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bayou.config.locations import GCS, S3, Azure, Folder, Misfit, Plugin
from bayou.errors import ErrorKind, UsageError


@pytest.mark.parametrize("bucket", ["abc", "a.b-c", "0ab", "a" * 63, "my-bucket.eu"])
def test_buckets_that_s3_takes(bucket: str) -> None:
    assert S3(bucket).bucket == bucket


@pytest.mark.parametrize("bucket", ["", "ab", "MyBucket", "a_b", "-ab", "ab-", ".ab", "a" * 64, "abc\n", "a/b", "ü12"])
def test_buckets_that_s3_refuses(bucket: str) -> None:
    with pytest.raises(Misfit, match="bucket: expected 3 to 63") as refused:
        S3(bucket)
    assert refused.value.kind is ErrorKind.INVALID_CONFIG


@pytest.mark.parametrize("bucket", ["abc", "a_b", "a.b-c", "0ab"])
def test_buckets_that_gcs_takes(bucket: str) -> None:
    assert GCS(bucket).bucket == bucket


@pytest.mark.parametrize("bucket", ["", "ab", "MyBucket", "_ab", "goog-x", "my-google-x", "ab_"])
def test_buckets_that_gcs_refuses(bucket: str) -> None:
    with pytest.raises(Misfit, match="bucket: expected"):
        GCS(bucket)


@pytest.mark.parametrize("container", ["abc", "a-b-c", "0ab", "a" * 63])
def test_containers_that_azure_takes(container: str) -> None:
    assert Azure(container, account="abc123").container == container


@pytest.mark.parametrize("container", ["", "ab", "Abc", "a--b", "-ab", "ab-", "a.b", "a_b", "a" * 64])
def test_containers_that_azure_refuses(container: str) -> None:
    with pytest.raises(Misfit, match="container: expected 3 to 63"):
        Azure(container)


@pytest.mark.parametrize("account", ["", "ab", "my-account", "Account", "a" * 25])
def test_accounts_that_azure_refuses(account: str) -> None:
    with pytest.raises(Misfit, match="account: expected 3 to 24"):
        Azure("abc", account=account)


@pytest.mark.parametrize(
    "endpoint",
    ["http://localhost:9000", "https://s3.example.com", "http://127.0.0.1:10000/devstoreaccount1", "http://[::1]:9000"],
)
@pytest.mark.parametrize(
    "place", [lambda e: S3("abc", endpoint=e), lambda e: GCS("abc", endpoint=e), lambda e: Azure("abc", endpoint=e)]
)
def test_an_endpoint_is_an_http_url(place: Callable[[str], S3 | GCS | Azure], endpoint: str) -> None:
    assert place(endpoint).endpoint == endpoint


@pytest.mark.parametrize(
    "endpoint",
    [
        "",
        "not a url",
        "localhost:9000",
        "ftp://host",
        "http://",
        "http://host:port",
        "http://host:99999",
        "http://[::1",
        "https://h?x=1",
    ],
)
@pytest.mark.parametrize(
    "place", [lambda e: S3("abc", endpoint=e), lambda e: GCS("abc", endpoint=e), lambda e: Azure("abc", endpoint=e)]
)
def test_anything_else_is_no_endpoint(place: Callable[[str], S3 | GCS | Azure], endpoint: str) -> None:
    with pytest.raises(Misfit, match="endpoint: expected http"):
        place(endpoint)


def test_an_endpoint_with_a_password_is_refused_and_not_repeated() -> None:
    with pytest.raises(Misfit, match="contains credentials") as refused:
        S3("abc", endpoint="https://me:hunter2@host")
    assert "hunter2" not in refused.value.message


@pytest.mark.parametrize("prefix", ["", "a", "a/", "/a", "/", "a//b", " ", "é?#%", "../x"])
def test_a_prefix_is_taken_verbatim(prefix: str) -> None:
    assert S3("abc", prefix).prefix == GCS("abc", prefix).prefix == Azure("abc", prefix).prefix == prefix


def test_a_prefix_must_be_text() -> None:
    with pytest.raises(Misfit, match="prefix: is not valid Unicode"):
        S3("abc", "\ud800")


def test_headers_are_kept_in_order() -> None:
    headers = (("X-Tenant", "a b"), ("x-route", ""))
    assert S3("abc", headers=headers).headers == headers
    assert GCS("abc", headers=headers).headers == headers
    assert Azure("abc", headers=headers).headers == headers


@pytest.mark.parametrize(
    ("headers", "problem"),
    [
        ((("X Tenant", "a"),), "the name of an HTTP header"),
        ((("", "a"),), "the name of an HTTP header"),
        ((("X-Tenant", "a\r\nX-Other: b"),), "must be printable ASCII"),
        ((("Authorization", "x"),), "Authorization is a credential"),
        ((("X-Amz-Security-Token", "x"),), "is a credential"),
        ((("x-api-key", "x"),), "is a credential"),
        ((("Cookie", "x"),), "is a credential"),
        ((("X-A", "1"), ("x-a", "2")), "names a header twice"),
    ],
)
def test_headers_that_are_refused(headers: tuple[tuple[str, str], ...], problem: str) -> None:
    for kind in (S3, GCS, Azure):
        with pytest.raises(Misfit, match=problem):
            kind("abc", headers=headers)


@pytest.mark.parametrize("kind", ["ftp", "@acme", "@/x", "@a b/c", "acme/x", "@acme/"])
def test_a_plugin_has_a_type_of_a_collective(kind: str) -> None:
    with pytest.raises(Misfit, match="type: expected @collective/name"):
        Plugin(kind, {})


@pytest.mark.parametrize(("path", "problem"), [("a\0b", "contains a NUL"), ("/\ud800", "is not valid Unicode")])
def test_a_folder_has_a_path_that_a_disk_can_hold(path: str, problem: str) -> None:
    with pytest.raises(UsageError, match=f"path: {problem}"):
        Folder(Path(path))


def test_a_folder_may_have_a_name_that_is_not_utf_8() -> None:
    path = Path(os.fsdecode(b"/srv/\xff"))
    assert Folder(path).path == path


def test_equal_locations_are_one_key() -> None:
    assert len({Plugin("@a/b", {"x": 1}), Plugin("@a/b", {"x": 1}), Plugin("@a/b", {"x": 2})}) == 2
