"""A location and its text say the same, in both directions, and no text with a credential gets in."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.config.locations import GCS, S3, Azure, Folder, Location, Mongo, Plugin
from bayou.config.urls import displayed, parse, render
from bayou.errors import ErrorKind, UsageError

_ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
_TEXT = st.text(st.characters(), max_size=10)  # half characters included
_PREFIX = st.one_of(_ANY, st.text("a/@:?#%&=+ .~$", max_size=8))
_BUCKET = st.from_regex(r"[a-z0-9][a-z0-9.-]{1,10}[a-z0-9]", fullmatch=True)
_ENDPOINT = st.none() | st.sampled_from(["http://localhost:9000", "https://h.example/x%20y", "http://[::1]:1/a&b=c+d"])
_NAME = st.none() | st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=8)
_HEADERS = st.dictionaries(
    st.sampled_from(["X-A", "x-b", "a!#$%&'*+.^_`|~9"]),
    st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=8),
).map(lambda headers: tuple(headers.items()))
_JSON = st.dictionaries(_ANY, st.none() | st.booleans() | st.integers() | _ANY | st.lists(_ANY, max_size=2), max_size=3)
# Whatever a disk can hold, bytes that are not UTF-8 included.
_DECODED = st.binary(max_size=10).map(lambda name: os.fsdecode(name.replace(b"\0", b"")))
_PATH = _ANY.map(lambda text: text.replace("\0", "")) | _DECODED | st.text("s3:/@a{}.~?#% +", max_size=8)
_FOLDER = _PATH.map(lambda text: Folder(Path(text))) | _PATH.map(lambda text: Folder(Path("/" + text)))
_LOCATIONS: st.SearchStrategy[Location] = st.one_of(
    _FOLDER,
    st.builds(
        S3,
        bucket=_BUCKET,
        prefix=_PREFIX,
        region=_NAME,
        endpoint=_ENDPOINT,
        path_style=st.booleans(),
        headers=_HEADERS,
    ),
    st.builds(
        GCS,
        bucket=_BUCKET.filter(lambda name: "goog" not in name),
        prefix=_PREFIX,
        endpoint=_ENDPOINT,
        project=_NAME,
        headers=_HEADERS,
    ),
    st.builds(
        Azure,
        container=st.sampled_from(["abc", "a-b-c"]),
        prefix=_PREFIX,
        account=st.none() | st.just("acct1"),
        endpoint=_ENDPOINT,
        headers=_HEADERS,
    ),
    st.builds(Mongo, _JSON),
    st.sampled_from(["h:27017/db?replicaSet=rs0", "a,b/x?password=y", "u@h/db", "h/db#x", ""]).map(
        lambda rest: Mongo({"uri": f"mongodb://{rest}"})
    ),
    st.builds(Plugin, st.just("@acme/ftp"), _JSON),
)


def _acme() -> list[str]:
    return ["@acme/ftp"]


@given(_LOCATIONS)
def test_every_location_has_a_text_that_reads_back(location: Location) -> None:
    assert parse(render(location), plugins=_acme) == location


@given(
    st.one_of(
        st.text(st.characters(), max_size=10), st.text("s3gaz:/@?=&%.~fileorbc{}", max_size=16), _LOCATIONS.map(render)
    )
)
def test_any_text_is_a_location_with_a_stable_form_or_a_usage_error(text: str) -> None:
    try:
        location = parse(text, plugins=_acme)
    except UsageError:
        return
    assert parse(render(location), plugins=_acme) == location


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("store", Folder(Path("store"))),
        (".", Folder(Path())),
        ("../a b", Folder(Path("../a b"))),
        ("/srv/store", Folder(Path("/srv/store"))),
        ("./s3:x", Folder(Path("s3:x"))),
        ("a/b:c", Folder(Path("a/b:c"))),
        ("@team", Folder(Path("@team"))),
        ("file:///srv/a%20b", Folder(Path("/srv/a b"))),
        ("file://localhost/srv", Folder(Path("/srv"))),
        ("s3://lake", S3("lake")),
        ("s3://lake/", S3("lake")),
        ("s3://lake/a", S3("lake", "a")),
        ("s3://lake/a/", S3("lake", "a/")),
        ("s3://lake//a", S3("lake", "/a")),
        ("S3://lake/a%3Fb@c+d", S3("lake", "a?b@c+d")),
        ("s3://lake?region=eu-central-1", S3("lake", region="eu-central-1")),
        (
            "s3://lake/p?endpoint=http://localhost:9000&path_style=true&region=x",
            S3("lake", "p", "x", "http://localhost:9000", path_style=True),
        ),
        ("s3://lake?endpoint=http%3A%2F%2Fh%3A1&path_style=false", S3("lake", endpoint="http://h:1")),
        ("s3://lake?header=X-Tenant:a&header=x-b:c%20d", S3("lake", headers=(("X-Tenant", "a"), ("x-b", "c d")))),
        ("gs://lake_1/p?endpoint=http://h:1&project=me", GCS("lake_1", "p", "http://h:1", "me")),
        ("gs://lake?header=X-A:a", GCS("lake", headers=(("X-A", "a"),))),
        ("az://lake?header=X-A:a", Azure("lake", headers=(("X-A", "a"),))),
        ("az://lake/p?account=acct1&endpoint=http://h:1/acct1", Azure("lake", "p", "acct1", "http://h:1/acct1")),
        ("mongodb://a:1,b:2/db?replicaSet=rs0", Mongo({"uri": "mongodb://a:1,b:2/db?replicaSet=rs0"})),
        ("mongodb+srv://cluster.example/db", Mongo({"uri": "mongodb+srv://cluster.example/db"})),
        ("@acme/ftp:", Plugin("@acme/ftp", {})),
        ('@acme/ftp:{"host": "h"}', Plugin("@acme/ftp", {"host": "h"})),
        ('@swamp/s3-datastore:{"bucket":"lake","forcePathStyle":true}', S3("lake", path_style=True)),
    ],
)
def test_texts_and_what_they_mean(text: str, location: Location) -> None:
    assert parse(text, plugins=_acme) == location


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the location is empty"),
        ("s3:lake/prefix", 'did you mean "s3://"?'),
        ("s3a://lake", 'did you mean "s3://"?'),
        ("gcs://lake", 'did you mean "gs://"?'),
        ("mongo://h", 'did you mean "mongodb://"?'),
        ("https://lake.s3.amazonaws.com", '"https://" does not start a URL of a datastore'),
        ("file:/srv", 'did you mean "file://"?'),
        ("s3://ab", "bucket: expected 3 to 63"),
        ("s3://MyBucket/x", 'found "MyBucket"'),
        ("s3:///x", "bucket: expected"),
        ("s3://lake?regoin=x", 'did you mean "region"?'),
        ("s3://lake?pathstyle=true", 'did you mean "path_style"?'),
        ("s3://lake?path_style=yes", 'path_style: expected true or false, found "yes"'),
        ("s3://lake?region=a&region=b", "region is given twice"),
        ("s3://lake?endpoint=localhost:9000", "endpoint: expected http"),
        ("s3://lake?region=", "region: expected"),
        ("s3://lake/a b", "contains a space"),
        ("s3://lake/a\tb", "contains a space or control character"),
        ("s3://lake/a#b", 'contains a "#"'),
        ("s3://lake/%ff", "not UTF-8"),
        ("s3://lake?project=x", '"project" is not a setting of s3:// URLs'),
        ("gs://lake?region=x", '"region" is not a setting of gs:// URLs'),
        ("file://server/share", 'names the host "server"'),
        ("file:///srv?x=1", '"x" is not a setting of file:// URLs'),
        ("file:///srv/%00", "path: contains a NUL character"),
        ("lake\0", "path: contains a NUL character"),
        ("/\ud800", "path: is not valid Unicode"),
        ("./\ud800", "path: is not valid Unicode"),
        ("file:///\ud800", "path: is not valid Unicode"),
        ("@acme/fpt:{}", 'did you mean "@acme/ftp"?'),
        ("@acme/ftp:{", "is not JSON"),
        ("@acme/ftp:[]", "is JSON, but not an object"),
    ],
)
def test_texts_that_are_refused(text: str, problem: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(text, plugins=_acme)
    assert problem in refused.value.message
    assert refused.value.kind in {ErrorKind.INVALID_URL, ErrorKind.INVALID_CONFIG}
    assert refused.value.remedy


@pytest.mark.parametrize(
    "text",
    [
        "s3://AKIA123:hunter2@lake/p",
        "s3://AKIA123:hun/ter2@lake/p",
        "s3://hunter2@lake",
        "s3://lake?secret_access_key=hunter2",
        "s3://lake?aws_session_token=hunter2",
        "s3://lake?access_key_id=hunter2",
        "s3://lake?X-Amz-Signature=hunter2",
        "s3://lake?header=Authorization:hunter2",
        "s3://lake?endpoint=https://me:hunter2@host",
        "gs://lake?credentials=hunter2",
        "az://lake?account_key=hunter2",
        "az://lake?sas_token=hunter2",
        "az://lake?sig=hunter2",
        "s3://AKIA123%3Ahunter2%40lake/p",
        "az://hunter2%40lake",
        "s3://lake?endpoint=https://me:hunter2%2540host",
        "mongodb://me:hunter2%40host",
        "mongodb://me:hunter2@host/db",
        "mongodb://me:hun/hunter2@host/db",
        "mongodb://host/db?tlsCertificateKeyFilePassword=hunter2",
        "mongodb://host/db?authMechanismProperties=AWS_SESSION_TOKEN:hunter2",
    ],
)
def test_a_credential_in_a_url_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(UsageError, match="credential") as refused:
        parse(text)
    assert refused.value.kind is ErrorKind.INVALID_URL
    assert "hunter2" not in str(refused.value) + refused.value.remedy


@pytest.mark.parametrize(
    "text",
    [
        "az://lake?endpoint=https://a.blob.core.windows.net/?sig=hunter2",
        "s3://lake?endpoint=https://h/?X-Amz-Signature=hunter2",
        '@swamp/s3-datastore:{"bucket":"me:hunter2@lake"}',
    ],
)
def test_what_may_be_a_credential_is_refused_for_another_reason_and_not_repeated(text: str) -> None:
    with pytest.raises(UsageError, match="not repeated") as refused:
        parse(text)
    assert "hunter2" not in str(refused.value) + refused.value.remedy


def test_what_is_displayed_has_no_value_that_may_be_a_credential() -> None:
    assert displayed(parse("s3://lake/a?header=X-Auth:hunter2&region=eu")) == "s3://lake/a?region=eu&header=X-Auth:***"
    assert displayed(Plugin("@acme/ftp", {"a": {"b": 1}})) == '@acme/ftp:{"a":"***"}'
    assert displayed(parse("mongodb://h/db")) == '@keeb/mongodb-datastore:{"uri":"***"}'
    assert displayed(GCS("lake", "a")) == "gs://lake/a"
    assert "hunter2" not in repr([Mongo({"uri": "hunter2"}), Plugin("@acme/ftp", {"a": "hunter2"})])
    for kind in (S3, GCS, Azure):
        place = kind("lake", headers=(("X-Auth", "hunter2"),))
        assert "hunter2" not in repr(place) + displayed(place)


@pytest.mark.parametrize(
    "name", ["s3:x", "s3:/lake", "gs:a/b", "file:", "https:/x", "@a/b:c", "@acme/ftp:{}", "xy:z/a"]
)
def test_a_relative_folder_that_looks_like_a_url_stays_a_folder(name: str) -> None:
    assert render(Folder(Path(name))) == f"./{name}"
    assert parse(render(Folder(Path(name))), plugins=_acme) == Folder(Path(name))


def test_a_text_is_as_short_as_it_can_be() -> None:
    assert render(S3("lake", "a/b@c")) == "s3://lake/a/b@c"
    assert render(S3("lake", region="eu", endpoint="http://h:1")) == "s3://lake?region=eu&endpoint=http://h:1"
    assert render(Folder(Path("/srv/store"))) == "file:///srv/store"
    assert render(Plugin("@acme/ftp", {"a": 1})) == f"@acme/ftp:{json.dumps({'a': 1}, separators=(',', ':'))}"
