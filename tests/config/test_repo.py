"""Which repo a session works in, and where its cache is."""

from pathlib import Path

import pytest

from bayou.config.repo import cache, choose, find, user_folder
from bayou.errors import UsageError


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for folder in ("outer/inner/deep", "other", "half/.swamp"):
        (tmp_path / folder).mkdir(parents=True)
    for folder in ("outer", "outer/inner", "other"):
        (tmp_path / folder / ".swamp.yaml").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("start", "found"),
    [
        ("outer", "outer"),
        ("outer/inner", "outer/inner"),
        ("outer/inner/deep", "outer/inner"),
        ("half", None),
        (".", None),
    ],
)
def test_the_nearest_marker_upwards_makes_the_repo(tree: Path, start: str, found: str | None) -> None:
    assert find(tree / start) == (None if found is None else tree / found)


def test_a_folder_called_like_the_marker_is_none(tree: Path) -> None:
    (tree / "outer/inner/deep/.swamp.yaml").mkdir()
    assert find(tree / "outer/inner/deep") == tree / "outer/inner"


def test_a_named_repo_beats_the_environment_beats_the_nearest(tree: Path) -> None:
    deep, home = tree / "outer/inner/deep", tree / "home"
    environ = {"SWAMP_REPO_DIR": str(tree / "other")}
    assert choose(deep, {}, None, home) == tree / "outer/inner"
    assert choose(deep, environ, None, home) == tree / "other"
    assert choose(deep, environ, tree / "outer", home) == tree / "outer"
    assert choose(tree, {}, Path("outer"), home) == tree / "outer"
    assert choose(tree / "other", {"SWAMP_REPO_DIR": "../outer"}, None, home) == tree / "outer"
    assert choose(tree / "other", {}, Path("../outer"), home) == tree / "outer"
    assert choose(tree, {"SWAMP_REPO_DIR": ""}, None, home) is None


def test_the_users_folder_is_below_home_unless_the_environment_says_otherwise() -> None:
    home = Path("/home/me")
    assert user_folder({}, home) == Path("/home/me/.swamp")
    assert user_folder({"SWAMP_HOME": ""}, home) == Path("/home/me/.swamp")
    assert user_folder({"SWAMP_HOME": "/caches"}, home) == Path("/caches")
    assert user_folder({"SWAMP_HOME": "~/caches"}, home) == Path("/home/me/caches")
    with pytest.raises(UsageError, match='SWAMP_HOME: expected an absolute path, found "caches"'):
        user_folder({"SWAMP_HOME": "caches"}, home)


def test_clones_share_the_cache_of_their_repo_id() -> None:
    assert cache(Path("/home/me/.swamp"), "6f0d") == Path("/home/me/.swamp/repos/6f0d")
    assert cache(Path("/home/me/.swamp"), None) == Path("/home/me/.swamp/repos/unknown")
