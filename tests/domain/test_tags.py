"""Tags: the later layer has the last word (repository spec 2.1)."""

import pytest

from bayou.domain.artifacts import Owner, OwnerType
from bayou.domain.tags import Step, layered, owned_by_method
from bayou.errors import UsageError

STEP = Step(
    workflow="nightly",
    workflow_id="w-1",
    workflow_run_id="r-1",
    job="main",
    step="collect",
    initiated_by="cron",
    tags={"team": "net", "source": "lost"},
)


def test_each_layer_overrides_those_before_it() -> None:
    layers = {
        "definition": {"type": "1", "specName": "1", "modelName": "1", "step": "1", "a": "1", "b": "1", "c": "1"},
        "spec": {"b": "2", "c": "2", "d": "2"},
        "method": {"c": "3", "specName": "3", "d": "3"},
        "runtime": {"modelName": "5", "e": "5"},
        "output": {"e": "6"},
    }
    assert layered("resource", spec_name="result", model_name="web-01", step=STEP, **layers) == {
        "type": "1",
        "a": "1",
        "b": "2",
        "c": "3",
        "d": "3",
        "specName": "result",
        "modelName": "5",
        "team": "net",
        "source": "step-output",
        "workflow": "nightly",
        "workflowId": "w-1",
        "workflowRunId": "r-1",
        "job": "main",
        "step": "collect",
        "initiatedBy": "cron",
        "e": "6",
    }


def test_the_type_comes_first_and_what_nobody_says_is_absent() -> None:
    assert list(layered("file", model_name="web-01").items()) == [("type", "file"), ("modelName", "web-01")]


def test_nobody_can_take_the_type_away() -> None:
    with pytest.raises(UsageError):
        layered("resource", runtime={"type": ""})


def test_where_it_ran_is_copied_to_the_owner() -> None:
    assert owned_by_method("m-1", layered("resource", step=STEP), definition_hash="ab") == Owner(
        definition_hash="ab",
        owner_type=OwnerType.MODEL_METHOD,
        owner_ref="m-1",
        workflow_id="w-1",
        workflow_run_id="r-1",
        workflow_name="nightly",
        job_name="main",
        step_name="collect",
        source="step-output",
    )
    assert owned_by_method("m-1", {"type": "resource"}) == Owner(owner_type=OwnerType.MODEL_METHOD, owner_ref="m-1")
