"""Scopes: the models, or everything, that an operation is about. Which path is whose is for `layout` to say."""

from collections.abc import Iterable
from dataclasses import dataclass

from bayou.domain.models import Model


@dataclass(frozen=True, slots=True)
class Scope:
    """Everything when `models` is None. A set of no models is a scope too: nothing."""

    models: frozenset[Model] | None = None

    def includes(self, model: Model) -> bool:
        return self.models is None or model in self.models


EVERYTHING = Scope()


def scope_of(models: Iterable[Model]) -> Scope:
    return Scope(frozenset(models))
