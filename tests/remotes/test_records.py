"""What lies beside an index: identity, tombstones, manifests, control records, exports."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest

from bayou.errors import Conflict, Corrupt, ErrorKind, UsageError
from bayou.layout.keys import STORE_ID, Keyspace
from bayou.remotes import Change, Changeset, Format, exports, identity, namespaces, tombstones
from bayou.remotes.control import Records
from bayou.storage import ABSENT, Body, Condition, Patience, Record, Retry, Tally, Version
from bayou.storage.port import ANY
from bayou.testing.faults import Fault, Faulty, at
from bayou.testing.legacy import LegacyWriter
from bayou.testing.machines import Machine, change, entry_of, put_objects
from bayou.testing.memory import MemoryStore
from bayou.wire.documents import Void

NOW = 1_800_000_000 * 10**9
QUICK = Patience(attempts=6, first_pause=0, longest_pause=0)


class Heedless(MemoryStore):
    """Ignores every condition, as some stores do."""

    async def put(self, key: str, body: Body, *, when: Condition = ANY) -> Version:  # noqa: ARG002
        return await super().put(key, body)


# The identity of a store.


@pytest.mark.parametrize("store", [MemoryStore, Heedless])
async def test_a_store_is_named_once(store: type[MemoryStore]) -> None:
    bucket = store()
    assert await identity.identity(bucket) is None
    assert bucket.objects == {}
    first = await identity.establish(bucket, NOW)
    assert await identity.establish(bucket, NOW + 1) == first == await identity.identity(bucket)


async def test_of_all_who_name_a_store_together_one_wins() -> None:
    bucket = MemoryStore()
    named = await asyncio.gather(*(identity.establish(bucket, NOW + n) for n in range(10)))
    assert len(set(named)) == 1


async def test_a_machine_forgets_what_it_knew_of_another_store() -> None:
    bucket = MemoryStore()
    machine = Machine(bucket)
    await machine.remote.establish()
    await machine.push({"audit/x": b"x"})
    await machine.remote.migrate(lambda: True)
    await machine.view()
    bucket.objects.clear()
    assert await machine.remote.identity() is None
    assert await machine.view() == {}
    await machine.remote.establish()
    await machine.push({"audit/y": b"y"})
    assert (await machine.view()).keys() == {"audit/y"}


async def test_a_bucket_that_was_replaced_is_no_damaged_one() -> None:
    bucket = MemoryStore()
    machine = Machine(bucket)
    await machine.remote.establish()
    await machine.push({"audit/x": b"x"})
    await machine.remote.migrate(lambda: True)
    await machine.view()
    bucket.objects.clear()
    await identity.establish(bucket, NOW)
    await Machine(bucket).push({"audit/y": b"y"})
    assert (await machine.view()).keys() == {"audit/y"}


async def test_a_push_that_was_prepared_for_another_store_is_refused() -> None:
    here, there = Machine(MemoryStore()), Machine(MemoryStore())
    prepared = Changeset("", (change({}, {"audit/x": b"x"}),), store=await there.remote.establish())
    await here.remote.establish()
    with pytest.raises(Conflict, match="prepared for the store"):
        await here.commit(prepared)


# Tombstones.


def buried(path: str, body: bytes) -> dict[str, str]:
    return {path: entry_of(path, body).sha256 or ""}


async def test_a_deletion_publishes_a_tombstone_before_it_unlists_and_a_push_takes_it_back() -> None:
    machine = Machine(MemoryStore())
    path, body = "data/t/s/a/state/1/raw", b"x"
    await machine.push({path: body})
    await machine.view()
    machine.asked()
    gone = Change(before=buried(path, body), buries=buried(path, body))
    await machine.commit(Changeset("", (gone,)))
    asked = machine.asked()
    tombstone = "put _control/bayou/tombstones/data--t--s--a.json"
    assert asked.index(tombstone) < asked.index("put .datastore-index.json")
    assert (await machine.remote.buried(["data--t--s--a"])).graves == {path: set(buried(path, body).values())}

    back = Change(after={path: entry_of(path, body)}, revokes=buried(path, body))
    await machine.commit(Changeset("", (back,)))
    asked = machine.asked()
    assert asked.index(tombstone) < asked.index("put .datastore-index.json")
    assert (await machine.remote.buried(["data--t--s--a"])).graves == {}


@pytest.mark.parametrize("format_", [Format.DUAL, Format.SHARDED])
async def test_nobody_asks_for_a_list_that_is_not_there_or_that_he_read(format_: Format) -> None:
    store = MemoryStore()
    machine, reader = Machine(store), Machine(store)
    await machine.push({"audit/x": b"x", "logs/x": b"x"})
    if format_ is Format.SHARDED:
        await machine.remote.migrate(lambda: True)

    async def asked() -> list[str]:
        head = await reader.remote.head()
        assert (await reader.remote.load(head=head)).token == head.token
        reader.asked()
        await reader.remote.buried(["audit", "logs"], head)
        return reader.asked()

    assert await asked() == []
    gone = Change(before=buried("audit/x", b"x"), buries=buried("audit/x", b"x"))
    await machine.commit(Changeset("", (gone,)))
    assert await asked() == ["get _control/bayou/tombstones/audit.json"]
    assert await asked() == []
    await LegacyWriter(store, Keyspace()).commit({})
    await reader.view()
    head = await reader.remote.head()
    assert (await reader.remote.buried(["audit"], head)).graves == {"audit/x": {*buried("audit/x", b"x").values()}}
    await machine.push({"logs/y": b"y"})
    assert await asked() in ([], ["get _control/bayou/tombstones/audit.json"])
    assert await asked() == []


async def test_a_contested_deletion_publishes_no_tombstone() -> None:
    machine = Machine(MemoryStore())
    await machine.push({"audit/x": b"theirs"})
    stale = Change(before=buried("audit/x", b"ours"), buries=buried("audit/x", b"ours"))
    assert len((await machine.commit(Changeset("", (stale,)))).contested) == 1
    assert (await machine.remote.buried(["audit"])).graves == {}


async def test_a_path_without_a_partition_has_tombstones_too() -> None:
    machine = Machine(MemoryStore())
    await machine.push({"reports/x.md": b"x"})
    gone = Change(before=buried("reports/x.md", b"x"), buries=buried("reports/x.md", b"x"))
    await machine.commit(Changeset("", (gone,)))
    assert (await machine.remote.buried([None])).graves.keys() == {"reports/x.md"}


async def test_tombstones_go_after_half_a_year_and_lists_stay_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(MemoryStore())
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for day in (0, 100, 181):
        await tombstones.publish(
            machine.remote.place, buried(f"audit/{day}", b"x"), {}, now=start + timedelta(days=day)
        )
    found = await tombstones.load(machine.remote.place, ["audit"], now=start + timedelta(days=181))
    assert found.graves.keys() == {"audit/100", "audit/181"}
    assert found.since.startswith("2026-01-02")

    monkeypatch.setattr(tombstones, "MOST", 3)
    for day in (182, 183):
        await tombstones.publish(
            machine.remote.place, buried(f"audit/{day}", b"x"), {}, now=start + timedelta(days=day)
        )
    found = await tombstones.load(machine.remote.place, ["audit", "logs"], now=start + timedelta(days=183))
    assert found.graves.keys() == {"audit/181", "audit/182", "audit/183"}
    assert found.since.startswith("2026-07-01")  # the oldest that is left: of before nothing can be said


async def test_tombstones_of_two_deleters_are_both_kept() -> None:
    machine = Machine(MemoryStore())
    await asyncio.gather(
        *(
            tombstones.publish(machine.remote.place, buried(f"audit/{n}", b"x"), {}, now=datetime.now(UTC))
            for n in range(5)
        )
    )
    assert len((await machine.remote.buried(["audit"])).graves) == 5


async def test_a_damaged_list_of_tombstones_is_not_overlooked() -> None:
    machine = Machine(MemoryStore())
    await machine.store.put("_control/bayou/tombstones/audit.json", b"{}")
    with pytest.raises(Corrupt):
        await machine.remote.buried(["audit"])


# Namespaces.


async def test_namespaces_are_found_without_listing_what_lies_in_them() -> None:
    bucket, tally = MemoryStore(), Tally()
    names = ["a", "a-b", "a0", "b", "data-lake", "infra"]
    for name in names:
        await put_objects(bucket, {f"data/{n:05}": b"" for n in range(1500)}, name)
        await namespaces.register(bucket, name, "repo", NOW)
    await put_objects(bucket, {f"data/{n:05}": b"" for n in range(5000)} | {f"{n:05}": b"" for n in range(999)})
    await put_objects(bucket, {f"a/.{n:04}": b"" for n in range(1200)})  # before the manifest
    assert await namespaces.namespaces(Record(bucket, tally)) == names
    assert tally.total <= 2 * (len(names) + 2) + 2


@pytest.mark.parametrize("store", [MemoryStore, Heedless])
async def test_a_namespace_belongs_to_the_repo_that_registered_it(store: type[MemoryStore]) -> None:
    """Acceptance 212-216."""
    bucket = store()
    assert await namespaces.namespaces(bucket) == []
    first = await namespaces.register(bucket, "infra", "repo-aaa", NOW)
    assert (first.namespace, first.repo_id) == ("infra", "repo-aaa")
    assert await namespaces.register(bucket, "infra", "repo-aaa", NOW + 1) == first
    with pytest.raises(Conflict, match="already registered by repo repo-aaa") as caught:
        await namespaces.register(bucket, "infra", "repo-bbb", NOW)
    assert caught.value.kind is ErrorKind.ALREADY_EXISTS
    await namespaces.register(bucket, "staging", "repo-bbb", NOW)
    await put_objects(bucket, {"data/nested/.namespace.json": b"{}"})
    assert await namespaces.namespaces(bucket) == ["infra", "staging"]
    assert json.loads(bucket.objects["infra/.namespace.json"][0])["repoId"] == "repo-aaa"


async def test_of_repos_that_register_together_one_wins() -> None:
    bucket = MemoryStore()
    results = await asyncio.gather(
        *(namespaces.register(bucket, "infra", f"repo-{n}", NOW) for n in range(5)), return_exceptions=True
    )
    assert sum(isinstance(result, Conflict) for result in results) == 4


@pytest.mark.parametrize("name", ["", "a/b", "..", "A", "-x"])
async def test_what_is_no_namespace_is_refused(name: str) -> None:
    bucket = MemoryStore()
    with pytest.raises(UsageError):
        await namespaces.register(bucket, name, "repo", NOW)
    assert bucket.objects == {}


# Control-plane records (acceptance 161-173).


@pytest.mark.parametrize("namespace", ["", "infra"])
async def test_records_are_put_got_listed_and_deleted(namespace: str) -> None:
    bucket = MemoryStore()
    records = Records(bucket, Keyspace(namespace))
    assert await records.get("claims/a") is None
    await records.put("claims/a", b"1")
    await records.put("claims/b", b"2")
    await records.put("heartbeats/x", b"3")
    assert await records.get("claims/a") == b"1"
    assert await records.list() == ["claims/a", "claims/b", "heartbeats/x"]
    assert await records.list("claims/") == ["claims/a", "claims/b"]
    assert await records.list("cla") == ["claims/a", "claims/b"]
    assert await records.list("nothing") == []
    await records.delete("claims/a")
    await records.delete("claims/a")
    assert await records.list("claims/") == ["claims/b"]
    below = f"{namespace}/_control/" if namespace else "_control/"
    assert all(key.startswith(below) for key in bucket.objects)


@pytest.mark.parametrize("store", [MemoryStore, Heedless])
async def test_a_record_is_claimed_once(store: type[MemoryStore]) -> None:
    records = Records(store(), Keyspace("infra"))
    assert await records.put_if_absent("claims/a", b"me")
    assert not await records.put_if_absent("claims/a", b"you")
    assert await records.get("claims/a") == b"me"
    await records.delete("claims/a")
    assert await records.put_if_absent("claims/a", b"you")


async def test_a_claim_whose_answer_was_lost_is_still_ours_and_another_one_is_not() -> None:
    """W-48."""
    bucket = MemoryStore()
    lost = Retry(Faulty(bucket, at(1, Fault.FAIL_AFTER, verb="put")), QUICK)
    assert await Records(lost, Keyspace()).put_if_absent("claims/a", b"me")
    assert not await Records(Retry(bucket, QUICK), Keyspace()).put_if_absent("claims/a", b"you")
    assert await Records(bucket, Keyspace()).get("claims/a") == b"me"


async def test_of_claims_made_together_one_wins() -> None:
    records = Records(MemoryStore(), Keyspace())
    won = await asyncio.gather(*(records.put_if_absent("claims/a", str(n).encode()) for n in range(10)))
    assert sum(won) == 1


async def test_what_is_bayous_own_is_no_record() -> None:
    bucket = MemoryStore()
    await identity.establish(bucket, NOW)
    records = Records(bucket, Keyspace())
    assert await records.list() == []
    for name in ("bayou/store.json", "bayou"):
        with pytest.raises(UsageError):
            await records.delete(name)
        with pytest.raises(UsageError):
            await records.put(name, b"")
    with pytest.raises(UsageError):
        await records.put("../data/x", b"")
    assert bucket.objects.keys() == {STORE_ID}


# Catalog exports (acceptance 102-110).


async def test_an_export_is_written_when_it_or_its_object_changed() -> None:
    """W-47, W-80."""
    bucket = MemoryStore()
    place = Machine(bucket, "infra").remote.place
    rows = [{"namespace": "infra", "version": 1}]
    assert await exports.export(place, rows)
    assert json.loads(bucket.objects["infra/.catalog-export.json"][0]) == rows
    assert not await exports.export(place, rows)
    assert await exports.export(place, [*rows, *rows])
    await bucket.put("infra/.catalog-export.json", b"[]")
    assert await exports.export(place, [*rows, *rows])
    await bucket.delete("infra/.catalog-export.json")
    assert await exports.export(place, [*rows, *rows])
    other = Machine(bucket, "team-a").remote.place
    assert await exports.export(other, [*rows, *rows])


async def test_one_bad_export_hides_no_other() -> None:
    bucket = MemoryStore()
    await put_objects(
        bucket,
        {"a/.catalog-export.json": b'[{"x":1}]', "b/.catalog-export.json": b"{", "c/.catalog-export.json": b"{}"},
    )
    found = await exports.foreign_catalogs(Machine(bucket, "infra").remote.place, ["a", "b", "c", "d"])
    assert found["a"] == [{"x": 1}]
    assert all(isinstance(found[name], Void) for name in ("b", "c", "d"))


async def test_foreign_content_is_read_by_name_and_nothing_else() -> None:
    bucket = MemoryStore()
    await put_objects(bucket, {"team-a/data/x": b"theirs"})
    machine = Machine(bucket, "infra")
    fetched = await exports.foreign_content(machine.remote.place, "team-a", "data/x")
    assert fetched is not None
    assert await fetched.bytes() == b"theirs"
    assert await exports.foreign_content(machine.remote.place, "team-a", "data/y") is None
    machine.asked()
    for namespace, path in (("team-a", "../infra/x"), ("team-a", "/etc/passwd"), ("../x", "data/x"), ("", "data/x")):
        with pytest.raises(UsageError):
            await exports.foreign_content(machine.remote.place, namespace, path)
    assert machine.asked() == []


async def test_the_port_is_what_the_tests_think() -> None:
    heedless = Heedless()
    await heedless.put("a", b"1", when=ABSENT)
    await heedless.put("a", b"2", when=ABSENT)
    assert heedless.objects["a"][0] == b"2"
