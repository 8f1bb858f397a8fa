"""Committers that all believe they hold the lock, in every order of their requests that Hypothesis thinks of.

Nothing that was acknowledged is lost, readers never see half a version, no meta names a missing shard, and no number of
a commit is used twice.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable

from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import Conflict
from bayou.layout.keys import Keyspace
from bayou.remotes import Changeset, Commit, Format
from bayou.testing.legacy import LegacyWriter, legacy_view
from bayou.testing.machines import Machine, change, entry_of, legacy_entry, put_objects
from bayou.testing.memory import MemoryStore
from bayou.testing.turns import Turns

SOLO = Keyspace()
META = "_index/_meta.json"
MONOLITH = ".datastore-index.json"


def version(model: str, number: int) -> dict[str, bytes]:
    folder = f"data/t/s/{model}/state/{number}"
    return {f"{folder}/raw": f"{model} {number}".encode(), f"{folder}/metadata.yaml": f"version: {number}".encode()}


START = version("a", 1) | version("b", 1) | {"reports/odd.md": b"odd", "audit/d.jsonl": b"1"}


BUCKETS: dict[Format, MemoryStore] = {}


async def bucket(format_: Format) -> MemoryStore:
    if format_ not in BUCKETS:
        BUCKETS[format_] = MemoryStore()
        machine = Machine(BUCKETS[format_])
        await machine.push(START)
        if format_ is Format.SHARDED:
            await machine.remote.migrate(lambda: True)
    store = MemoryStore()
    store.objects.update(BUCKETS[format_].objects)
    return store


class Watch:
    """What must hold after each single request."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.numbers: list[int] = []
        self._meta: bytes | None = None

    async def __call__(self) -> None:
        if META not in self._store.objects:
            return
        content = self._store.objects[META][0]
        meta = json.loads(content)
        for name in meta["partitions"]:
            assert f"_index/{name}.json" in self._store.objects
        if content != self._meta and meta["version"] == 2:
            self.numbers.append(meta["commitSeq"])
        self._meta = content
        await see_whole_versions(self._store)


async def see_whole_versions(store: MemoryStore) -> dict[str, object]:
    seen = await Machine(store).view()
    for path in seen:
        if path.endswith("/raw"):
            assert path.replace("/raw", "/metadata.yaml") in seen
        if path.endswith("/metadata.yaml"):
            assert path.replace("/metadata.yaml", "/raw") in seen
    return dict(seen)


def order_of(order: list[int]) -> Callable[[list[str]], str]:
    """Who goes next, by the numbers that were drawn; then one after the other."""
    numbers = iter(order)
    return lambda ready: ready[next(numbers, 0) % len(ready)]


formats = st.sampled_from([Format.DUAL, Format.SHARDED])
orders = st.lists(st.integers(0, 2), max_size=60)


def run(work: Awaitable[None]) -> None:
    async def main() -> None:
        await work

    asyncio.run(main())


@given(formats, orders)
def test_of_racing_commits_all_that_were_acknowledged_are_there(format_: Format, order: list[int]) -> None:
    run(race(format_, order))


async def race(format_: Format, order: list[int]) -> None:
    store = await bucket(format_)
    listed = await Machine(store).view()
    turns, watch = Turns(store), Watch(store)
    wanted = {
        # The same part, another part, the same file: the last of them can be won by one only.
        "x": [version("a", 2), {"audit/d.jsonl": b"x"}],
        "y": [version("a", 3), version("c", 1), {"audit/d.jsonl": b"y"}],
        "z": [version("d", 1), {"reports/z.md": b"z"}],
    }
    writers = {}
    for name, files in wanted.items():
        for one in files:
            await put_objects(store, one)
        machine = Machine(turns.store(name))
        writers[name] = machine.commit(Changeset("", tuple(change(listed, one) for one in files)))
    results = await turns.play(writers, order_of(order), watch)
    seen = await see_whole_versions(store)
    winners = 0
    for name, done in results.items():
        assert isinstance(done, Commit), done
        for agreed in done.committed:
            assert {path: entry.sha256 for path, entry in agreed.after.items()}.items() <= seen.items(), name
            winners += "audit/d.jsonl" in agreed.after
        assert len(done.committed) + len(done.contested) == len(wanted[name])
        assert all("audit/d.jsonl" in contest.change.after for contest in done.contested)
    assert winners == 1
    assert {path: entry["sha256"] for path, entry in (await legacy_view(store, SOLO)).items()} == seen
    assert len(set(watch.numbers)) == len(watch.numbers)
    assert watch.numbers == sorted(watch.numbers)


@given(orders)
def test_of_racing_first_commits_all_that_were_acknowledged_are_there(order: list[int]) -> None:
    """W-17: nobody publishes over an index that was written meanwhile."""

    async def work() -> None:
        store = MemoryStore()
        await put_objects(store, START)
        turns = Turns(store)
        writers = {}
        for name in ("x", "y"):
            await put_objects(store, version(name, 1))
            writers[name] = Machine(turns.store(name)).commit(Changeset("", (change({}, {f"new-{name}": b"n"}),)))
        await put_objects(store, {"new-x": b"n", "new-y": b"n"})
        results = await turns.play(writers, order_of(order), Watch(store))
        assert all(isinstance(done, Commit) for done in results.values()), results
        expected = START.keys() | version("x", 1).keys() | version("y", 1).keys() | {"new-x", "new-y"}
        assert (await Machine(store).view()).keys() == expected
        assert (await legacy_view(store, SOLO)).keys() == expected

    run(work())


@given(formats, orders, st.sampled_from(["migrate", "rebuild"]))
def test_a_migration_or_a_rebuild_among_commits_loses_none_of_them(
    format_: Format, order: list[int], other: str
) -> None:
    async def work() -> None:
        store = await bucket(format_)
        turns, watch = Turns(store), Watch(store)
        for files in (version("a", 2), version("c", 1), version("d", 1)):
            await put_objects(store, files)
        machine = Machine(turns.store("other"))
        task = machine.remote.migrate if other == "migrate" else machine.remote.rebuild
        writers: dict[str, Awaitable[object]] = {
            "other": task(lambda: True),
            "x": Machine(turns.store("x")).commit(Changeset("", (change({}, version("a", 2)),))),
            "y": Machine(turns.store("y")).commit(
                Changeset("", (change({}, version("c", 1)), change({}, version("d", 1))))
            ),
        }
        results = await turns.play(writers, order_of(order), watch)
        seen = await see_whole_versions(store)
        for done in results.values():
            assert not isinstance(done, BaseException) or isinstance(done, Conflict), done
            for one in done.committed if isinstance(done, Commit) else ():
                assert one.after.keys() <= seen.keys()
        assert START.keys() <= seen.keys()
        assert (await legacy_view(store, SOLO)).keys() == seen.keys()
        assert watch.numbers == sorted(set(watch.numbers))

    run(work())


@given(formats, orders, st.sampled_from(["commit", "commit_to_the_monolith_alone"]))
def test_what_an_existing_client_overwrote_is_found_missing_and_taken_again(
    format_: Format, order: list[int], how: str
) -> None:
    """An existing client that lost its lock writes over what was committed meanwhile. Nobody can prevent that; but who
    knows what he had committed sees that it is gone, and existing clients are not broken by the mixture.
    """

    async def work() -> None:
        store = await bucket(format_)
        turns = Turns(store)
        await put_objects(store, version("a", 2) | version("a", 3) | version("c", 1))
        ours = (change({}, version("a", 2)), change({}, version("c", 1)))
        legacy = LegacyWriter(turns.store("legacy"), SOLO)
        machine = Machine(turns.store("x"))
        theirs = {path: legacy_entry(path, body) for path, body in version("a", 3).items()}
        writers: dict[str, Awaitable[object]] = {
            "x": machine.commit(Changeset("", ours)),
            "legacy": getattr(legacy, how)(theirs),
        }

        async def nothing() -> None:
            await legacy_view(store, SOLO)

        results = await turns.play(writers, order_of(order), nothing)
        assert isinstance(results["x"], Commit), results
        assert results["legacy"] is None

        again = Machine(store)
        listed = await again.view()
        lost = tuple(
            change(listed, files) for files in (version("a", 2), version("c", 1)) if not files.keys() <= listed.keys()
        )
        assert not (await again.commit(Changeset("", lost))).contested
        expected = {
            path: entry_of("", body).sha256 for path, body in (START | version("a", 2) | version("c", 1)).items()
        }
        for seen in (await again.view(), await Machine(store).view()):
            assert expected.items() <= seen.items()
        entries = {path: entry["sha256"] for path, entry in (await legacy_view(store, SOLO)).items()}
        assert entries == await Machine(store).view()

    run(work())
