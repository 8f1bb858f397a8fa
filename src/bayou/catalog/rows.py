"""Rows: one version of an artifact as the catalog has it, from its metadata and back."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, cast

import msgspec

from bayou.catalog.attributes import First
from bayou.domain.artifacts import MODEL_TAG, SPEC_TAG, TYPE_TAG, Artifact, ArtifactKey, Lifecycle, Owner, OwnerType
from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.layout.typefolders import type_at
from bayou.wire.javascript import compact
from bayou.wire.times import to_milliseconds

OF_METADATA: Final = (
    "version", "id", "model_name", "spec_name", "data_type", "content_type", "lifetime", "garbage_collection",
    "owner_type", "owner_ref", "definition_hash", "workflow_id", "workflow_run_id", "workflow_name", "job_name",
    "step_name", "source", "streaming", "size", "size_known", "created_at", "created_ms", "tags", "checksum",
    "lifecycle", "renamed_to",
)  # fmt: skip
OF_FILES: Final = ("hydrated", "attributes_known", "stamp")
OF_NAME: Final = ("namespace", "type", "model_id", "name")
STORED: Final = ("row", "name_row", "is_latest", *OF_NAME, *OF_METADATA, *OF_FILES)

_TAGS = msgspec.json.Decoder(dict[str, str])
_OWNER_TYPES = {str(one): one for one in OwnerType}
_NO_OWNER = ("",) * 9

Value = int | str | None


class Row(NamedTuple):
    """One version, of this or of another namespace."""

    namespace: str
    model: Model
    artifact: Artifact
    is_latest: bool
    hydrated: bool
    """Whether the content was on this machine when the catalog last looked."""
    row: int


class Described(NamedTuple):
    """What the metadata of one version says."""

    content_type: str
    size: int | None
    chain: tuple[str, str, str]
    columns: tuple[Value, ...]
    """The values of `OF_METADATA`."""
    tags: tuple[tuple[str, str], ...]


class Stored(NamedTuple):
    """What of one version goes into the tables."""

    version: int
    chain: tuple[str, str, str]
    columns: tuple[Value, ...]
    """The values of `OF_METADATA`, then those of `OF_FILES`."""
    tags: tuple[tuple[str, str], ...]
    attributes: tuple[First, ...]


def described(artifact: Artifact) -> Described:
    owner = artifact.owner
    tags = artifact.tags
    if owner is None:
        of_owner: tuple[str, ...] = _NO_OWNER
    else:
        of_owner = (
            owner.owner_type.value,
            owner.owner_ref,
            owner.definition_hash or "",
            owner.workflow_id or "",
            owner.workflow_run_id or "",
            owner.workflow_name or "",
            owner.job_name or "",
            owner.step_name or "",
            owner.source or "",
        )
    columns = (
        artifact.version,
        artifact.id,
        tags.get(MODEL_TAG, ""),
        tags.get(SPEC_TAG, ""),
        tags.get(TYPE_TAG, ""),
        artifact.content_type,
        artifact.lifetime,
        artifact.garbage_collection,
        *of_owner,
        int(artifact.streaming),
        artifact.size or 0,
        int(artifact.size is not None),
        artifact.created_at,
        to_milliseconds(artifact.created_at),
        compact(tags).decode(),
        artifact.checksum or "",
        artifact.lifecycle.value,
        artifact.renamed_to or "",
    )
    return Described(artifact.content_type, artifact.size, artifact.chain, columns, tuple(tags.items()))


def stored(version: Described, *, hydrated: bool, attributes: tuple[First, ...] | None, stamp: int) -> Stored:
    """`attributes` is None where those cannot be told from the tables."""
    columns = (*version.columns, int(hydrated), int(attributes is not None), stamp)
    return Stored(version.columns[0], version.chain, columns, version.tags, attributes or ())  # type: ignore[arg-type] # its number


_STREAMING = OF_METADATA.index("streaming")


def is_streaming(version: Stored) -> bool:
    return bool(version.columns[_STREAMING])


def row_key(row: Row) -> ArtifactKey:
    return ArtifactKey(row.model, row.artifact.name)


def tags_of(text: str) -> dict[str, str]:
    """What the column `tags` says; nothing where it is garbled, as the bytes of a cache may be."""
    try:
        return _TAGS.decode(text)
    except msgspec.DecodeError:
        return {}


def row_of(values: Sequence[Any]) -> Row:
    """The row of the values of `STORED`."""
    (
        (row, _, is_latest, namespace, type_path, model_id, name),
        (version, artifact_id, model_name, _, _, content_type, lifetime, garbage_collection),
        of_owner,
        (streaming, size, size_known, created_at, _, tags, checksum, lifecycle, renamed_to, hydrated, _, _),
    ) = values[:7], values[7:15], values[15:24], values[24:]
    artifact = Artifact(
        id=artifact_id,
        name=name,
        version=version,
        content_type=content_type,
        lifetime=lifetime,
        garbage_collection=garbage_collection,
        streaming=bool(streaming),
        tags=tags_of(tags),
        owner=_owner(*of_owner) if of_owner[0] else None,
        created_at=created_at,
        size=size if size_known else None,
        checksum=checksum or None,
        lifecycle=Lifecycle(lifecycle),
        renamed_to=renamed_to or None,
    )
    # Nothing comes into the tables whose type is none.
    model = Model(cast(ModelType, type_at(type_path)), model_id, model_name or None)
    return Row(namespace, model, artifact, bool(is_latest), bool(hydrated), row)


def _owner(owner_type: str, owner_ref: str, definition_hash: str, *of_run: str) -> Owner:
    workflow_id, run_id, workflow_name, job_name, step_name, source = of_run
    return Owner(
        definition_hash=definition_hash or None,
        # Another namespace may have owners that we do not know. They are shown as they are.
        owner_type=_OWNER_TYPES.get(owner_type, owner_type),  # type: ignore[arg-type]
        owner_ref=owner_ref,
        workflow_id=workflow_id or None,
        workflow_run_id=run_id or None,
        workflow_name=workflow_name or None,
        job_name=job_name or None,
        step_name=step_name or None,
        source=source or None,
    )
