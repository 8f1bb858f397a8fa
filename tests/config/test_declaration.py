"""The `datastore` block of the marker: each type with its keys, read and written."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.config.block import Block
from bayou.config.declaration import config_of, read, written
from bayou.config.locations import GCS, S3, Azure, Folder, Location, Mongo, Plugin
from bayou.errors import ErrorKind, UsageError

HOME = Path("/home/me")


def _read(values: dict[str, object]) -> Location:
    block = Block(values, where="/repo/.swamp.yaml", path="datastore")
    return read(block, config_of(block), plugins=lambda: ["@acme/ftp"])


FULL_S3 = {
    "bucket": "lake",
    "prefix": "a/",
    "region": "eu",
    "endpoint": "http://h:1",
    "forcePathStyle": True,
    "headers": {"X-A": "1"},
}


@pytest.mark.parametrize(
    ("values", "location"),
    [
        ({"type": "filesystem", "path": "/srv"}, Folder(Path("/srv"))),
        ({"type": "@swamp/s3-datastore", "config": {"bucket": "lake"}}, S3("lake")),
        ({"type": "@swamp/s3-datastore", "config": {"bucket": "lake", "region": "eu"}}, S3("lake", region="eu")),
        (
            {"type": "@swamp/s3-datastore", "config": FULL_S3},
            S3("lake", "a/", "eu", "http://h:1", path_style=True, headers=(("X-A", "1"),)),
        ),
        (
            {
                "type": "@swamp/s3-datastore",
                "config": {"bucket": "lake", "prefix": None, "region": "", "endpoint": None},
            },
            S3("lake"),
        ),
        (
            {
                "type": "s3",
                "bucket": "lake",
                "prefix": "a",
                "region": "eu",
                "endpoint": "http://h:1",
                "forcePathStyle": True,
            },
            S3("lake", "a", "eu", "http://h:1", path_style=True),
        ),
        (
            {
                "type": "@swamp/gcs-datastore",
                "config": {"bucket": "lake_1", "prefix": "a", "apiEndpoint": "http://h:1", "projectId": "me"},
            },
            GCS("lake_1", "a", "http://h:1", "me"),
        ),
        (
            {
                "type": "@bayou/azure-datastore",
                "config": {"container": "lake", "prefix": "a", "account": "acct1", "endpoint": "http://h:1"},
            },
            Azure("lake", "a", "acct1", "http://h:1"),
        ),
        ({"type": "@keeb/mongodb-datastore", "config": {"uri": "x", "n": 1}}, Mongo({"uri": "x", "n": 1})),
        ({"type": "@acme/ftp", "config": {"any": [1]}}, Plugin("@acme/ftp", {"any": [1]})),
        ({"type": "@acme/ftp"}, Plugin("@acme/ftp", {})),
    ],
)
def test_each_type_with_its_keys(values: dict[str, object], location: Location) -> None:
    assert _read(values) == location


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({}, "datastore.type: expected a text, found nothing"),
        ({"type": 5}, "datastore.type: expected a text, found the number 5"),
        ({"type": "filesystem"}, "datastore.path: expected a text, found nothing"),
        ({"type": "filesystem", "path": ["x"]}, "datastore.path: expected a text, found a list"),
        ({"type": "@swamp/s3-datastore"}, "datastore.config.bucket: expected a text, found nothing"),
        ({"type": "@swamp/s3-datastore", "config": {}}, "datastore.config.bucket: expected a text, found nothing"),
        ({"type": "@swamp/s3-datastore", "config": {"bucket": ""}}, "datastore.config.bucket: expected 3 to 63"),
        ({"type": "@swamp/s3-datastore", "config": {"bucket": "ab"}}, "datastore.config.bucket: expected 3 to 63"),
        ({"type": "@swamp/s3-datastore", "config": {"bucket": "MyBucket"}}, 'found "MyBucket"'),
        (
            {"type": "@swamp/s3-datastore", "config": "lake"},
            'datastore.config: expected a mapping, found the text "lake"',
        ),
        (
            {"type": "@swamp/s3-datastore", "config": {"bucket": "lake", "endpoint": "nowhere"}},
            "datastore.config.endpoint: expected http",
        ),
        (
            {"type": "@swamp/s3-datastore", "config": {"bucket": "lake", "forcePathStyle": "yes"}},
            'datastore.config.forcePathStyle: expected true or false, found the text "yes"',
        ),
        (
            {"type": "@swamp/s3-datastore", "config": {"bucket": "lake", "headers": {"X-A": 1}}},
            "datastore.config.headers.X-A: expected a text, found the number 1",
        ),
        ({"type": "s3", "bucket": "ab"}, "datastore.bucket: expected 3 to 63"),
        ({"type": "@swamp/gcs-datastore", "config": {"bucket": "google1"}}, "datastore.config.bucket: expected a name"),
        (
            {"type": "@swamp/gcs-datastore", "config": {"bucket": "lake", "apiEndpoint": "x"}},
            "datastore.config.apiEndpoint: expected http",
        ),
        (
            {"type": "@swamp/gcs-datastore", "config": {"bucket": "lake", "projectId": "a b"}},
            "datastore.config.projectId: expected printable",
        ),
        (
            {"type": "@bayou/azure-datastore", "config": {"container": "a"}},
            "datastore.config.container: expected 3 to 63",
        ),
        (
            {"type": "@swamp/s3", "config": {}},
            'datastore.type: "@swamp/s3" is not a known type of datastore; did you mean "@swamp/s3-datastore"?',
        ),
        ({"type": "@acme/fpt"}, 'did you mean "@acme/ftp"?'),
        ({"type": "S3"}, '"S3" is not a known type of datastore'),
    ],
)
def test_what_is_wrong_is_named_with_file_key_expected_and_found(values: dict[str, object], problem: str) -> None:
    with pytest.raises(UsageError) as refused:
        _read(values)
    assert refused.value.message.startswith("/repo/.swamp.yaml: ")
    assert problem in refused.value.message
    assert refused.value.kind is ErrorKind.INVALID_CONFIG
    assert refused.value.remedy


def test_plugins_are_looked_up_only_for_a_type_that_is_not_built_in() -> None:
    def nobody() -> list[str]:
        raise AssertionError("looked up")

    block = Block({"type": "filesystem", "path": "/srv"}, where="file")
    assert read(block, config_of(block), plugins=nobody) == Folder(Path("/srv"))


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_HEADERS = st.sampled_from([(), (("X-A", "1"),)])
_WRITABLE: st.SearchStrategy[Location] = st.one_of(
    st.builds(S3, st.just("lake"), _TEXT, path_style=st.booleans(), headers=_HEADERS),
    st.builds(GCS, st.just("lake"), _TEXT, st.none() | st.just("http://h:1"), st.none() | st.just("me"), _HEADERS),
    st.builds(Azure, st.just("lake"), _TEXT, st.none() | st.just("acct1"), st.none() | st.just("http://h:1"), _HEADERS),
    st.builds(Mongo, st.dictionaries(_TEXT, _TEXT, max_size=2)),
    st.builds(Plugin, st.just("@acme/ftp"), st.dictionaries(_TEXT, _TEXT, max_size=2)),
    st.sampled_from([Folder(Path("/srv/x")), Folder(Path("rel"))]),
)


def test_a_header_that_yaml_reads_as_a_number_is_a_name() -> None:
    config = {"bucket": "lake", "headers": {5: "x"}}
    assert _read({"type": "@swamp/s3-datastore", "config": config}) == S3("lake", headers=(("5", "x"),))


@given(_WRITABLE)
def test_what_is_written_reads_back(location: Location) -> None:
    assert _read(written(location, HOME)) == location


def test_a_folder_is_written_below_home() -> None:
    assert written(Folder(HOME / "store"), HOME) == {"type": "filesystem", "path": "~/store"}


def test_only_what_differs_from_the_default_is_written() -> None:
    assert written(S3("lake"), HOME) == {"type": "@swamp/s3-datastore", "config": {"bucket": "lake"}}
