"""Variables: SWAMP_DATASTORE in all its forms, and numbers that are taken or ignored with a warning."""

import pytest

from bayou.config import environment, typed
from bayou.config.locations import GCS, S3, Azure
from bayou.errors import ErrorKind, UsageError


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("filesystem:/srv/store", {"type": "filesystem", "path": "/srv/store"}),
        ("filesystem:../store", {"type": "filesystem", "path": "../store"}),
        ("filesystem:a:b", {"type": "filesystem", "path": "a:b"}),
        ("@acme/ftp:", {"type": "@acme/ftp", "config": {}}),
        ('@acme/ftp:{"host": "h:1"}', {"type": "@acme/ftp", "config": {"host": "h:1"}}),
        ("s3:lake", {"type": "s3", "bucket": "lake", "prefix": ""}),
        ("s3:lake/a/b/", {"type": "s3", "bucket": "lake", "prefix": "a/b/"}),
    ],
)
def test_the_forms_of_type_and_value(text: str, values: dict[str, object]) -> None:
    assert typed.parse(text, where="SWAMP_DATASTORE") == values


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("/srv/store", 'expected TYPE:VALUE, found "/srv/store"; did you mean "filesystem:/srv/store"?'),
        ("filesystem", 'expected TYPE:VALUE, found "filesystem"'),
        ("@acme/ftp", "expected TYPE:VALUE"),
        ("filesytem:/srv", '"filesytem" is not a known type of datastore; did you mean "filesystem"?'),
        (":x", '"" is not a known type'),
        ("@acme/ftp:{", "is not JSON"),
        ("@acme/ftp:" + '{"a":' * 100_000, "is not JSON"),
        ("@acme/ftp:null", "is JSON, but not an object"),
    ],
)
def test_forms_that_are_refused(text: str, problem: str) -> None:
    with pytest.raises(UsageError) as refused:
        typed.parse(text, where="SWAMP_DATASTORE")
    assert problem in refused.value.message
    assert refused.value.kind is ErrorKind.INVALID_CONFIG
    assert "SWAMP_DATASTORE" in refused.value.remedy


def test_broken_json_is_not_repeated() -> None:
    with pytest.raises(UsageError) as refused:
        typed.parse('@acme/ftp:{"password": "hunter2"', where="SWAMP_DATASTORE")
    assert "hunter2" not in refused.value.message


@pytest.mark.parametrize(
    ("text", "value"), [("1000", 1000), ("600000", 600_000), (" 30000 ", 30_000), ("030000", 30_000)]
)
def test_a_number_in_range_is_used(text: str, value: int) -> None:
    assert environment.number({"X": text}, "X", range(1000, 600_001)) == (value, None)


@pytest.mark.parametrize("text", ["999", "600001", "0", "-1", "abc", "30s", "1e4", "3000.5", "٣٠٠٠", "1" * 30])
def test_any_other_number_is_ignored_with_a_warning(text: str) -> None:
    value, warning = environment.number({"X": text}, "X", range(1000, 600_001))
    assert value is None
    assert warning == f'X is ignored: expected a whole number from 1000 to 600000, found "{text}"'


@pytest.mark.parametrize("environ", [{}, {"X": ""}])
def test_a_number_that_is_not_set_is_none(environ: dict[str, str]) -> None:
    assert environment.number(environ, "X", range(1, 10)) == (None, None)
    assert environment.size(environ, "X") == (None, None)
    assert environment.switch(environ, "X") is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1048576", 2**20),
        ("256m", 256 * 2**20),
        ("1gb", 2**30),
        ("2G", 2**31),
        ("4 KB", 4096),
        ("7b", 7),
        ("1t", 2**40),
    ],
)
def test_sizes(text: str, value: int) -> None:
    assert environment.size({"X": text}, "X") == (value, None)


@pytest.mark.parametrize("text", ["0", "-1", "lots", "1.5g", "1 gib", "m"])
def test_a_size_that_makes_no_sense_is_ignored_with_a_warning(text: str) -> None:
    assert environment.size({"X": text}, "X") == (
        None,
        f'X is ignored: expected a size such as 256m or 1gb, found "{text}"',
    )


@pytest.mark.parametrize(
    ("text", "value"), [("1", True), ("yes", True), ("0", False), ("false", False), ("FALSE", False)]
)
def test_switches(text: str, value: bool) -> None:  # noqa: FBT001 - a row of the table
    assert environment.switch({"X": text}, "X") is value


def test_each_kind_of_bucket_has_variables_of_its_own() -> None:
    assert environment.request_timeout_variable(S3("abc")) == "SWAMP_S3_REQUEST_TIMEOUT_MS"
    assert environment.request_timeout_variable(GCS("abc")) == "SWAMP_GCS_REQUEST_TIMEOUT_MS"
    assert environment.request_timeout_variable(Azure("abc")) is None
    assert environment.trace_variable(S3("abc")) == "SWAMP_S3_SYNC_TRACE"
    assert environment.trace_variable(GCS("abc")) == "SWAMP_GCS_SYNC_TRACE"
