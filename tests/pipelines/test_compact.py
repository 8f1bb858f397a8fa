"""compact: packs hold what is listed and follow what changes, and nobody is worse off for what is wrong with them."""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from bayou.pipelines import packing
from bayou.pipelines.jobs import compact
from bayou.pipelines.jobs.context import Context
from bayou.pipelines.reach import place_of, reach_of
from bayou.remotes import Format, packs
from bayou.storage.filesystem import FilesystemStore
from bayou.testing.lakes import fill, lake, model, version
from bayou.testing.machines import Machine
from bayou.wire.packs import Catalogue, head_size

FORMATS = [Format.DUAL, Format.SHARDED]
FILES = lake(models=12, versions=5)
LATER = datetime.now(UTC) + timedelta(days=2)


def put(folder: Path, files: Mapping[str, bytes], format_: Format = Format.DUAL, namespace: str = "") -> None:
    async def work() -> None:
        async with FilesystemStore(folder) as store:
            await fill(store, files, format_, namespace)

    asyncio.run(work())


def change(folder: Path, files: Mapping[str, bytes], deleted: Iterable[str] = ()) -> None:
    async def work() -> None:
        async with FilesystemStore(folder) as store:
            await Machine(store).push(files, deleted)

    asyncio.run(work())


def run(spark: SparkSession, folder: Path, namespaces: str = "", **told: Any) -> Any:  # noqa: ANN401 - a report
    now = told.pop("now", None)
    context = Context(spark, reach_of({"url": str(folder), "namespaces": namespaces}), say=lambda _: None, **told)
    return compact.run(context, now=now)


def catalogue(folder: Path, namespace: str = "") -> Catalogue:
    async def work() -> Catalogue:
        async with FilesystemStore(folder) as store:
            return (await packs.catalogue(place_of(store, namespace)))[0]

    return asyncio.run(work())


def packed(folder: Path, files: Mapping[str, bytes], namespace: str = "") -> dict[str, bytes]:
    """What of these files a reader finds in packs."""

    async def work() -> dict[str, bytes]:
        async with FilesystemStore(folder) as store:
            place = place_of(store, namespace)
            listed = await Machine(store, namespace).view()
            wanted = {path: listed[path] for path in files}
            found = await packs.packed(place, (await packs.catalogue(place))[0].packs, wanted)
            bodies = {path: await found.take(listed[path]) for path in sorted(files)}
            return {path: body for path, body in bodies.items() if body is not None}

    return asyncio.run(work())


def objects(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.pack")}


def versions(files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {path: body for path, body in files.items() if packs.is_packable(path)}


@pytest.mark.parametrize("format_", FORMATS)
def test_all_small_contents_are_packed_once(spark: SparkSession, tmp_path: Path, format_: Format) -> None:
    put(tmp_path, FILES, format_)
    before = {path: (tmp_path / path).read_bytes() for path in FILES}
    dry = run(spark, tmp_path, dry_run=True)
    assert not objects(tmp_path)
    done = run(spark, tmp_path)
    assert dry.figures.items() <= done.figures.items()
    assert packed(tmp_path, versions(FILES)) == versions(FILES)
    assert not packed(tmp_path, {path: body for path, body in FILES.items() if path not in versions(FILES)})
    assert {path: (tmp_path / path).read_bytes() for path in FILES} == before
    again = run(spark, tmp_path)
    assert (again.figures["contents"], again.figures["packsMade"]) == (0, 0)
    assert len(objects(tmp_path)) == done.figures["packsMade"] == 1


def test_one_model_with_most_of_all_is_no_trouble_and_what_is_large_stays_outside(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compact, "_ENTRIES", 100)
    files = FILES | version(model(2), "large", 1, b"x" * (packs.LARGEST + 1)) | version(model(2), "empty", 1, b"")
    for number in range(200):
        files |= version(model(1), f"much-{number}", 1, {"n": number})
    put(tmp_path, files, Format.SHARDED)
    assert run(spark, tmp_path).figures["packsMade"] == 1
    small = {path: body for path, body in versions(files).items() if 0 < len(body) <= packs.LARGEST}
    assert len(small) == len(versions(files)) - 2
    assert packed(tmp_path, versions(files)) == small


def test_packs_are_cut_to_size_and_made_twice_they_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, FILES)
    monkeypatch.setattr(packing, "FULL", 8_000)
    context = Context(None, reach_of({"url": str(tmp_path)}), say=lambda _: None)  # type: ignore[arg-type]
    _, (lot,) = context.on_driver(partial(compact._divided, context, ""))
    made = [row for rows in packing.fill(lot) for row in rows]
    assert sum(row["count"] for row in made) == len(set(versions(FILES).values()))
    assert all(row["size"] <= 8_000 + head_size(row["count"]) for row in made)
    assert [row for rows in packing.fill(lot) for row in rows] == made
    assert len(objects(tmp_path)) == len(made) > 3


def test_only_what_is_new_is_read_and_a_few_wait(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, FILES)
    run(spark, tmp_path)
    (first,) = catalogue(tmp_path).packs
    few = version(model(3), "new", 1, {"few": 1})
    change(tmp_path, few)
    assert run(spark, tmp_path).figures["contents"] == 0
    more = {path: body for n in range(40) for path, body in version(model(n), f"more-{n}", 1, {"n": n}).items()}
    change(tmp_path, more)
    for path in versions(FILES):
        (tmp_path / path).write_bytes(b"nobody looks here again")
    done = run(spark, tmp_path)
    assert done.figures["contents"] == 82
    assert first in catalogue(tmp_path).packs
    assert packed(tmp_path, versions(FILES | few | more)) == versions(FILES | few | more)


def test_what_is_mostly_dead_is_given_up_and_goes_after_a_grace(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, FILES)
    run(spark, tmp_path)
    before = objects(tmp_path)
    deleted = [path for path in FILES if "/id-1" not in path]
    change(tmp_path, {}, deleted)
    left = {path: body for path, body in versions(FILES).items() if path not in deleted}
    for path in left:
        (tmp_path / path).write_bytes(b"it is taken over out of the pack")
    done = run(spark, tmp_path)
    assert done.figures["givenUp"] == 1
    assert before < objects(tmp_path)
    (now,) = catalogue(tmp_path).packs
    assert now.count == len(set(left.values()))
    assert packed(tmp_path, left) == left
    assert run(spark, tmp_path).figures["packsRemoved"] == 0
    assert run(spark, tmp_path, now=LATER).figures["packsRemoved"] == 1
    assert not before & objects(tmp_path)
    assert not catalogue(tmp_path).retired


def test_many_small_packs_become_one(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compact, "_FEW_SMALL", 1)
    put(tmp_path, FILES)
    run(spark, tmp_path)
    more = {path: body for n in range(40) for path, body in version(model(n), f"more-{n}", 1, {"n": n}).items()}
    change(tmp_path, more)
    run(spark, tmp_path)
    assert len(catalogue(tmp_path).packs) == 2
    run(spark, tmp_path)
    assert len(catalogue(tmp_path).packs) == 1
    assert packed(tmp_path, versions(FILES | more)) == versions(FILES | more)
    assert run(spark, tmp_path).figures["packsMade"] == 0


def test_each_namespace_has_packs_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    for namespace in ("infra", "web"):
        put(tmp_path, FILES, namespace=namespace)
    run(spark, tmp_path, "infra")
    assert {path.partition("/")[0] for path in objects(tmp_path)} == {"infra"}
    assert packed(tmp_path, versions(FILES), "infra") == versions(FILES)
    assert not packed(tmp_path, versions(FILES), "web")


@pytest.mark.parametrize("damage", ["missing", "cut", "head", "body", "catalogue"])
def test_what_is_wrong_with_a_pack_costs_its_use_alone_and_is_put_right(
    spark: SparkSession, tmp_path: Path, damage: str
) -> None:
    put(tmp_path, FILES)
    run(spark, tmp_path)
    (name,) = objects(tmp_path)
    file, held = tmp_path / name, (tmp_path / name).read_bytes()
    match damage:
        case "missing":
            file.unlink()
        case "cut":
            file.write_bytes(held[: len(held) // 2])
        case "head":
            file.write_bytes(b"?" + held[1:])
        case "body":
            file.write_bytes(held[:-1] + b"?")
        case _:
            (file.parent / "catalogue.json").write_bytes(b"{")
    found = packed(tmp_path, versions(FILES))
    assert found.items() <= versions(FILES).items()
    assert len(found) < len(versions(FILES))
    run(spark, tmp_path)
    if damage in ("missing", "head", "catalogue"):
        assert packed(tmp_path, versions(FILES)) == versions(FILES)


def test_what_cannot_be_read_as_it_is_listed_is_left_out(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, FILES)
    rotten, gone, *_ = versions(FILES)
    (tmp_path / rotten).write_bytes(b"rotten")
    (tmp_path / gone).unlink()
    assert run(spark, tmp_path).figures["unusable"] == 2
    assert packed(tmp_path, versions(FILES)).keys() == versions(FILES).keys() - {rotten, gone}


def test_of_nothing_and_of_little_no_pack_is_made(spark: SparkSession, tmp_path: Path) -> None:
    assert run(spark, tmp_path).figures["packsMade"] == 0
    put(tmp_path, lake(models=2))
    assert run(spark, tmp_path).figures["packsMade"] == 0
    assert not objects(tmp_path)


def test_two_that_run_at_once_both_count(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, FILES)
    others: list[Any] = []

    def meanwhile(what: str) -> None:
        if what.startswith("committing") and not others:
            others.append(None)
            more = {path: body for n in range(40) for path, body in version(model(n), "more", 1, {"n": n}).items()}
            change(tmp_path, more)
            others.append(run(spark, tmp_path))

    context = Context(spark, reach_of({"url": str(tmp_path)}), say=meanwhile)
    mine = compact.run(context)
    assert mine.figures["packsMade"] == others[1].figures["packsMade"] == 1
    assert {pack.name for pack in catalogue(tmp_path).packs} == {Path(path).stem for path in objects(tmp_path)}
    assert len(objects(tmp_path)) == 2
