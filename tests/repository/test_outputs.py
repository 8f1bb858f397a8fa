"""Outputs in a datastore: written whole, found by what they say, and never hidden by a neighbour."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.domain.outputs import Output, OutputStatus, ProducedArtifact, Provenance, Trigger, failed, succeeded
from bayou.errors import Conflict, ErrorKind, NotFound, UsageError
from bayou.repository import outputs
from bayou.repository.machines import machine_name
from bayou.repository.walking import FileAt, walk
from bayou.tree import Marks, Tree
from bayou.tree.marks import Close
from bayou.tree.tiers import Tiers
from bayou.wire import outputs as wire
from bayou.wire.times import to_milliseconds

GOLDEN = Path(__file__).parent.parent / "golden" / "a-v1-dual-write" / "cache"
HOST = Model(ModelType("Acme/Host"), "9b2f1a52-2f4e-4c0e-8a7b-54f0a2f6f0aa")
OTHER = Model(ModelType("acme/host/disk"), "11112222-3333-4444-8555-666677778888")
AT = "2026-04-02T09:15:00.125Z"
LATER = "2026-04-02T09:15:01.900Z"


def at(day: int) -> str:
    return f"2026-04-{day:02}T09:15:00.125Z"


def ms(text: str) -> int:
    found = to_milliseconds(text)
    assert found is not None
    return found


def running(started_at: str = AT, method: str = "collect", **known: object) -> Output:
    return Output(method_name=method, status=OutputStatus.RUNNING, started_at=started_at, **known)  # type: ignore[arg-type] # fields by name


def spied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is decoded from now on."""
    decoded: list[str] = []
    decode = wire.decode

    def spy(content: bytes, where: str) -> Output:
        decoded.append(where)
        return decode(content, where)

    monkeypatch.setattr(wire, "decode", spy)
    return decoded


def days(page: outputs.Page) -> list[int]:
    return [int(record.output.started_at[8:10]) for record in page.records]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / ".swamp", tmp_path / ".swamp", durable=False)


class Heard(Marks):
    """Remembers what was marked, and what lay there at that moment."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.changed: list[tuple[str, bool]] = []
        self.removed: list[tuple[str, bool]] = []

    def changing(self, paths: Sequence[str]) -> Close:
        self.changed += [(path, (self.root / path).exists()) for path in paths]
        return lambda: None

    def removing(self, paths: Sequence[str]) -> Close:
        self.removed += [(path, (self.root / path).exists()) for path in paths]
        return lambda: None


def test_a_record_is_where_the_specification_says(tree: Tree) -> None:
    found = outputs.create(tree, HOST, running(), with_log=True)
    stem = f"outputs/acme/host/collect/{HOST.id}-2026-04-02T09-15-00-125Z"
    assert found.path == f"{stem}.yaml"
    assert found.output.log_file == f".swamp/{stem}.log"
    assert found.output.definition_id == HOST.id
    assert outputs.read(tree, found.path) == found.output
    assert found.model_type == "acme/host"


def test_a_record_goes_through_its_steps(tree: Tree) -> None:
    found = outputs.create(tree, HOST, running(provenance=Provenance(triggered_by=Trigger.MANUAL, model_version="7")))
    made = ProducedArtifact(data_id="d", name="report", version=4, tags={"type": "resource"})
    ended = outputs.advance(tree, found.path, lambda output: succeeded(output, LATER, [made]))
    assert outputs.read(tree, found.path) == ended
    assert (ended.status, ended.duration_ms, ended.artifacts.data_artifacts) == (OutputStatus.SUCCEEDED, 1775, (made,))
    with pytest.raises(Conflict):
        outputs.advance(tree, found.path, lambda output: failed(output, LATER, "late"))
    assert outputs.read(tree, found.path) == ended


def test_two_that_began_in_one_millisecond_have_two_records(tree: Tree) -> None:
    found = [outputs.create(tree, HOST, running(), with_log=True) for _ in range(3)]
    assert len({record.path for record in found}) == 3
    assert [record.output.started_at[-4:] for record in found] == ["125Z", "126Z", "127Z"]
    assert [record.output.log_file for record in found] == [f".swamp/{record.path[:-5]}.log" for record in found]


def test_a_start_that_is_no_time_is_refused(tree: Tree) -> None:
    with pytest.raises(UsageError, match="'soon'"):
        outputs.create(tree, HOST, running("soon"))


def test_every_change_is_announced_before_a_file_is_touched(tmp_path: Path) -> None:
    heard = Heard(tmp_path)
    tree = Tree(tmp_path, tmp_path / ".swamp", durable=False, marks=heard)
    path = outputs.create(tree, HOST, running()).path
    outputs.advance(tree, path, lambda output: succeeded(output, LATER))
    outputs.listing(tree)
    outputs.remove(tree, path)
    assert heard.changed == [(path, False), (path, True)]
    assert heard.removed == [(path, True)]


def test_to_remove_a_record_removes_empty_folders_and_may_be_done_twice(tree: Tree) -> None:
    path = outputs.create(tree, HOST, running()).path
    kept = outputs.create(tree, OTHER, running()).path
    outputs.remove(tree, path)
    outputs.remove(tree, path)
    assert not (tree.root / "outputs/acme/host/collect").exists()
    assert outputs.read(tree, kept).method_name == "collect"
    outputs.remove(tree, kept)
    assert [entry.name for entry in (tree.root / "outputs").iterdir()] == []


# --- lists ---------------------------------------------------------------------------------------------------------


def test_records_of_all_types_are_listed_newest_first(tree: Tree) -> None:
    for day in (3, 1, 4):
        outputs.create(tree, HOST, running(at(day)))
        outputs.create(tree, OTHER, running(at(day + 4), method="send"))
    assert days(outputs.listing(tree)) == [8, 7, 5, 4, 3, 1]


def test_a_list_can_be_narrowed(tree: Tree) -> None:
    paths = [outputs.create(tree, HOST, running(at(day))).path for day in (1, 2, 3)]
    for day in (11, 12, 13):
        outputs.create(tree, OTHER, running(at(day), method="send"))
    outputs.advance(tree, paths[-1], lambda output: succeeded(output, LATER))
    assert days(outputs.listing(tree, model_id=HOST.id)) == [3, 2, 1]
    assert days(outputs.listing(tree, method="send")) == [13, 12, 11]
    assert days(outputs.listing(tree, model_type=OTHER.type)) == [13, 12, 11]
    assert days(outputs.listing(tree, statuses={OutputStatus.SUCCEEDED})) == [3]
    assert days(outputs.listing(tree, statuses={OutputStatus.SUCCEEDED, OutputStatus.RUNNING}, model_id=HOST.id)) == [
        3,
        2,
        1,
    ]
    assert days(outputs.listing(tree, since_ms=ms(at(3)))) == [13, 12, 11, 3]
    assert days(outputs.listing(tree, since_ms=ms(at(3)) + 1)) == [13, 12, 11]


def test_pages_follow_one_another_without_gap_or_overlap(tree: Tree) -> None:
    for day in range(1, 8):
        outputs.create(tree, HOST, running(at(day)))
    met: list[int] = []
    after, pages = None, 0
    while True:
        page = outputs.listing(tree, limit=3, after=after)
        outputs.create(tree, HOST, running(at(20 + pages)))  # newer ones come in between
        met, after, pages = met + days(page), page.next, pages + 1
        if after is None:
            break
    assert met == [7, 6, 5, 4, 3, 2, 1]
    assert pages == 3


def test_a_full_page_reads_no_more_than_it_shows_and_one(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    for day in range(1, 20):
        outputs.create(tree, HOST, running(at(day)))
        outputs.create(tree, OTHER, running(at(day)))
    decoded = spied(monkeypatch)
    assert days(outputs.listing(tree, model_id=HOST.id, limit=3)) == [19, 18, 17]
    assert len(decoded) == 4
    assert outputs.listing(tree, limit=0).next is not None


def test_what_is_older_than_the_window_is_not_read(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    for day in range(1, 20):
        outputs.create(tree, HOST, running(at(day)))
    decoded = spied(monkeypatch)
    assert days(outputs.listing(tree, since_ms=ms(at(18)))) == [19, 18]
    assert len(decoded) == 2


def test_one_that_cannot_be_read_is_reported_and_hides_nothing(tree: Tree) -> None:
    kept = outputs.create(tree, HOST, running(at(1))).path
    broken = outputs.create(tree, HOST, running(at(2))).path
    (tree.root / broken).write_text("status: [")
    page = outputs.listing(tree)
    assert [record.path for record in page.records] == [kept]
    assert [found.path for found in page.unreadable] == [broken]
    assert broken in page.unreadable[0].why


def test_a_neighbour_that_vanishes_aborts_nothing(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = outputs.create(tree, HOST, running(at(1)))
    gone = outputs.create(tree, HOST, running(at(2))).path
    outputs.create(tree, OTHER, running(at(3)))

    def racing(tree: Tree, folder: str, ending: str) -> list[FileAt]:
        files = list(walk(tree, folder, ending))
        outputs.remove(tree, gone)
        shutil.rmtree(tree.root / "outputs/acme/host/disk", ignore_errors=True)
        return files

    monkeypatch.setattr(outputs, "walk", racing)
    assert [record.path for record in outputs.listing(tree).records] == [kept.path]
    assert outputs.find(tree, kept.output.id) == kept


def test_a_folder_that_is_not_there_is_an_empty_list(tree: Tree) -> None:
    assert outputs.listing(tree) == outputs.Page()


def test_records_that_say_hardly_anything_are_listed(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "outputs", tmp_path / "outputs")
    tree = Tree(tmp_path, tmp_path / ".swamp", durable=False)
    page = outputs.listing(tree)
    assert sorted((record.output.method_name, record.output.status) for record in page.records) == [
        ("create", "failed"),
        ("create", "succeeded"),
        ("send", "succeeded"),
    ]
    assert page.unreadable == ()
    assert len(outputs.listing(tree, model_id="0b2f6c1e-7a51-4c3e-9a55-1f4f0d6a1c01").records) == 2
    assert len(outputs.listing(tree, method="send").records) == 1


def test_a_record_that_a_sync_moved_aside_is_listed(tree: Tree) -> None:
    found = outputs.create(tree, HOST, running())
    (tree.root / found.path).rename(tree.root / f"{found.path[:-5]}-{found.output.id}.yaml")
    assert [record.output for record in outputs.listing(tree).records] == [found.output]


def test_what_started_before_the_window_is_not_in_it_however_new_its_file(tree: Tree) -> None:
    found = outputs.create(tree, HOST, running(at(1)))
    plain = tree.root / "outputs/acme/host/collect/output-1.yaml"
    (tree.root / found.path).rename(plain)
    os.utime(plain, (2**32, 2**32))
    assert days(outputs.listing(tree, since_ms=ms(at(2)))) == []
    assert days(outputs.listing(tree, since_ms=ms(at(1)))) == [1]


def test_what_is_excluded_from_the_datastore_is_listed_and_stays_here(tmp_path: Path) -> None:
    tree = Tree(
        tmp_path / "store", tmp_path / ".swamp", tiers=Tiers(exclude=("outputs/acme/host/disk/**",)), durable=False
    )
    shared, local = (outputs.create(tree, model, running()).path for model in (HOST, OTHER))
    assert (tmp_path / "store" / shared).exists()
    assert (tmp_path / ".swamp" / local).exists()
    assert {record.path for record in outputs.listing(tree).records} == {shared, local}


def test_what_lies_in_the_wrong_tier_is_nobodys_record(tmp_path: Path) -> None:
    tree = Tree(
        tmp_path / "store", tmp_path / ".swamp", tiers=Tiers(exclude=("outputs/acme/host/disk/**",)), durable=False
    )
    path = outputs.create(tree, HOST, running()).path
    stray = tmp_path / ".swamp" / path.replace(HOST.id, "stray")
    stray.parent.mkdir(parents=True)
    shutil.copy(tmp_path / "store" / path, stray)
    assert [record.path for record in outputs.listing(tree).records] == [path]


# --- one -----------------------------------------------------------------------------------------------------------


def test_a_record_is_found_by_its_id_or_the_beginning_of_it(tree: Tree) -> None:
    one = outputs.create(tree, HOST, running(id="aaaa1111-0000-4000-8000-000000000000"))
    outputs.create(tree, HOST, running(id="aaaa2222-0000-4000-8000-000000000000"))
    assert outputs.find(tree, one.output.id) == one
    assert outputs.find(tree, "aaaa1") == one
    with pytest.raises(UsageError, match=r"2 outputs .* begins with 'aaaa'"):
        outputs.find(tree, "aaaa")
    for missing in ("bbbb", one.output.id + "0"):
        with pytest.raises(NotFound) as refused:
            outputs.find(tree, missing)
        assert refused.value.kind is ErrorKind.RECORD_MISSING


def test_to_find_one_no_other_is_parsed(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [outputs.create(tree, HOST, running(at(day))) for day in range(1, 10)]
    decoded = spied(monkeypatch)
    assert outputs.find(tree, found[4].output.id) == found[4]
    assert decoded == [found[4].path]


def test_an_id_that_is_not_in_the_first_line_is_found(tree: Tree) -> None:
    path = outputs.create(tree, HOST, running(id="aaaa1111")).path
    lines = (tree.root / path).read_text().splitlines(keepends=True)
    (tree.root / path).write_text("".join(lines[1:] + lines[:1]))
    assert outputs.find(tree, "aaaa1111").path == path


# --- processes that died -------------------------------------------------------------------------------------------

CHILD = """
import os, sys, time
from pathlib import Path
from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.domain.outputs import Output, OutputStatus
from bayou.repository import outputs
from bayou.repository.machines import machine_name
from bayou.tree import Tree
from bayou.wire import outputs as wire
from bayou.wire.times import to_text

root = Path(sys.argv[1])
tree = Tree(root, root, durable=False)
output = Output(method_name="collect", status=OutputStatus.RUNNING, started_at=to_text(time.time_ns()),
                pid=os.getpid(), machine=machine_name(tree))
print(outputs.create(tree, Model(ModelType("acme/host"), "m"), output).path, flush=True)
sys.stdin.read()
"""


def test_what_a_killed_process_left_running_is_stale_and_can_be_failed(tree: Tree) -> None:
    here = machine_name(tree)
    with subprocess.Popen(  # noqa: S603 - our own script
        [sys.executable, "-c", CHILD, tree.root], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        path = child.stdout.readline().strip()
        found = outputs.Found(path, outputs.read(tree, path))
        assert not outputs.is_stale(tree, found, here)
        assert outputs.reconcile(tree, here, LATER) == []
        child.kill()
    assert outputs.is_stale(tree, found, here)
    assert not outputs.is_stale(tree, found, "another-machine")
    ended = outputs.reconcile(tree, here, LATER)
    assert [record.path for record in ended] == [path]
    after = outputs.read(tree, path)
    assert after.status is OutputStatus.FAILED
    assert after.error is not None
    assert after.error.message == outputs.DEAD
    assert outputs.reconcile(tree, here, LATER) == []


def test_what_ends_while_we_look_is_left_as_it_ended(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    here = machine_name(tree)
    path = outputs.create(tree, HOST, running(machine=here, pid=0)).path
    lock = tree.lock

    @contextmanager
    def late(*names: str) -> Iterator[None]:
        monkeypatch.setattr(tree, "lock", lock)
        outputs.advance(tree, path, lambda output: succeeded(output, LATER))
        with lock(*names):
            yield

    monkeypatch.setattr(tree, "lock", late)
    assert outputs.reconcile(tree, here, LATER) == []
    assert outputs.read(tree, path).status is OutputStatus.SUCCEEDED


def test_what_other_machines_left_running_fails_only_when_it_is_older_than_the_caller_says(tree: Tree) -> None:
    here = machine_name(tree)
    old = outputs.create(tree, HOST, running(at(1), machine="another", pid=1)).path
    outputs.create(tree, HOST, running(at(3), machine="another", pid=1))
    outputs.create(tree, HOST, succeeded(running(at(1), method="done"), at(2)))
    assert outputs.reconcile(tree, here, at(4)) == []
    assert [record.path for record in outputs.reconcile(tree, here, at(4), before_ms=ms(at(2)))] == [old]
