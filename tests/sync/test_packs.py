"""Packs spare requests and change nothing else: whatever is wrong with them, the objects are read."""

from collections.abc import Callable, Iterable, Sequence

import pytest

from bayou.errors import Denied
from bayou.remotes import packs
from bayou.storage.port import Request, Wrapper
from bayou.sync import hydrating, installing
from bayou.sync.ends import Ends
from bayou.sync.installing import Delivery, Placed
from bayou.sync.report import Report
from bayou.testing.computers import Computer, metadata, name_of
from bayou.testing.faults import Fault, Faulty, at
from bayou.testing.memory import MemoryStore
from bayou.testing.packs import pack_all
from bayou.tree import Change

Make = Callable[..., Computer]
COUNT = 90
RAWS = [f"{name_of('a' if number % 2 else 'b')}/{number}/raw" for number in range(1, COUNT + 1)]


async def written(computer: Make, *, most: int = 10_000) -> tuple[Computer, list[str]]:
    """A computer that pushed versions of two names, and the packs of them."""
    one = computer("one")
    for number in range(1, COUNT + 1):
        one.write_version(number, f"{number}".encode() * 50, name="a" if number % 2 else "b")
    await one.push()
    return one, await pack_all(one.ends.remote.place, most)


async def hydrated(two: Computer, paths: Iterable[str] | None = None) -> Report:
    report = Report()
    two.asked()
    await hydrating.hydrate(two.ends, list(hydrating.absent(two.journal) if paths is None else paths), report)
    return report


async def test_content_comes_out_of_packs(computer: Make) -> None:
    one, (pack,) = await written(computer)
    two = computer("two", lazy=True)
    await two.pull()
    report = await hydrated(two)
    assert not report.failed
    assert sorted(report.pulled) == sorted(RAWS)
    assert report.amount.files_done == COUNT
    assert report.amount.bytes_done == sum(len(body) for path, body in one.files().items() if path in RAWS)
    assert two.asked() == [f"get {packs.catalogue_key(two.ends.remote.place.keys)}", *[f"get {pack}"] * 2]
    assert two.files() == one.files()
    assert not two.journal.base.has_absent()
    assert not (await two.sync()).pushed


async def test_a_first_pull_takes_versions_out_of_packs_and_the_rest_from_objects(computer: Make) -> None:
    one, _ = await written(computer, most=100)
    one.write("logs/some", b"log")
    await one.push()
    two = computer("two")
    report = await two.pull()
    assert not report.failed
    assert len(report.pulled) == len(one.files())
    assert two.files() == one.files()
    asked = two.asked()
    assert "get logs/some" in asked
    assert not [request for request in asked if request.startswith("get data/")]
    two.write_version(COUNT + 1, b"more", name="a")
    assert len((await two.push()).pushed) == 3
    assert len((await one.pull()).pulled) == 3


async def test_what_comes_out_of_packs_is_installed_together(computer: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = computer("one"), computer("two", lazy=True)
    folder = name_of("many")
    with one.tree.change(folder) as change:
        for number in range(1, 501):
            change.claim(f"{folder}/{number}")
            change.write(f"{folder}/{number}/raw", [b"%d" % number])
            change.replace(f"{folder}/{number}/metadata.yaml", metadata(number, b"%d" % number))
    await one.push()
    await pack_all(one.ends.remote.place)
    await two.pull()
    batches: list[int] = []
    install = installing._install

    def noting(ends: Ends, change: Change, batch: Sequence[Delivery]) -> list[Placed]:
        batches.append(len(batch))
        return install(ends, change, batch)

    monkeypatch.setattr(installing, "_install", noting)
    assert len((await hydrated(two)).pulled) == sum(batches) == 500
    assert len(batches) < 50


async def test_for_a_few_files_nobody_asks_whether_there_are_packs(computer: Make) -> None:
    _, keys = await written(computer)
    two = computer("two", lazy=True)
    await two.pull()
    await hydrated(two, RAWS[: packs.MANY - 1])
    assert sorted(two.asked()) == sorted(f"get {path}" for path in RAWS[: packs.MANY - 1])
    assert keys


async def test_where_there_are_none_it_costs_one_request(computer: Make, store: MemoryStore) -> None:
    _, keys = await written(computer)
    two = computer("two", lazy=True)
    await two.pull()
    catalogue = packs.catalogue_key(two.ends.remote.place.keys)
    for key in (*keys, catalogue):
        await store.delete(key)
    assert not (await hydrated(two)).failed
    assert sorted(two.asked()) == sorted(f"get {path}" for path in (*RAWS, catalogue))


def change_head(body: bytes) -> bytes:
    """The first content is said to be so long that nothing is where it is said to be."""
    return body[:44] + b"\xff\xff\xff\x7f" + body[48:]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda body: body[: len(body) // 2],
    "empty": lambda _: b"",
    "not a pack": lambda body: b"?" + body[1:],
    "head": change_head,
    "bodies": lambda body: body[:-3000] + b"?" * 3000,
}


@pytest.mark.parametrize("damage", [*DAMAGE, "missing", "catalogue"])
async def test_damage_costs_ordinary_requests(computer: Make, store: MemoryStore, damage: str) -> None:
    one, (pack,) = await written(computer)
    if damage == "missing":
        await store.delete(pack)
    elif damage == "catalogue":
        await store.put(packs.catalogue_key(one.ends.remote.place.keys), b"{")
    else:
        await store.put(pack, DAMAGE[damage](store.objects[pack][0]))
    two, three = computer("two", lazy=True), computer("three")
    await two.pull()
    assert not (await hydrated(two)).failed
    assert any(request == f"get {RAWS[-1]}" for request in two.asked())
    await three.pull()
    assert two.files() == three.files() == one.files()


async def test_packs_that_may_not_be_read_cost_ordinary_requests(computer: Make, store: MemoryStore) -> None:
    class NoPacks(Wrapper):
        async def around(self, request: Request, call):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
            if packs.FOLDER in request.key:
                raise Denied("not yours")
            return await call()

    one, _ = await written(computer)
    two = Computer(one.journal.place.cache.parent / "two", NoPacks(store))
    assert not (await two.pull()).failed
    assert two.files() == one.files()
    two.close()


async def test_what_fails_in_the_middle_of_a_pack_is_fetched_by_itself(computer: Make, store: MemoryStore) -> None:
    one, _ = await written(computer)
    two = computer("two", lazy=True)
    await two.pull()
    two.close()
    broken = Faulty(store, at(3, Fault.FAIL_BEFORE, verb="get"))
    again = Computer(one.journal.place.cache.parent / "two", broken, lazy=True)
    assert not (await hydrated(again)).failed
    assert again.files() == one.files()
    again.close()


async def test_what_was_changed_or_deleted_here_meanwhile_stays_so(computer: Make) -> None:
    one, _ = await written(computer)
    two = computer("two", lazy=True)
    await two.pull()
    gone = int(RAWS[0].split("/")[-2])
    two.delete_version(gone, name="a")
    (two.journal.place.cache / RAWS[3]).write_bytes(b"somebody's")
    report = await hydrated(two)
    assert RAWS[0] not in report.pulled
    assert RAWS[0] not in two.files()
    assert two.files()[RAWS[3]] == b"somebody's"
    others = {path for path in RAWS if path not in (RAWS[0], RAWS[3])}
    assert {path: two.files()[path] for path in others} == {path: one.files()[path] for path in others}
