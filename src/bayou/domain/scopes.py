"""Scopes: the models, or everything, that an operation is about. Which path is whose is for `layout` to say."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType


@dataclass(frozen=True, slots=True)
class Scope:
    """Everything when `models` is None. A set of no models is a scope too: nothing."""

    models: frozenset[Model] | None = None
    names: frozenset[tuple[ModelType, str]] = field(init=False, compare=False, repr=False)
    """The names of the models, for what is filed under a name."""

    def __post_init__(self) -> None:
        named = ((model.type, model.name) for model in self.models or () if model.name is not None)
        object.__setattr__(self, "names", frozenset(named))

    def includes(self, model: Model) -> bool:
        return self.models is None or model in self.models


EVERYTHING = Scope()


def scope_of(models: Iterable[Model]) -> Scope:
    return Scope(frozenset(models))
