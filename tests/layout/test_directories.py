"""The folders of the runtime tier (repository spec 1.1)."""

import pytest

from bayou.domain.partitions import PARTITIONED
from bayou.layout.directories import ALWAYS_LOCAL, DEFAULT, MACHINE_LOCAL, in_datastore, lies_in


def test_the_default_list_is_in_the_existing_clients_order() -> None:
    assert " ".join(DEFAULT) == (
        "auto-definitions definitions-evaluated workflows-evaluated data outputs workflow-runs secrets bundles "
        "vault-bundles driver-bundles report-bundles audit telemetry logs files"
    )


def test_secrets_and_bundles_stay_local_whatever_the_config_says() -> None:
    assert {"secrets", "bundles", "vault-bundles", "driver-bundles", "report-bundles"} == ALWAYS_LOCAL
    assert in_datastore(["secrets", "logs", "bundles", "data"]) == ("logs", "data")
    assert not ALWAYS_LOCAL & set(in_datastore())
    assert "datastore-bundles" in MACHINE_LOCAL


def test_what_is_in_the_datastore_by_default_has_shards() -> None:
    assert set(in_datastore()) == PARTITIONED


@pytest.mark.parametrize(
    ("path", "folders", "expected"),
    [
        ("data/x", {"data"}, True),
        ("data", {"data"}, True),
        ("database/x", {"data"}, False),
        ("x/data", {"data"}, False),
        ("data/x", set(), False),
        ("", set(), False),
    ],
)
def test_only_the_first_segment_counts(path: str, folders: set[str], *, expected: bool) -> None:  # acceptance 101
    assert lies_in(path, folders) is expected
