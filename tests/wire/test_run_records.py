"""Records of method executions and of workflow runs: what we write reads back, what others write is read."""

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.domain.outputs import Output, OutputStatus, Provenance, Trigger
from bayou.domain.runs import Job, Run, RunStatus, RunSummary, Step, StepStatus
from bayou.errors import Corrupt, ErrorKind, UsageError
from bayou.testing import strategies
from bayou.wire import outputs, runs
from bayou.wire.yamldocument import load
from bayou.wire.yamllines import read

GOLDEN = Path(__file__).parent.parent / "golden"
OUTPUTS = sorted(GOLDEN.glob("*/cache*/**/outputs/**/*.yaml"))
RUNS = sorted(GOLDEN.glob("*/cache*/**/workflow-runs/**/*.yaml"))

# As an existing client writes it.
OUTPUT = b"""\
id: 0d2b4f7a-3f0e-4d62-8a0c-5a0f4f2f9f10
definitionId: 9b2f1a52-2f4e-4c0e-8a7b-54f0a2f6f0aa
methodName: collect
status: failed
startedAt: '2026-04-02T09:15:00.125Z'
retryCount: 0
provenance:
  definitionHash: ab12
  modelVersion: 2026.03.01.1
  triggeredBy: manual
artifacts:
  dataArtifacts:
    - dataId: 3d0a6f0e-6f0c-4a55-9c1f-0d3c9b0f6a11
      name: disk-report
      version: 4
      tags:
        type: resource
completedAt: '2026-04-02T09:15:01.900Z'
durationMs: 1775
error:
  message: >-
    a long message that an existing client folds because it has blanks and is wider than eighty
    characters
logFile: .swamp/outputs/acme/host/collect/9b2f1a52-2026-04-02T09-15-00-120Z.log
pid: 4711
"""
RUN = b"""\
id: 6f1c2c8b-6a2e-4b52-9a76-2a7d8a6b1b1e
workflowId: c3d2e1f0-1234-4abc-9def-0123456789ab
workflowName: nightly
status: failed
startedAt: '2026-04-02T09:15:00.125Z'
jobs:
  - jobName: main
    status: failed
    steps:
      - stepName: collect
        status: failed
        error: no disk
        output:
          text: |
            jobs:
            are many
          list: [1, {a: null}]

      # by hand
      - stepName: report
        status: pending
tags:
  env: prod
inputs:
  region: eu-1
failedStep: collect
stepProgress:
  completed: 1
  total: 2
"""


@given(strategies.outputs())
def test_an_output_survives(output: Output) -> None:
    assert outputs.decode(outputs.encode(output), "o") == output


@given(strategies.runs())
def test_a_run_survives_and_so_does_its_summary(run: Run) -> None:
    content = runs.encode(run)
    assert runs.decode(content, "r") == run
    summary = runs.decode_summary(content, "r")
    assert summary == RunSummary(**{name: getattr(run, name) for name in RunSummary.__struct_fields__})


def test_an_output_of_an_existing_client_is_read() -> None:
    found = outputs.decode(OUTPUT, "o")
    assert (found.status, found.duration_ms, found.pid) == (OutputStatus.FAILED, 1775, 4711)
    assert found.provenance == Provenance(
        definition_hash="ab12", model_version="2026.03.01.1", triggered_by=Trigger.MANUAL
    )
    assert [(made.name, made.version) for made in found.artifacts.data_artifacts] == [("disk-report", 4)]
    assert found.error is not None
    assert found.error.message.endswith("wider than eighty characters")


@pytest.mark.parametrize(("written", "read_as"), [("2026.03", "2026.03"), ("7", "7")])
def test_a_version_that_looks_like_a_number_is_text(written: str, read_as: str) -> None:
    found = outputs.decode(OUTPUT.replace(b"2026.03.01.1", written.encode()), "o")
    assert found.provenance.model_version == read_as


def test_the_keys_of_an_output_are_in_the_order_of_the_specification() -> None:
    text = outputs.encode(outputs.decode(OUTPUT, "o")).decode()
    assert [line.partition(":")[0] for line in text.splitlines() if not line.startswith(" ")] == [
        line.partition(":")[0] for line in OUTPUT.decode().splitlines() if not line.startswith(" ")
    ]


def test_what_existing_clients_ask_for_is_always_written() -> None:
    written = load(outputs.encode(Output(status=OutputStatus.RUNNING)).decode())
    assert isinstance(written, dict)
    assert written["provenance"] == {"definitionHash": "", "modelVersion": "", "triggeredBy": "manual"}
    assert (written["retryCount"], written["artifacts"]) == (0, {"dataArtifacts": []})
    assert "completedAt" not in written


def test_what_we_write_is_read_without_the_parser() -> None:
    output = outputs.decode(OUTPUT, "o")
    assert read(outputs.encode(output).decode()) is not None
    run = runs.decode(RUN, "r")
    assert read(runs.encode(run).decode()) is not None


def test_a_run_of_an_existing_client_is_read() -> None:
    found = runs.decode(RUN, "r")
    step = found.step("main", "collect")
    assert step is not None
    assert step.output == {"text": "jobs:\nare many\n", "list": [1, {"a": None}]}
    assert runs.decode_summary(RUN, "r").tags == {"env": "prod"}


def test_the_keys_of_a_run_are_in_the_order_of_the_specification() -> None:
    text = runs.encode(msgspec.structs.replace(runs.decode(RUN, "r"), completed_at="2026-04-02T09:16:00.000Z")).decode()
    keys = [line.partition(":")[0] for line in text.splitlines() if not line.startswith(" ")]
    known = "id workflowId workflowName status startedAt completedAt jobs tags inputs failedStep stepProgress"
    assert keys == known.split()
    assert "startedAt: null" not in text


def test_empty_inputs_and_lists_are_left_out() -> None:
    text = runs.encode(Run(status=RunStatus.PENDING)).decode()
    assert not {"inputs", "resumeInputs", "workflowDataArtifacts"} & {
        line.partition(":")[0] for line in text.splitlines()
    }


@pytest.mark.parametrize(
    "jobs",
    [
        "jobs: nonsense\n",
        "jobs:\n  - [\n  broken: {\n",
        "jobs:\n- jobName: main\n\n  steps: 7\n# c\n\n",
        "jobs: {a: &x [*x]}\n",
        '"jobs":\n  - jobName: "main\n',
        "jobs:\r\n  - jobName: 7\r\n",
        "jobs:",
        "jobs: []\n",
        "",
    ],
)
@pytest.mark.parametrize("after", ["tags:\n  env: prod\n", "tags: {env: prod}\n"])
def test_a_summary_does_not_care_what_the_jobs_look_like(jobs: str, after: str) -> None:
    for text in (f"id: r\nstatus: running\n{jobs.strip(chr(10))}\n{after}", f"id: r\n{after}status: running\n{jobs}"):
        found = runs.decode_summary(text.encode(), "r")
        assert (found.id, found.status, found.tags) == ("r", RunStatus.RUNNING, {"env": "prod"})


def test_a_summary_reads_nothing_of_what_steps_left() -> None:
    steps = tuple(Step(step_name=str(n), status=StepStatus.FAILED, output={"x": ["y"] * 100}) for n in range(100))
    bulk = msgspec.structs.replace(
        runs.decode(RUN, "r"), jobs=(Job(job_name="j", status=StepStatus.FAILED, steps=steps),)
    )
    assert runs.decode_summary(runs.encode(bulk), "r") == runs.decode_summary(RUN, "r")


@pytest.mark.parametrize("path", OUTPUTS, ids=[str(path.relative_to(GOLDEN)) for path in OUTPUTS])
def test_golden_outputs_are_read(path: Path) -> None:
    assert f"methodName: {outputs.decode(path.read_bytes(), str(path)).method_name}".encode() in path.read_bytes()


@pytest.mark.parametrize("path", RUNS, ids=[str(path.relative_to(GOLDEN)) for path in RUNS])
def test_golden_runs_are_read(path: Path) -> None:
    assert runs.decode_summary(path.read_bytes(), str(path)).workflow_id == path.parent.name
    assert runs.decode(path.read_bytes(), str(path)).jobs == ()


@pytest.mark.parametrize("decode", [outputs.decode, runs.decode, runs.decode_summary])
@given(data=st.binary(max_size=64) | st.text().map(lambda text: text.encode(errors="surrogatepass")))
def test_hostile_bytes_are_corrupt(decode: object, data: bytes) -> None:
    assert callable(decode)
    with pytest.raises(Corrupt, match=r"^where: "):
        decode(data, "where")


@pytest.mark.parametrize(
    "output",
    [float("nan"), {"a": [float("inf")]}, {1: {2}}, "x" * (runs.LARGEST_OUTPUT + 1), json.loads("[" * 100 + "]" * 100)],
    ids=["NaN", "infinity", "a set", "too large", "too deep"],
)
def test_an_output_that_a_record_should_not_hold_is_refused_by_name(output: object) -> None:
    with pytest.raises(UsageError, match="'collect'") as refused:
        runs.check_output("collect", output)
    assert refused.value.kind is ErrorKind.INVALID_CONTENT
    assert "artifact" in refused.value.remedy


def test_numbers_that_javascript_writes_out_are_read() -> None:
    def output_of(number: str) -> object:
        step = runs.decode(RUN.replace(b"list: [1,", f"list: [{number},".encode()), "r").step("main", "collect")
        assert step is not None
        return step.output["list"][0]

    assert output_of("100000000000000000000") == 1e20
    assert output_of(str(2**63)) == 2**63
    assert isinstance(output_of(str(2**63)), int)


def test_an_output_of_ordinary_size_is_not() -> None:
    runs.check_output("collect", {"a": [1, 2.5, None, "x" * 1000], "b": {}})
