"""Scopes include models."""

from hypothesis import given
from hypothesis import strategies as st

from bayou.domain.models import Model
from bayou.domain.scopes import EVERYTHING, scope_of
from bayou.testing.strategies import models


@given(st.lists(models(), max_size=4), models())
def test_a_scope_includes_its_models_and_no_other(members: list[Model], other: Model) -> None:
    scope = scope_of(members)
    assert all(scope.includes(model) for model in members)
    assert scope.includes(other) == (other in members)


@given(models())
def test_everything_includes_every_model_and_nothing_none(model: Model) -> None:
    assert EVERYTHING.includes(model)
    assert not scope_of([]).includes(model)
    assert scope_of([]) != EVERYTHING
