"""Commits to both formats: what they write, what they refuse, and what existing clients then see."""

import pytest

from bayou.errors import Conflict, UsageError
from bayou.layout.keys import Keyspace
from bayou.remotes import Change, Changeset, Format
from bayou.remotes.parts import UNPARTITIONED
from bayou.testing.legacy import legacy_scoped_view, legacy_view
from bayou.testing.machines import Machine, change, entry_of, put_objects
from bayou.testing.memory import MemoryStore

SOLO = Keyspace()
FORMATS = [Format.DUAL, Format.SHARDED]


def model(number: int, name: str = "state", version: int = 1) -> dict[str, bytes]:
    folder = f"data/aws/ec2/vpc/id-{number}/{name}"
    raw = f"{number} {name} {version}".encode()
    return {f"{folder}/{version}/raw": raw, f"{folder}/{version}/metadata.yaml": b"version: 1\n" + raw}


async def index_of(format_: Format, files: dict[str, bytes]) -> tuple[MemoryStore, Machine]:
    store = MemoryStore()
    machine = Machine(store)
    await machine.push(files)
    if format_ is Format.SHARDED:
        await machine.remote.migrate(lambda: True)
    machine.asked()
    return store, machine


@pytest.mark.parametrize("format_", FORMATS)
async def test_what_is_committed_is_what_everybody_sees(format_: Format) -> None:
    files = model(1) | model(2) | {"audit/today.jsonl": b"x", "note.txt": b"n"}
    store, machine = await index_of(format_, files)
    done = await machine.push(model(1, version=2), deleted=["note.txt"])
    assert (len(done.committed), done.contested, done.repaired) == (3, (), ())
    expected = {p: entry_of(p, b).sha256 for p, b in (files | model(1, version=2)).items() if p != "note.txt"}
    assert await machine.view() == expected
    assert await Machine(store).view() == expected
    assert {path: entry["sha256"] for path, entry in (await legacy_view(store, SOLO)).items()} == expected
    scoped = await legacy_scoped_view(store, SOLO, "aws/ec2/vpc/id-1")
    assert scoped is not None
    assert scoped.keys() == (model(1) | model(1, version=2)).keys()


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("count", [20, 1000])
async def test_one_changed_model_writes_its_part_and_no_other_however_many_there_are(
    format_: Format, count: int
) -> None:
    _, machine = await index_of(format_, {p: b for number in range(count) for p, b in model(number).items()})
    await machine.view()
    machine.asked()
    listed = await machine.view()
    new = model(1, version=2)
    await put_objects(machine.store, new)
    machine.asked()
    await machine.commit(Changeset("", (change(listed, new),)))
    part = "_index/data--aws--ec2--vpc--id-1.json"
    monolith = ["put .datastore-index.json"] if format_ is Format.DUAL else []
    assert machine.asked() == ["get _index/_meta.json", *monolith, f"put {part}", "put _index/_meta.json"]


@pytest.mark.parametrize("format_", FORMATS)
async def test_a_cold_machine_reads_what_it_touches_once(format_: Format) -> None:
    store, _ = await index_of(format_, {p: b for number in range(50) for p, b in model(number).items()})
    machine = Machine(store)
    await machine.commit(Changeset("", (change({}, model(99)),)))
    part = "_index/data--aws--ec2--vpc--id-99.json"
    meta, monolith = "_index/_meta.json", ".datastore-index.json"
    assert sorted(machine.asked()) == sorted(
        [f"get {meta}", f"get {monolith}", f"get {part}", f"put {part}", f"put {meta}"]
        + ([f"put {monolith}"] if format_ is Format.DUAL else [])
    )


@pytest.mark.parametrize("format_", FORMATS)
async def test_nothing_new_costs_one_request(format_: Format) -> None:
    store, _ = await index_of(format_, model(1))
    machine = Machine(store)
    before = (await machine.remote.load()).token
    machine.asked()
    assert (await machine.remote.head()).token == before
    assert len(machine.asked()) == 1


@pytest.mark.parametrize("format_", FORMATS)
async def test_a_change_of_what_somebody_else_changed_is_handed_back(format_: Format) -> None:
    store, machine = await index_of(format_, model(1) | {"audit/a.jsonl": b"1"})
    listed = await machine.view()
    await Machine(store).push({"audit/a.jsonl": b"2"})
    ours = [change(listed, {"audit/a.jsonl": b"3"}), change(listed, {"audit/b.jsonl": b"b"})]
    done = await machine.commit(Changeset("", tuple(ours)))
    assert [contest.change for contest in done.contested] == ours[:1]
    assert done.contested[0].current["audit/a.jsonl"].sha256 == entry_of("", b"2").sha256
    assert done.committed == (ours[1],)
    assert (await machine.view())["audit/a.jsonl"] == entry_of("", b"2").sha256


@pytest.mark.parametrize("format_", FORMATS)
async def test_the_files_of_a_version_are_taken_together_or_not_at_all(format_: Format) -> None:
    store, machine = await index_of(format_, model(2))
    raw = next(path for path in model(1) if path.endswith("raw"))
    await Machine(store).push({raw: b"somebody else's"})
    done = await machine.commit(Changeset("", (change({}, model(1)),)))
    assert (len(done.contested), done.committed) == (1, ())
    assert {path for path in await machine.view() if "id-1" in path} == {raw}


@pytest.mark.parametrize("format_", FORMATS)
async def test_a_commit_that_is_made_twice_is_made_once(format_: Format) -> None:
    store, machine = await index_of(format_, model(2))
    wanted = Changeset("", (change({}, model(1)),))
    await put_objects(store, model(1))
    await machine.commit(wanted)
    before = dict(store.objects)
    done = await Machine(store).commit(wanted)
    assert done.committed == wanted.changes
    assert done.contested == ()
    assert store.objects == before


@pytest.mark.parametrize("format_", FORMATS)
async def test_a_part_that_is_emptied_is_listed_no_more_and_can_still_be_read(format_: Format) -> None:
    """An old list must not lead to a missing shard (W-12)."""
    store, machine = await index_of(format_, model(1) | model(2))
    await machine.push({}, deleted=list(model(1)))
    assert "data--aws--ec2--vpc--id-1" not in ((await machine.remote.head()).meta or pytest.fail("no meta")).partitions
    assert store.objects["_index/data--aws--ec2--vpc--id-1.json"][0] == b'{"version":1,"entries":{}}'
    await machine.push(model(1))
    assert (await legacy_view(store, SOLO)).keys() == (model(1) | model(2)).keys()
    assert (await legacy_scoped_view(store, SOLO, "aws/ec2/vpc/id-1") or {}).keys() == model(1).keys()


@pytest.mark.parametrize("format_", FORMATS)
async def test_a_path_without_a_partition_is_seen_by_everybody(format_: Format) -> None:
    """W-38."""
    odd = {"reports/q1/summary.md": b"q1", "data/short/x.txt": b"x"}
    store, machine = await index_of(format_, model(1) | odd)
    for view in (await machine.view(), await Machine(store).view(), await legacy_view(store, SOLO)):
        assert view.keys() == (model(1) | odd).keys()
    machine.asked()
    done = await machine.push({"reports/q2/summary.md": b"q2"})
    assert len(done.committed) == 1
    assert f"put _index/{UNPARTITIONED}.json" in machine.asked()
    assert "reports/q2/summary.md" in await Machine(store).view()


async def test_a_new_bucket_gets_a_dual_index() -> None:
    store = MemoryStore()
    machine = Machine(store)
    assert (await machine.remote.load()).format is Format.NONE
    assert store.objects == {}
    done = await machine.push(model(1))
    assert len(done.committed) == 2
    assert (await machine.remote.head()).format is Format.DUAL
    assert (await legacy_view(store, SOLO)).keys() == model(1).keys()
    assert (await Machine(store).remote.load()).format is Format.DUAL


@pytest.mark.parametrize("format_", FORMATS)
async def test_a_lost_lock_stops_a_commit_before_it_writes(format_: Format) -> None:
    store, machine = await index_of(format_, model(1))
    machine.holds_the_lock = False
    before = dict(store.objects)
    with pytest.raises(Conflict, match="lock was lost"):
        await machine.commit(Changeset("", (change({}, model(2)),)))
    assert store.objects == before


@pytest.mark.parametrize("format_", FORMATS)
async def test_a_lock_lost_on_the_way_keeps_the_meta_from_being_written(format_: Format) -> None:
    store, machine = await index_of(format_, model(1))
    answers = iter([True, True, False])
    meta = store.objects["_index/_meta.json"]
    with pytest.raises(Conflict, match="lock was lost"):
        await machine.remote.commit(Changeset("", (change({}, model(2)),)), lambda: next(answers))
    assert store.objects["_index/_meta.json"] == meta
    done = await Machine(store).commit(Changeset("", (change({}, model(2)),)))
    assert len(done.committed) == 1
    assert (await Machine(store).view()).keys() == (model(1) | model(2)).keys()


async def test_a_changeset_of_one_namespace_is_refused_by_another() -> None:
    """W-35."""
    store = MemoryStore()
    prepared = Changeset("infra", (change({}, model(1)),))
    for elsewhere in ("", "team-a"):
        with pytest.raises(UsageError, match="must not be committed"):
            await Machine(store, elsewhere).commit(prepared)
    assert store.objects == {}
    await Machine(store, "infra").commit(prepared)
    assert all(key.startswith("infra/") for key in store.objects)


def test_a_path_cannot_be_in_two_changes() -> None:
    with pytest.raises(UsageError, match="two changes"):
        Changeset("", (Change(after={"a": entry_of("a", b"1")}), Change(before={"a": None})))


@pytest.mark.parametrize("format_", FORMATS)
async def test_only_a_commit_that_nobody_came_before_is_alone(format_: Format) -> None:
    """W-10: whoever says that he knows the new head must have known the one before."""
    store, machine = await index_of(format_, model(1))
    listed, token = await machine.view(), (await machine.remote.head()).token
    done = await machine.commit(Changeset("", (change(listed, model(2)),), on=token))
    assert done.alone
    assert done.token == (await machine.remote.head()).token
    await Machine(store).push({"audit/x": b"by somebody else"})
    late = await machine.commit(Changeset("", (change(listed, model(3)),), on=done.token))
    assert not late.alone
    assert {name for name, (before, _) in late.parts.items() if before is None} == {"data--aws--ec2--vpc--id-3"}


@pytest.mark.parametrize("format_", FORMATS)
async def test_the_digests_of_a_commit_are_those_of_the_next_snapshot(format_: Format) -> None:
    store, machine = await index_of(format_, model(1) | model(2))
    before = (await machine.remote.load()).parts
    done = await machine.push(model(1, version=2), deleted=list(model(2)))
    after = (await Machine(store).remote.load()).parts
    assert {**before} | {name: new for name, (_, new) in done.parts.items()} == {
        **after,
        "data--aws--ec2--vpc--id-2": done.parts["data--aws--ec2--vpc--id-2"][1],
    }
    assert all(before[name] == old for name, (old, _) in done.parts.items())


@pytest.mark.parametrize("format_", FORMATS)
async def test_a_snapshot_says_which_parts_changed(format_: Format) -> None:
    store, machine = await index_of(format_, model(1) | model(2) | model(3))
    known = dict((await machine.remote.load()).parts)
    await Machine(store).push(model(1, version=2), deleted=list(model(3)))
    assert sorted((await machine.remote.load()).changed(known)) == [
        "data--aws--ec2--vpc--id-1",
        "data--aws--ec2--vpc--id-3",
    ]
