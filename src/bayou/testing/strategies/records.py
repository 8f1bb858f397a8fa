"""Records: what may be known of an execution of a method, and of a run of a workflow."""

from functools import cache
from typing import Any

from hypothesis import strategies as st

from bayou.domain.outputs import Output, OutputError, OutputStatus, Produced, ProducedArtifact, Provenance, Trigger
from bayou.domain.runs import Approval, Assertion, Job, Progress, Run, RunStatus, Step, StepStatus
from bayou.testing.strategies.artifacts import ODD_TEXTS, tags, times_of_day
from bayou.testing.strategies.names import data_names, model_ids

_MAYBE = st.none() | ODD_TEXTS
_COUNTS = st.integers(0, 2**53 - 1)


@cache
def json_values() -> st.SearchStrategy[Any]:
    """What JSON can hold, in numbers that every client reads alike."""
    numbers = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    return st.recursive(
        st.none() | st.booleans() | numbers | ODD_TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD_TEXTS, inner, max_size=3),
        max_leaves=6,
    )


@cache
def _produced() -> st.SearchStrategy[tuple[ProducedArtifact, ...]]:
    one = st.builds(ProducedArtifact, data_id=model_ids(), name=data_names(), version=st.integers(1, 99), tags=tags())
    return st.lists(one, max_size=2).map(tuple)


@cache
def outputs() -> st.SearchStrategy[Output]:
    return st.builds(
        Output,
        id=model_ids(),
        definition_id=model_ids(),
        method_name=data_names(),
        status=st.sampled_from(OutputStatus),
        started_at=times_of_day(),
        retry_count=_COUNTS,
        provenance=st.builds(
            Provenance,
            definition_hash=ODD_TEXTS,
            model_version=ODD_TEXTS,
            triggered_by=st.sampled_from(Trigger),
            workflow_id=_MAYBE,
            step_name=_MAYBE,
            initiated_by=_MAYBE,
        ),
        artifacts=st.builds(Produced, data_artifacts=_produced()),
        completed_at=st.none() | times_of_day(),
        duration_ms=st.none() | _COUNTS,
        error=st.none() | st.builds(OutputError, message=ODD_TEXTS, stack=_MAYBE),
        log_file=_MAYBE,
        pid=st.none() | _COUNTS,
        machine=_MAYBE,
    )


@cache
def _steps() -> st.SearchStrategy[Step]:
    return st.builds(
        Step,
        step_name=ODD_TEXTS,
        status=st.sampled_from(StepStatus),
        started_at=st.none() | times_of_day(),
        error=_MAYBE,
        output=json_values(),
        data_artifacts=_produced(),
        allowed_failure=st.booleans(),
        approval_decision=st.none()
        | st.builds(Approval, approved=st.booleans(), reason=_MAYBE, decided_at=times_of_day()),
        approval_prompt=_MAYBE,
        assert_result=st.none() | st.builds(Assertion, passed=st.booleans(), expr=ODD_TEXTS, error=_MAYBE),
    )


@cache
def runs() -> st.SearchStrategy[Run]:
    steps = st.lists(_steps(), max_size=2).map(tuple)
    job = st.builds(Job, job_name=ODD_TEXTS, status=st.sampled_from(StepStatus), completed_at=_MAYBE, steps=steps)
    return st.builds(
        Run,
        id=model_ids(),
        workflow_id=model_ids(),
        workflow_name=ODD_TEXTS,
        status=st.sampled_from(RunStatus),
        started_at=st.none() | times_of_day(),
        completed_at=st.none() | times_of_day(),
        jobs=st.lists(job, max_size=2).map(tuple),
        tags=tags(),
        pid=st.none() | _COUNTS,
        workflow_data_artifacts=_produced(),
        inputs=st.dictionaries(ODD_TEXTS, json_values(), max_size=3),
        resume_inputs=st.lists(ODD_TEXTS, max_size=2).map(tuple),
        trigger_source=_MAYBE,
        failed_step=_MAYBE,
        step_progress=st.none() | st.builds(Progress, completed=_COUNTS, total=_COUNTS),
        machine=_MAYBE,
    )
