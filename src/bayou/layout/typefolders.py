"""Folders of types: nested, one for each segment of the normalised text."""

from functools import lru_cache

from bayou.domain.modeltypes import ModelType


@lru_cache(maxsize=4096)
def type_at(type_path: str) -> ModelType | None:
    """The type with these folders; None where no type leads to them, as to upper-case ones (repository spec 1.2)."""
    model_type = ModelType(type_path)
    return model_type if model_type.normalised == type_path else None
