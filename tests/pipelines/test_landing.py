"""Landing: what tasks put aside is listed once and wholly, whoever writes beside them, and whoever is killed when."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import StringType, StructField, StructType

from bayou.domain.models import derived_id
from bayou.domain.modeltypes import ModelType
from bayou.domain.partitions import partition_key
from bayou.errors import BayouError, Conflict, Denied, ErrorKind, UsageError
from bayou.layout.keys import Keyspace
from bayou.locks import Locks, StoreCells
from bayou.pipelines import reach
from bayou.pipelines.aside import Attempt, Told
from bayou.pipelines.frames import version_of
from bayou.pipelines.landing import land
from bayou.pipelines.sink import begin
from bayou.pipelines.writerecord import Job
from bayou.remotes import Change, Changeset, Format, ObjectRemote
from bayou.remotes.writes import Write
from bayou.storage.port import ANY, Body, Condition, Store, Version, Wrapper
from bayou.sync.repairing import repair
from bayou.sync.repairs import Action
from bayou.testing.computers import Computer, metadata
from bayou.testing.faults import Fault, Faulty, at
from bayou.testing.lakes import fill, model, version
from bayou.testing.legacy import LegacyWriter
from bayou.testing.machines import Machine, legacy_entry
from bayou.testing.memory import MemoryStore
from bayou.wire import metadata as form
from bayou.wire import outputs

SCHEMA = StructType([StructField(name, StringType()) for name in ("type", "model_name", "model_id", "name", "content")])
STARTED = "2026-11-20T08:00:00.000Z"
IDS = tuple(f"6f6f0d3c-0000-4000-8000-{number:012}" for number in range(10))
FORMATS = [Format.DUAL, Format.SHARDED]
OWN = "auto-definitions/bayou/write/spark.yaml"

Row = Mapping[str, Any]


def row(name: str, content: str, model_name: str = "prod", **more: Any) -> Row:  # noqa: ANN401 - values of columns
    return {"type": "aws/vpc", "model_name": model_name, "name": name, "content": content, **more}


def job(number: int = 0) -> Job:
    return Job(IDS[number], "spark", STARTED)


def folder(name: str, model_name: str = "prod") -> str:
    return f"data/aws/vpc/{derived_id('', ModelType('aws/vpc'), model_name)}/{name}"


async def put_aside(store: Store, tasks: Sequence[Sequence[Row]], number: int = 0) -> list[Told]:
    told = []
    for partition, rows in enumerate(tasks):
        attempt = Attempt(store, Write(Keyspace(), IDS[number]), partition)
        for one in rows:
            await attempt.add(*version_of(one, SCHEMA))
        told.append(await attempt.finish())
    return told


async def landed(store: Store, told: Sequence[Told], number: int = 0, *, locks_in: Store | None = None) -> None:
    with Locks(lambda: StoreCells(locks_in or store), Keyspace()) as locks, ObjectRemote(store) as remote:
        await land(remote, locks, job(number), told)


async def write(store: Store, *tasks: Sequence[Row], number: int = 0) -> None:
    await landed(store, await put_aside(store, tasks, number), number)


async def listed(store: Store) -> dict[str, str | None]:
    return await Machine(store).view()


async def bury(store: Store, beginning: str) -> None:
    """Delete what begins like this, on purpose."""
    gone = {path: content for path, content in (await listed(store)).items() if path.startswith(beginning)}
    machine = Machine(store)
    snapshot = await machine.remote.load()
    change = Change(before=gone, buries={path: content for path, content in gone.items() if content})
    await machine.commit(Changeset("", (change,), on=snapshot.token))


async def raws(store: MemoryStore) -> dict[str, bytes]:
    """What every version that is listed holds, and nothing is left of any write."""
    assert not [key for key in store.objects if "/writes/" in key]
    return {path: store.objects[path][0] for path in await listed(store) if path.endswith("/raw")}


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.mark.parametrize("format_", FORMATS)
async def test_rows_of_one_name_become_versions_by_time_then_by_partition(store: MemoryStore, format_: Format) -> None:
    await fill(store, version(model(1), "other", 1, {}), format_)
    tasks = [[row("a", "third"), row("b", "b")], [row("a", "fourth")]]
    early = version_of(row("a", "first"), SCHEMA)[0]
    assert early.artifact.created_at == ""
    await write(store, *tasks)
    await write(store, [row("a", "fifth")], number=1)
    found = await raws(store)
    assert [found[f"{folder('a')}/{number}/raw"] for number in (1, 2, 3)] == [b"third", b"fourth", b"fifth"]
    assert store.objects[f"{folder('a')}/latest"][0] == b"3"
    assert found[f"{folder('b')}/1/raw"] == b"b"
    said = form.decode(store.objects[f"{folder('a')}/2/metadata.yaml"][0], "")
    assert said.owner is not None
    assert (said.owner.owner_ref, said.owner.source) == (folder("a").split("/")[3], "spark")
    assert (said.created_at, said.tags["modelName"], said.size) == (STARTED, "prod", 6)


async def test_a_record_names_what_was_written(store: MemoryStore) -> None:
    await write(store, [row("a", "1"), row("a", "2"), row("b", "3")])
    await write(store, [row("b", "4")], number=1)
    paths = sorted(path for path in await listed(store) if path.startswith("outputs/"))
    first, second = (outputs.decode(store.objects[path][0], path) for path in paths)  # of one millisecond
    assert [(one.name, one.version) for one in first.artifacts.data_artifacts] == [("a", 1), ("a", 2), ("b", 1)]
    assert [(one.name, one.version) for one in second.artifacts.data_artifacts] == [("b", 2)]
    assert first.id == IDS[0]
    assert first.started_at < second.started_at


async def test_models_are_defined_where_nobody_has_and_found_where_somebody_has(store: MemoryStore) -> None:
    defined = b'type: "aws/vpc"\nid: "their-id"\nname: "theirs"\n'
    await fill(store, {"auto-definitions/aws/vpc/theirs.yaml": defined})
    await write(store, [row("a", "1", "theirs"), row("a", "2", "ours"), row("a", "3", "named", model_id="given")])
    found = await listed(store)
    versions = {path.removeprefix("data/aws/vpc/") for path in found if path.endswith("raw")}
    ours = folder("a", "ours").removeprefix("data/aws/vpc/")
    assert versions == {"their-id/a/1/raw", f"{ours}/1/raw", "given/a/1/raw"}
    assert {path for path in found if path.startswith("auto-definitions/aws")} == {
        "auto-definitions/aws/vpc/ours.yaml",
        "auto-definitions/aws/vpc/theirs.yaml",
    }


async def test_of_attempts_at_one_task_one_counts(store: MemoryStore) -> None:
    (straggler,) = await put_aside(store, [[row("a", "x"), row("b", "y" * 2**21)]])
    (twin,) = await put_aside(store, [[row("a", "x"), row("b", "y" * 2**21)]])
    assert straggler.rows != twin.rows
    await landed(store, [twin])
    assert {path.removeprefix("data/aws/vpc/").partition("/")[2] for path in await raws(store)} == {
        "a/1/raw",
        "b/1/raw",
    }


async def test_contents_of_any_size(store: MemoryStore) -> None:
    await write(store, [row("empty", ""), row("large", "x" * 3_000_000)], [row("empty", "")], [])
    found = await raws(store)
    assert found[f"{folder('empty')}/1/raw"] == found[f"{folder('empty')}/2/raw"] == b""
    assert found[f"{folder('large')}/1/raw"] == b"x" * 3_000_000


async def test_packs_end_where_they_are_full(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayou.pipelines.aside._PACK", 100)
    rows = [row("a", f"{number} " * number) for number in range(30)]
    told = await put_aside(store, [rows])
    assert sum(key.endswith(".pack") for key in store.objects) == 10
    await landed(store, told)
    found = await raws(store)
    assert [found[f"{folder('a')}/{n + 1}/raw"].decode() for n in range(30)] == [one["content"] for one in rows]


async def test_a_frame_without_rows_changes_nothing(store: MemoryStore) -> None:
    await store.put(Write(Keyspace(), IDS[0]).key("begun"), b"")
    await write(store, [], [])
    assert store.objects == {}


def test_whoever_may_not_write_hears_it_before_any_task(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    class ReadOnly(Wrapper):
        async def put(self, key: str, body: Body, *, when: Condition = ANY) -> Version:  # noqa: ARG002 - refused
            raise Denied("read-only")

    monkeypatch.setattr(reach, "connect", lambda *_, **__: ReadOnly(store))
    with pytest.raises(Denied):
        begin({"url": "s3://bucket"}, SCHEMA, overwrite=False)


@pytest.mark.parametrize(
    ("column", "value"), [("attributes", "[" * 5000), ("attributes", "[1"), ("garbage_collection", "9" * 5000)]
)
def test_a_value_that_cannot_be_is_named_by_its_column(column: str, value: str) -> None:
    content = None if column == "attributes" else "x"
    schema = StructType([*SCHEMA, StructField(column, StringType())])
    with pytest.raises(UsageError, match=f"^the column '{column}'"):
        version_of({**row("a", "x"), "content": content, column: value}, schema)


async def test_numbers_are_above_all_that_is_listed_was_deleted_or_lies_there(store: MemoryStore) -> None:
    await write(store, [row("listed", "1"), row("deleted", "1"), row("deleted", "2")])
    await bury(store, f"{folder('deleted')}/")
    under_way = [f"{folder('lying')}/{number}/raw" for number in range(1, 21)]
    for path in under_way:
        await store.put(path, b"of a push that did not commit yet")
    await write(store, [row(name, "new") for name in ("listed", "deleted", "lying")], number=1)
    found = {path: body for path, body in (await raws(store)).items() if body == b"new"}
    assert set(found) == {f"{folder('listed')}/2/raw", f"{folder('deleted')}/3/raw", f"{folder('lying')}/21/raw"}
    assert {store.objects[path][0] for path in under_way} == {b"of a push that did not commit yet"}


async def test_what_was_deleted_and_is_written_again_is_buried_no_more(store: MemoryStore) -> None:
    path = "auto-definitions/aws/vpc/prod.yaml"
    await write(store, [row("a", "1")])
    await bury(store, path)
    assert path in (await Machine(store).remote.buried({partition_key(path)})).graves
    await write(store, [row("a", "2")], number=1)
    assert path in await listed(store)
    assert path not in (await Machine(store).remote.buried({partition_key(path)})).graves


@pytest.mark.parametrize("format_", FORMATS)
async def test_two_writes_at_once_both_land_whole(store: MemoryStore, format_: Format) -> None:
    await fill(store, version(model(1), "other", 1, {}), format_)
    told = [await put_aside(store, [[row("a", f"{job} {n}") for n in range(5)]], job) for job in range(2)]
    await asyncio.gather(landed(store, told[0], 0), landed(store, told[1], 1))
    found = await raws(store)
    mine = {path: body for path, body in found.items() if path.startswith(folder("a"))}
    in_order = [mine[path].decode() for path in sorted(mine, key=lambda path: int(path.split("/")[-2]))]
    assert in_order in ([f"{job} {n}" for job in jobs for n in range(5)] for jobs in ((0, 1), (1, 0)))
    assert sorted(key for key in store.objects if key.endswith("/metadata.yaml")) == sorted(
        path for path in await listed(store) if path.endswith("/metadata.yaml")
    )


@pytest.mark.parametrize("when", ["before the lock", "at the commit"])
async def test_who_commits_the_same_number_meanwhile_keeps_it(store: MemoryStore, when: str) -> None:
    """An existing client, which overwrites what lies there, and may hold no lock."""
    first = f"{folder('a')}/1"
    theirs = {f"{first}/raw": b"theirs", f"{first}/metadata.yaml": metadata(1, b"theirs", name="a")}

    class Meanwhile(Faulty):
        """Lets the client commit at a moment."""

        async def around(self, request: Any, call: Any) -> Any:  # noqa: ANN401 - any request
            key = ".datastore-index.json" if when == "at the commit" else f"{folder('a')}/1/metadata.yaml"
            if theirs and request.verb == "put" and request.key == key:
                done = dict(theirs)
                theirs.clear()
                for path, body in done.items():
                    await store.put(path, body)
                await LegacyWriter(store, Keyspace()).commit({p: legacy_entry(p, b) for p, b in done.items()})
            return await super().around(request, call)

    told = await put_aside(store, [[row("a", "ours"), row("b", "b" * 2_000_000)]])
    await landed(Meanwhile(store, lambda _: None), told, locks_in=store)
    found = await raws(store)
    assert (found[f"{folder('a')}/1/raw"], found[f"{folder('a')}/2/raw"]) == (b"theirs", b"ours")
    assert found[f"{folder('b')}/1/raw"] == b"b" * 2_000_000
    assert store.objects[f"{folder('a')}/latest"][0] == b"2"


async def test_a_name_stays_its_owners(store: MemoryStore) -> None:
    theirs = version(model(1), "a", 1, {})
    await fill(store, theirs)
    with pytest.raises(Conflict) as refused:
        await write(store, [row("a", "ours", model_id="id-1"), row("b", "ours")])
    assert refused.value.kind is ErrorKind.NOT_OWNER
    assert set(await listed(store)) == set(theirs)


# Killed.


@pytest.mark.parametrize(("format_", "fault"), [(Format.DUAL, Fault.FAIL_BEFORE), (Format.SHARDED, Fault.FAIL_AFTER)])
async def test_a_commit_that_is_killed_at_any_request_is_finished_when_it_is_run_again(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, format_: Format, fault: Fault
) -> None:
    monkeypatch.setattr("bayou.pipelines.aside.CHUNK", 1000)
    await fill(store, version(model(1), "other", 1, {}), format_)
    told = await put_aside(store, [[row("a", "1"), row("a", "2")], [row("b", "3" * 2000)]])
    before = dict(store.objects)
    for number in count(1):
        store.objects = dict(before)
        faulty = Faulty(store, at(number, fault))
        with suppress(BayouError):
            await landed(faulty, told, locks_in=store)
        if len(faulty.requests) < number:
            break
        assert len({path.split("/")[-2] for path in await listed(store) if folder("a") in path and "raw" in path}) in (
            0,
            2,
        )
        await landed(store, told)
        found = await raws(store)
        assert {path: len(body) for path, body in found.items() if "id-1" not in path} == {
            f"{folder('a')}/1/raw": 1,
            f"{folder('a')}/2/raw": 1,
            f"{folder('b')}/1/raw": 2000,
        }
        assert store.objects[f"{folder('a')}/latest"][0] == b"2"
        assert sum(path.startswith("outputs/") for path in await listed(store)) == 1
    assert number > 30


@pytest.mark.parametrize("format_", FORMATS)
async def test_what_a_killed_commit_has_put_goes_with_the_next_repair(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_: Format
) -> None:
    monkeypatch.setattr("bayou.pipelines.aside.CHUNK", 1000)
    await fill(store, version(model(1), "other", 1, {}), format_)
    told = await put_aside(store, [[row("a", "1"), row("a", "2")], [row("b", "3" * 2000)]])
    before = dict(store.objects)
    for number in count(1, 3):
        store.objects = dict(before)
        faulty = Faulty(store, at(number, Fault.FAIL_BEFORE))
        with suppress(BayouError):
            await landed(faulty, told, locks_in=store)
        if len(faulty.requests) < number:
            break
        for grace in (timedelta(days=1), timedelta(0)):
            doctor = Computer(tmp_path / f"{number}-{grace.days}", store)
            done = await repair(doctor.ends, grace=grace)
            doctor.close()
            assert done.failed == {}
            removed = {fix.action for fix in done.fixes} & {Action.SWEEP, Action.CLEAR}
            assert bool(removed) == (not grace.days)
        # What had come into the index stays, whole; nothing else is left.
        there = {path for path in await listed(store) if "id-1" not in path}
        assert sum(f"{folder('a')}/" in path and path.endswith("/raw") for path in there) in (0, 2)
        left = {key for key in store.objects if key.startswith(("data/", "outputs/", "auto-definitions/"))}
        assert {key for key in left if not key.endswith("/latest") and "id-1" not in key} <= there
        assert not [key for key in store.objects if "/writes/" in key]
    assert number > 30
