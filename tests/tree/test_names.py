"""Folders of names: what is a version, and which one is the latest (repository spec 1.3)."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.domain.artifacts import Artifact, ArtifactKey, Owner, OwnerType
from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.errors import Corrupt
from bayou.layout.artifacts import name_folder
from bayou.tree import Tree
from bayou.tree.names import look, position, read_artifact
from bayou.tree.tiers import Tiers
from bayou.wire import metadata

KEY = ArtifactKey(Model(ModelType("acme/host"), "9b2f1a52-2f4e-4c0e-8a7b-54f0a2f6f0aa"), "state")


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path, tmp_path, durable=False)


def artifact(version: int, name: str = KEY.name) -> Artifact:
    return Artifact(
        id=f"id-{version}",
        name=name,
        version=version,
        content_type="text/plain",
        lifetime="infinite",
        garbage_collection=10,
        tags={"type": "file"},
        owner=Owner(owner_type=OwnerType.MANUAL, owner_ref="me"),
        created_at="2026-04-02T09:15:00.125Z",
    )


def folder(tree: Tree) -> Path:
    place = tree.locate(name_folder(KEY.model, KEY.name))
    place.mkdir(parents=True, exist_ok=True)
    return place


def finish(tree: Tree, *versions: int) -> None:
    for version in versions:
        (folder(tree) / str(version)).mkdir()
        (folder(tree) / str(version) / "metadata.yaml").write_bytes(metadata.encode(artifact(version)))


def test_a_version_is_a_folder_with_metadata_whose_name_is_a_number_and_nothing_else(tree: Tree) -> None:
    finish(tree, 1, 3, 10)
    for odd in ("7.bak", "07", "0", "-1", "1e3", "four", "12345678901234567"):
        (folder(tree) / odd).mkdir()
        (folder(tree) / odd / "metadata.yaml").write_bytes(b"")
    (folder(tree) / "11").mkdir()
    (folder(tree) / "11" / "raw").write_bytes(b"half a version")
    (folder(tree) / "12").write_bytes(b"a file")
    found = look(tree, KEY)
    assert found is not None
    assert found.finished.keys() == {1, 3, 10}
    assert found.unfinished == {11, 12}
    assert position(tree, KEY).highest == 12


def test_a_name_without_a_folder_has_no_versions(tree: Tree) -> None:
    assert look(tree, KEY) is None
    assert position(tree, KEY) == (frozenset(), None, None)
    assert read_artifact(tree, KEY, 1) is None


@pytest.mark.parametrize(
    ("marker", "latest"),
    [
        (b"2", 2),
        (b" 2\n", 2),
        (b"2/", 2),
        (b"2 and more", 2),
        (b"1", 1),
        (b"0", None),  # hidden, or waiting to be advanced
        (b"9", 3),  # deleted, or not here yet
        (b"", 3),
        (b"two", 3),
        (b"12345678901234567", 3),
        (b"\xff", 3),
        (None, 3),
    ],
)
def test_latest_is_where_the_marker_points_or_the_highest_below_it(
    tree: Tree, marker: bytes | None, latest: int | None
) -> None:
    finish(tree, 1, 2, 3)
    if marker is not None:
        (folder(tree) / "latest").write_bytes(marker)
    found = look(tree, KEY)
    assert found is not None
    assert found.latest == position(tree, KEY).latest == latest


@pytest.mark.parametrize(("target", "latest"), [("2", 2), ("2/", 2), ("1", 1), ("x", 3), ("../2", 3), ("nowhere", 3)])
def test_the_older_form_of_the_marker_is_a_symbolic_link(tree: Tree, target: str, latest: int) -> None:
    finish(tree, 1, 2, 3)
    (folder(tree) / "latest").symlink_to(target)
    assert position(tree, KEY).latest == latest


def test_a_folder_that_is_called_like_the_marker_is_none(tree: Tree) -> None:
    finish(tree, 1)
    (folder(tree) / "latest").mkdir()
    assert position(tree, KEY).latest == 1


@given(st.sets(st.integers(1, 12)), st.sets(st.integers(1, 12)), st.none() | st.integers(0, 13))
def test_a_short_look_and_a_long_one_agree(
    tmp_path_factory: pytest.TempPathFactory, finished: set[int], unfinished: set[int], marker: int | None
) -> None:
    root = tmp_path_factory.mktemp("names")
    tree = Tree(root, root, durable=False)
    folder(tree)
    finish(tree, *finished)
    for number in unfinished - finished:
        (folder(tree) / str(number)).mkdir()
    if marker is not None:
        (folder(tree) / "latest").write_text(str(marker))
    long, short = look(tree, KEY), position(tree, KEY)
    assert long is not None
    assert (long.latest, long.marker) == (short.latest, short.marker)
    assert {*long.finished, *long.unfinished} == short.numbers
    assert short.latest is None or (short.latest in finished and (marker is None or short.latest <= marker))


@pytest.mark.parametrize("exclude", ["data/**/raw", "data/**/state/**", "data/**/metadata.yaml", "data/acme/**"])
def test_versions_are_found_in_whichever_tier_patterns_put_their_files(tmp_path: Path, exclude: str) -> None:
    tree = Tree(tmp_path / "ds", tmp_path / "local", tiers=Tiers(exclude=(exclude,)), durable=False)
    base = name_folder(KEY.model, KEY.name)
    with tree.change(base) as change:
        assert change.claim(f"{base}/1")
        change.write(f"{base}/1/raw", [b"x"])
        change.replace(f"{base}/1/metadata.yaml", metadata.encode(artifact(1)))
        change.replace(f"{base}/latest", b"1")
        assert not change.claim(f"{base}/1")
    found = look(tree, KEY)
    assert found is not None
    assert (found.latest, set(found.finished), set(found.unfinished)) == (1, {1}, set())
    assert position(tree, KEY).latest == 1
    assert read_artifact(tree, KEY, 1) == artifact(1)


def test_metadata_that_speaks_of_another_version_is_corrupt(tree: Tree) -> None:
    finish(tree, 1)
    path = folder(tree) / "1" / "metadata.yaml"
    for wrong in (artifact(2), artifact(1, name="other")):
        path.write_bytes(metadata.encode(wrong))
        with pytest.raises(Corrupt, match=r"1/metadata\.yaml"):
            read_artifact(tree, KEY, 1)


def test_the_stamp_of_a_version_changes_with_its_metadata(tree: Tree) -> None:
    finish(tree, 1)
    before = look(tree, KEY)
    path = f"{name_folder(KEY.model, KEY.name)}/1/metadata.yaml"
    with tree.change(path) as change:
        change.replace(path, metadata.encode(artifact(1)))
    after = look(tree, KEY)
    assert before is not None
    assert after is not None
    assert before.finished[1] != after.finished[1]


def test_a_look_says_when_a_version_last_came_or_went(tree: Tree) -> None:
    finish(tree, 1)
    os.utime(folder(tree), ns=(1, 1))
    finish(tree, 2)
    found = look(tree, KEY)
    assert found is not None
    assert found.changed_ns == folder(tree).stat().st_mtime_ns > 1
