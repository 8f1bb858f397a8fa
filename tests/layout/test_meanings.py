"""Meanings: paths and what they stand for, in both directions."""

from collections.abc import Callable
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.errors import UsageError
from bayou.layout.artifacts import (
    LatestMarker,
    Part,
    VersionFile,
    model_folder,
    name_folder,
    version_folder,
    version_of,
    versions_among,
)
from bayou.layout.audit import AuditKind, AuditLog
from bayou.layout.bundles import Bundle
from bayou.layout.definitions import (
    AutoDefinition,
    EvaluatedDefinition,
    EvaluatedWorkflow,
    definition_stem,
    workflow_stem,
)
from bayou.layout.internal import never_crosses
from bayou.layout.meanings import CatalogExport, Internal, Known, Meaning, Unknown, meaning
from bayou.layout.records import OutputRecord, RunRecord, stamp
from bayou.layout.safety import fault
from bayou.testing.strategies import data_names, hostile_paths, known_meanings, models, safe_paths

VPC = ModelType("aws/ec2/vpc")
ID = "9b2f1a52-2f4e-4c0e-8a7b-54f0a2f6f0aa"
WEB = Model(VPC, ID)
RUN = "6f1c2c8b-6a2e-4b52-9a76-2a7d8a6b1b1e"
SHA = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"data/aws/ec2/vpc/{ID}/state/3/raw", VersionFile(WEB, "state", 3, Part.RAW)),
        (f"data/aws/ec2/vpc/{ID}/state/3/metadata.yaml", VersionFile(WEB, "state", 3, Part.METADATA)),
        (f"data/aws/ec2/vpc/{ID}/state/latest", LatestMarker(WEB, "state")),
        (f"data/echo/{ID}/state/latest", LatestMarker(Model(ModelType("echo"), ID), "state")),
        (f"outputs/aws/ec2/vpc/create/{ID}-2026-04-02T09-15-00-125Z.yaml",
         OutputRecord(VPC, "create", ID, "2026-04-02T09-15-00-125Z")),
        (f"workflow-runs/{ID}/workflow-run-{RUN}.yaml", RunRecord(ID, RUN)),
        ("definitions-evaluated/aws/ec2/vpc/web-01.yaml", EvaluatedDefinition(VPC, "web-01")),
        ("definitions-evaluated/echo/m.yaml", EvaluatedDefinition(ModelType("echo"), "m")),
        (f"auto-definitions/aws/ec2/vpc/{ID}.yaml", AutoDefinition(VPC, ID)),
        ("workflows-evaluated/workflow-nightly.yaml", EvaluatedWorkflow("nightly")),
        ("audit/commands-2026-11-02.jsonl", AuditLog(AuditKind.COMMANDS, date(2026, 11, 2))),
        ("audit/commands-2026-11-02.runner-7.jsonl",
         AuditLog(AuditKind.COMMANDS, date(2026, 11, 2), "runner-7")),
        ("audit/vault-audit-2026-11-02.jsonl", AuditLog(AuditKind.VAULT, date(2026, 11, 2))),
        ("audit/vault-reads-2026-11-02.jsonl", AuditLog(AuditKind.VAULT_READS, date(2026, 11, 2))),
        (f"files/bundles/{SHA}", Bundle(SHA)),
        (".catalog-export.json", CatalogExport()),
        (f"data/aws/ec2/vpc/{ID}/.lock", Internal(f"data/aws/ec2/vpc/{ID}/.lock")),
        ("_control/bayou/store.json", Internal("_control/bayou/store.json")),
    ],
)  # fmt: skip
def test_every_path_of_the_layout(path: str, expected: Meaning) -> None:
    assert meaning(path) == expected
    assert expected.path == path


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        # A numeric name is told from a version by its place, however deep the type is.
        ("data/a/b/7/1/raw", VersionFile(Model(ModelType("a"), "b"), "7", 1, Part.RAW)),
        ("data/a/b/7/8/1/raw", VersionFile(Model(ModelType("a/b"), "7"), "8", 1, Part.RAW)),
        ("data/a/b/7/latest", LatestMarker(Model(ModelType("a"), "b"), "7")),
        ("data/latest/raw/x/1/raw", VersionFile(Model(ModelType("latest"), "raw"), "x", 1, Part.RAW)),
        ("data/1/2/3/4/raw", VersionFile(Model(ModelType("1"), "2"), "3", 4, Part.RAW)),
    ],
)
def test_names_that_look_like_something_else(path: str, expected: Meaning) -> None:
    assert meaning(path) == expected


@pytest.mark.parametrize(
    "path",
    [
        "",
        "data",
        "data/raw",
        "data/latest",
        "data/a/b/latest",
        "data/a/1/raw",
        "data/b/c/1/raw",
        "data/a/b/c/0/raw",
        "data/a/b/c/01/raw",
        "data/a/b/c/7.bak/raw",
        "data/a/b/c/-1/raw",
        "data/a/b/c/\u0661/raw",
        "data/a/b/c/1234567890123456/raw",
        "data/a/b/c/1/RAW",
        "data/a/b/c/1/raw/x",
        "data/a/b/latest/1/raw",
        "data/a/b/latest/latest",
        "data/A/b/c/1/raw",
        "data/a.b/m/c/1/raw",
        "data/a b/m/c/1/raw",
        "data//b/c/1/raw",
        "data/a//c/1/raw",
        "data/a/../c/1/raw",
        "data/a/b/../1/raw",
        "data/a/b/x..y/latest",
        "outputs/a/create/x.yaml",
        f"outputs/create/{ID}-2026-04-02T09-15-00-125Z.yaml",
        f"outputs/a/create/{ID}-2026-04-02T09-15-00-125Z.log",
        "outputs/a/create/-2026-04-02T09-15-00-125Z.yaml",
        f"outputs/a//{ID}-2026-04-02T09-15-00-125Z.yaml",
        "workflow-runs/x/y.yaml",
        "workflow-runs/x/workflow-run-.yaml",
        "workflow-runs/x/y/workflow-run-z.yaml",
        "workflow-runs//workflow-run-z.yaml",
        "definitions-evaluated/x.yaml",
        "definitions-evaluated/a/.yaml",
        "definitions-evaluated/a/x.yml",
        "workflows-evaluated/nightly.yaml",
        "workflows-evaluated/workflow-.yaml",
        "workflows-evaluated/a/workflow-nightly.yaml",
        "audit/commands-2026-13-02.jsonl",
        "audit/commands-2026-11-02.jsonl.gz",
        "audit/x/commands-2026-11-02.jsonl",
        "files/bundles/abc",
        f"files/bundles/{SHA.upper()}",
        f"files/bundles/{SHA}/x",
        "infra/data/a/b/c/1/raw",
        "telemetry/x.json",
    ],
)  # fmt: skip
def test_a_path_that_is_nothing_of_ours_is_unknown(path: str) -> None:
    assert meaning(path) == Unknown(path)


@given(known_meanings())
def test_what_is_known_reads_back_from_its_path(known: Known) -> None:
    assert meaning(known.path) == known


@given(known_meanings())
def test_what_is_known_has_a_safe_path(known: Known) -> None:
    assert fault(known.path) is None


@given(safe_paths() | hostile_paths() | st.text(max_size=40))
def test_every_text_has_one_meaning_and_keeps_its_path(path: str) -> None:
    found = meaning(path)
    assert found.path == path
    assert isinstance(found, Internal) == never_crosses(path)


@given(models(), data_names(), st.integers(1, 10**15 - 1))
def test_a_version_lies_in_its_folder_and_that_in_the_models(model: Model, name: str, version: int) -> None:
    path = VersionFile(model, name, version, Part.RAW).path
    assert path == f"{version_folder(model, name, version)}/raw"
    assert version_folder(model, name, version).startswith(f"{name_folder(model, name)}/")
    assert name_folder(model, name).startswith(f"{model_folder(model)}/")


@pytest.mark.parametrize("name", ["latest", "..", "a/b", ".lock", ""])
def test_no_path_is_made_of_a_name_that_data_may_not_have(name: str) -> None:
    with pytest.raises(UsageError):
        VersionFile(WEB, name, 1, Part.RAW)
    with pytest.raises(UsageError):
        LatestMarker(WEB, name)


@pytest.mark.parametrize("version", [0, -1, 10**15])
def test_no_path_is_made_of_a_number_that_no_version_has(version: int) -> None:
    with pytest.raises(UsageError):
        VersionFile(WEB, "state", version, Part.RAW)


@pytest.mark.parametrize("escape", ["", "..", "a/b", "a\\b", "a\0"])
def test_no_record_or_definition_leaves_its_folder(escape: str) -> None:
    time = "2026-04-02T09-15-00-125Z"
    for make in (
        lambda: OutputRecord(VPC, escape, ID, time),
        lambda: OutputRecord(VPC, "create", escape, time),
        lambda: OutputRecord(VPC, "create", ID, escape),
        lambda: RunRecord(escape, RUN),
        lambda: RunRecord(ID, escape),
        lambda: EvaluatedDefinition(VPC, escape),
        lambda: AutoDefinition(VPC, escape),
        lambda: EvaluatedWorkflow(escape),
        lambda: Bundle(escape),
    ):
        with pytest.raises(UsageError):
            make()
    with pytest.raises(UsageError):
        AuditLog(AuditKind.COMMANDS, date(2026, 1, 1), escape or "a.b")


def test_a_time_in_a_file_name_has_dashes_only() -> None:
    assert stamp("2026-04-02T09:15:00.125Z") == "2026-04-02T09-15-00-125Z"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("web-01", "web-01"),
        ("a_b", "a_b"),
        ("x" * 64, "x" * 64),
        ("x" * 65, ID),
        ("Web", ID),
        ("-a", ID),
        ("a.b", ID),
        ("", ID),
    ],
)
def test_a_definition_is_filed_under_its_name_if_that_can_be_a_file_name(name: str, expected: str) -> None:
    assert definition_stem(name, ID) == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("nightly", "nightly"), ("a_b", ID), ("x" * 64, "x" * 64), ("x" * 65, ID)]
)
def test_a_workflow_is_filed_under_its_name_if_that_can_be_a_file_name(name: str, expected: str) -> None:
    assert workflow_stem(name, ID) == expected


UNSAFE_TYPES = ["a\\b", "a/b\0", "a/" + "x" * 256, "/".join(["x" * 200] * 6)]


@pytest.mark.parametrize("raw", UNSAFE_TYPES, ids=lambda raw: ascii(raw[:12]))
@pytest.mark.parametrize(
    "made",
    [
        lambda model_type: VersionFile(Model(model_type, ID), "state", 1, Part.RAW),
        lambda model_type: LatestMarker(Model(model_type, ID), "state"),
        lambda model_type: OutputRecord(model_type, "run", ID, "2026-04-02T09-15-00-125Z"),
        lambda model_type: EvaluatedDefinition(model_type, ID),
        lambda model_type: AutoDefinition(model_type, ID),
    ],
)
def test_a_type_that_is_no_folder_leads_to_no_path(made: Callable[[ModelType], Known], raw: str) -> None:
    with pytest.raises(UsageError):
        made(ModelType(raw))


@pytest.mark.parametrize(
    "made",
    [
        lambda: EvaluatedDefinition(VPC, "x" * 251),
        lambda: AutoDefinition(VPC, "x" * 251),
        lambda: EvaluatedWorkflow("x" * 242),
        lambda: RunRecord("wf", "x" * 238),
        lambda: OutputRecord(VPC, "run", "x" * 230, "2026-04-02T09-15-00-125Z"),
    ],
)
def test_what_is_put_around_a_name_counts_too(made: Callable[[], Known]) -> None:
    with pytest.raises(UsageError, match="255 bytes"):
        made()


@given(known_meanings())
def test_every_meaning_has_a_safe_path(known: Known) -> None:
    assert fault(known.path) is None


_FOLDERS = st.text(st.characters(exclude_characters="/")) | st.from_regex(r"[0-9]{1,17}(\.bak)?\n?", fullmatch=True)


@given(st.lists(_FOLDERS))
def test_versions_are_told_from_other_folders_all_at_once_as_one_by_one(folders: list[str]) -> None:
    assert versions_among(folders) == {version for folder in folders if (version := version_of(folder))}
