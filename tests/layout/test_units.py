"""What the diff decides about as one, path by path."""

import pytest
from hypothesis import given

from bayou.domain.units import Kind, Unit
from bayou.layout.artifacts import VersionFile
from bayou.layout.meanings import Known
from bayou.layout.units import classifier
from bayou.testing.strategies.paths import hostile_paths, known_meanings, safe_paths

STAMP = "2026-04-02T09-15-00-125Z"
FOLDER = "data/@acme/host/6f0d7a52/state/12"

classify = classifier(lambda file: file.name.startswith("log"))


@pytest.mark.parametrize("file", ["raw", "metadata.yaml"])
def test_both_files_of_a_version_are_one_unit_that_knows_its_marker(file: str) -> None:
    members = (f"{FOLDER}/metadata.yaml", f"{FOLDER}/raw")
    expected = Unit(FOLDER, Kind.VERSION, members, "data/@acme/host/6f0d7a52/state/latest")
    assert classify(f"{FOLDER}/{file}") == expected


def test_only_the_caller_knows_whether_a_version_is_a_stream() -> None:
    asked: list[VersionFile] = []

    def is_stream(file: VersionFile) -> bool:
        asked.append(file)
        return True

    assert classifier(is_stream)(f"{FOLDER}/raw").kind is Kind.STREAM
    assert [(file.name, file.version) for file in asked] == [("state", 12)]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("data/t/m/n/latest", Kind.LATEST),
        (f"outputs/acme/host/run/6f0d7a52-{STAMP}.yaml", Kind.OUTPUT),
        ("workflow-runs/w/workflow-run-1.yaml", Kind.RUN),
        ("auto-definitions/t/m.yaml", Kind.DEFINITION),
        ("audit/commands-2026-04-02.host-1.jsonl", Kind.AUDIT),
        ("definitions-evaluated/t/m.yaml", Kind.DERIVED),
        ("workflows-evaluated/workflow-w.yaml", Kind.DERIVED),
        (".catalog-export.json", Kind.DERIVED),
        ("files/f", Kind.OTHER),
        ("data/t/m/n/12/notes", Kind.OTHER),
        ("data/t/m/n/07/raw", Kind.OTHER),
        ("secrets/key", Kind.OTHER),
    ],
)
def test_every_other_file_is_a_unit_by_itself(path: str, kind: Kind) -> None:
    assert classify(path) == Unit(path, kind, (path,))


@given(known_meanings())
def test_members_of_a_unit_belong_to_the_same_unit(known: Known) -> None:
    unit = classify(known.path)
    assert known.path in unit.members
    assert all(classify(member) == unit for member in unit.members)


@given(safe_paths() | hostile_paths())
def test_every_text_has_a_unit_that_holds_it(path: str) -> None:
    assert path in classify(path).members
