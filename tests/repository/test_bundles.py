"""Bundles: found by the hash of their bytes, checked when they are read, kept while they are used."""

import hashlib
import os
import threading
import time
from pathlib import Path

import pytest

from bayou.errors import Corrupt, ErrorKind, NotFound, UsageError
from bayou.repository import bundles
from bayou.tree import Tree

CODE = b"export const answer = 42;\n"
SHA = hashlib.sha256(CODE).hexdigest()
DAY_NS = 24 * 3600 * 10**9


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "store", tmp_path / ".swamp", durable=False)


def aged(tree: Tree, sha256: str, days: int) -> int:
    then = time.time_ns() - days * DAY_NS
    os.utime(tree.root / "files/bundles" / sha256, ns=(then, then))
    return then


def test_a_bundle_is_stored_in_the_datastore_under_the_hash_of_its_bytes(tree: Tree) -> None:
    assert bundles.put(tree, CODE) == SHA
    assert (tree.root / "files/bundles" / SHA).read_bytes() == CODE
    assert bundles.get(tree, SHA) == CODE
    assert bundles.exists(tree, SHA)


def test_a_file_is_stored_as_its_bytes_are(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "bundle.js").write_bytes(CODE)
    assert bundles.put(tree, tmp_path / "bundle.js") == SHA
    with pytest.raises(NotFound):
        bundles.put(tree, tmp_path / "nothing.js")


def test_a_bundle_that_is_not_there_is_missing(tree: Tree) -> None:
    assert not bundles.exists(tree, SHA)
    with pytest.raises(NotFound, match=SHA) as refused:
        bundles.get(tree, SHA)
    assert refused.value.kind is ErrorKind.CONTENT_MISSING


@pytest.mark.parametrize("name", ["", "../../etc/passwd", SHA.upper(), SHA[:-1]])
def test_what_is_no_hash_is_refused(tree: Tree, name: str) -> None:
    for ask in (bundles.get, bundles.exists):
        with pytest.raises(UsageError):
            ask(tree, name)


@pytest.mark.parametrize("damage", [b"", CODE[:-1], CODE + b"//", CODE.replace(b"42", b"43")])
def test_a_damaged_bundle_is_named_never_given_out_and_healed_by_storing_it_again(tree: Tree, damage: bytes) -> None:
    bundles.put(tree, CODE)
    (tree.root / "files/bundles" / SHA).write_bytes(damage)
    with pytest.raises(Corrupt, match=f"files/bundles/{SHA}") as refused:
        bundles.get(tree, SHA)
    assert refused.value.kind is ErrorKind.HASH_MISMATCH
    assert bundles.put(tree, CODE) == SHA
    assert bundles.get(tree, SHA) == CODE


def test_to_store_the_same_again_writes_nothing(tree: Tree) -> None:
    bundles.put(tree, CODE)
    before = (tree.root / "files/bundles" / SHA).stat()
    bundles.put(tree, CODE)
    after = (tree.root / "files/bundles" / SHA).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_all_may_store_the_same_at_once(tree: Tree) -> None:
    large = os.urandom(2**20)
    met: list[str] = []
    threads = [threading.Thread(target=lambda: met.append(bundles.put(tree, large))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert met == [hashlib.sha256(large).hexdigest()] * 8
    assert bundles.get(tree, met[0]) == large
    assert len(bundles.listing(tree)) == 1


def test_bundles_are_listed_with_their_sizes_the_last_used_first(tree: Tree) -> None:
    other = bundles.put(tree, b"other")
    bundles.put(tree, CODE)
    aged(tree, other, 5)
    (tree.root / "files/bundles/readme.txt").write_text("")
    (tree.root / "files/bundles/sub").mkdir()
    (tree.root / "files/bundles/sub" / SHA).write_bytes(CODE)
    assert [(bundle.sha256, bundle.size) for bundle in bundles.listing(tree)] == [(SHA, len(CODE)), (other, 5)]


def test_bundles_that_nobody_used_go_and_a_used_one_stays(tree: Tree) -> None:
    other = bundles.put(tree, b"other")
    bundles.put(tree, CODE)
    aged(tree, other, 40)
    aged(tree, SHA, 40)
    bundles.get(tree, SHA)
    unused = bundles.unused(tree, time.time_ns() - 30 * DAY_NS)
    assert [bundle.sha256 for bundle in unused] == [other]
    assert bundles.drop(tree, unused) == 5
    assert bundles.drop(tree, unused) == 0
    assert not bundles.exists(tree, other)
    assert bundles.get(tree, SHA) == CODE


def test_one_that_was_used_after_the_plan_stays(tree: Tree) -> None:
    bundles.put(tree, CODE)
    aged(tree, SHA, 40)
    unused = bundles.unused(tree, time.time_ns())
    bundles.put(tree, CODE)
    assert bundles.drop(tree, unused) == 0
    assert bundles.exists(tree, SHA)


def test_use_is_noted_once_a_day(tree: Tree) -> None:
    bundles.put(tree, CODE)
    then = aged(tree, SHA, 0)
    bundles.get(tree, SHA)
    assert (tree.root / "files/bundles" / SHA).stat().st_mtime_ns == then
