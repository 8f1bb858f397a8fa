"""What the existing client's own tests assert (sync spec 10), by number, where no test elsewhere says the same of ours.

`docs/sync-checklist.md` answers every number: by a test in here or elsewhere, or with the reason why ours differs.
"""

import asyncio
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.domain.scopes import scope_of
from bayou.errors import Conflict, Denied, UsageError
from bayou.layout.keys import Keyspace
from bayou.remotes import Changeset, Format
from bayou.storage.port import Request, Store, Wrapper
from bayou.storage.retry import Patience, Retry
from bayou.sync.journal import Side
from bayou.testing.computers import MODEL, TYPE, Computer, name_of
from bayou.testing.faults import Fault, Faulty, at
from bayou.testing.legacy import LegacyWriter, legacy_commit_seq, legacy_view
from bayou.testing.localsync import FakeMachine
from bayou.testing.machines import legacy_entry, put_objects
from bayou.testing.memory import MemoryStore

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs/sync-checklist.md"
KEYS = Keyspace()
STATE = name_of()
OTHER = "7d9b2c1e-0a51-4c3e-9a55-1f4f0d6a1c99"
HERE = re.compile(r"`((?:tests|src)/[\w/]+\.py)(?:::(\w+))?`")
Make = Callable[..., Computer]
T = TypeVar("T")


def rows() -> list[tuple[str, str]]:
    return re.findall(r"^\| ((?:\d+|L\d)) \|.*\| (.+) \|$", DOCUMENT.read_text(), re.MULTILINE)


def test_every_line_is_answered() -> None:
    assert [number for number, _ in rows()] == [*map(str, range(1, 217)), *(f"L{n}" for n in range(1, 10))]
    for number, answer in rows():
        assert HERE.search(answer) or answer.startswith("Differs: "), number


@pytest.mark.parametrize("where", sorted({found for _, answer in rows() for found in HERE.findall(answer)}))
def test_what_is_named_exists(where: tuple[str, str]) -> None:
    file, name = where
    assert re.search(rf"\b{name}\b", (ROOT / file).read_text())


def test_every_test_of_a_line_is_named_by_it() -> None:
    answers = dict(rows())
    for name in re.findall(r"def (test_s\d+\w*)", Path(__file__).read_text()):
        for number in re.findall(r"s(\d+)", name.partition("__")[0]):
            assert name in answers[str(int(number))], name


def state(computer: Computer) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((computer.journal.place.cache / ".datastore-sync-state.json").read_text())
    return found


def again(one: Computer, store: Store, **settings: Any) -> Computer:  # noqa: ANN401 - passed on
    """The same cache, in a new process."""
    one.close()
    return Computer(one.journal.place.cache, store, **settings)


def put(one: Computer, path: str, body: bytes) -> None:
    """A file, without a word to anybody."""
    file = one.journal.place.cache / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(body)


async def entries(store: Store) -> dict[str, Any]:
    return await legacy_view(store, KEYS)


async def sharded(one: Computer) -> None:
    one.write("logs/first", b"first")
    await one.sync()
    await one.ends.remote.migrate(lambda: True)
    await one.sync()


# What stays out of a sync.

INTERNAL = {
    "data/_catalog.db": 1,
    "data/_catalog.db-shm": 1,
    "data/_catalog.db-wal": 1,
    ".push-queue.json": 2,
    ".datastore.lock": 2,
    ".datastore-sync-state.json": 9,
    "data/a/b/.lock": 10,
    ".namespace.json": 11,
    "infra/.namespace.json": 11,
    "_index/x.json": 12,
    "_control/x": 13,
}
DATA = {
    "data/a/.locked.yaml": 10,
    "data/a/lock": 10,
    "data/namespace.json": 11,
    "data/_index/x.json": 12,
    "data/control-panel/x": 13,
}


async def test_s001_s002_s009_s010_s011_s012_s013__nothing_internal_is_pushed(
    computer: Make, store: MemoryStore
) -> None:
    one = computer("one")
    for path in [*INTERNAL, *DATA]:
        if path != ".datastore-sync-state.json":
            put(one, path, path.encode())
    await one.push()
    assert (await entries(store)).keys() == DATA.keys()
    for path in INTERNAL.keys() - {".datastore.lock"}:
        assert path not in store.objects, path


async def test_s003_s004_s005_s006_s007_s008__what_is_listed_and_internal_is_left_alone(
    computer: Make, store: MemoryStore
) -> None:
    one = computer("one")
    one.write("logs/a", b"a")
    await one.push()
    listed = {path: legacy_entry(path, b"x") for path in INTERNAL}
    await LegacyWriter(store, KEYS).commit(listed)
    before = dict(store.objects)
    two = computer("two")
    assert (await two.pull()).pulled == ["logs/a"]
    assert not [line for line in two.asked() if line.removeprefix("get ") in INTERNAL]
    for each in (two, one, one):
        assert not (await each.push()).pushed
    assert store.objects == before


# A bucket without an index.


async def test_s016_s017__a_bucket_without_an_index_is_pulled(computer: Make, store: MemoryStore) -> None:
    files = {f"logs/{number}": b"%d" % number for number in range(3)}
    await put_objects(store, {**files, ".datastore.lock": b"{}", ".push-queue.json": b"{}", "data/_catalog.db": b"x"})
    before = dict(store.objects)
    one = computer("one")
    assert sorted((await one.pull()).pulled) == sorted(files)
    assert one.files() == files
    assert store.objects == before


async def test_s018__an_empty_bucket_stays_empty(computer: Make, store: MemoryStore) -> None:
    one = computer("one")
    assert (await one.pull()).pulled == []
    assert store.objects == {}


async def test_s021__a_cache_with_almost_nothing_in_it_unlists_nothing(computer: Make, store: MemoryStore) -> None:
    one, two = computer("one"), computer("two")
    for number in range(5):
        one.write(f"logs/{number}", b"%d" % number)
    await one.push()
    two.write("logs/new", b"new")
    await two.push()
    asked = Counter(line for line in two.asked() if line.startswith("put"))
    assert len(await entries(store)) == 6
    assert asked["put .datastore-index.json"] == 1
    assert [line for line in asked if line.startswith("put logs/")] == ["put logs/new"]


async def test_s033__a_pause_before_a_retry_ends_at_once(store: MemoryStore) -> None:
    faulty = Faulty(store, at(1, Fault.FAIL_BEFORE))
    task = asyncio.create_task(Retry(faulty, Patience(first_pause=600, longest_pause=600, deadline=6000)).get("a"))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)


# What is known without a look.


@pytest.mark.parametrize("said", ["{", '{"version":999}', '{"version":2}', '{"version":2,"localDirty":"yes"}', "[]"])
async def test_s036__a_sidecar_that_says_nothing_is_none(said: str, computer: Make, store: Store) -> None:
    one, two = computer("one"), computer("two")
    one.write("logs/a", b"1")
    await one.push()
    await two.pull()
    (two.journal.place.cache / ".datastore-sync-state.json").write_text(said)
    one.write("logs/a", b"2")
    await one.push()
    two = again(two, store)
    assert (await two.pull()).pulled == ["logs/a"]
    two.close()


async def test_s038__a_fresh_copy_of_an_old_index_hides_nothing(computer: Make, store: MemoryStore) -> None:
    one, two = computer("one"), computer("two")
    one.write("logs/a", b"1")
    await one.push()
    put(two, ".datastore-index.json", store.objects[".datastore-index.json"][0])
    put(two, "logs/a", b"1")
    one.write("logs/b", b"2")
    await one.push()
    assert (await two.pull()).pulled == ["logs/b"]


async def test_s042_s116__what_nobody_marked_is_neither_pushed_nor_deleted(computer: Make, store: Store) -> None:
    one = computer("one")
    one.write("logs/a", b"a")
    await one.push()
    put(one, "logs/b", b"b")
    (one.journal.place.cache / "logs/a").unlink()
    report = await one.push()
    assert (report.pushed, report.deleted_there) == ([], [])
    assert (await entries(store)).keys() == {"logs/a"}


async def test_s043_s114__a_bare_mark_pushes_what_is_there_and_deletes_nothing(computer: Make, store: Store) -> None:
    one, two = computer("one"), computer("two")
    two.write("logs/theirs", b"theirs")
    one.write("logs/gone", b"gone")
    await one.push()
    await two.push()
    put(one, "logs/new", b"new")
    (one.journal.place.cache / "logs/gone").unlink()
    one.journal.mark_dirty()
    report = await one.push()
    assert (report.pushed, report.deleted_there) == (["logs/new"], [])
    assert (await entries(store)).keys() == {"logs/theirs", "logs/gone", "logs/new"}


async def test_s044__a_mark_that_says_nothing_new_writes_no_sidecar(computer: Make) -> None:
    one = computer("one")
    one.journal.mark_dirty()
    before = (one.journal.place.cache / ".datastore-sync-state.json").stat()
    one.journal.mark_dirty()
    after = (one.journal.place.cache / ".datastore-sync-state.json").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


async def test_s046_s048__a_push_does_not_hide_what_is_only_there(computer: Make) -> None:
    one, two = computer("one"), computer("two")
    one.write("logs/a", b"a")
    await one.push()
    assert (await two.push()).pushed == []
    two.write("logs/mine", b"mine")
    assert (await two.push()).pushed == ["logs/mine"]
    assert (await two.pull()).pulled == ["logs/a"]


async def test_s047__a_lost_sidecar_comes_back_clean(computer: Make, store: Store) -> None:
    fake = FakeMachine()
    one, two = computer("one"), computer("two", machine=fake.process()[0])
    one.write("logs/a", b"a")
    await one.push()
    await two.pull()
    (two.journal.place.cache / ".datastore-sync-state.json").unlink()
    two = again(two, store, machine=fake.process()[0])
    await two.sync()  # somebody wants all to be looked at, and perhaps goes on writing for a while
    fake.pass_time(301)
    two.asked()
    await two.sync()
    assert not [line for line in two.asked() if line.startswith("put")]
    assert (state(two)["localDirty"], state(two)["dirtyPaths"]) == (False, [])
    two.close()


async def test_s049__what_was_pulled_is_not_pushed_by_the_next_process(computer: Make, store: Store) -> None:
    one, two = computer("one"), computer("two")
    for number in range(5):
        one.write(f"logs/{number}", b"%d" % number)
    await one.push()
    await two.pull()
    assert not state(two)["localDirty"]
    two = again(two, store)
    assert (await two.push()).pushed == []
    assert not [line for line in two.asked() if line.startswith("put")]
    two.close()


# Marks, as existing clients on the same cache see them.


async def clean(computer: Make, **settings: Any) -> Computer:  # noqa: ANN401 - passed on
    one = computer("one", **settings)
    one.write("logs/a", b"a")
    await one.sync()
    return one


async def test_s050__a_path_is_named_in_the_sidecar(computer: Make) -> None:
    one = await clean(computer)
    one.journal.mark_dirty("logs/b")
    said = state(one)
    assert (said["version"], said["localDirty"], said["bulkInvalidated"]) == (2, True, False)
    assert said["dirtyPaths"] == ["logs/b"]


async def test_s051__after_two_hundred_paths_it_says_anything(computer: Make) -> None:
    one = await clean(computer)
    for number in range(200):
        one.journal.mark_dirty(f"logs/{number}")
    assert not state(one)["bulkInvalidated"]
    one.journal.mark_dirty("logs/200")
    said = state(one)
    assert (said["localDirty"], said["bulkInvalidated"]) == (True, True)
    assert not said.get("dirtyPathsOverflowed")  # with which existing clients delete


@pytest.mark.parametrize("path", [None, "../outside", "/outside"])
async def test_s052_s053__no_path_or_one_outside_is_anything(path: str | None, computer: Make) -> None:
    one = await clean(computer)
    one.journal.mark_dirty(path)
    said = state(one)
    assert (said["version"], said["localDirty"], said["bulkInvalidated"]) == (2, True, True)


async def test_s054_s055_s056__only_what_is_marked_is_pushed_by_whichever_process(computer: Make, store: Store) -> None:
    one = await clean(computer)
    for path in ("data/x/y/z/1/raw", "files/one", "files/two", "audit/b"):
        put(one, path, path.encode())
    one.journal.mark_dirty("data/x/y")
    one.journal.mark_dirty("files/one")
    one = again(one, store)
    assert sorted((await one.push()).pushed) == ["files/one"]  # half a version is not pushed
    assert not [path for path in await entries(store) if path in ("files/two", "audit/b")]
    put(one, "data/x/y/note", b"note")
    one.journal.mark_dirty("data/x/y")
    assert (await one.push()).pushed == ["data/x/y/note"]
    one.close()


async def test_s057__a_sidecar_of_version_1_walks(computer: Make, store: Store) -> None:
    one = await clean(computer)
    for path in ("logs/b", "files/c"):
        put(one, path, b"x")
    said = {"version": 1, "remoteIndexETag": "x", "lastVerifiedAt": "2026-11-02T08:15:30.120Z", "localDirty": True}
    put(one, ".datastore-sync-state.json", json.dumps(said).encode())
    one = again(one, store)
    assert sorted((await one.push()).pushed) == ["files/c", "logs/b"]
    one.close()


class Busy(Wrapper):
    """Counts how many puts of data are under way at a time."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.now = self.most = 0

    async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:
        if not request.key.startswith("logs/"):
            return await call()
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.001)
        try:
            return await call()
        finally:
            self.now -= 1


async def test_s058__as_many_at_a_time_as_it_is_told(tmp_path: Path, store: Store) -> None:
    busy = Busy(store)
    one, two = Computer(tmp_path / "one", busy, pushes=3), Computer(tmp_path / "two", busy, pulls=4)
    for number in range(12):
        one.write(f"logs/{number}", b"%d" % number)
    await one.push()
    assert busy.most == 3
    await two.pull()
    assert busy.most == 4
    one.close()
    two.close()


# Contents.


async def test_s059_s060_s061_s062_s063__what_counts_is_the_hash(computer: Make, store: Store) -> None:
    one = computer("one")
    one.write("logs/a", b"1234")
    await one.push()
    assert (await entries(store))["logs/a"]["sha256"] == hashlib.sha256(b"1234").hexdigest()
    file = one.journal.place.cache / "logs/a"
    before = file.stat().st_mtime_ns
    for body, mtime, pushed in ((b"1234", before + 10**9, []), (b"1234", before, []), (b"4321", before, ["logs/a"])):
        put(one, "logs/a", body)
        os.utime(file, ns=(mtime, mtime))
        one.journal.mark_dirty("logs/a")
        assert (await one.push()).pushed == pushed
    put(one, "logs/a", b"5678")
    one.journal.mark_dirty("logs/a")
    assert (await one.push()).pushed == ["logs/a"]


# The parts of a dual index.


async def test_s064_s068_s069__the_monolith_comes_first_and_the_meta_names_all(
    computer: Make, store: MemoryStore
) -> None:
    one = computer("one")
    models = [f"{number:08}-7a51-4c3e-9a55-1f4f0d6a1c02" for number in range(10)]
    for model in models:
        one.write_version(1, model.encode(), model=model)
    await one.push()
    puts = [line.removeprefix("put ") for line in one.asked() if line.startswith("put ")]
    index = [key for key in puts if key.startswith("_index/")]
    assert puts.index(".datastore-index.json") < min(map(puts.index, index))
    assert puts[-1] == "_index/_meta.json"
    assert {f"_index/data--aws--ec2--vpc--{model}.json" for model in models} < set(index)
    one.write_version(2, b"2", model=models[3])
    await one.push()
    written = {line for line in one.asked() if line.startswith("put _index/data--aws--ec2--vpc--")}
    assert written == {f"put _index/data--aws--ec2--vpc--{models[3]}.json"}
    meta = json.loads(store.objects["_index/_meta.json"][0])
    assert {f"data--aws--ec2--vpc--{model}" for model in models} < set(meta["partitions"])


async def test_s066_s070_s071__a_scoped_pull_brings_the_model_even_without_its_shard(
    computer: Make, store: MemoryStore
) -> None:
    one = computer("one")
    for model in (MODEL, OTHER):
        one.write_version(1, b"1", model=model)
    await one.push()
    scope = scope_of([Model(ModelType(TYPE), MODEL)])
    wanted = {f"{STATE}/1/raw", f"{STATE}/1/metadata.yaml", f"{STATE}/latest"}
    two = computer("two")
    assert set((await two.pull(scope=scope)).pulled) == wanted
    for key in [key for key in store.objects if key.startswith("_index/data")]:
        await store.delete(key)
    three = computer("three")
    assert set((await three.pull(scope=scope)).pulled) == wanted


# Lazy caches.


async def test_s078_s080_s081_s082_s083__a_lazy_cache_says_so_until_all_is_here(computer: Make, store: Store) -> None:
    one, two = computer("one"), computer("two", lazy=True)
    for model in (MODEL, OTHER):
        one.write_version(1, b"1", model=model)
    await one.push()
    listed = (await entries(store)).keys()
    await two.pull()
    assert state(two)["lazyPullActive"]
    two = again(two, store, lazy=True)
    two.write("logs/new", b"new")
    await two.push()
    assert (await entries(store)).keys() == {*listed, "logs/new"}
    two.lazy = False
    await two.pull(scope=scope_of([Model(ModelType(TYPE), MODEL)]))
    assert state(two)["lazyPullActive"]
    await two.pull()
    assert two.files().keys() == {*listed, "logs/new"}
    assert not state(two)["lazyPullActive"]
    two.close()


# Namespaces.


async def test_s086_s096_s097__a_namespace_comes_over_and_nothing_is_pushed_back(
    computer: Make, store: MemoryStore
) -> None:
    one, two = computer("one", namespace="infra"), computer("two", namespace="infra")
    one.write_version(1, b"1")
    prepared = await one.engine.prepare()
    await one.engine.commit(prepared)
    one.write("logs/a", b"a")
    await one.push()
    assert {key for key in store.objects if not key.startswith(("infra/", ".locks/"))} <= {"_control/bayou/store.json"}
    await two.pull()
    assert two.files() == one.files()
    assert (await two.push()).pushed == []


async def test_s090__what_is_of_one_namespace_is_refused_by_another(computer: Make) -> None:
    one = computer("one", namespace="infra")
    with pytest.raises(UsageError, match="namespace"):
        one.journal.bind(Side("store", namespace="other"))
    with pytest.raises((Conflict, UsageError), match="must not be committed to infra"):
        await one.ends.remote.commit(Changeset("other", ()), lambda: True)


# Deletions.


async def test_s111_s112__an_exact_path_that_is_gone_is_a_deletion_and_a_folder_is_none(
    computer: Make, store: Store
) -> None:
    one = computer("one")
    for path in ("files/d/1", "files/d/2", "files/e/1", "files/e/2"):
        one.write(path, path.encode())
    await one.push()
    for path in ("files/d/1", "files/d/2", "files/e/1"):
        (one.journal.place.cache / path).unlink()
    one.journal.mark_dirty("files/d")
    one.journal.mark_dirty("files/e/1")
    assert (await one.push()).deleted_there == ["files/e/1"]
    assert (await entries(store)).keys() == {"files/d/1", "files/d/2", "files/e/2"}
    with one.tree.removal("files/d") as change:
        change.remove_folder("files/d")
    await one.push()
    assert (await entries(store)).keys() == {"files/e/2"}


class Refusing(Wrapper):
    async def around(self, request: Request, call: Callable[[], Awaitable[T]]) -> T:
        if (request.verb, request.key) == ("get", "logs/a"):
            raise Denied("403")
        return await call()


async def test_s118__a_file_that_is_refused_is_named_and_holds_up_no_other(tmp_path: Path, store: Store) -> None:
    one = Computer(tmp_path / "one", store)
    one.write("logs/a", b"a")
    one.write("logs/b", b"b")
    await one.push()
    two = Computer(tmp_path / "two", Refusing(store))
    report = await two.pull()
    assert (report.pulled, [*report.failed]) == (["logs/b"], ["logs/a"])
    assert two.files() == {"logs/b": b"b"}
    one.close()
    two.close()


# Two phases, and a sharded index.


@pytest.mark.parametrize("form", [Format.DUAL, Format.SHARDED])
async def test_s122_s135_s145_s147_s149__two_phases_list_what_one_does(tmp_path: Path, form: Format) -> None:
    listed = []
    for phases in (1, 2):
        store = MemoryStore()
        one = Computer(tmp_path / f"{form}-{phases}", store)
        one.write_version(1, b"1")
        if form is Format.SHARDED:
            await sharded(one)
        await one.push()
        one.write_version(2, b"2")
        one.delete_version(1)
        one.write("audit/a.jsonl", b"a")
        one.asked()
        if phases == 1:
            await one.push()
        else:
            await one.engine.commit(await one.engine.prepare())
        if form is Format.SHARDED:
            assert not [line for line in one.asked() if line.endswith(".datastore-index.json")]
            assert ((await legacy_commit_seq(store, KEYS)) or 0) > 1
        listed.append({path: entry["sha256"] for path, entry in (await entries(store)).items()})
        one.close()
    assert listed[0] == listed[1]
    assert {f"{STATE}/2/raw", "audit/a.jsonl"} <= listed[0].keys()
    assert f"{STATE}/1/raw" not in listed[0]


async def test_s136_s137_s144_s148__shards_alone_are_enough_and_nothing_new_is_one_request(
    computer: Make, store: MemoryStore
) -> None:
    one, two, three = computer("one"), computer("two"), computer("three")
    await sharded(one)
    await two.pull()
    one.write_version(1, b"1")
    two.write_version(1, b"2", model=OTHER)
    await one.push()
    await two.push()
    del store.objects[".datastore-index.json"]
    await three.pull()
    assert {f"{STATE}/1/raw", f"{name_of(model=OTHER)}/1/raw"} <= three.files().keys()
    three.asked()
    for work in (three.pull, three.push):
        await work()
        assert three.asked() == ["get _index/_meta.json"]
    one.write("logs/b", b"b")
    await one.push()
    await three.pull()
    assert (state(three)["version"], state(three)["commitSeq"]) == (2, await legacy_commit_seq(store, KEYS))


async def test_s142__a_migration_of_a_namespace_stays_in_it(computer: Make, store: MemoryStore) -> None:
    one = computer("one", namespace="infra")
    one.write_version(1, b"1")
    await one.push()
    before = set(store.objects)
    await one.ends.remote.migrate(lambda: True)
    assert all(key.startswith("infra/") for key in store.objects.keys() - before)
    assert json.loads(store.objects["infra/_index/_meta.json"][0])["version"] == 2


@pytest.mark.parametrize("is_whole", [True, False])
async def test_s151_s155__a_sidecar_is_clean_when_all_of_the_namespace_is_here(
    computer: Make, *, is_whole: bool
) -> None:
    one, two = computer("one", namespace="infra"), computer("two", namespace="infra", lazy=not is_whole)
    one.write_version(1, b"1")
    await one.push()
    await one.ends.remote.migrate(lambda: True)
    await two.pull()
    two.write("logs/a", b"a")
    await two.push()
    await two.sync()
    one.write("logs/b", b"b")
    await one.push()
    await two.pull()
    said = state(two)
    assert not said["localDirty"]
    assert said["lazyPullActive"] is not is_whole
    assert ("commitSeq" in said) is is_whole


# What existing clients tolerate.


async def test_l2_l3_l4_l5__what_we_leave_in_a_bucket_is_what_they_can_read(computer: Make, store: MemoryStore) -> None:
    one = computer("one")
    await sharded(one)
    one.write("bundles/x.js", b"no partition")
    one.write_version(1, b"1")
    await one.push()
    one.delete_version(1)
    one.delete("logs/first")
    await one.push()
    meta = json.loads(store.objects["_index/_meta.json"][0])
    for name in meta["partitions"]:
        assert json.loads(store.objects[f"_index/{name}.json"][0])["version"] == 1, name
    canonical = re.compile(r"_index/(_meta|_root|_unpartitionable|logs|data--[\w-]+)\.json")
    assert all(canonical.fullmatch(key) for key in store.objects if key.startswith("_index/"))
    beside = {key.partition("/")[0] for key in store.objects}
    assert beside <= {"_index", "_control", "data", "logs", "bundles", ".datastore-index.json", ".datastore.lock"}


async def test_l6__any_number_of_a_commit_is_counted_on(computer: Make, store: MemoryStore) -> None:
    one = computer("one")
    await sharded(one)
    meta = json.loads(store.objects["_index/_meta.json"][0])
    await store.put("_index/_meta.json", json.dumps(meta | {"commitSeq": 2**53 - 3}).encode())
    one.write("logs/a", b"a")
    await one.push()
    assert await legacy_commit_seq(store, KEYS) == 2**53 - 2
