"""Frames that can be written: which columns they may have, and what a row of one says about a version.

The columns are checked on the driver, before any task starts, and the values on the executors, row by row. What is
wrong is named by its column.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import msgspec
from pyspark.sql import types as T  # noqa: N812 - as everybody calls them
from pyspark.sql.types import DataType, StructType, VariantVal

from bayou.domain.artifacts import JSON, Artifact, ArtifactKey, Owner, OwnerType
from bayou.domain.lifetimes import Bound, normalised_lifetime
from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.domain.names import check_data_name, check_id, check_model_name
from bayou.domain.retention import parse_policy
from bayou.domain.suggestions import suggestion
from bayou.domain.tags import layered
from bayou.errors import BayouError, ErrorKind, UsageError
from bayou.repository.content import Content, of_bytes, of_text, of_value
from bayou.repository.drafts import Draft
from bayou.tree import Written
from bayou.wire.times import to_text

SOURCE: Final = "spark"
"""What the owner of a version says it came from."""

_TEXT: Final = ("string",)
_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "type": _TEXT,
    "model_name": _TEXT,
    "model_id": _TEXT,
    "name": _TEXT,
    "content": ("binary", "string"),
    "attributes": ("string", "variant", "struct", "map", "array"),
    "tags": ("map<string,string>",),
    "content_type": _TEXT,
    "lifetime": _TEXT,
    "garbage_collection": ("string", "int", "bigint"),
    "data_type": _TEXT,
    "spec_name": _TEXT,
    "created": ("timestamp",),
    "owner_type": _TEXT,
}
_NUMBERS: Final = (T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.FloatType, T.DoubleType)
_PLAIN: Final = (
    *_NUMBERS,
    T.StringType,
    T.BooleanType,
    T.NullType,
    T.VariantType,
    T.TimestampType,
    T.TimestampNTZType,
    T.DateType,
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DIGITS: Final = 20
"""Of a number that is worth reading: Python refuses one of thousands."""
_NOBODY: Final = "?"
"""Stands for the id of a model that is not known before the commit."""


class Version(msgspec.Struct, frozen=True):
    """A version as a row says it. Its number and its model's id are known at the commit."""

    type: str
    model_name: str | None
    model_id: str | None
    artifact: Artifact


def check_frame(schema: StructType) -> None:
    """Raise unless versions can be made of rows like these."""
    for field in schema.fields:
        allowed = _COLUMNS.get(field.name)
        if allowed is None:
            raise UsageError(
                f"the column {field.name!r} is none that can be written{suggestion(field.name, _COLUMNS)}",
                remedy=f"Select what is to be written, of: {', '.join(_COLUMNS)}.",
            )
        kind = field.dataType.simpleString()
        if kind not in allowed and kind.partition("<")[0] not in allowed:
            raise UsageError(
                f"the column {field.name!r} is of type {kind}, and has to be of type {' or '.join(allowed)}",
                remedy=f"Cast it: cast({field.name} as {allowed[0]}).",
            )
        if field.name == "attributes":
            _check_json(field.dataType, "attributes")
    for wanted in (("type",), ("name",), ("model_name", "model_id"), ("content", "attributes")):
        if not any(name in schema.fieldNames() for name in wanted):
            raise UsageError(
                f"there is no column {' or '.join(map(repr, wanted))}",
                remedy="A version needs a type, a model_name (or a model_id), a name, and content or attributes.",
            )


def version_of(row: Mapping[str, Any], schema: StructType) -> tuple[Version, bytes]:
    """The version that a row says, and its content. `UsageError` names the column that is wrong."""
    said = {name: value for name, value in row.items() if value is not None}
    model_name, model_id = said.get("model_name"), said.get("model_id")
    with _about("type"):
        model_type = ModelType(_needed(said, "type"))
        model = Model(model_type, _NOBODY, model_name)
    with _about("model_name"):
        if model_name is None and model_id is None:
            raise UsageError("it is null, and so is 'model_id'")
        if model_name is not None:
            check_model_name(model_name)
    with _about("model_id"):
        check_id(model_id or _NOBODY)
    with _about("name"):
        name = check_data_name(_needed(said, "name"))
    with _about("lifetime"):
        lifetime = _lifetime(said.get("lifetime", "infinite"))
    with _about("garbage_collection"):
        keep = _policy(said.get("garbage_collection", 10))
    with _about("owner_type"):
        owner = Owner(owner_type=_owner_type(said.get("owner_type")), owner_ref=_NOBODY, source=SOURCE)
    with _about("tags"):
        data_type, spec = said.get("data_type") or "resource", said.get("spec_name")
        tags = layered(data_type, spec_name=spec, model_name=model_name, output=_tags(said.get("tags", ())))
    with _about("content" if "content" in said else "attributes"):
        content, content_type = _content(said, schema)
    with _about("content_type"):
        draft = Draft(
            owner=owner,
            tags=tags,
            content_type=said.get("content_type"),
            lifetime=lifetime,
            garbage_collection=keep,
        )
    created = said.get("created")
    at = "" if created is None else to_text(_nanoseconds(created))
    written = Written(len(content), hashlib.sha256(content).hexdigest())
    artifact = draft.artifact(ArtifactKey(model, name), 1, content_type, written, at)
    return Version(model_type.raw, model_name, model_id, artifact), content


@contextmanager
def _about(column: str) -> Iterator[None]:
    try:
        yield
    except BayouError as error:
        message = f"the column {column!r}: {error.message}"
        raise UsageError(message, kind=error.kind, remedy=error.remedy) from None


def _needed(said: Mapping[str, Any], column: str) -> str:
    value = said.get(column)
    if not isinstance(value, str):
        raise UsageError("it is null")
    return value


def _lifetime(text: str) -> str:
    lifetime = normalised_lifetime(text)
    if lifetime == Bound.EPHEMERAL:
        raise UsageError("ephemeral data is kept nowhere, so there is nothing to write")
    return lifetime


def _policy(value: int | str) -> int | str:
    """A number may have come as a text, as in the table of artifacts."""
    policy = int(value) if isinstance(value, str) and value.isdecimal() and len(value) <= _DIGITS else value
    parse_policy(policy)
    return policy


def _owner_type(text: str | None) -> OwnerType:
    known = {str(one): one for one in (OwnerType.MODEL_METHOD, OwnerType.MANUAL)}
    found = known.get(text or OwnerType.MODEL_METHOD)
    if found is None:
        raise UsageError(f"{text!r} is no owner that a frame can write as", remedy=f"Write {' or '.join(known)}.")
    return found


def _tags(pairs: Any) -> dict[str, str]:  # noqa: ANN401 - pairs, as Arrow gives a map
    found = dict(pairs)
    empty = [key for key, value in found.items() if value is None]
    if empty:
        raise UsageError(f"the tag {empty[0]!r} is null")
    return found


def _content(said: Mapping[str, Any], schema: StructType) -> tuple[bytes, str]:
    if ("content" in said) == ("attributes" in said):
        both = "content" in said
        raise UsageError("it is given, and so is 'attributes'" if both else "it is null, and so is 'content'")
    if "attributes" in said:
        found = _json(said["attributes"], schema["attributes"].dataType)
    else:
        found = of_text(said["content"]) if isinstance(said["content"], str) else of_bytes(said["content"])
    assert found.whole is not None  # noqa: S101 - it came in a row
    return found.whole, found.content_type


def _json(value: Any, kind: DataType) -> Content:  # noqa: ANN401 - as Arrow gives it
    if not isinstance(kind, T.StringType):
        return of_value(_plain(value, kind))
    try:
        json.loads(value, parse_constant=_not_json)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"it is not JSON that can be read: {error}", kind=ErrorKind.INVALID_CONTENT) from None
    return of_bytes(of_text(value).whole or b"", JSON)


def _plain(value: Any, kind: DataType) -> Any:  # noqa: ANN401, PLR0911 - one return per type
    """A value of Arrow as JSON has it. Moments are texts of UTC."""
    match kind, value:
        case _, None:
            return None
        case T.StructType(), _:
            return {field.name: _plain(value[field.name], field.dataType) for field in kind.fields}
        case T.ArrayType(), _:
            return [_plain(item, kind.elementType) for item in value]
        case T.MapType(), _:
            return {key: _plain(item, kind.valueType) for key, item in value}
        case T.VariantType(), _:
            return json.loads(VariantVal(value["value"], value["metadata"]).toJson(zone_id="UTC"))
        case T.TimestampType(), datetime():
            return to_text(_nanoseconds(value))
        case _, date():
            return value.isoformat()
        case _:
            return value


def _check_json(kind: DataType, where: str) -> None:
    """Refuse what JSON has no value for, before anything is read."""
    match kind:
        case T.StructType():
            for field in kind.fields:
                _check_json(field.dataType, f"{where}.{field.name}")
        case T.ArrayType():
            _check_json(kind.elementType, f"{where}[]")
        case T.MapType() if isinstance(kind.keyType, T.StringType):
            _check_json(kind.valueType, f"{where}[]")
        case _ if not isinstance(kind, _PLAIN):
            raise UsageError(
                f"the column 'attributes' holds {kind.simpleString()} at {where}, which JSON has no value for",
                remedy="Cast it to a string or to a double.",
            )


def _not_json(text: str) -> None:
    raise ValueError(f"{text} is none of its values")


def _nanoseconds(moment: datetime) -> int:
    return (moment.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1) * 1000
