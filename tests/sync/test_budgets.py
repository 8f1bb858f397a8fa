"""How many requests each kind of work takes, without locks: no more than promised, however much there is."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from bayou.domain.entries import Entry
from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.domain.scopes import scope_of
from bayou.remotes import Change, Changeset, Format
from bayou.sync import disk, hydrating
from bayou.sync.report import Report
from bayou.testing.computers import TYPE, Computer, metadata, name_of
from bayou.testing.packs import pack_all

MODELS = [f"0b2f6c1e-7a51-4c3e-9a55-{number:012}" for number in range(50)]
TIME = "2026-11-02T08:15:30.120Z"
FORMATS = pytest.mark.parametrize("format_", [Format.DUAL, Format.SHARDED])


Make = Callable[..., Computer]


def counted(computer: Computer) -> Counter[str]:
    return Counter(request.partition(" ")[0] for request in computer.asked())


def write_models(computer: Computer) -> None:
    """1,000 files of 50 models, as those of whom the existing client's requests were counted."""
    for model in MODELS:
        family = name_of(model=model)
        with computer.tree.change(family) as change:
            for number in range(1, 11):
                body = f"{model} {number}".encode() * 90
                change.claim(f"{family}/{number}")
                change.write(f"{family}/{number}/raw", [body])
                change.replace(f"{family}/{number}/metadata.yaml", metadata(number, body))


async def first_push(one: Computer, format_: Format) -> None:
    """The format is chosen before there is much."""
    one.write("logs/first", b"first")
    await one.push()
    if format_ is Format.SHARDED:
        await one.ends.remote.migrate(lambda: True)
    await one.sync()
    one.asked()


@FORMATS
async def test_a_thousand_files(computer: Make, format_: Format) -> None:
    """The rows of what the existing client costs, one after the other."""
    one, two = computer("one"), computer("two")
    await first_push(one, format_)
    write_models(one)
    report = await one.push()
    assert len(report.pushed) == 1000
    cold_push = counted(one)
    assert cold_push["put"] <= 1000 + 50 + 2
    assert cold_push.total() < 1057

    report = await two.pull()
    assert len(report.pulled) == 1001
    # The head, the index, whether there are packs, and the files: one more than those of the existing client.
    cold_pull = counted(two).total()
    assert cold_pull == {Format.DUAL: 2 + 1 + 1001, Format.SHARDED: 1 + 51 + 1 + 1001}[format_]
    assert cold_pull - 1 <= {Format.DUAL: 1003, Format.SHARDED: 1053}[format_]

    for work in (one.push, one.pull, one.sync, two.push, two.pull, two.sync):
        await work()
    for each in (one, two):
        each.asked()
        for work in (each.push, each.pull, each.sync):
            await work()
            assert counted(each).total() == 1

    one.write_version(11, b"changed", model=MODELS[7])
    await one.push()
    changed = counted(one)
    # raw, metadata and latest; the shards of the versions and of the markers.
    assert changed["put"] == 3 + 2 + {Format.DUAL: 2, Format.SHARDED: 1}[format_]
    assert changed.total() <= changed["put"] + 4
    assert not changed["list"] + changed["head"]

    report = await two.pull()
    assert len(report.pulled) == 3
    pulled = counted(two)
    assert pulled.total() <= 3 + 2 + {Format.DUAL: 2, Format.SHARDED: 1}[format_]  # files, shards, the head
    assert (
        pulled.total() - 2 - 1 < {Format.DUAL: 5, Format.SHARDED: 54}[format_]
    )  # its model was one file, in one shard

    for model in MODELS[:10]:
        one.write_version(11 if model != MODELS[7] else 12, b"ten", model=model)
    await one.push()
    ten = counted(one)
    assert ten["put"] == 30 + 11 + {Format.DUAL: 2, Format.SHARDED: 1}[format_]
    assert ten.total() <= ten["put"] + 4
    assert (
        ten.total() - 20 <= {Format.DUAL: 28, Format.SHARDED: 84}[format_]
    )  # the latter wrote one file each, not three

    await two.pull()
    two.asked()
    with two.tree.removal(f"data/{TYPE}/{MODELS[20]}") as change:
        change.remove_folder(f"data/{TYPE}/{MODELS[20]}")
    report = await two.push()
    assert len(report.deleted_there) == 20
    assert counted(two).total() <= 12


@FORMATS
async def test_one_model_of_fifty(computer: Make, format_: Format) -> None:
    one, two = computer("one"), computer("two")
    await first_push(one, format_)
    write_models(one)
    await one.push()
    scope = scope_of([Model(ModelType(TYPE), MODELS[3])])
    report = await two.pull(scope=scope)
    assert len(report.pulled) == 20
    assert {path.split("/")[4] for path in report.pulled} == {MODELS[3]}
    # The files, one shard, the head; the existing client takes 24.
    assert counted(two).total() == 20 + 1 + {Format.DUAL: 2, Format.SHARDED: 1}[format_]
    for _ in range(2):
        await two.pull(scope=scope)
        assert counted(two).total() == 1

    one.write_version(11, b"changed", model=MODELS[3])
    one.write_version(11, b"changed", model=MODELS[4])
    await one.push()
    report = await two.pull(scope=scope)
    assert len(report.pulled) == 3
    assert counted(two).total() <= {Format.DUAL: 2, Format.SHARDED: 1}[format_] + 2 + 3  # the head, shards, files


async def test_a_first_push_to_a_new_bucket(computer: Make) -> None:
    """The id of the store, one listing that says that there is nothing, and what has to be written."""
    one = computer("one")
    write_models(one)
    report = await one.push()
    assert len(report.pushed) == 1000
    asked = counted(one)
    assert asked == Counter(get=1, list=1, put=1 + 1000 + 50 + 2)
    one.write("logs/more", b"more")
    await one.push()
    # What it knows is all there is, so it does not look first; the second look is for a part that is new.
    assert counted(one) == Counter(get=2, put=4)
    for work in (one.push, one.pull, one.sync):
        await work()
        assert counted(one).total() == 1


@FORMATS
async def test_a_thousand_files_that_are_packed(computer: Make, format_: Format) -> None:
    """The catalogue of packs, and of each pack its head and its contents: nothing for each file."""
    one, all_, lazy = computer("one"), computer("all"), computer("lazy", lazy=True)
    await first_push(one, format_)
    write_models(one)
    await one.push()
    made = len(await pack_all(one.ends.remote.place, 250))
    assert made == 4
    indexes = {Format.DUAL: 3, Format.SHARDED: 52}[format_] + 3
    assert len((await all_.pull()).pulled) == 1001
    assert counted(all_).total() <= 1 + 1 + 2 * made + indexes  # the log has no versions
    await lazy.pull()
    assert counted(lazy).total() <= 1 + 1 + 2 * made + indexes
    report = Report()
    await hydrating.hydrate(lazy.ends, hydrating.absent(lazy.journal), report)
    assert len(report.pulled) == 500
    assert counted(lazy).total() == 1 + 2 * made


async def grow(one: Computer, count: int) -> None:
    """An index of so many entries that this computer knows, without their files."""
    contents = {f"{name_of(model=f'model-{i // 100}')}/{i % 100 + 1}/raw": f"{i:064x}" for i in range(count)}
    entries = {path: Entry(path, 5120, TIME, TIME, content) for path, content in contents.items()}
    changes = tuple(Change({}, {path: entry}) for path, entry in entries.items())
    async with one.ends.locks.commit():
        done = await one.ends.remote.commit(Changeset("", changes), lambda: True)
    assert len(done.committed) == count
    one.journal.base.know(contents.items())
    head = await one.ends.remote.head()
    snapshot = await one.ends.remote.load(head=head)
    one.engine.agreed.record(dict(snapshot.parts), head=snapshot.token)
    one.asked()


def noting(look: Callable[[str], object], looks: list[str]) -> Callable[[str], object]:
    def noted(place: str) -> object:
        looks.append(place)
        return look(place)

    return noted


@FORMATS
@pytest.mark.parametrize("count", [1_000, 100_000])
async def test_a_push_costs_what_changed_and_not_what_there_is(
    computer: Make, format_: Format, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = computer("one", lazy=True)
    await first_push(one, format_)
    await grow(one, count)
    looks: list[str] = []
    for name in ("look", "names"):
        monkeypatch.setattr(disk, name, noting(getattr(disk, name), looks))
    one.write("logs/changed", b"changed")
    report = await one.push()
    assert report.pushed == ["logs/changed"]
    assert {Path(place).name for place in looks} <= {"changed", "logs"}
    asked = one.asked()
    indexes = {Format.DUAL: ["put .datastore-index.json"], Format.SHARDED: []}[format_]
    assert asked == [
        "put logs/changed",
        "get _index/_meta.json",
        *indexes,
        "put _index/logs.json",
        "put _index/_meta.json",
    ]
    await one.push()
    assert counted(one).total() == 1


@FORMATS
async def test_a_push_of_one_change_costs_every_machine_the_same(computer: Make, format_: Format) -> None:
    """One PUT, and at most a GET and a PUT for its part of the index, the meta and, if there is one, the monolith."""
    one = computer("one")
    await first_push(one, format_)
    monolith = {Format.DUAL: 1, Format.SHARDED: 0}[format_]
    for name in ("two", "three"):
        other = computer(name)
        await other.sync()
        for body in (b"first", b"again"):
            other.write("logs/changed", name.encode() + body)
            counted(other)
            await other.push()
            asked = counted(other)
            assert asked["put"] == 1 + 1 + 1 + monolith
            assert asked["get"] <= 1 + 1 + monolith
            assert asked.keys() == {"get", "put"}
        await one.sync()


@FORMATS
async def test_a_push_that_others_came_before(computer: Make, format_: Format) -> None:
    """One GET more for each part that somebody else changed, and for the monolith."""
    one, two = computer("one"), computer("two")
    await first_push(one, format_)
    await two.sync()
    one.write("logs/one", b"one")
    two.write("audit/two.jsonl", b"two")
    await two.push()
    await one.push()
    asked = counted(one)
    assert asked["put"] == 1 + 1 + 1 + {Format.DUAL: 1, Format.SHARDED: 0}[format_]
    assert asked["get"] <= 2
    assert not asked["list"] + asked["head"]
