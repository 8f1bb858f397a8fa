"""Namespaces and the references that name one (repository spec 5.7)."""

import pytest
from hypothesis import given

from bayou.domain.namespaces import EVERY_NAMESPACE, SOLO, ModelReference, check_namespace, is_slug, parse_reference
from bayou.errors import ErrorKind, UsageError
from bayou.testing.strategies import model_names, namespaces


@pytest.mark.parametrize("slug", ["a", "0", "infra", "team-a", "a--b", "audit", "x" * 64])
def test_is_a_namespace(slug: str) -> None:
    assert is_slug(slug)
    assert check_namespace(slug) == slug


@pytest.mark.parametrize(
    "slug", ["-a", "a-", "-", "A", "a_b", "a.b", "a/b", "\u00fc", "a\n", " a", "x" * 65, "..", "*"]
)
def test_is_no_namespace(slug: str) -> None:
    assert not is_slug(slug)
    with pytest.raises(UsageError) as caught:
        check_namespace(slug)
    assert caught.value.kind is ErrorKind.INVALID_NAME


def test_the_solo_namespace_is_empty_and_no_slug() -> None:
    assert check_namespace(SOLO) == ""
    assert not is_slug(SOLO)


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("web-01", ModelReference("web-01")),
        ("infra:web-01", ModelReference("web-01", "infra")),
        ("*:web-01", ModelReference("web-01", EVERY_NAMESPACE)),
        (":web-01", ModelReference("web-01")),
        ("infra:a:b", ModelReference("a:b", "infra")),
        (":a:b", ModelReference("a:b")),
    ],
)
def test_the_first_colon_ends_the_namespace(text: str, reference: ModelReference) -> None:
    assert parse_reference(text) == reference


@pytest.mark.parametrize("text", ["", ":", "infra:", "*:", "  ", "Infra:x", "a b:x", "**:x"])
def test_refuses_references_that_name_nothing(text: str) -> None:
    with pytest.raises(UsageError):
        parse_reference(text)


@given(model_names(), namespaces())
def test_a_reference_reads_back_what_it_prints(name: str, namespace: str) -> None:
    for reference in (ModelReference(name, namespace or None), ModelReference(name, EVERY_NAMESPACE)):
        assert parse_reference(str(reference)) == reference
