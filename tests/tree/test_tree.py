"""The tree: where files are, in both tiers, and that nothing leads out of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bayou.errors import BayouError, ErrorKind, UsageError
from bayou.tree import Tree
from bayou.tree.tiers import Tiers


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "ds", tmp_path / "repo" / ".swamp")


def write(tree: Tree, path: str, content: bytes = b"x") -> Path:
    with tree.change(path) as change:
        change.replace(path, content)
    return tree.locate(path)


def test_what_is_in_a_directory_of_the_datastore_is_shared_and_the_rest_stays_beside_the_repo(
    tree: Tree, tmp_path: Path
) -> None:
    assert write(tree, "data/t/id/name/latest") == tmp_path / "ds" / "data/t/id/name/latest"
    assert write(tree, "bundles/ab/x.js") == tmp_path / "repo" / ".swamp" / "bundles/ab/x.js"
    assert tree.read("data/t/id/name/latest") == tree.read("bundles/ab/x.js") == b"x"


def test_a_namespace_is_the_outermost_folder_of_what_is_shared_alone(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "ds", tmp_path / "local", namespace="infra")
    assert write(tree, "data/a/b") == tmp_path / "ds" / "infra" / "data/a/b"
    assert write(tree, "secrets/k") == tmp_path / "local" / "secrets/k"


def test_patterns_below_a_folder_decide_for_each_file(tmp_path: Path) -> None:
    tiers = Tiers(exclude=("data/**/raw", "!data/public/**", "# data/**", ""))
    tree = Tree(tmp_path / "ds", tmp_path / "local", tiers=tiers)
    assert write(tree, "data/t/id/n/1/raw") == tmp_path / "local" / "data/t/id/n/1/raw"
    assert write(tree, "data/t/id/n/1/metadata.yaml") == tmp_path / "ds" / "data/t/id/n/1/metadata.yaml"
    assert write(tree, "data/public/id/n/1/raw") == tmp_path / "ds" / "data/public/id/n/1/raw"
    assert sorted(tree.names("data/t/id/n/1")) == ["metadata.yaml", "raw"]


def test_a_folder_in_both_tiers_is_removed_from_both(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "ds", tmp_path / "local", tiers=Tiers(exclude=("data/**/raw",)))
    for name in ("raw", "metadata.yaml"):
        write(tree, f"data/t/id/n/1/{name}")
    with tree.removal("data/t/id/n/1") as removal:
        removal.remove_folder("data/t/id/n/1")
        removal.prune("data/t/id/n")
    assert tree.names("data/t/id/n/1") == []
    assert not (tmp_path / "ds/data/t").exists()
    assert not (tmp_path / "local/data/t").exists()


@pytest.mark.parametrize(
    "path", ["../x", "/etc/passwd", "data/../../x", "data//x", "data/a\\b", "", "data/x\0", "C:/x", "data/./x"]
)
def test_an_unsafe_path_is_refused_by_every_access(tree: Tree, path: str) -> None:
    for access in (tree.locate, tree.read, tree.names, tree.size, lambda p: write(tree, p)):
        with pytest.raises(UsageError) as caught:
            access(path)
        assert caught.value.kind is ErrorKind.INVALID_PATH


@pytest.mark.parametrize("path", ["data/out/secret", "data/out/missing", "data/out/not/there", "data/file"])
def test_no_symbolic_link_leads_out(tree: Tree, tmp_path: Path, path: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"theirs")
    (tmp_path / "ds" / "data").mkdir(parents=True)
    (tmp_path / "ds" / "data" / "out").symlink_to(outside)
    (tmp_path / "ds" / "data" / "file").symlink_to(outside / "secret")
    for access in (tree.locate, tree.read, lambda p: write(tree, p)):
        with pytest.raises(UsageError, match="symbolic link"):
            access(path)
    assert (outside / "secret").read_bytes() == b"theirs"
    assert [found.name for found in outside.iterdir()] == ["secret"]


def test_a_symbolic_link_inside_is_followed(tree: Tree, tmp_path: Path) -> None:
    write(tree, "data/real/x", b"here")
    (tmp_path / "ds" / "data" / "link").symlink_to("real")
    assert tree.read("data/link/x") == b"here"


def test_the_datastore_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "ds").symlink_to(tmp_path / "elsewhere")
    write(Tree(tmp_path / "ds", tmp_path / "local"), "data/x")
    assert (tmp_path / "elsewhere" / "data" / "x").exists()


def test_what_is_not_there_reads_as_nothing(tree: Tree) -> None:
    write(tree, "data/file")
    for path in ("data/none", "data/file/below", "data/none/at/all"):
        assert tree.read(path) is None
        assert tree.size(path) is None
        assert tree.names(path) == []
        with tree.open(path) as file:
            assert file is None
    assert tree.size("data/file") == 1
    assert tree.size("data") is None


def test_a_folder_that_may_not_be_read_is_no_empty_folder(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> list[str]:
        raise PermissionError(13, "Permission denied")

    write(tree, "data/x")
    monkeypatch.setattr(os, "listdir", refuse)
    with pytest.raises(BayouError) as caught:
        tree.names("data")
    assert caught.value.kind is ErrorKind.PERMISSION_DENIED


def test_what_fails_under_a_lock_is_not_taken_for_a_failure_of_the_lock(tree: Tree) -> None:
    with pytest.raises(FileNotFoundError), tree.lock("a"):
        raise FileNotFoundError
    with tree.lock("a"):
        pass


def test_two_names_can_be_locked_at_once_whichever_is_named_first(tree: Tree) -> None:
    with tree.lock("a", "b", "a"):
        pass
    with tree.lock("b", "a"):
        pass


COUNT = """
import sys
from pathlib import Path
from bayou.tree import Tree
tree = Tree(Path(sys.argv[1]), Path(sys.argv[1]), durable=False)
for _ in range(50):
    with tree.lock("data/counter"), tree.change("data") as change:
        change.replace("data/counter", str(int(tree.read("data/counter") or 0) + 1).encode())
"""


def test_a_lock_keeps_other_processes_out(tmp_path: Path) -> None:
    counting = [subprocess.Popen([sys.executable, "-c", COUNT, str(tmp_path)]) for _ in range(3)]  # noqa: S603 - our own Python
    assert [process.wait(60) for process in counting] == [0, 0, 0]
    assert Tree(tmp_path, tmp_path).read("data/counter") == b"150"


def test_a_folder_is_looked_at_once_while_a_name_is_locked_and_again_with_the_next_lock(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tree, "data/t/id/name/1/raw").parent
    looks: list[str] = []
    lstat = os.lstat

    def counted(path: str) -> os.stat_result:
        looks.append(str(path))
        return lstat(path)

    def take_turns() -> None:
        with tree.lock("data/t/id/name"):
            tree.place("data/t/id/name/1/raw")
            looks.clear()
            tree.place("data/t/id/name/1/raw")
            tree.place("data/t/id/name/1")
            assert not looks
            tree.place("data/t/id/name/1/metadata.yaml")
            assert looks == [f"{folder}/metadata.yaml"]

    monkeypatch.setattr(os, "lstat", counted)
    take_turns()
    folder.rename(tmp_path / "aside")
    folder.symlink_to(tmp_path / "aside")
    with tree.lock("data/t/id/name"), pytest.raises(UsageError, match="symbolic link"):
        tree.place("data/t/id/name/1/raw")
    with pytest.raises(UsageError, match="symbolic link"):
        tree.place("data/t/id/name/1/raw")
