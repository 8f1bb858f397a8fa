"""What a user names is what is opened, and nothing is made where something may only be missing."""

import shutil
from pathlib import Path

import pytest

import bayou
from bayou.config import newrepo
from bayou.errors import ErrorKind

MARKER = ".swamp.yaml"


def test_the_nearest_repo_upwards_is_opened(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = repo / "a" / "b"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    with bayou.open() as datastore:
        assert datastore.settings.repo == repo


def test_a_clone_without_runtime_folder_is_opened(repo: Path) -> None:
    shutil.rmtree(repo / ".swamp")
    with bayou.open(repo) as datastore:
        datastore.write("m", "n", "text", type="t")
        assert datastore.latest("m", "n").text() == "text"


@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_a_folder_is_read_only_without_a_repo(repo: Path, tmp_path: Path, form: str) -> None:
    shared = _shared(repo, tmp_path)
    with bayou.open(repo) as datastore:
        datastore.write("m", "n", {"a": 1}, type="t")
    with bayou.open(form.format(shared)) as datastore:
        assert datastore.latest("m", "n").attributes == {"a": 1}
        with pytest.raises(bayou.Denied, match="opened for reading"):
            datastore.write("m", "n", {"a": 2}, type="t")
    with bayou.open(str(shared), writable=True) as datastore:
        datastore.write("m", "n", {"a": 2}, type="t")
    with bayou.open(repo) as datastore:
        assert datastore.latest("m", "n").attributes == {"a": 2}


def test_a_missing_folder_is_not_made(repo: Path, tmp_path: Path) -> None:
    shared = _shared(repo, tmp_path)
    shared.rmdir()
    with pytest.raises(bayou.UsageError, match="does not exist") as caught:
        bayou.open(repo)
    assert caught.value.kind is ErrorKind.CONTAINER_MISSING
    assert not shared.exists()


def test_two_repos_share_a_folder(repo: Path, tmp_path: Path) -> None:
    shared = _shared(repo, tmp_path)
    other = tmp_path / "other"
    newrepo.create(other)
    _configure(other, shared)
    with bayou.open(repo) as ours, bayou.open(other) as theirs:
        ours.write("m", "n", {"by": "us"}, type="t")
        assert theirs.latest("m", "n").attributes == {"by": "us"}
        theirs.write("m", "n", {"by": "them"}, type="t")
        assert [record.version for record in ours.query('modelName == "m" && version > 0')] == [1, 2]
        assert ours.latest("m", "n").attributes == {"by": "them"}


@pytest.mark.usefixtures("repo")
def test_what_is_no_bucket_says_that_it_is_to_come() -> None:
    with pytest.raises(bayou.Unsupported, match="MongoDB"):
        bayou.open("mongodb://host/database")


def test_a_folder_of_the_marker_keeps_excluded_data_on_this_machine(repo: Path, tmp_path: Path) -> None:
    shared = _shared(repo, tmp_path, '  exclude: ["data/scratch/**"]\n')
    with bayou.open(repo) as datastore:
        datastore.write("m", "n", "here", type="scratch")
        datastore.write("m", "n", "there", type="shared")
        assert {record.model_type for record in datastore.query()} == {"scratch", "shared"}
    assert not (shared / "data" / "scratch").exists()
    assert (shared / "data" / "shared").is_dir()


def _shared(repo: Path, tmp_path: Path, more: str = "") -> Path:
    shared = tmp_path / "shared"
    shared.mkdir()
    _configure(repo, shared, more)
    return shared


def _configure(repo: Path, shared: Path, more: str = "") -> None:
    marker = repo / MARKER
    marker.write_text(f'{marker.read_text()}datastore:\n  type: filesystem\n  path: "{shared}"\n{more}')
