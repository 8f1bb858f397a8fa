"""The weaknesses that sync of the existing clients is known to have, one by one: that ours does not have them.

Each number has a test in here, or names the test elsewhere that shows it.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.domain.scopes import scope_of
from bayou.errors import Unavailable
from bayou.layout.keys import Keyspace
from bayou.locks import Locks, StoreCells
from bayou.storage.port import Request, Store
from bayou.sync import disk, mirror, planning
from bayou.sync.exchange import replace_seen
from bayou.sync.hydrating import hydrate
from bayou.sync.report import Report
from bayou.testing.computers import MODEL, TYPE, Computer, metadata, name_of
from bayou.testing.faults import Fault, Faulty, at
from bayou.testing.legacy import LegacyWriter, legacy_view
from bayou.testing.machines import legacy_entry, put_objects
from bayou.testing.memory import MemoryStore

STATE = name_of()
OTHER = "7d9b2c1e-0a51-4c3e-9a55-1f4f0d6a1c99"
SCOPE = scope_of([Model(ModelType(TYPE), MODEL)])
KEYS = Keyspace()
ROOT = Path(__file__).parents[2]

ELSEWHERE = {
    1: "tests/remotes/test_migration.py::test_old_readers_notice_a_migration",
    11: "tests/remotes/test_races.py::test_of_racing_commits_all_that_were_acknowledged_are_there",
    12: "tests/remotes/test_commit.py::test_a_part_that_is_emptied_is_listed_no_more_and_can_still_be_read",
    13: "tests/remotes/test_migration.py::test_shards_without_meta_and_monolith_are_not_taken_for_a_new_bucket",
    14: "tests/remotes/test_migration.py::test_migrating_again_takes_nothing_from_the_old_monolith",
    15: "tests/remotes/test_migration.py::test_a_number_that_was_used_before_is_not_used_again_after_a_rebuild",
    17: "tests/remotes/test_reading.py::test_a_bucket_without_an_index_shows_what_lies_in_it",
    22: "tests/remotes/test_reading.py::test_a_model_that_nobody_wrote_loads_nothing",
    30: "tests/sync/test_interleavings.py::TestCaches",
    33: "tests/sync/test_relocating.py::test_what_nobody_lists_is_nobodys_to_move",
    34: "tests/sync/test_namespaces.py::test_what_of_others_lies_inside_of_ours_goes_and_nothing_else",
    36: "tests/remotes/test_reading.py::test_a_missing_file_of_a_namespace_is_not_looked_for_in_the_root",
    39: "tests/remotes/test_reading.py::test_models_that_share_a_shard_are_told_apart",
    45: "tests/remotes/test_existing_clients.py::test_what_a_writer_without_shards_adds_is_imported",
    47: "tests/remotes/test_records.py::test_an_export_is_written_when_it_or_its_object_changed",
    48: "tests/remotes/test_records.py::test_a_claim_whose_answer_was_lost_is_still_ours_and_another_one_is_not",
    49: "tests/remotes/test_records.py::test_records_are_put_got_listed_and_deleted",
    50: "tests/sync/test_relocating.py::test_a_move_killed_at_any_request_is_finished_by_the_next_one",
    51: "tests/sync/test_relocating.py::test_it_moves_on_real_servers_whatever_the_names_are",
    53: "tests/remotes/test_commit.py::test_a_lost_lock_stops_a_commit_before_it_writes",
    54: "tests/locks/test_lease.py::test_clocks_that_differ_by_an_hour_do_not_matter",
    55: "tests/locks/test_lease.py::test_a_takeover_replaces_what_was_seen_and_nothing_newer",
    56: "tests/locks/test_lease.py::test_a_late_renewal_cannot_overwrite_the_successor",
    57: "tests/locks/test_lease.py::test_an_outage_while_waiting_is_waited_out",
    58: "tests/locks/test_faults.py::test_a_creation_whose_answer_stays_lost_is_found_to_be_ours",
    59: "tests/locks/test_lease.py::test_an_unreadable_body_holds_for_the_default_time",
    60: "tests/locks/test_lease.py::test_an_error_is_never_a_free_lock",
    61: "tests/locks/test_lease.py::test_one_of_many_gets_it_and_the_others_wait_their_turn",
    62: "tests/sync/test_budgets.py::test_a_push_costs_what_changed_and_not_what_there_is",
    63: "tests/sync/test_budgets.py::test_a_thousand_files",
    64: "tests/sync/test_budgets.py::test_a_push_costs_what_changed_and_not_what_there_is",
    68: "tests/storage/test_limit.py::test_never_more_than_the_width_are_under_way",
    69: "tests/remotes/test_reading.py::test_shards_are_read_side_by_side_and_not_all_at_once",
    70: "tests/sync/test_budgets.py::test_one_model_of_fifty",
    71: "tests/storage/test_large_files.py::test_a_bucket",
    72: "tests/remotes/test_commit.py::test_one_changed_model_writes_its_part_and_no_other_however_many_there_are",
    77: "tests/storage/test_retry.py::test_every_other_call_is_repeated",
    79: "tests/sync/test_repairing.py::test_the_sweep_takes_what_was_deleted_and_is_old_enough",
    80: "tests/remotes/test_records.py::test_an_export_is_written_when_it_or_its_object_changed",
    82: "tests/layout/test_collisions.py::test_a_path_in_another_case_is_reported",
}


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def computers(tmp_path: Path, store: MemoryStore) -> Iterator[tuple[Computer, Computer]]:
    one, two = Computer(tmp_path / "one", store), Computer(tmp_path / "two", store)
    yield one, two
    one.close()
    two.close()


Two = tuple[Computer, Computer]


def test_every_number_is_answered() -> None:
    names = re.findall(r"^async def test((?:_w\d\d)+)_", Path(__file__).read_text(), re.MULTILINE)
    here = {int(number) for name in names for number in re.findall(r"\d\d", name)}
    answers = [*here, *ELSEWHERE]
    assert sorted(answers) == list(range(1, 83))
    table = (ROOT / "docs/sync-promises.md").read_text()
    assert [int(number) for number in re.findall(r"^\| W-(\d\d) ", table, re.MULTILINE)] == list(range(1, 83))


@pytest.mark.parametrize("where", sorted(set(ELSEWHERE.values())))
def test_what_is_named_exists(where: str) -> None:
    file, name = where.split("::")
    assert re.search(rf"\b{name}\b", (ROOT / file).read_text())


async def sharded(one: Computer) -> None:
    one.write("logs/first", b"first")
    await one.sync()
    await one.ends.remote.migrate(lambda: True)


async def test_w02_a_path_that_was_pushed_can_be_pushed_again(computers: Two) -> None:
    one, two = computers
    await sharded(one)
    for body in (b"1", b"2"):
        one.write("logs/a", body)
        prepared = await one.engine.prepare()
        assert prepared is not None
        await one.engine.commit(prepared)
    await two.pull()
    assert two.files()["logs/a"] == b"2"


async def test_w03_any_number_of_marks_deletes_nothing(computers: Two) -> None:
    one, two = computers
    one.write_version(1, b"1")
    one.write_version(1, b"1", model=OTHER)
    await one.push()
    await two.pull(scope=SCOPE)
    for number in range(201):
        two.journal.mark_dirty(f"logs/{number}")
    report = await two.push()
    assert report.deleted_there == []
    assert len(await legacy_view(one.ends.store, KEYS)) == 6


async def test_w04_a_marked_folder_deletes_nothing_that_was_never_here(computers: Two) -> None:
    one, two = computers
    for number in (1, 2, 3):
        one.write_version(number, b"x")
    await one.push()
    two.journal.mark_dirty(STATE)
    folder = two.tree.root / STATE / "4"
    folder.mkdir(parents=True)
    (folder / "raw").write_bytes(b"4")
    (folder / "metadata.yaml").write_bytes(metadata(4, b"4"))
    report = await two.push()
    assert report.is_complete
    listed = await legacy_view(one.ends.store, KEYS)
    assert {f"{STATE}/{number}/raw" for number in (1, 2, 3, 4)} <= listed.keys()


async def test_w05_a_file_that_vanishes_during_a_walk_deletes_nothing(
    computers: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = computers
    one.write_version(1, b"1")
    await one.push()
    one.journal.mark_dirty(STATE)
    look = disk.look
    monkeypatch.setattr(disk, "look", lambda place: None if place.endswith("1/raw") else look(place))
    report = await one.push()
    assert report.deleted_there == []
    assert f"{STATE}/1/raw" in await legacy_view(one.ends.store, KEYS)


async def test_w06_what_cannot_be_looked_at_is_reported_and_stays_marked(
    computers: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = computers
    one.write("logs/a", b"a")
    one.write("logs/b", b"b")
    look = disk.look

    def refuse(place: str) -> disk.Seen | None:
        if place.endswith("logs/a"):
            raise PermissionError(13, "no")
        return look(place)

    with monkeypatch.context() as patched:
        patched.setattr(disk, "look", refuse)
        report = await one.push()
    assert (report.pushed, list(report.failed)) == (["logs/b"], ["logs/a"])
    assert (await one.push()).pushed == ["logs/a"]


async def test_w07_a_change_of_the_same_size_is_pulled(computers: Two) -> None:
    one, two = computers
    one.write_version(1, b"1")
    await one.push()
    await two.pull()
    one.write_version(2, b"2")
    await one.push()
    await two.pull()
    assert two.files()[f"{STATE}/latest"] == b"2"


async def test_w08_a_stale_copy_rolls_nothing_back(computers: Two) -> None:
    one, two = computers
    one.write("logs/a", b"1")
    await one.push()
    await two.pull()
    one.write("logs/a", b"2")
    await one.push()
    report = await two.push(everything=True)
    assert report.pushed == []
    await two.sync()
    assert two.files() == one.files() == {"logs/a": b"2"}


async def test_w09_a_deletion_reaches_others_and_is_not_undone(computers: Two) -> None:
    one, two = computers
    one.write("logs/a", b"1")
    one.write("logs/b", b"1")
    await one.push()
    await two.pull()
    one.delete("logs/a")
    await one.push()
    await two.push(everything=True)
    await two.sync()
    assert two.files().keys() == {"logs/b"} == (await legacy_view(one.ends.store, KEYS)).keys()


async def test_w10_a_commit_covers_only_what_was_read(computers: Two) -> None:
    one, two = computers
    await sharded(one)
    await two.sync()
    two.write("logs/two", b"two")
    prepared = await two.engine.prepare()
    one.write("logs/one", b"one")
    await one.push()
    assert prepared is not None
    await two.engine.commit(prepared)
    assert (await two.pull()).pulled == ["logs/one"]


async def test_w16_readers_write_nothing_whatever_they_miss(computers: Two, store: MemoryStore) -> None:
    one, two = computers
    one.write("logs/a", b"1")
    one.write("logs/b", b"1")
    await one.push()
    await store.delete("logs/a")
    before = dict(store.objects)
    report = await two.pull()
    assert list(report.failed) == ["logs/a"]
    assert two.files().keys() == {"logs/b"}
    assert store.objects == before


async def test_w18_who_reads_during_a_push_keeps_what_he_has(computers: Two) -> None:
    one, two = computers
    one.write("logs/a", b"old")
    await one.push()
    await two.pull()
    one.write("logs/a", b"new!")
    prepared = await one.engine.prepare()
    for _ in range(3):
        assert (await two.pull()).pulled == []
        assert two.files()["logs/a"] == b"old"
    assert prepared is not None
    await one.engine.commit(prepared)
    assert (await two.pull()).pulled == ["logs/a"]


@pytest.mark.parametrize("fault", [Fault.WRONG_BYTES, Fault.BREAK_OFF])
async def test_w19_what_arrives_is_verified_before_it_is_in_place(
    tmp_path: Path, store: MemoryStore, fault: Fault
) -> None:
    one = Computer(tmp_path / "one", store)
    one.write("logs/a", b"right")
    await one.push()

    def choose(request: Request) -> Fault | None:
        return fault if request.key == "logs/a" else None

    locks = Locks(lambda: StoreCells(store), KEYS)
    two = Computer(tmp_path / "two", Faulty(store, choose), locks=locks)
    report = await two.pull()
    assert list(report.failed) == ["logs/a"]
    assert two.files() == {}
    one.close()
    two.close()


async def test_w20_a_scoped_pull_brings_all_of_a_model(computers: Two) -> None:
    one, two = computers
    output = f"outputs/{TYPE}/create/{MODEL}-2026-11-02T08-15-30-001Z.yaml"
    evaluated = f"definitions-evaluated/{TYPE}/{MODEL}.yaml"
    one.write_version(1, b"1")
    one.write(output, b"id: r1\n")
    one.write(evaluated, b"id: d1\n")
    one.write_version(1, b"1", model=OTHER)
    await one.push()
    report = await two.pull(scope=SCOPE)
    parts = {f"{STATE}/1/raw", f"{STATE}/1/metadata.yaml", f"{STATE}/latest"}
    assert set(report.pulled) == parts | {output, evaluated}


async def test_w21_a_scoped_pull_sees_what_only_the_monolith_says(computers: Two, store: MemoryStore) -> None:
    one, two = computers
    one.write_version(1, b"1")
    await one.push()
    theirs = {f"{STATE}/2/raw": b"2", f"{STATE}/2/metadata.yaml": metadata(2, b"2")}
    await put_objects(store, theirs)
    entries = {path: legacy_entry(path, body) for path, body in theirs.items()}
    await LegacyWriter(store, KEYS).commit_to_the_monolith_alone(entries)
    report = await two.pull(scope=SCOPE)
    assert theirs.keys() <= set(report.pulled)
    two.write_version(3, b"3")
    await two.push(scope=SCOPE)
    assert theirs.keys() <= (await legacy_view(store, KEYS)).keys()


async def test_w23_a_path_gets_its_namespace_once(tmp_path: Path, store: MemoryStore) -> None:
    one, two = (Computer(tmp_path / name, store, namespace="infra", lazy=True) for name in ("one", "two"))
    one.write_version(1, b"1")
    await one.push()
    await two.pull()
    await hydrate(two.ends, [f"{STATE}/1/raw"], Report())
    assert (tmp_path / f"two/infra/{STATE}/1/raw").read_bytes() == b"1"
    assert not (tmp_path / "two/infra/infra").exists()
    two.journal.mark_dirty(f"infra/{STATE}")
    assert (await two.push(everything=True)).pushed == []
    assert not [key for key in store.objects if key.startswith("infra/infra/")]
    one.close()
    two.close()


async def test_w24_a_new_process_brings_what_a_lazy_one_left(tmp_path: Path, store: MemoryStore) -> None:
    one = Computer(tmp_path / "one", store)
    one.write_version(1, b"1")
    await one.push()
    lazy = Computer(tmp_path / "two", store, lazy=True)
    await lazy.pull()
    assert f"{STATE}/1/raw" not in lazy.files()
    lazy.close()
    two = Computer(tmp_path / "two", store)
    assert (await two.pull()).pulled == [f"{STATE}/1/raw"]
    assert two.files() == one.files()
    one.close()
    two.close()


async def test_w25_lazy_caches_delete_and_come_clean(tmp_path: Path, store: MemoryStore) -> None:
    one, two = Computer(tmp_path / "one", store), Computer(tmp_path / "two", store, lazy=True)
    one.write_version(1, b"1")
    await one.push()
    await two.pull()
    two.delete_version(1)
    assert len((await two.push()).deleted_there) == 3
    assert two.journal.status().dirty == 0
    two.asked()
    await two.push()
    assert len(two.asked()) == 1
    one.close()
    two.close()


async def test_w26_a_lazy_cache_that_lost_its_memory_deletes_nothing(tmp_path: Path, store: MemoryStore) -> None:
    one, two = Computer(tmp_path / "one", store), Computer(tmp_path / "two", store, lazy=True)
    one.write_version(1, b"1")
    await one.push()
    await two.pull()
    two.close()
    (tmp_path / "two/.datastore-sync-state.json").write_bytes(b"{")
    for left in (tmp_path / "two/_control").glob("journal.db*"):
        left.unlink()
    two = Computer(tmp_path / "two", store, lazy=True)
    two.journal.mark_dirty(STATE)
    assert (await two.sync()).deleted_there == []
    assert f"{STATE}/1/raw" in await legacy_view(store, KEYS)
    one.close()
    two.close()


async def test_w27_a_mark_made_during_a_push_is_not_forgotten(tmp_path: Path, store: MemoryStore) -> None:
    one: Computer | None = None

    def choose(request: Request) -> Fault | None:
        if one is not None and request.verb == "put" and request.key == "logs/a":
            one.write("logs/b", b"b")
        return None

    one = Computer(tmp_path / "one", Faulty(store, choose), locks=Locks(lambda: StoreCells(store), KEYS))
    one.write("logs/a", b"a")
    await one.push()
    assert (await one.push()).pushed == ["logs/b"]
    one.close()


async def test_w28_the_first_push_of_a_cache_looks_at_everything(tmp_path: Path, store: MemoryStore) -> None:
    old = tmp_path / "one/logs/old"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"old")
    one = Computer(tmp_path / "one", store)
    one.write("logs/new", b"new")
    assert sorted((await one.push()).pushed) == ["logs/new", "logs/old"]
    one.close()


async def test_w29_an_absolute_path_is_understood(computers: Two) -> None:
    one, _ = computers
    await one.push()
    (one.tree.root / "logs").mkdir()
    one.journal.mark_dirty(one.tree.root / "logs/a")
    (one.tree.root / "logs/a").write_bytes(b"a")
    assert (await one.push()).pushed == ["logs/a"]


async def test_w31_w32_a_push_moves_nothing_of_the_root_and_is_clean_when_it_is_committed(
    tmp_path: Path, store: MemoryStore
) -> None:
    root, one = Computer(tmp_path / "root", store), Computer(tmp_path / "one", store, namespace="infra")
    root.write("logs/root", b"root")
    await root.push()
    before = dict(store.objects)
    one.write("logs/a", b"a")
    await one.engine.prepare()
    said = json.loads((tmp_path / "one/.datastore-sync-state.json").read_text())
    assert said["localDirty"]
    one.close()  # and here it dies
    one = Computer(tmp_path / "one", store, namespace="infra")
    await one.engine.commit(await one.engine.prepare())
    assert (await legacy_view(store, Keyspace("infra"))).keys() == {"logs/a"}
    assert {key: store.objects[key] for key in before if not key.startswith(".datastore.lock")} == {
        key: body for key, body in before.items() if not key.startswith(".datastore.lock")
    }
    root.close()
    one.close()


async def test_w35_what_was_prepared_for_a_namespace_is_committed_to_it(tmp_path: Path, store: MemoryStore) -> None:
    locks = Locks(lambda: StoreCells(store), Keyspace("infra"))
    one = Computer(tmp_path / "one", store, namespace="infra", locks=locks)
    one.write("logs/a", b"a")
    prepared = await one.engine.prepare()
    assert prepared is not None
    assert prepared.changeset.namespace == "infra"
    await one.engine.commit(prepared)
    outside = {key for key in store.objects if not key.startswith("infra/")}
    assert outside == {"_control/bayou/store.json", ".locks/infra.lock"}
    one.close()


async def test_w37_an_entry_without_a_hash_hides_no_change(computers: Two, store: MemoryStore) -> None:
    one, _ = computers
    await put_objects(store, {"logs/a": b"1"})
    await one.sync()
    one.write("logs/a", b"2")
    assert (await one.push()).pushed == ["logs/a"]
    assert store.objects["logs/a"][0] == b"2"


async def test_w38_a_path_without_a_partition_is_pushed_once_and_read_by_all(computers: Two) -> None:
    one, two = computers
    await sharded(one)
    odd = "definitions-evaluated/echo/m.yaml"
    one.write(odd, b"id: d\n")
    assert (await one.push()).pushed == [odd]
    assert (await one.push()).pushed == []
    await two.pull()
    assert odd in two.files()


async def test_w40_nobody_reads_what_nobody_touched(computers: Two) -> None:
    one, two = computers
    one.write("logs/a", b"1")
    await one.push()
    await two.pull()
    two.journal.mark_everything()
    assert two.journal.scan().looks.reads == 0


async def test_w41_temporary_files_stay_here(computers: Two) -> None:
    one, _ = computers
    one.write("logs/a", b"1")
    (one.tree.root / "logs/.0b9f6c1e-8a53-4f4e-9d0e-1f1d2c3b4a59.tmp").write_bytes(b"half")
    assert (await one.push(everything=True)).pushed == ["logs/a"]


async def test_w42_links_are_not_followed(computers: Two, tmp_path: Path) -> None:
    one, _ = computers
    one.write("logs/a", b"1")
    (tmp_path / "secret").write_bytes(b"secret")
    (one.tree.root / "logs/link").symlink_to(tmp_path / "secret")
    (one.tree.root / "logs/dangling").symlink_to(tmp_path / "nowhere")
    report = await one.push(everything=True)
    assert report.pushed == ["logs/a"]
    assert report.skipped.keys() == {"logs/link", "logs/dangling"}


async def test_w43_files_of_an_index_below_a_namespace_stay_here(tmp_path: Path, store: MemoryStore) -> None:
    locks = Locks(lambda: StoreCells(store), Keyspace("infra"))
    one = Computer(tmp_path / "one", store, namespace="infra", locks=locks)
    one.write("logs/a", b"1")
    for path in ("_index/_meta.json", "_control/x", ".datastore-index.json"):
        file = one.tree.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"{}")
    assert (await one.push(everything=True)).pushed == ["logs/a"]
    one.close()


async def test_w44_one_bad_entry_spoils_nothing(computers: Two, store: MemoryStore) -> None:
    one, two = computers
    bad = "../../outside"
    await put_objects(store, {"logs/a": b"1"})
    entries = {path: legacy_entry(path, b"1") for path in ("logs/a", bad)}
    await LegacyWriter(store, KEYS).commit_to_the_monolith_alone(entries)
    assert (await two.pull()).pulled == ["logs/a"]
    one.write("logs/b", b"2")
    assert (await one.sync()).is_complete


async def test_w46_what_is_not_there_is_reported_and_keeps_nothing_else(computers: Two, store: MemoryStore) -> None:
    one, two = computers
    await sharded(one)
    one.write("logs/a", b"1")
    await one.push()
    await store.delete("logs/a")
    for _ in range(2):
        report = await two.pull()
        assert list(report.failed) == ["logs/a"]
    one.delete("logs/a")
    await one.push()
    assert (await two.pull()).is_complete


async def test_w52_what_is_gone_from_a_cache_comes_back(computers: Two) -> None:
    one, _ = computers
    one.write("logs/a", b"1")
    await one.push()
    (one.tree.root / "logs/a").unlink()
    assert (await one.pull()).pulled == ["logs/a"]
    assert one.files() == {"logs/a": b"1"}


async def test_w65_a_pull_lists_a_few_folders_and_finds_what_is_gone_all_the_same(
    computers: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = computers
    for number in range(30):
        one.write(f"files/{number:02}/x", b"%d" % number)
    await one.push()
    await two.pull()
    monkeypatch.setattr(planning, "_LOOKS", 10)
    listed: list[str] = []
    names = disk.names

    def noted(place: str) -> object:
        listed.append(place)
        return names(place)

    monkeypatch.setattr(disk, "names", noted)
    gone = two.tree.root / "files/25/x"
    gone.unlink()
    pulls = 0
    while not gone.exists():
        listed.clear()
        await two.pull()
        pulls += 1
        assert len(listed) <= 11
    assert pulls <= 4
    listed.clear()
    await two.push()
    assert not listed


async def test_w66_what_did_not_change_is_not_read(computers: Two) -> None:
    one, _ = computers
    for number in (1, 2, 3):
        one.write_version(number, b"x")
    await one.push()
    await asyncio.sleep(0.05)
    one.journal.mark_everything()
    one.journal.acknowledge(one.journal.scan())
    one.journal.mark_dirty(STATE)
    assert one.journal.scan().looks.reads == 0


async def test_w67_a_file_is_uploaded_once_however_often_it_is_marked(computers: Two) -> None:
    one, _ = computers
    one.write_version(1, b"1")
    one.journal.mark_dirty(STATE)
    one.journal.mark_dirty(f"{STATE}/1")
    one.asked()
    report = await one.push()
    puts = [request for request in one.asked() if request.startswith("put data/")]
    assert sorted(puts) == sorted(set(puts))
    assert len(report.pushed) == 3


async def test_w73_a_part_that_grows_is_written_by_pushes_of_its_own_kind_only(computers: Two) -> None:
    """Existing clients look for each log in one part, so that part does grow; nothing else pays for it."""
    one, _ = computers
    await sharded(one)
    for day in range(30):
        one.write(f"audit/commands-2026-11-{day:02}.jsonl", b"{}")
        one.write(f"files/{day}", b"x")
    await one.push()
    one.asked()
    one.write_version(1, b"1")
    await one.push()
    written = [line.removeprefix("put _index/") for line in one.asked() if line.startswith("put _index/")]
    assert set(written) == {"_meta.json", "data--aws--ec2--vpc.json", f"data--aws--ec2--vpc--{MODEL}.json"}


async def test_w74_a_mark_writes_no_file_that_grows_with_the_marks(
    computers: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = computers
    await one.sync()
    written: list[int] = []
    exchange = replace_seen

    def noted(new: Path, place: Path) -> bytes | None:
        written.append(new.stat().st_size)
        return exchange(new, place)

    monkeypatch.setattr(mirror, "replace_seen", noted)
    for number in range(250):
        one.journal.mark_dirty(f"logs/{number}")
        one.journal.mark_dirty(f"logs/{number}")
    assert len(written) == 201  # one for each path that it can name, and "anything"
    assert max(written) < 20_000
    assert one.journal.status().dirty == 250


async def test_w75_what_succeeded_is_kept_and_what_failed_is_named(tmp_path: Path, store: MemoryStore) -> None:
    def choose(request: Request) -> Fault | None:
        return Fault.FAIL_BEFORE if request.verb == "put" and request.key == "logs/07" else None

    locks = Locks(lambda: StoreCells(store), KEYS)
    one = Computer(tmp_path / "one", Faulty(store, choose), locks=locks)
    for number in range(60):
        one.write(f"logs/{number:02}", b"x")
    report = await one.push()
    assert (len(report.pushed), list(report.failed)) == (59, ["logs/07"])
    one.close()
    one = Computer(tmp_path / "one", store)
    assert (await one.push()).pushed == ["logs/07"]
    one.close()


async def test_w76_w78_nothing_is_checked_before_a_push(tmp_path: Path, store: MemoryStore) -> None:
    """Neither whether there is data of the root to move nor whether requests can be made: also not by a new process."""
    one = Computer(tmp_path / "one", store, namespace="infra")
    one.write("logs/a", b"a")
    await one.push()
    for _ in range(3):
        one.close()
        one = Computer(tmp_path / "one", store, namespace="infra")
        await one.push()
        assert [line.partition(" ")[2] for line in one.asked()] == ["infra/.datastore-index.json"]
    one.close()


async def test_w81_a_cancellation_is_one_and_a_deadline_is_kept(tmp_path: Path, store: MemoryStore) -> None:
    def fresh(inner: Store) -> Computer:
        return Computer(tmp_path / "one", inner, locks=Locks(lambda: StoreCells(store), KEYS))

    one = fresh(store)
    await one.push()
    one.write("logs/a", b"1")
    one.close()
    one = fresh(Faulty(store, at(1, Fault.HANG_BEFORE, verb="put")))
    task = asyncio.ensure_future(one.push())
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    one.close()
    one = fresh(Faulty(store, at(1, Fault.HANG_BEFORE, verb="put")))
    with pytest.raises(Unavailable, match=r"within 0\.1 seconds"):
        await one.push(seconds=0.1)
    one.close()
