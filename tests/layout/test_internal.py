"""Internal files: the existing clients' rule to the letter, and ours, which is wider."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.domain.models import Model
from bayou.domain.namespaces import is_slug
from bayou.layout.artifacts import Part, VersionFile
from bayou.layout.directories import DEFAULT, MACHINE_LOCAL, lies_in
from bayou.layout.internal import lazily_skippable, legacy_internal, never_crosses
from bayou.testing.strategies import data_names, models, namespaces, safe_paths

TEMPORARY = ".3d0a6f0e-6f0c-4a55-9c1f-0d3c9b0f6a11.tmp"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(".datastore-sync-state.json", id="9"),
        pytest.param(".lock", id="10-root"),
        pytest.param("data/a/b/.lock", id="10-nested"),
        pytest.param(".namespace.json", id="11-root"),
        pytest.param("infra/.namespace.json", id="11-nested"),
        pytest.param("_index", id="12-folder"),
        pytest.param("_index/_meta.json", id="12-below"),
        pytest.param("_control", id="13-folder"),
        pytest.param("_control/heartbeats/x", id="13-below"),
        ".datastore-index.json",
        ".push-queue.json",
        ".datastore.lock",
        "_catalog.db",
        "data/_catalog.db",
        "data/_catalog.db-wal",
        "data/_catalog.db-shm",
        "a/b/_catalog.db-anything",
    ],
)
def test_everybody_keeps_it_out_of_a_sync(path: str) -> None:
    assert legacy_internal(path)
    assert never_crosses(path)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(".locked.yaml", id="10-locked"),
        pytest.param("data/a/b/lock", id="10-lock"),
        pytest.param("namespace.json", id="11"),
        pytest.param("data/_index/x.json", id="12-S"),
        pytest.param("data/index/x.json", id="12-G"),
        pytest.param("data/control-panel/x", id="13"),
        "_indexes/x",
        "_controls",
        "data/_control/x",
        "_catalog.dbx",
        "x_catalog.db",
        ".catalog-export.json",
        "data/a/secrets/c/1/raw",
        "reports/secrets/q1.md",
        "reports/bundles/2026/q1.md",
        "logs/x.tmp",
        "logs/.notes.tmp",
        "logs/run_tracker.db-notes",
        "swamp-root-note.txt",
        "_index.json",
    ],
)
def test_everybody_syncs_it(path: str) -> None:
    assert not legacy_internal(path)
    assert not never_crosses(path)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("infra/_index/_meta.json", id="W-43-index"),
        pytest.param("infra/_control/x", id="W-43-control"),
        pytest.param("infra/.datastore-index.json", id="W-43-state"),
        pytest.param("infra/.datastore.lock", id="W-43-lock"),
        pytest.param(TEMPORARY, id="W-41-root"),
        pytest.param(f"data/a/b/c/1/{TEMPORARY}", id="W-41-nested"),
        pytest.param(f"data/a/b/c/{TEMPORARY.upper().replace('TMP', 'tmp')}", id="W-41-case"),
        pytest.param(".locks/infra.lock", id="W-38-locks"),
        pytest.param("bundles/e9c5c01e/x.js", id="W-38-bundles"),
        "secrets/local_encryption/default/KEY",
        "vault-bundles/h/x.js",
        "driver-bundles/h/x.js",
        "report-bundles/h/x.js",
        "datastore-bundles/h/x.js",
        "infra/secrets/local_encryption/default/KEY.enc",
        "infra/.locks/x.lock",
        "catalog.bayou.db",
        "catalog.bayou.db-wal",
        "run_tracker.db-shm",
        "_extension_catalog.db",
        "_Control/journal.db",
        "Secrets/local_encryption/default/KEY",
        "\u017fecrets/x",
        "Infra/_INDEX/_meta.json",
        ".Datastore-Sync-State.json",
        "data/a/b/c/.LOCK",
    ],
)
def test_existing_clients_would_push_it_and_we_do_not(path: str) -> None:
    assert not legacy_internal(path)
    assert never_crosses(path)


@given(safe_paths() | st.text(max_size=30))
def test_ours_takes_in_all_of_theirs(path: str) -> None:
    assert never_crosses(path) or not legacy_internal(path)


@given(safe_paths(), namespaces(solo=False).filter(lambda slug: slug not in DEFAULT))
def test_nothing_internal_becomes_data_below_a_namespace(path: str, namespace: str) -> None:
    assert is_slug(namespace)
    # Below what may be a namespace or a folder of somebody's own, only names that nobody chooses are taken for ours.
    ours = never_crosses(path) and not lies_in(path, MACHINE_LOCAL)
    assert never_crosses(f"{namespace}/{path}") or not ours


@given(models(), data_names(), st.sampled_from(Part))
def test_no_version_is_internal_whatever_it_is_called(model: Model, name: str, part: Part) -> None:
    path = VersionFile(model, name, 1, part).path
    assert not legacy_internal(path)
    assert not never_crosses(path)
    assert lazily_skippable(path) == (part is Part.RAW)


@pytest.mark.parametrize(
    ("path", "skippable"),
    [
        pytest.param("data/aws/ec2/vpc/abc/state-main/1/raw", True, id="72"),
        pytest.param("data/aws/ec2/vpc/abc/state-main/1/metadata.yaml", False, id="73"),
        pytest.param("data/aws/ec2/vpc/abc/state-main/latest", False, id="74"),
        pytest.param("outputs/my-output/1/raw", False, id="75-outputs"),
        pytest.param("workflow-runs/wf/run/raw", False, id="75-runs"),
        pytest.param("definitions-evaluated/t/raw", False, id="75-definitions"),
        pytest.param("data/raw", False, id="76"),
        pytest.param("data/x/raw", True, id="just deep enough"),
        pytest.param("data/x/notraw", False, id="only a suffix"),
        pytest.param("database/x/raw", False, id="only a prefix"),
    ],
)
def test_a_metadata_only_pull_leaves_content_for_later(path: str, *, skippable: bool) -> None:
    assert lazily_skippable(path) is skippable
