"""One bucket, existing clients and Bayou: what they write is seen, what they leave stale is noticed and put right."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.domain.scopes import scope_of
from bayou.layout.keys import Keyspace
from bayou.remotes import Changeset, Format
from bayou.remotes.parts import UNPARTITIONED
from bayou.testing.legacy import LegacyWriter, legacy_commit_seq, legacy_scoped_view, legacy_view
from bayou.testing.machines import Machine, change, entry_of, legacy_entry, put_objects
from bayou.testing.memory import MemoryStore

SOLO = Keyspace()
MINUTE = 60_000_000_000


def version(model: str, number: int) -> dict[str, bytes]:
    folder = f"data/t/s/{model}/state/{number}"
    return {f"{folder}/raw": f"{model} {number}".encode(), f"{folder}/metadata.yaml": f"version: {number}".encode()}


def theirs(files: dict[str, bytes]) -> dict[str, dict[str, object]]:
    return {path: legacy_entry(path, body) for path, body in files.items()}


def scope(model: str) -> object:
    return scope_of([Model(ModelType("t/s"), model)])


START = version("a", 1) | version("b", 1) | version("c", 1)
PART_A, PART_B = "data--t--s--a", "data--t--s--b"


async def bucket(format_: Format) -> tuple[MemoryStore, Machine]:
    store = MemoryStore()
    machine = Machine(store)
    await machine.push(START)
    if format_ is Format.SHARDED:
        await machine.remote.migrate(lambda: True)
    await put_objects(store, version("a", 2) | version("b", 2) | version("d", 1))
    machine.asked()
    return store, machine


async def sees(store: MemoryStore, machine: Machine, files: dict[str, bytes]) -> None:
    """Everybody sees it: machines that know something and that know nothing, all of it and a model of it."""
    for seeing in (machine, Machine(store)):
        assert (await seeing.view()).keys() == files.keys()
    for model in ("a", "b", "c", "d"):
        expected = {path for path in files if f"/{model}/" in path}
        for seeing in (machine, Machine(store)):
            assert (await seeing.view(scope(model))).keys() == expected  # type: ignore[arg-type]


# Version 1: what the monolith says counts, whatever became of the shards (W-21, W-72).


@pytest.mark.parametrize(
    "write",
    [
        lambda store, entries: LegacyWriter(store, SOLO).commit(entries),
        lambda store, entries: LegacyWriter(store, SOLO).commit_to_the_monolith_alone(entries),
        lambda store, entries: LegacyWriter(store, SOLO, fails=["shards"]).commit(entries),
        lambda store, entries: LegacyWriter(store, SOLO, fails=["shards", "meta"]).commit(entries),
        lambda store, entries: LegacyWriter(store, SOLO, fails=["meta"]).commit(entries),
    ],
    ids=["whole", "monolith only", "shards fail", "shards and meta fail", "meta fails"],
)
async def test_readers_see_it_at_once_and_the_next_commit_repairs_the_shards(
    write: Callable[[MemoryStore, object], Awaitable[None]],
) -> None:
    store, machine = await bucket(Format.DUAL)
    await machine.view()
    await write(store, theirs(version("a", 2)))
    await sees(store, machine, START | version("a", 2))

    done = await machine.commit(Changeset("", (change({}, version("d", 1)),)))
    assert len(done.committed) == 1
    await sees(store, machine, START | version("a", 2) | version("d", 1))
    head = await Machine(store).remote.head()
    assert head.is_vouched
    for model in ("a", "b", "c", "d"):
        scoped = await legacy_scoped_view(store, SOLO, f"t/s/{model}")
        assert scoped is not None
        assert scoped.keys() == {p for p in START | version("a", 2) | version("d", 1) if f"/{model}/" in p}

    fresh = Machine(store)
    await fresh.view(scope("a"))  # type: ignore[arg-type]
    assert sorted(fresh.asked()) == [
        "get .datastore-index.json",  # only asked whether it is the one that the meta speaks of
        "get _index/_meta.json",
        "get _index/data--t--s--a.json",
    ]
    assert fresh.tally.bytes_down < len(store.objects[".datastore-index.json"][0])


async def test_a_shard_that_a_paused_writer_writes_late_is_not_believed() -> None:
    store, machine = await bucket(Format.DUAL)
    resume: list[bytes] = []

    async def pause(step: str) -> None:
        if step == PART_A:
            resume.append(b"now")
            raise InterruptedError

    with pytest.raises(InterruptedError):
        await LegacyWriter(store, SOLO, pause).commit(theirs(version("a", 2)))
    late = store.objects[f"_index/{PART_A}.json"][0]
    await machine.push(version("b", 2), deleted=list(version("a", 1)))
    expected = {p: b for p, b in (START | version("a", 2) | version("b", 2)).items() if p not in version("a", 1)}
    await sees(store, machine, expected)

    store.objects[f"_index/{PART_A}.json"] = (late, store.objects[".datastore-index.json"][1])
    await sees(store, machine, expected)
    assert (await machine.remote.status()).shards.differing == (PART_A,)
    done = await machine.commit(Changeset("", (change(expected_contents(expected), version("a", 3)),)))
    assert PART_A in done.parts
    assert (await legacy_scoped_view(store, SOLO, "t/s/a") or {}).keys() == (version("a", 2) | version("a", 3)).keys()
    assert (await machine.remote.status()).shards.differing == ()


def expected_contents(files: dict[str, bytes]) -> dict[str, str | None]:
    return {path: entry_of(path, body).sha256 for path, body in files.items()}


async def test_a_shard_of_a_deleted_model_is_emptied_by_the_repair() -> None:
    """Existing clients leave it, and read it without asking any meta (W-21)."""
    store, machine = await bucket(Format.DUAL)
    writer = LegacyWriter(store, SOLO, fails=["shards"])
    await writer.commit({}, deleted=version("a", 1))
    assert (await legacy_scoped_view(store, SOLO, "t/s/a") or {}).keys() == version("a", 1).keys()
    done = await machine.commit(Changeset("", (change({}, version("d", 1)),)))
    assert done.repaired == (PART_A,)
    assert await legacy_scoped_view(store, SOLO, "t/s/a") == {}


async def test_the_repair_reads_and_writes_only_what_a_listing_leaves_open() -> None:
    store, machine = await bucket(Format.DUAL)
    await machine.view()
    await LegacyWriter(store, SOLO).commit(theirs(version("a", 2)))
    machine.asked()
    await machine.commit(Changeset("", (change({}, version("d", 1)),)))
    assert machine.asked() == [
        "get _index/_meta.json",
        "head .datastore-index.json",
        "get .datastore-index.json",
        "put .datastore-index.json",
        "list _index",
        "list _index",
        f"get _index/{PART_A}.json",
        "put _index/data--t--s--d.json",
        "list _control/bayou/tombstones",
        "put _index/_meta.json",
    ]


async def test_a_migration_by_an_existing_client_is_noticed_within_a_minute() -> None:
    """It leaves the monolith as it is, so whoever looks only there goes blind (W-01)."""
    store, _ = await bucket(Format.DUAL)
    now = 1_800_000_000 * 10**9
    machine = Machine(store, now=lambda: now)
    await machine.view()
    await LegacyWriter(store, SOLO).migrate()
    await LegacyWriter(store, SOLO).commit(theirs(version("a", 2)))
    now += MINUTE + 1
    assert (await machine.remote.head()).format is Format.SHARDED
    await sees(store, machine, START | version("a", 2))


async def test_a_commit_notices_a_migration_at_once_and_unsticks_old_readers() -> None:
    store, machine = await bucket(Format.DUAL)
    await machine.view()
    before = store.objects[".datastore-index.json"]
    await LegacyWriter(store, SOLO).migrate()
    done = await machine.commit(Changeset("", (change({}, version("d", 1)),)))
    assert len(done.committed) == 1
    assert (await machine.remote.head()).format is Format.SHARDED
    assert store.objects[".datastore-index.json"] != before
    assert json.loads(store.objects[".datastore-index.json"][0])["entries"].keys() == START.keys()
    await sees(store, machine, START | version("d", 1))


# Version 2.


@pytest.mark.parametrize("how", ["commit", "push_at_once"])
async def test_pushes_to_shards_are_seen_and_built_upon(how: str) -> None:
    store, machine = await bucket(Format.SHARDED)
    await machine.push({"reports/odd.md": b"odd"})
    await getattr(LegacyWriter(store, SOLO), how)(theirs(version("a", 2)), deleted=version("c", 1))
    expected = {p: b for p, b in (START | version("a", 2)).items() if p not in version("c", 1)}
    expected |= {"reports/odd.md": b"odd"}
    await sees(store, machine, expected)
    done = await machine.commit(Changeset("", (change({}, version("d", 1)),)))
    # The odd one is in a list that a push in one phase computes anew (W-38).
    assert done.repaired == (() if how == "commit" else (UNPARTITIONED,))
    await sees(store, machine, expected | version("d", 1))
    assert (await legacy_view(store, SOLO)).keys() == (expected | version("d", 1)).keys()
    assert (await machine.remote.head()).is_vouched


async def test_an_existing_client_can_delete_everything_of_a_part_and_write_it_again() -> None:
    """L4: no canonical key may be listed without an object."""
    store, machine = await bucket(Format.SHARDED)
    await machine.push({"reports/odd.md": b"odd"}, deleted=list(version("a", 1)))
    await LegacyWriter(store, SOLO).push_at_once(theirs(version("a", 2)))
    await LegacyWriter(store, SOLO).push_at_once({}, deleted=version("a", 2))
    await machine.push(version("a", 2))
    await LegacyWriter(store, SOLO).push_at_once(theirs(version("d", 1)))
    expected = {p: b for p, b in (START | version("a", 2) | version("d", 1)).items() if p not in version("a", 1)}
    await sees(store, machine, expected | {"reports/odd.md": b"odd"})


async def test_a_reader_sees_what_a_push_in_one_phase_dropped_from_the_list() -> None:
    store, machine = await bucket(Format.SHARDED)
    await machine.push({"reports/odd.md": b"odd"})
    await LegacyWriter(store, SOLO).push_at_once(theirs(version("a", 2)))
    assert UNPARTITIONED not in json.loads(store.objects["_index/_meta.json"][0])["partitions"]
    for reader in (machine, Machine(store)):
        assert "reports/odd.md" in await reader.view()


@pytest.mark.parametrize("killed_at", [PART_A, "meta"])
async def test_a_killed_push_leaves_an_index_that_works(killed_at: str) -> None:
    """W-12: existing clients remove a shard before they unlist it, and everybody fails until somebody repairs it."""
    store, machine = await bucket(Format.SHARDED)
    await machine.view()

    async def kill(step: str) -> None:
        if step == killed_at:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        await LegacyWriter(store, SOLO, kill).commit({}, deleted=version("a", 1))
    fresh = await Machine(store).remote.load()
    if killed_at == "meta":
        assert fresh.missing == (PART_A,)
        assert fresh.all().keys() == START.keys() - version("a", 1).keys()
        await machine.push(version("a", 2))
        assert (await legacy_view(store, SOLO)).keys() == START.keys() - version("a", 1).keys() | version("a", 2).keys()
    else:
        assert fresh.all().keys() == START.keys()


async def test_what_a_writer_without_shards_adds_is_imported() -> None:
    """W-45."""
    now = 1_800_000_000 * 10**9
    store, first = await bucket(Format.SHARDED)
    await first.push({}, deleted=list(version("c", 1)))
    machine = Machine(store, now=lambda: now)
    await machine.push({"audit/x": b"x"})
    await LegacyWriter(store, SOLO).commit_to_the_monolith_alone(theirs(version("a", 2)), deleted=version("b", 1))
    now += 11 * MINUTE
    done = await machine.push({"audit/y": b"y"})
    assert [sorted(one.after) for one in done.imported] == [sorted(version("a", 2))]
    expected = START.keys() - version("c", 1).keys() | version("a", 2).keys() | {"audit/x", "audit/y"}
    # What it had deleted before stays deleted, and what it does not list any more stays.
    assert (await machine.view()).keys() == expected
    assert (await legacy_view(store, SOLO)).keys() == expected
    now += 11 * MINUTE
    assert (await machine.push({"audit/z": b"z"})).imported == ()


async def test_the_monolith_is_looked_at_when_others_had_the_lock() -> None:
    """Nobody who writes it is overlooked for long, and nobody pays for it where there is no such writer."""
    now = 1_800_000_000 * 10**9
    store, _ = await bucket(Format.SHARDED)
    machine = Machine(store, now=lambda: now)
    await machine.push({"audit/x": b"x"})

    async def looks(*, follows_ours: bool) -> bool:
        machine.lock_follows_ours = follows_ours
        machine.asked()
        await machine.push({"audit/x": str(now).encode() + bytes([follows_ours])})
        return "get .datastore-index.json" in machine.asked()

    now += 11 * MINUTE
    assert not await looks(follows_ours=True)
    assert await looks(follows_ours=False)
    now += MINUTE
    assert not await looks(follows_ours=False)  # too soon, but it is owed
    now += 10 * MINUTE
    assert await looks(follows_ours=True)
    now += 23 * 60 * MINUTE
    assert not await looks(follows_ours=True)
    now += 60 * MINUTE
    assert await looks(follows_ours=True)


async def test_what_both_changed_stays_as_the_shards_say() -> None:
    now = 1_800_000_000 * 10**9
    store, _ = await bucket(Format.DUAL)
    machine = Machine(store, now=lambda: now)
    await machine.push({"audit/x": b"1"})
    await machine.remote.migrate(lambda: True)
    await machine.push({"audit/x": b"ours"})
    await LegacyWriter(store, SOLO).commit_to_the_monolith_alone(theirs({"audit/x": b"theirs"}))
    now += 11 * MINUTE
    done = await machine.push({"audit/y": b"y"})
    assert done.imported == ()
    assert [sorted(contest.change.after) for contest in done.left_out] == [["audit/x"]]
    assert (await machine.view())["audit/x"] == entry_of("", b"ours").sha256


async def test_unknown_fields_of_an_entry_survive_until_its_path_is_committed() -> None:
    """L1."""
    for format_ in (Format.DUAL, Format.SHARDED):
        store, machine = await bucket(format_)
        path = f"{'data/t/s/a'}/state/1/raw"
        entry = theirs(version("a", 1))[path] | {"theirs": {"deep": [1]}}
        await LegacyWriter(store, SOLO).commit({path: entry})
        await machine.push(version("a", 2))
        assert (await legacy_view(store, SOLO))[path]["theirs"] == {"deep": [1]}
        await machine.push({path: b"again"})
        assert "theirs" not in (await legacy_view(store, SOLO))[path]


async def test_a_bad_entry_is_skipped_reported_and_kept() -> None:
    """W-44: one hostile entry fails nothing, and is not deleted by the way."""
    for format_ in (Format.DUAL, Format.SHARDED):
        store, machine = await bucket(format_)
        bad: dict[str, Any] = {
            "data/t/s/a/../../../../etc/passwd": {"key": "x", "size": 1, "lastModified": ""},
            "audit/odd": 7,
        }
        await LegacyWriter(store, SOLO).commit(bad)
        snapshot = await machine.remote.load()
        assert snapshot.contents().keys() == START.keys()
        if format_ is Format.DUAL:
            assert snapshot.skipped().keys() == bad.keys()
        await machine.push(version("a", 2))
        assert bad.keys() & (await Machine(store).remote.load()).skipped().keys()


async def test_the_number_of_a_commit_only_grows() -> None:
    store, machine = await bucket(Format.SHARDED)
    numbers = [await legacy_commit_seq(store, SOLO)]
    for number in range(3):
        await machine.push({f"audit/{number}": b"x"})
        numbers.append(await legacy_commit_seq(store, SOLO))
        await LegacyWriter(store, SOLO).commit(theirs({f"logs/{number}": b"x"}))
        numbers.append(await legacy_commit_seq(store, SOLO))
    assert None not in numbers
    assert len(set(numbers)) == len(numbers) == 7
    assert numbers == sorted(numbers, key=lambda number: number or 0)
    assert (numbers[0] or 0) > 1_700_000_000_000
