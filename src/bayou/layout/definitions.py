"""Paths of definitions that running produces: resolved ones, and those that a direct execution made.

The stem of such a file is the name where the name can be a file name, else the id (repository spec 1.5). Many ids look
like names, so a stem alone does not say which of the two it is.
"""

import re
from dataclasses import dataclass

from bayou.domain.modeltypes import ModelType
from bayou.domain.names import check_id
from bayou.layout.safety import check_path
from bayou.layout.typefolders import type_at

_DEFINITION_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_WORKFLOW_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_SUFFIX = ".yaml"
_WORKFLOW = "workflow-"


@dataclass(frozen=True, slots=True)
class EvaluatedDefinition:
    type: ModelType
    stem: str

    def __post_init__(self) -> None:
        check_id(self.stem)
        check_path(self.path)

    @property
    def path(self) -> str:
        return f"definitions-evaluated/{self.type}/{self.stem}{_SUFFIX}"


@dataclass(frozen=True, slots=True)
class AutoDefinition:
    type: ModelType
    stem: str

    def __post_init__(self) -> None:
        check_id(self.stem)
        check_path(self.path)

    @property
    def path(self) -> str:
        return f"auto-definitions/{self.type}/{self.stem}{_SUFFIX}"


@dataclass(frozen=True, slots=True)
class EvaluatedWorkflow:
    stem: str

    def __post_init__(self) -> None:
        check_id(self.stem)
        check_path(self.path)

    @property
    def path(self) -> str:
        return f"workflows-evaluated/{_WORKFLOW}{self.stem}{_SUFFIX}"


def definition_stem(name: str, definition_id: str) -> str:
    return name if _DEFINITION_NAME.fullmatch(name) else definition_id


def workflow_stem(name: str, workflow_id: str) -> str:
    return name if _WORKFLOW_NAME.fullmatch(name) else workflow_id


def read_evaluated(segments: list[str]) -> EvaluatedDefinition | None:
    found = _typed(segments)
    return EvaluatedDefinition(*found) if found else None


def read_auto(segments: list[str]) -> AutoDefinition | None:
    found = _typed(segments)
    return AutoDefinition(*found) if found else None


def read_workflow(segments: list[str]) -> EvaluatedWorkflow | None:
    if len(segments) != 2 or not segments[1].startswith(_WORKFLOW):
        return None
    stem = _stem(segments[1].removeprefix(_WORKFLOW))
    return EvaluatedWorkflow(stem) if stem else None


def _typed(segments: list[str]) -> tuple[ModelType, str] | None:
    stem = _stem(segments[-1])
    model_type = type_at("/".join(segments[1:-1])) if stem else None
    return (model_type, stem) if model_type and stem else None


def _stem(filename: str) -> str | None:
    return filename.removesuffix(_SUFFIX) if filename.endswith(_SUFFIX) else None
