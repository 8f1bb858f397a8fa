"""What a predicate may speak of: one table of fields. Name, CEL type, and where the catalog keeps it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Type(StrEnum):
    """CEL types, in the words of CEL."""

    STRING = "string"
    INT = "int"
    BOOL = "bool"
    DYN = "dyn"
    TAGS = "map<string,string>"
    ATTRIBUTES = "map<string,dyn>"


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: Type
    column: str | None
    """Where the catalog has it as one value; None for what is in a table of its own, or in the content."""
    about: str
    indexed: str | None = None
    """Which versions the catalog finds by it without looking at all: `all`, or only the `latest`."""

    @property
    def is_scalar(self) -> bool:
        return self.column is not None


def _texts(*described: tuple[str, str, str] | tuple[str, str, str, str]) -> list[Field]:
    return [Field(name, Type.STRING, column, about, *rest) for name, column, about, *rest in described]


_FIELDS: Final = [
    *_texts(
        ("id", "id", "the id of the version", "all"),
        ("name", "name", "the name of the artifact", "latest"),
    ),
    Field("version", Type.INT, "version", "counted from 1; naming it opens the history"),
    Field("isLatest", Type.BOOL, "is_latest", "the latest of its chain of writers; naming it opens the history"),
    *_texts(("createdAt", "created_at", "when it was written: 2026-04-02T09:15:00.125Z")),
    Field("attributes", Type.ATTRIBUTES, None, "the content, where it is a JSON object; else empty"),
    Field("tags", Type.TAGS, None, "its tags"),
    *_texts(
        ("modelName", "model_name", "the name of its model", "all"),
        ("modelId", "model_id", "the id of its model", "latest"),
        ("modelType", "type", "the type of its model, normalised: aws/ec2/vpc", "latest"),
        ("specName", "spec_name", "the tag specName", "latest"),
        ("dataType", "data_type", "the tag type: resource, file, log, …"),
        ("contentType", "content_type", "its MIME type"),
        ("lifetime", "lifetime", "30d, infinite, workflow, …"),
        ("ownerType", "owner_type", "model-method, workflow-step or manual"),
    ),
    Field("streaming", Type.BOOL, "streaming", "whether it can be appended to"),
    Field("size", Type.INT, "size", "bytes of content; 0 where unknown", "latest"),
    Field("content", Type.DYN, None, 'the content: parsed JSON, or text; "" for everything else'),
    *_texts(
        ("ownerRef", "owner_ref", "who owns it"),
        ("definitionHash", "definition_hash", "the definition that its owner had"),
        ("workflowId", "workflow_id", "the workflow that wrote it"),
        ("workflowRunId", "workflow_run_id", "the run that wrote it", "all"),
        ("workflowName", "workflow_name", "the name of the workflow that wrote it"),
        ("jobName", "job_name", "the job that wrote it"),
        ("stepName", "step_name", "the step that wrote it"),
        ("source", "source", "where in the run it came from"),
        ("ns", "namespace", 'the namespace; "" where there is none'),
        ("checksum", "checksum", "the sha256 of the content, where it is recorded"),
        ("lifecycle", "lifecycle", "active or deleted; naming it shows deletion markers"),
        ("renamedTo", "renamed_to", "the new name, in the marker that a rename leaves"),
    ),
    Field("garbageCollection", Type.DYN, "garbage_collection", "how many versions are kept, or for how long"),
]

FIELDS: Final = {field.name: field for field in _FIELDS}
ATTRIBUTES: Final = "attributes"
TAGS: Final = "tags"
CONTENT: Final = "content"
IN_CONTENT: Final = frozenset({ATTRIBUTES, CONTENT})
"""What takes the bytes of a version to know, unless the catalog knows."""

HISTORY: Final = frozenset({"version", "isLatest"})
LIFECYCLE: Final = "lifecycle"
DEFAULT_ORDER: Final = ("namespace", "type", "model_id", "name", "version")
"""Unique, so every order that ends with it is the same each time."""
