"""The name of this machine, and whether a process that a record names still runs on it."""

import os
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import pytest

from bayou.layout.audit import AuditKind, AuditLog
from bayou.repository import machines
from bayou.repository.machines import is_dead, machine_name
from bayou.tree import Tree


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "store", tmp_path / ".swamp", durable=False)


def test_the_name_stays_and_is_kept_beside_the_repo(tree: Tree) -> None:
    name = machine_name(tree)
    assert {machine_name(tree) for _ in range(3)} == {name}
    assert [file.parent for file in tree.local.rglob("*") if file.is_file()] == [tree.local / "_control/bayou/machines"]
    assert not tree.root.exists()


@pytest.mark.parametrize("host", ["web-01.example.com", "rechner ü", "", "a" * 300, "..", "\udcff"])
def test_whatever_the_host_is_called_the_name_can_be_in_a_file_name(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: host)
    name = machine_name(tree)
    assert AuditLog(AuditKind.COMMANDS, date(2026, 4, 2), name).path.endswith(f".{name}.jsonl")
    assert len(name) < 60


def test_another_host_on_the_same_folder_has_a_name_of_its_own(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    names = []
    for host in ("one", "two", "one"):
        monkeypatch.setattr(socket, "gethostname", lambda host=host: host)
        names.append(machine_name(tree))
    assert names[0] == names[2] != names[1]


def test_a_clone_with_another_machine_id_has_a_name_of_its_own(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine_id = tmp_path / "machine-id"
    monkeypatch.setattr(machines, "_MACHINE_ID", machine_id)
    names = set()
    for text in ("one", "two", None):
        if text is None:
            machine_id.unlink()
        else:
            machine_id.write_text(text)
        names.add(machine_name(tree))
    assert len(names) == 3


def test_two_machines_of_one_name_differ(tmp_path: Path) -> None:
    trees = [Tree(tmp_path / name, tmp_path / name, durable=False) for name in "ab"]
    assert machine_name(trees[0]) != machine_name(trees[1])


def test_all_who_ask_for_the_first_time_get_one_name(tree: Tree) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: machine_name(tree), range(32)))) == 1


def test_a_damaged_name_is_drawn_anew(tree: Tree) -> None:
    machine_name(tree)
    (kept,) = (tree.local / "_control/bayou/machines").iterdir()
    kept.write_text("../x")
    assert "/" not in machine_name(tree)
    assert machine_name(tree) == machine_name(tree)


def test_only_a_process_that_ran_here_and_is_gone_is_dead() -> None:
    now = time.time_ns() // 1_000_000
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert not is_dead("here", child.pid, now, "here")
        child.kill()
        deadline = time.monotonic() + 30
        while not is_dead("here", child.pid, now, "here") and time.monotonic() < deadline:
            time.sleep(0.01)  # nobody has waited for it yet: it is dead all the same
        assert is_dead("here", child.pid, now, "here")
    assert is_dead("here", child.pid, now, "here")
    assert not is_dead("there", child.pid, now, "here")
    assert not is_dead(None, child.pid, now, "here")
    assert not is_dead("here", None, now, "here")
    assert not is_dead("here", os.getpid(), now, "here")
    assert is_dead("here", 0, now, "here")
    assert is_dead("here", 2**80, now, "here")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says when a process began")
def test_a_number_that_was_given_to_another_process_since_is_dead() -> None:
    assert is_dead("here", os.getpid(), 978_307_200_000, "here")
