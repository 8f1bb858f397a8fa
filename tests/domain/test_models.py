"""Models: what they are known by, and ids that machines agree on without talking."""

import unicodedata

import pytest
from hypothesis import given

from bayou.domain.models import Model, derived_id, parse_model
from bayou.domain.modeltypes import ModelType
from bayou.domain.names import is_uuid
from bayou.errors import UsageError
from bayou.testing.strategies import model_names, model_types, models, namespaces, raw_model_types

VPC = ModelType("AWS::EC2::VPC")


@pytest.mark.parametrize(
    ("namespace", "raw", "name", "expected"),
    [
        ("", "AWS::EC2::VPC", "prod-vpc", "21c968a2-8729-5a71-8732-a0be072bc87f"),
        ("infra", "aws/ec2/vpc", "prod-vpc", "68afd6e2-64b8-5613-96f4-8bb17e2ed301"),
        ("", "@acme/geo", 'M\u00fcnchen "1"', "893f3849-5aae-5911-8394-8073355aa97d"),
    ],
)
def test_derived_ids_never_change(namespace: str, raw: str, name: str, expected: str) -> None:
    assert derived_id(namespace, ModelType(raw), name) == expected


@given(namespaces(), raw_model_types(), model_names())
def test_every_spelling_of_one_model_has_one_id(namespace: str, raw: str, name: str) -> None:
    model_type = ModelType(raw)
    expected = derived_id(namespace, ModelType(model_type.normalised), unicodedata.normalize("NFC", name))
    assert derived_id(namespace, model_type, unicodedata.normalize("NFD", name)) == expected
    assert is_uuid(expected)


def test_different_models_have_different_ids() -> None:
    ids = {
        derived_id("", VPC, "a"),
        derived_id("", VPC, "b"),
        derived_id("", VPC, "A"),
        derived_id("infra", VPC, "a"),
        derived_id("", ModelType("aws/ec2"), "a"),
        derived_id("", ModelType("a"), 'b","c'),
        derived_id("", ModelType('a","b'), "c"),
    }
    assert len(ids) == 7


@given(model_types(), model_names())
def test_a_model_is_named_by_its_type_and_its_name(model_type: ModelType, name: str) -> None:
    assert parse_model(f"{model_type}/{name}") == (model_type, name)


@pytest.mark.parametrize("text", ["", "vpc", "/vpc", "aws/ec2/", "aws/ "])
def test_refuses_what_names_no_model(text: str) -> None:
    with pytest.raises(UsageError):
        parse_model(text)


@pytest.mark.parametrize("model_id", ["", "..", "a/b", "a\\b"])
def test_a_model_cannot_have_an_id_that_leaves_its_folder(model_id: str) -> None:
    with pytest.raises(UsageError):
        Model(VPC, model_id)


@pytest.mark.parametrize("raw", ["a\\b", "a/\0", "a/\x85/b", "x" * 256])
def test_a_model_cannot_have_a_type_that_is_no_folder(raw: str) -> None:
    with pytest.raises(UsageError, match="is not a folder of a model type"):
        Model(ModelType(raw), "x")


@given(models())
def test_the_name_is_not_what_a_model_is(model: Model) -> None:
    assert Model(model.type, model.id) == model
    assert len({model, Model(model.type, model.id, "another")}) == 1
