"""Names of data and models, and names that vary (repository spec 1.3, 2.1)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.domain.names import check_data_name, check_id, check_model_name, is_uuid, vary_name
from bayou.errors import ErrorKind, UsageError
from bayou.testing.strategies import data_names, model_names


@pytest.mark.parametrize(
    "name", ["207333", "disk report", "v1.2", "a-b_c", "Latest2", "\u00fcber", ".hidden", "a.", "x" * 255]
)
def test_data_may_be_called_so(name: str) -> None:
    assert check_data_name(name) == name


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "empty"),
        (".", "relative path"),
        ("..", "'..'"),
        ("a..b", "'..'"),
        ("a/b", "slash"),
        ("a\\b", "backslash"),
        ("a\0", "control"),
        ("a\n", "control"),
        ("latest", "reserved"),
        ("LaTeSt", "reserved"),
        (".lock", "reserved"),
        (".LOCK", "reserved"),
        ("x" * 256, "256 bytes"),
        ("\u00fc" * 128, "256 bytes"),
        ("\ud800", "not valid Unicode"),
    ],
)
def test_data_may_not_be_called_so(name: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as caught:
        check_data_name(name)
    assert caught.value.kind is ErrorKind.INVALID_NAME


@given(st.text(max_size=10))
def test_every_refused_data_name_breaks_a_rule(name: str) -> None:
    try:
        check_data_name(name)
    except UsageError:
        broken = (
            not name
            or ".." in name
            or name == "."
            or any(character in name for character in "/\\")
            or any(ord(character) < 32 or 127 <= ord(character) < 160 for character in name)
            or name.lower() in ("latest", ".lock")
        )
        assert broken


@given(data_names())
def test_a_data_name_is_also_an_id(name: str) -> None:
    assert check_id(name) == name


@given(model_names())
def test_a_model_name_is_kept_as_it_is(name: str) -> None:
    assert check_model_name(name) == name


@pytest.mark.parametrize("name", ["", "  ", "\ufeff", "a/b", "a\tb", "\ud800"])
def test_a_model_may_not_be_called_so(name: str) -> None:
    with pytest.raises(UsageError):
        check_model_name(name)


@pytest.mark.parametrize("text", ["", ".", "..", "a/b", "a\\b", "a\0b"])
def test_an_id_is_one_segment_of_a_path(text: str) -> None:
    with pytest.raises(UsageError):
        check_id(text)


@given(st.uuids())
def test_a_uuid_is_known_in_lower_case_only(value: object) -> None:
    assert is_uuid(str(value))
    assert not is_uuid(f"{value}\n")
    assert not is_uuid(str(value).replace("-", ""))
    assert not is_uuid("A" + str(value)[1:])


def test_names_that_vary_join_their_values() -> None:
    assert vary_name("report", ["eu-west-1", "prod"]) == "report-eu-west-1-prod"
    assert vary_name("report") == "report"


@pytest.mark.parametrize(
    ("base", "values"),
    [("b", ["..x"]), ("b", ["a\0b"]), ("b", ["\ud800"]), ("b", ["x" * 300]), ("b" * 200, ["x" * 60]), ("latest", [])],
)
def test_what_varies_makes_a_name_that_data_may_have(base: str, values: list[str]) -> None:
    with pytest.raises(UsageError, match="is not a data name"):
        vary_name(base, values)


@pytest.mark.parametrize("part", ["", " ", "\u00a0", "a/b", "a\\b", ".", ".."])
def test_nothing_that_varies_may_leave_the_folder(part: str) -> None:
    with pytest.raises(UsageError):
        vary_name("report", [part])
    with pytest.raises(UsageError):
        vary_name(part, ["x"])
    with pytest.raises(UsageError):
        vary_name(part)
