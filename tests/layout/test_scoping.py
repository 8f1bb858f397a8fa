"""Scoping: what belongs to a model, and where to look for it (W-20 in the sync spec)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.domain.partitions import partition_key
from bayou.domain.scopes import EVERYTHING, scope_of
from bayou.layout.artifacts import LatestMarker, Part, VersionFile
from bayou.layout.definitions import AutoDefinition, EvaluatedDefinition, definition_stem
from bayou.layout.records import OutputRecord, stamp
from bayou.layout.scoping import CandidateKeys, candidate_keys, covers
from bayou.testing.strategies import data_names, known_paths, models, safe_paths, times

ID = "9b2f1a52-2f4e-4c0e-8a7b-54f0a2f6f0aa"
METHODS = st.from_regex(r"[a-zA-Z][a-zA-Z0-9_-]{0,12}", fullmatch=True)


@st.composite
def paths_of(draw: st.DrawFn, model: Model) -> str:
    stem = draw(st.sampled_from([model.id, definition_stem(model.name or "", model.id)]))
    name = draw(data_names())
    return draw(
        st.sampled_from(
            [
                VersionFile(model, name, draw(st.integers(1, 10**15 - 1)), draw(st.sampled_from(Part))).path,
                LatestMarker(model, name).path,
                OutputRecord(model.type, draw(METHODS), model.id, draw(times().map(stamp))).path,
                EvaluatedDefinition(model.type, stem).path,
                AutoDefinition(model.type, stem).path,
            ]
        )
    )


@given(st.data(), models())
def test_a_scope_covers_all_that_belongs_to_its_model(data: st.DataObject, model: Model) -> None:
    path = data.draw(paths_of(model))
    assert covers(scope_of([model]), path)
    assert covers(EVERYTHING, path)
    assert not covers(scope_of([]), path)


@given(st.data(), models())
def test_a_scoped_read_looks_at_the_shard_of_all_that_belongs_to_its_model(data: st.DataObject, model: Model) -> None:
    path = data.draw(paths_of(model))
    partition = partition_key(path)
    if partition is None:
        assert path.startswith("definitions-evaluated/")
    else:
        keys = candidate_keys(model)
        assert keys.include(partition)
        assert keys.among(["elsewhere", partition]) == [partition]


@given(st.data(), models(), models())
def test_a_scope_covers_nothing_of_another_model(data: st.DataObject, model: Model, other: Model) -> None:
    path = data.draw(paths_of(other))
    shared_name = (model.type, model.name) == (other.type, other.name)
    if model != other and not shared_name:
        assert not covers(scope_of([model]), path)


@given(safe_paths() | known_paths(), models())
def test_only_everything_covers_what_belongs_to_nobody(path: str, model: Model) -> None:
    assert covers(EVERYTHING, path)
    assert not covers(scope_of([model]), f"telemetry/{path}")
    assert not covers(scope_of([model]), f"workflow-runs/{path}")


@pytest.mark.parametrize(
    ("raw", "exact", "prefixes"),
    [
        ("echo", set(), {f"data--echo--{ID}--", "outputs--echo--"}),
        ("command/shell", {"data--command--shell", "definitions-evaluated--command--shell"},
         {"outputs--command--shell--"}),
        ("aws/ec2/vpc", {"data--aws--ec2--vpc", "outputs--aws--ec2", "definitions-evaluated--aws--ec2--vpc"}, set()),
        ("a/b/c/d", {"data--a--b--c--d", "outputs--a--b--c", "definitions-evaluated--a--b"}, set()),
    ],
)  # fmt: skip
def test_where_to_look_for_a_model(raw: str, exact: set[str], prefixes: set[str]) -> None:
    model = f"{raw.replace('/', '--')}--{ID}"
    everywhere = {f"data--{model}", f"outputs--{model}", f"definitions-evaluated--{model}", "auto-definitions"}
    assert candidate_keys(Model(ModelType(raw), ID)) == CandidateKeys(
        frozenset(everywhere | exact), frozenset(prefixes)
    )


def test_a_definition_is_its_models_under_its_id_and_under_its_name() -> None:
    renamed = scope_of([Model(ModelType("echo"), ID, "web"), Model(ModelType("echo"), "other")])
    for folder in ("definitions-evaluated", "auto-definitions"):
        assert covers(renamed, f"{folder}/echo/{ID}.yaml")
        assert covers(renamed, f"{folder}/echo/web.yaml")
        assert not covers(renamed, f"{folder}/echo/None.yaml")
        assert not covers(renamed, f"{folder}/other/web.yaml")


@pytest.mark.parametrize("path", [f"outputs/echo/{ID}/x/1/raw", f"definitions-evaluated/echo/{ID}/x/1/raw"])
def test_a_file_of_a_shape_that_nobody_writes_belongs_to_no_model(path: str) -> None:
    model = Model(ModelType("echo"), ID)
    assert candidate_keys(model).include(str(partition_key(path)))
    assert not covers(scope_of([model]), path)


def test_models_that_share_a_shard_are_told_apart_by_path() -> None:
    models_of_one_shard = [Model(ModelType(raw), "M") for raw in ("a--b", "a/b")] + [Model(ModelType("a"), "b--M")]
    paths = [VersionFile(model, "n", 1, Part.RAW).path for model in models_of_one_shard]
    assert [partition_key(path) for path in paths] == ["data--a--b--M", "data--a--b--M", "data--a--b--M"][: len(paths)]
    for model in models_of_one_shard:
        assert [covers(scope_of([model]), path) for path in paths] == [model == other for other in models_of_one_shard]


def test_an_output_belongs_to_the_model_whose_whole_id_it_starts_with() -> None:
    mine, longer = Model(ModelType("echo"), "web"), Model(ModelType("echo"), "web-01")
    path = OutputRecord(longer.type, "run", longer.id, "2026-04-02T09-15-00-125Z").path
    assert covers(scope_of([longer]), path)
    assert not covers(scope_of([mine]), path)
