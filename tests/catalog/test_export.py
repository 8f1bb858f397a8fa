"""Rows leave as files that existing clients read, and come in from theirs."""

import json
import sys
from pathlib import Path

import pytest

from bayou.catalog import Catalog
from bayou.errors import Unsupported, UsageError
from bayou.testing.catalogs import Files, artifact_of, key_of
from bayou.tree import Tree
from bayou.wire import export

EXPECTED = """[
  {
    "namespace": "",
    "type_normalized": "aws/ec2/vpc",
    "model_id": "0b2f6c1e-7a51-4c3e-9a55-1f4f0d6a1c01",
    "data_name": "state",
    "id": "0b2f6c1e-7a51-4c3e-9a55-1f4f0d000001",
    "version": 1,
    "is_latest": 0,
    "model_name": "wéb",
    "spec_name": "",
    "data_type": "resource",
    "content_type": "application/json",
    "lifetime": "infinite",
    "owner_type": "model-method",
    "streaming": 0,
    "size": 7,
    "created_at": "2026-04-02T09:15:00.125Z",
    "tags": "{\\"type\\":\\"resource\\",\\"modelName\\":\\"wéb\\"}",
    "owner_ref": "0b2f6c1e-7a51-4c3e-9a55-1f4f0d6a1c01",
    "workflow_run_id": "",
    "workflow_name": "",
    "job_name": "",
    "step_name": "",
    "source": ""
  },
  {
"""


def test_the_bytes_are_those_of_existing_clients(files: Files, catalog: Catalog) -> None:
    for _ in range(2):
        files.write(key_of(), tags={"type": "resource", "modelName": "wéb"})
    catalog.sweep()
    target = files.root / ".swamp/.catalog-export.json"
    assert catalog.export(target) == 2
    text = target.read_text()
    assert text.startswith(EXPECTED)
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"
    assert [row["is_latest"] for row in json.loads(text)] == [0, 1]
    assert not list(files.root.rglob("*.tmp"))


def test_an_empty_namespace_is_an_empty_array(files: Files, catalog: Catalog) -> None:
    assert catalog.export(files.root / "export.json") == 0
    assert (files.root / "export.json").read_bytes() == b"[]\n"


def test_the_same_rows_give_the_same_bytes_however_they_came(files: Files, catalog: Catalog) -> None:
    for name in ("b", "a", "c"):
        files.write(key_of(name))
        catalog.sweep()
    catalog.export(files.root / "kept.json")
    with Catalog.open(files.root / "new.db", files.tree) as new:
        new.rebuild()
        new.export(files.root / "new.json")
    assert (files.root / "kept.json").read_bytes() == (files.root / "new.json").read_bytes()


def test_what_one_repo_exports_another_can_ask(files: Files, catalog: Catalog) -> None:
    for _ in range(3):
        files.write(key_of())
    catalog.sweep()
    catalog.export(files.root / "export.json")
    rows = export.decode((files.root / "export.json").read_bytes(), "export.json")
    other = Files(files.root / "other")
    with Catalog.open(other.path, other.tree) as theirs:
        assert theirs.replace_namespace("infra", rows) == []
        (row,) = theirs.latest("infra", "web", "state")
        assert (row.namespace, row.hydrated, row.artifact.version) == ("infra", False, 3)
        assert row.artifact.tags == artifact_of(key_of(), 3).tags
        assert theirs.count("row IN (SELECT artifact FROM tag WHERE key = 'modelName' AND value = 'web')") == 3
        assert theirs.count("attributes_known = 0") == 3
        assert theirs.stats().foreign == {"infra": 3}
        assert theirs.replace_namespace("infra", rows[:1]) == []
        assert theirs.count() == 1


ROW = {"type_normalized": "aws", "model_id": "m", "data_name": "n", "version": 1, "created_at": "2026-01-01T00:00:00Z"}


def test_rows_that_cannot_be_are_reported_and_the_others_used(catalog: Catalog) -> None:
    rows = [
        ROW,
        ROW,  # twice
        {**ROW, "version": "2"},
        {**ROW, "type_normalized": "AWS"},
        {**ROW, "model_id": "../x"},
        {**ROW, "data_name": "latest"},
        {**ROW, "tags": "no json"},
        {**ROW, "version": 2, "namespace": ""},  # not believed
        {"relPath": "data/x", "size": 1},
    ]
    assert [one.number for one in catalog.replace_namespace("infra", rows)] == [1, 2, 3, 4, 5, 6, 8]
    assert {row.namespace for row in catalog.rows()} == {"infra"}
    assert catalog.count() == 2


def test_nobody_replaces_the_rows_of_this_namespace(catalog: Catalog) -> None:
    with pytest.raises(UsageError):
        catalog.replace_namespace("", [])
    with pytest.raises(UsageError):
        catalog.replace_namespace("Not a slug", [])


def test_a_namespace_exports_only_its_own(files: Files) -> None:
    tree = Tree(files.root / "shared", files.root / ".swamp", namespace="web", durable=False)
    with Catalog.open(files.path, tree) as catalog:
        catalog.replace_namespace("infra", [ROW])
        assert catalog.export(tree.root / ".catalog-export.json") == 0


def test_an_export_that_fails_leaves_the_old_one(
    files: Files, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.write(key_of())
    catalog.sweep()
    target = files.root / "export.json"
    catalog.export(target)
    before = target.read_bytes()
    monkeypatch.setattr("bayou.catalog.export.pretty", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        catalog.export(target)
    assert target.read_bytes() == before
    assert not list(files.root.rglob("*.tmp"))


def test_parquet_is_read_by_pandas(files: Files, catalog: Catalog) -> None:
    pandas = pytest.importorskip("pandas")
    files.write(key_of("a"), b'{"VpcId":"vpc-1","list":[1]}')
    files.write(key_of("b"), None, garbage_collection="30d")
    files.write(key_of("c"), b"text", content_type="text/plain", size=None)
    catalog.replace_namespace("infra", [ROW])
    catalog.sweep()
    target = files.root / "catalog.parquet"
    assert catalog.export_parquet(target) == 4
    table = pandas.read_parquet(target)
    assert list(table["name"]) == ["a", "b", "c", "n"]
    assert list(table["version"]) == [1, 1, 1, 1]
    assert json.loads(table["attributes"][0]) == {"VpcId": "vpc-1", "list": [1]}
    assert list(table["attributes"].isna()) == [False, True, True, True]
    assert json.loads(table["tags"][0])["modelName"] == "web"
    assert table["created"][0].isoformat() == "2026-04-02T09:15:00.125000+00:00"
    assert list(table["garbage_collection"]) == ["10", "30d", "10", ""]


def test_without_pyarrow_it_says_what_to_install(
    files: Files, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(Unsupported) as caught:
        catalog.export_parquet(files.root / "catalog.parquet")
    assert "bayou-datastore[arrow]" in caught.value.remedy
    assert not (files.root / "catalog.parquet").exists()


def test_a_target_out_of_the_tree_gets_its_temporary_file_beside_it(
    files: Files, catalog: Catalog, tmp_path: Path
) -> None:
    target = tmp_path / "far" / "away" / "export.json"
    catalog.export(target)
    assert [one.name for one in target.parent.iterdir()] == ["export.json"]
    assert files.root.exists()
