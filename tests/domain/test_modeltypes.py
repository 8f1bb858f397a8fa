"""Model types: every spelling of one type must lead every client to one folder (repository spec 1.2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.domain.modeltypes import WHITESPACE, ModelType
from bayou.errors import ErrorKind, UsageError
from bayou.testing.strategies import model_types, raw_model_types


@pytest.mark.parametrize(
    ("raw", "normalised"),
    [
        ("AWS::EC2::VPC", "aws/ec2/vpc"),
        ("docker  run", "docker/run"),
        ("Microsoft.Resources/resourceGroup", "microsoft/resources/resourcegroup"),
        ("@Acme/Geo.Lookup", "@acme/geo/lookup"),
        (" swamp/echo ", "swamp/echo"),
        ("a:b", "a:b"),
        ("../x", "x"),
        # what the passes of the spec make of their own leftovers
        ("a:::b", "a/:b"),
        ("a::::b", "a/b"),
        (":.:", ":/:"),
        ("a: :b", "a:/:b"),
        ("/a//b/", "a/b"),
        (r"@a-b_c\d", r"@a-b_c\d"),
    ],
)
def test_normalises_as_existing_clients_do(raw: str, normalised: str) -> None:
    assert ModelType(raw).normalised == normalised


@pytest.mark.parametrize("raw", ["", "   ", "::", "...", "/", "\u00a0\ufeff", " . :: / "])
def test_refuses_what_normalises_to_nothing(raw: str) -> None:
    with pytest.raises(UsageError) as caught:
        ModelType(raw)
    assert caught.value.kind is ErrorKind.INVALID_NAME


def test_refuses_what_is_not_text() -> None:
    with pytest.raises(UsageError, match="not text"):
        ModelType(7)  # type: ignore[arg-type] # the error is the point


@pytest.mark.parametrize("space", WHITESPACE, ids=lambda space: f"U+{ord(space):04X}")
def test_takes_javascript_whitespace_for_a_separator(space: str) -> None:
    assert ModelType(f"{space}a{space}{space}b{space}").normalised == "a/b"
    assert ModelType(f"{space}a{space}").raw == "a"


@pytest.mark.parametrize("character", "\x1c\x1d\x1e\x1f\x85\u180e\u200b\u2060", ids=lambda it: f"U+{ord(it):04X}")
def test_keeps_what_only_python_or_nobody_takes_for_whitespace(character: str) -> None:
    assert ModelType(f"a{character}b").normalised == f"a{character}b"
    assert ModelType(f"a{character}").raw == f"a{character}"


# Expected values as node prints them for toLowerCase().
@pytest.mark.parametrize(
    ("raw", "normalised"),
    [
        ("\u0130STANBUL", "i\u0307stanbul"),
        ("\u039f\u0394\u039f\u03a3", "\u03bf\u03b4\u03bf\u03c2"),
        ("\u039f\u03a3.\u0391", "\u03bf\u03c3/\u03b1"),  # a full stop does not end a word, so this sigma is not final
        ("\u039f\u03a3/\u0391", "\u03bf\u03c2/\u03b1"),
        ("\u03a3", "\u03c3"),
        ("STRA\u1e9eE", "stra\u00dfe"),
        ("\u212a", "k"),
    ],
)
def test_lowers_as_javascript_does(raw: str, normalised: str) -> None:
    assert ModelType(raw).normalised == normalised


@pytest.mark.parametrize("character", ["\u0378", "\ufdd0", "\ud800"], ids=ascii)
def test_refuses_letters_whose_lower_case_it_cannot_know(character: str) -> None:
    with pytest.raises(UsageError, match=r"no character of Unicode"):
        ModelType(f"a{character}")


@given(raw_model_types())
def test_normalising_is_idempotent_and_leaves_no_separator_behind(raw: str) -> None:
    normalised = ModelType(raw).normalised
    assert ModelType(normalised).normalised == normalised
    assert ModelType(normalised) == ModelType(raw)
    assert "::" not in normalised
    assert "//" not in normalised
    assert not set(normalised) & {*WHITESPACE, "."}
    assert not normalised.startswith("/")
    assert not normalised.endswith("/")


@given(raw_model_types())
def test_one_pass_is_the_passes_of_the_spec(raw: str) -> None:
    text = raw.strip(WHITESPACE).lower().replace("::", "/")
    for separator in (*WHITESPACE, "."):
        text = text.replace(separator, "/")
    while "//" in text:
        text = text.replace("//", "/")
    assert ModelType(raw).normalised == text.strip("/")


@given(raw_model_types())
def test_keeps_what_was_written_but_for_blanks_around_it(raw: str) -> None:
    assert ModelType(raw).raw == raw.strip(WHITESPACE)


@given(raw_model_types(), raw_model_types())
def test_types_are_equal_when_their_normalised_texts_are(raw: str, other: str) -> None:
    assert (ModelType(raw) == ModelType(other)) == (ModelType(raw).normalised == ModelType(other).normalised)
    assert len({ModelType(raw), ModelType(raw.lower()), ModelType(f" {raw}")}) == 1


@given(model_types())
def test_a_type_joins_its_segments_to_its_text(model_type: ModelType) -> None:
    assert "/".join(model_type.segments) == str(model_type) == model_type.normalised
    assert all(model_type.segments)


@pytest.mark.parametrize(
    ("raw", "user_namespace", "collective", "reserved", "segments"),
    [
        ("@Acme/Geo.Lookup", "@acme", "acme", False, ("@acme", "geo", "lookup")),
        ("swamp/echo", None, "swamp", True, ("swamp", "echo")),
        ("@swamp/echo", "@swamp", "swamp", True, ("@swamp", "echo")),
        ("SI::Thing", None, "si", True, ("si", "thing")),
        ("swamps/echo", None, "swamps", False, ("swamps", "echo")),
        ("echo", None, "echo", False, ("echo",)),
    ],
)
def test_knows_whose_type_it_is(
    raw: str, user_namespace: str | None, collective: str, *, reserved: bool, segments: tuple[str, ...]
) -> None:
    model_type = ModelType(raw)
    assert model_type.user_namespace == user_namespace
    assert model_type.collective == collective
    assert model_type.is_reserved is reserved
    assert model_type.segments == segments


@given(st.text(max_size=12))
def test_any_text_is_a_type_or_a_usage_error(text: str) -> None:
    try:
        answered = bool(ModelType(text).normalised)
    except UsageError as refused:
        answered = refused.kind is ErrorKind.INVALID_NAME
    assert answered
