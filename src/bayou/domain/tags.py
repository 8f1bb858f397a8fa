"""Tags: who may say what about an artifact, and who has the last word (repository spec 2.1)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bayou.domain.artifacts import MODEL_TAG, SPEC_TAG, TYPE_TAG, Owner, OwnerType, check_tags

Tags = Mapping[str, str]

_NONE: Tags = {}

_STEP_OUTPUT = "step-output"
_PROVENANCE = {
    "workflow_id": "workflowId",
    "workflow_run_id": "workflowRunId",
    "workflow_name": "workflow",
    "job_name": "job",
    "step_name": "step",
    "source": "source",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The step of a workflow run that writes."""

    workflow: str
    workflow_id: str
    workflow_run_id: str
    job: str
    step: str
    initiated_by: str | None = None
    tags: Tags = field(default_factory=dict)
    """Those of the workflow."""

    @property
    def all_tags(self) -> Tags:
        own = {
            "source": _STEP_OUTPUT,
            "workflow": self.workflow,
            "workflowId": self.workflow_id,
            "workflowRunId": self.workflow_run_id,
            "job": self.job,
            "step": self.step,
        }
        return {**self.tags, **own, **({"initiatedBy": self.initiated_by} if self.initiated_by else {})}


def layered(  # noqa: PLR0913 - each layer has its own author
    data_type: str,
    *,
    definition: Tags = _NONE,
    spec: Tags = _NONE,
    method: Tags = _NONE,
    spec_name: str | None = None,
    model_name: str | None = None,
    step: Step | None = None,
    runtime: Tags = _NONE,
    output: Tags = _NONE,
) -> dict[str, str]:
    """All tags of an artifact; of two that differ, the later one in this list of arguments counts.

    `runtime` is what a command line adds, `output` what the step says about this one output of it.
    """
    tags = {TYPE_TAG: data_type, **definition, **spec, **method}
    if spec_name:
        tags[SPEC_TAG] = spec_name
    if model_name:
        tags[MODEL_TAG] = model_name
    if step:
        tags.update(step.all_tags)
    return dict(check_tags({**tags, **runtime, **output}))


def owned_by_method(model_id: str, tags: Tags, *, definition_hash: str | None = None) -> Owner:
    """The owner of what a method of this model writes; where it ran is copied from the tags."""
    ran = {field_name: tags[tag] for field_name, tag in _PROVENANCE.items() if tags.get(tag)}
    return Owner(owner_type=OwnerType.MODEL_METHOD, owner_ref=model_id, definition_hash=definition_hash, **ran)
