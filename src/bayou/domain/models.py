"""Models: whose data it is. A model is a type and a name; folders know it by its type and its id."""

import json
import unicodedata
import uuid
from dataclasses import dataclass, field

from bayou.domain.modeltypes import ModelType
from bayou.domain.names import check_id, check_model_name, check_type_folder
from bayou.domain.namespaces import check_namespace
from bayou.errors import ErrorKind, UsageError

# Never change it: it is half of every id that was ever derived.
_NAMESPACE = uuid.UUID("4abfeeac-edc1-4255-bcec-aad3a5d2a55d")


@dataclass(frozen=True, slots=True)
class Model:
    """One model. Type and id are what it is; the name is what people call it, where we know it."""

    type: ModelType
    id: str
    name: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for folder in self.type.segments:
            check_type_folder(folder)
        check_id(self.id)

    def __str__(self) -> str:
        return f"{self.type}/{self.name or self.id}"


def derived_id(namespace: str, model_type: ModelType, name: str) -> str:
    """The id of a model that no definition gave one, the same on every machine, also offline (design 4.7)."""
    check_namespace(namespace)
    named = [namespace, model_type.normalised, unicodedata.normalize("NFC", check_model_name(name))]
    return str(uuid.uuid5(_NAMESPACE, json.dumps(named, ensure_ascii=False, separators=(",", ":"))))


def parse_model(text: str) -> tuple[ModelType, str]:
    """Read `TYPE/NAME`, as `--model` takes it. The last `/` ends the type."""
    model_type, slash, name = text.rpartition("/")
    if not slash:
        raise UsageError(
            f"{text!r} does not name a model",
            kind=ErrorKind.INVALID_NAME,
            remedy="Write TYPE/NAME, for example aws/ec2/vpc/prod-vpc.",
        )
    return ModelType(model_type), check_model_name(name)
