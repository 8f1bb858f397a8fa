"""Artifacts: what is known about one version, who may write the next one, and which versions are the latest."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, NamedTuple

import msgspec

from bayou.domain.entries import Count
from bayou.domain.hashes import Sha256
from bayou.domain.models import Model
from bayou.domain.names import check_data_name
from bayou.errors import Conflict, ErrorKind, UsageError

Text = Annotated[str, msgspec.Meta(min_length=1)]

JSON = "application/json"
_TEXTS = frozenset({JSON, "application/yaml", "application/x-yaml"})

TYPE_TAG = "type"
"""The tag that every artifact has: what kind of data it is."""
MODEL_TAG = "modelName"
SPEC_TAG = "specName"


class OwnerType(StrEnum):
    MODEL_METHOD = "model-method"
    WORKFLOW_STEP = "workflow-step"
    MANUAL = "manual"


class Owner(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Who wrote it, and in which run. The order of the fields is that of the file."""

    definition_hash: str | None = None
    owner_type: OwnerType
    owner_ref: Text
    workflow_id: str | None = None
    workflow_run_id: str | None = None
    workflow_name: str | None = None
    job_name: str | None = None
    step_name: str | None = None
    source: str | None = None


class Lifecycle(StrEnum):
    ACTIVE = "active"
    DELETED = "deleted"
    """A marker: the name was deleted, or renamed, when this version was written."""


class Chain(NamedTuple):
    """The writers that share one `latest`: a step of a job of a workflow, or whoever writes outside of all steps."""

    workflow: str = ""
    job: str = ""
    step: str = ""


class ArtifactKey(NamedTuple):
    """Which artifact: a name, and the model that it belongs to. Each of its versions is an `Artifact`."""

    model: Model
    name: str

    def __str__(self) -> str:
        return f"{self.model}/{self.name}"


class Artifact(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One version, as its metadata tells (repository spec 1.3). The order of the fields is that of the file.

    Files that were written long ago, or by hand, may lack `tags` and an owner. They are read; nothing writes them.
    """

    id: str
    name: str
    version: Annotated[int, msgspec.Meta(ge=1, lt=10**15)]
    content_type: Text
    lifetime: str
    garbage_collection: int | str
    streaming: bool = False
    tags: Mapping[str, str] = {}
    owner: Owner | None = msgspec.field(default=None, name="ownerDefinition")
    created_at: str
    size: Count | None = None
    checksum: Sha256 | None = None
    lifecycle: Lifecycle = Lifecycle.ACTIVE
    renamed_to: Text | None = None

    @property
    def chain(self) -> Chain:
        owner = self.owner
        return Chain(owner.workflow_name or "", owner.job_name or "", owner.step_name or "") if owner else Chain()

    @property
    def is_deleted(self) -> bool:
        return self.lifecycle is Lifecycle.DELETED

    @property
    def is_text(self) -> bool:
        return is_text(self.content_type)


def deletion(last: Artifact, version: int, at: str) -> Artifact:
    """The version that says that what `last` was the latest of is deleted. It keeps id, policies, tags and owner."""
    return msgspec.structs.replace(
        last,
        version=version,
        content_type=JSON,
        streaming=False,
        created_at=at,
        size=None,
        checksum=None,
        lifecycle=Lifecycle.DELETED,
        renamed_to=None,
    )


def renaming(last: Artifact, version: int, at: str, renamed_to: str) -> Artifact:
    """The version that says where a name has gone."""
    return msgspec.structs.replace(deletion(last, version, at), renamed_to=renamed_to)


def is_text(content_type: str) -> bool:
    """Whether content of this type is text (repository spec 2.5)."""
    return content_type.startswith("text/") or content_type in _TEXTS


def check_tags(tags: Mapping[str, str]) -> Mapping[str, str]:
    """The tags, when they are texts and one of them says the type."""
    if not tags.get(TYPE_TAG):
        raise UsageError(
            "an artifact needs a tag `type`", remedy="Add a tag such as type=resource, type=file or type=log."
        )
    for key, value in tags.items():
        if not (isinstance(key, str) and isinstance(value, str) and key):  # type: ignore[redundant-expr] # callers may not check types
            raise UsageError(f"the tag {key!r} is not a text with a text as its value: {value!r}")
        try:
            f"{key}{value}".encode()
        except UnicodeEncodeError:
            raise UsageError(f"the tag {key!r} holds text that is not valid Unicode: {value!r}") from None
    return tags


def check_owner(name: str, current: Owner | None, writer: Owner) -> None:
    """Refuse to let anybody but the owner write the next version. Type and reference count, nothing else of it."""
    if current is not None and (current.owner_type, current.owner_ref) != (writer.owner_type, writer.owner_ref):
        raise Conflict(
            f"{name!r} belongs to {current.owner_type} {current.owner_ref}, and {writer.owner_type} {writer.owner_ref} "
            "may not write to it",
            kind=ErrorKind.NOT_OWNER,
            remedy="Write under another name, or as the owner; or delete the name first.",
        )


def latest_of_chains(versions: Iterable[tuple[int, Chain]], marker: int | None) -> set[int]:
    """The versions that are the latest of their chain.

    Above the marker they are deferred: written, and not advanced. Without a marker, as very old clients left it, all
    count; a marker of 0 says that none does.
    """
    heads: dict[Chain, int] = {}
    for version, chain in versions:
        if (marker is None or version <= marker) and version > heads.get(chain, 0):
            heads[chain] = version
    return set(heads.values())


def key_of(model: Model, name: str) -> ArtifactKey:
    return ArtifactKey(model, check_data_name(name))
