"""Partition keys, row for row: existing clients find shards with them (sync spec 1.6)."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.domain.partitions import PARTITIONED, by_partition, partition_key
from bayou.testing.strategies import known_paths, safe_paths

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("data/command/shell/ID/name/1/raw", "data--command--shell--ID"),
        ("data/@org/tool/ID/name/12/metadata.yaml", "data--@org--tool--ID"),
        ("data/aws/ec2/vpc/ID/name/1/raw", "data--aws--ec2--vpc--ID"),
        ("data/command/shell/ID/name/latest", "data--command--shell"),
        ("data/aws/ec2/vpc/ID/name/latest", "data--aws--ec2--vpc"),
        ("data/echo/ID/name/latest", "data--echo--ID--name"),
        ("data/echo/ID/x", "data--echo--ID"),
        ("data/echo/ID", None),
        ("data/x.yaml", None),
        ("outputs/command/shell/execute/ID-2026.yaml", "outputs--command--shell--execute"),
        ("outputs/aws/ec2/vpc/create/ID-2026.yaml", "outputs--aws--ec2"),
        ("outputs/echo/run/ID-2026.yaml", "outputs--echo--run"),
        ("definitions-evaluated/command/shell/m.yaml", "definitions-evaluated--command--shell"),
        ("definitions-evaluated/echo/m.yaml", None),
        ("definitions-evaluated/a/b/c/d/m.yaml", "definitions-evaluated--a--b"),
        ("workflow-runs/WF/workflow-run-R.yaml", "workflow-runs--WF"),
        ("workflow-runs/x.yaml", None),
        ("auto-definitions/command/shell/m.yaml", "auto-definitions"),
        ("audit/commands-2026-11-02.jsonl", "audit"),
        ("audit", "_root"),
        (".catalog-export.json", "_root"),
        ("any root file", "_root"),
        ("bundles/h/x.js", None),
        ("secrets/local/x", None),
        (".locks/x.lock", None),
        ("elsewhere/x", None),
        ("data//x/y", "data----x"),
    ],
)
def test_the_table(path: str, key: str | None) -> None:
    assert partition_key(path) == key


@pytest.mark.parametrize(
    ("path", "key"),
    [
        pytest.param("data/aws/ec2/vpc/abc-123/state-main/1/raw", "data--aws--ec2--vpc--abc-123", id="124"),
        pytest.param("outputs/mytype/mymodel/out1/1/raw", "outputs--mytype--mymodel", id="125"),
        pytest.param("definitions-evaluated/t/m/d/1/raw", "definitions-evaluated--t--m", id="126"),
        pytest.param("workflow-runs/wf-1/run/data", "workflow-runs--wf-1", id="127"),
        pytest.param("workflows-evaluated/workflow-063a0cb1.yaml", "workflows-evaluated", id="128"),
        pytest.param("workflows-evaluated/wf-2/file", "workflows-evaluated", id="129"),
        pytest.param(".catalog-export.json", "_root", id="130"),
        pytest.param("", None, id="131"),
        pytest.param("auto-definitions/some/file", "auto-definitions", id="132a"),
        pytest.param("audit/some/file", "audit", id="132b"),
        pytest.param("telemetry/some/file", "telemetry", id="132c"),
        pytest.param("logs/some/file", "logs", id="132d"),
        pytest.param("files/some/file", "files", id="132e"),
        pytest.param("unknown/dir/file", None, id="133"),
        pytest.param("data/a/b", None, id="134"),
    ],
)
def test_the_acceptance_rows(path: str, key: str | None) -> None:
    assert partition_key(path) == key


def test_models_that_share_a_shard_because_nothing_is_escaped() -> None:
    paths = ["data/a--b/M/n/1/raw", "data/a/b/M/n/1/raw", "data/a/b--M/n/1/raw"]
    assert set(by_partition(paths)) == {"data--a--b--M"}
    assert partition_key("data/t/ID/M/n/latest") == partition_key("data/t/ID/n/1/raw")


@pytest.mark.parametrize("step", ["a-v1-dual-write", "b-v2-migrated", "d-ns-v2", "e-v1-prefix-and-unpartitionable"])
def test_every_shard_that_an_existing_client_wrote_has_the_key_of_its_entries(step: str) -> None:
    shards = [path for path in (GOLDEN / step / "bucket").rglob("_index/*.json") if path.name != "_meta.json"]
    assert shards
    for shard in shards:
        for path in json.loads(shard.read_bytes())["entries"]:
            assert partition_key(path) == shard.stem


@given(st.lists(safe_paths() | known_paths(), max_size=20))
def test_grouping_keeps_every_path_once_and_in_order(paths: list[str]) -> None:
    groups = by_partition(paths)
    for key, members in groups.items():
        assert members == [path for path in paths if partition_key(path) == key]
    assert sum(map(len, groups.values())) == len(paths)


@given(safe_paths())
def test_only_partitioned_folders_and_root_files_have_a_shard(path: str) -> None:
    key = partition_key(path)
    if "/" not in path:
        assert key == "_root"
    elif path.partition("/")[0] not in PARTITIONED:
        assert key is None
    if key is not None:
        assert "/" not in key
