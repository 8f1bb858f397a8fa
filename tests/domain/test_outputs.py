"""Outputs: which steps an execution may take, and what each leaves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.domain.outputs import Output, OutputStatus, ProducedArtifact, cancelled, failed, started, succeeded
from bayou.errors import Conflict

AT = "2026-04-02T09:15:00.125Z"
LATER = "2026-04-02T09:15:01.900Z"
ARTIFACT = ProducedArtifact(data_id="d", name="disk-report", version=4, tags={"type": "resource"})

STEPS = {
    OutputStatus.RUNNING: lambda output: started(output, LATER),
    OutputStatus.SUCCEEDED: lambda output: succeeded(output, LATER),
    OutputStatus.FAILED: lambda output: failed(output, LATER, "no disk"),
    OutputStatus.CANCELLED: lambda output: cancelled(output, LATER, "enough"),
}
ALLOWED = {
    (OutputStatus.PENDING, OutputStatus.RUNNING),
    (OutputStatus.PENDING, OutputStatus.CANCELLED),
    (OutputStatus.RUNNING, OutputStatus.SUCCEEDED),
    (OutputStatus.RUNNING, OutputStatus.FAILED),
    (OutputStatus.RUNNING, OutputStatus.CANCELLED),
}


def output(status: OutputStatus = OutputStatus.RUNNING, started_at: str = AT) -> Output:
    return Output(id="o", method_name="run", status=status, started_at=started_at)


@pytest.mark.parametrize("to", STEPS)
@pytest.mark.parametrize("status", OutputStatus)
def test_only_the_steps_of_the_specification_are_taken(status: OutputStatus, to: OutputStatus) -> None:
    if (status, to) in ALLOWED:
        assert STEPS[to](output(status)).status is to
        return
    with pytest.raises(Conflict, match=f"is {status}, and cannot become {to}"):
        STEPS[to](output(status))


def test_the_end_says_when_and_how_long() -> None:
    ended = succeeded(output(), LATER, [ARTIFACT])
    assert (ended.completed_at, ended.duration_ms) == (LATER, 1775)
    assert list(ended.artifacts.data_artifacts) == [ARTIFACT]


def test_a_beginning_has_no_end() -> None:
    begun = started(output(OutputStatus.PENDING), LATER)
    assert (begun.completed_at, begun.duration_ms, begun.started_at) == (None, None, AT)


def test_a_failure_keeps_what_was_produced_before() -> None:
    ended = failed(output(), LATER, "no disk", stack="in f", produced=[ARTIFACT])
    assert ended.error is not None
    assert (ended.error.message, ended.error.stack) == ("no disk", "in f")
    assert list(ended.artifacts.data_artifacts) == [ARTIFACT]


def test_the_reason_of_a_cancellation_is_its_error() -> None:
    ended = cancelled(output(), LATER, "enough")
    assert ended.error is not None
    assert ended.error.message == "enough"
    assert cancelled(output(), LATER).error is None


@pytest.mark.parametrize(
    ("start", "duration"), [(LATER, 0), ("2027-01-01T00:00:00.000Z", 0), ("", None), ("soon", None)]
)
def test_a_clock_that_was_put_back_gives_no_negative_duration(start: str, duration: int | None) -> None:
    assert succeeded(output(started_at=start), LATER).duration_ms == duration


@given(st.lists(st.sampled_from(list(STEPS)), max_size=6))
def test_nothing_leaves_an_end(steps: list[OutputStatus]) -> None:
    current = output(OutputStatus.PENDING)
    for to in steps:
        before = current
        try:
            current = STEPS[to](current)
        except Conflict:
            assert current is before
        else:
            assert not before.is_over
