"""Namespaces: the slug of a repo inside a shared datastore, and the names that say which one they mean."""

import re
from dataclasses import dataclass

from bayou.domain.names import check_model_name
from bayou.errors import ErrorKind, UsageError

SOLO = ""
"""The namespace of a repo that has its datastore to itself."""

EVERY_NAMESPACE = "*"

_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_MAX_SLUG = 64


def is_slug(text: str) -> bool:
    return len(text) <= _MAX_SLUG and _SLUG.fullmatch(text) is not None


def check_namespace(slug: str) -> str:
    """The slug, when it is one, or the solo namespace (repository spec 5.7)."""
    if slug != SOLO and not is_slug(slug):
        raise UsageError(
            f"{slug!r} is not a namespace",
            kind=ErrorKind.INVALID_NAME,
            remedy=f"Use lower-case letters, digits and inner dashes, at most {_MAX_SLUG} characters.",
        )
    return slug


@dataclass(frozen=True, slots=True)
class ModelReference:
    """A model's name and where to look for it: a slug, every namespace, or None for the repo's own."""

    name: str
    namespace: str | None = None

    def __str__(self) -> str:
        # A name with a colon of its own needs the empty prefix to be read back as it was.
        if self.namespace is None:
            return f":{self.name}" if ":" in self.name else self.name
        return f"{self.namespace}:{self.name}"


def parse_reference(text: str) -> ModelReference:
    """Read `model`, `ns:model` or `*:model`. The first colon ends the namespace; an empty one means none."""
    prefix, colon, name = text.partition(":")
    if not colon:
        return ModelReference(check_model_name(text))
    if prefix not in (SOLO, EVERY_NAMESPACE):
        check_namespace(prefix)
    return ModelReference(check_model_name(name), prefix or None)
