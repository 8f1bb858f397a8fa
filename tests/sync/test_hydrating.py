"""Content that is not here: fetched when it is asked for, verified, and gone on with by whoever comes next."""

import errno
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.domain.scopes import scope_of
from bayou.errors import ErrorKind, Unavailable
from bayou.storage.filesystem import FilesystemStore
from bayou.sync import hydrating
from bayou.sync.report import Report
from bayou.testing.computers import TYPE, Computer, name_of
from bayou.testing.faults import Fault, Faulty, at
from bayou.testing.memory import MemoryStore

Make = Callable[..., Computer]
RAW = f"{name_of()}/1/raw"
OTHER = "7d5f0a52-5a0f-4a6e-9d0c-6f6f9b1c2d3e"


async def lazy_copy(computer: Make) -> tuple[Computer, Computer]:
    """One computer that wrote three versions of two models, and one that has only their metadata."""
    one, two = computer("one"), computer("two", lazy=True)
    one.write_version(1, b"1")
    one.write_version(2, b"2")
    one.write_version(1, b"other", model=OTHER)
    await one.push()
    await two.pull()
    two.asked()
    return one, two


async def hydrate(computer: Computer, paths: list[str]) -> Report:
    report = Report()
    await hydrating.hydrate(computer.ends, paths, report)
    return report


async def test_one_file_costs_one_request(computer: Make) -> None:
    _, two = await lazy_copy(computer)
    report = await hydrate(two, [RAW])
    assert report.pulled == [RAW]
    assert two.files()[RAW] == b"1"
    assert two.asked() == [f"get {RAW}"]
    assert hydrating.absent(two.journal) == sorted([f"{name_of()}/2/raw", f"{name_of(model=OTHER)}/1/raw"])
    assert not (await hydrate(two, [RAW])).pulled
    assert not two.asked()


async def test_a_scope_and_then_the_rest(computer: Make) -> None:
    one, two = await lazy_copy(computer)
    model = scope_of([Model(ModelType(TYPE), OTHER)])
    report = await hydrate(two, hydrating.absent(two.journal, model))
    assert report.pulled == [f"{name_of(model=OTHER)}/1/raw"]
    await hydrate(two, hydrating.absent(two.journal))
    assert two.files() == one.files()
    assert not two.journal.base.has_absent()
    assert (await two.push()).pushed == []


async def test_another_process_knows_what_is_not_here_and_goes_on_with_what_was_wanted(
    computer: Make, tmp_path: Path, store: MemoryStore
) -> None:
    _, two = await lazy_copy(computer)
    paths = hydrating.absent(two.journal)
    two.close()
    broken = Computer(tmp_path / "two", Faulty(store, at(1, Fault.FAIL_BEFORE, verb="get")), lazy=True, pulls=1)
    with pytest.raises(Unavailable):
        await hydrate(broken, paths)
    broken.close()
    again = computer("two", lazy=True)
    assert hydrating.absent(again.journal, wanted=True) == paths
    report = await hydrate(again, hydrating.absent(again.journal, wanted=True))
    assert sorted(report.pulled) == paths


async def test_what_fails_is_named_and_holds_nothing_up(computer: Make, store: MemoryStore) -> None:
    _, two = await lazy_copy(computer)
    await store.delete(RAW)
    await store.put(f"{name_of()}/2/raw", b"another")
    report = await hydrate(two, hydrating.absent(two.journal))
    assert report.pulled == [f"{name_of(model=OTHER)}/1/raw"]
    assert report.failed[RAW] == "the index lists it, and there is no such object"
    assert "is not what was agreed on" in report.failed[f"{name_of()}/2/raw"]
    assert not {RAW, f"{name_of()}/2/raw"} & two.files().keys()
    temporary = two.journal.place.cache / "_control/tmp"
    assert not temporary.exists() or not list(temporary.iterdir())


async def test_a_large_file_goes_through_the_disk(computer: Make) -> None:
    one, two = computer("one"), computer("two", lazy=True)
    body = bytes(range(256)) * 40_000
    one.write_version(1, body)
    await one.push()
    await two.pull()
    assert (await hydrate(two, [RAW])).failed == {}
    assert two.files()[RAW] == body
    assert not list((two.journal.place.cache / "_control/tmp").iterdir())


async def test_a_version_that_was_deleted_meanwhile_stays_away(computer: Make) -> None:
    _, two = await lazy_copy(computer)
    two.delete_version(1)
    report = await hydrate(two, [RAW])
    assert RAW not in two.files()
    assert not report.pulled
    assert RAW in (await two.push()).deleted_there


async def test_content_that_somebody_removed_by_hand_comes_back_when_it_is_asked_for(computer: Make) -> None:
    one, _ = await lazy_copy(computer)
    (one.journal.place.cache / RAW).unlink()
    assert (await hydrate(one, [RAW])).pulled == [RAW]
    assert one.files()[RAW] == b"1"


async def test_a_full_disk_is_told_as_one_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large file comes chunk by chunk, and the disk may be full before any of them."""
    (tmp_path / "bucket").mkdir()
    names = ("one", "two", "lazy")
    computers = [Computer(tmp_path / n, FilesystemStore(tmp_path / "bucket"), lazy=n == "lazy") for n in names]
    one, two, lazy = computers
    one.write_version(1, bytes(9 << 20))  # more than any store gives in one piece
    one.write("logs/a", b"log")
    await one.push()
    await lazy.pull()

    class Full(io.FileIO):
        def write(self, _chunk: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    opened = Path.open
    with monkeypatch.context() as patch:
        patch.setattr(
            Path,
            "open",
            lambda path, mode="r", *rest, **more: (
                Full(path, mode) if mode == "xb" else opened(path, mode, *rest, **more)
            ),
        )
        report = await two.pull()
        assert "logs/a" in report.pulled
        assert "No space left" in report.failed[f"{name_of()}/1"]
        with pytest.raises(Unavailable) as caught:
            await hydrate(lazy, [RAW])
        assert caught.value.kind is ErrorKind.STORE_FULL
    for each in (two, lazy):
        assert not [file for file in (each.journal.place.control / "tmp").rglob("*") if file.is_file()]
    assert (await two.pull()).is_complete
    assert not (await hydrate(lazy, [RAW])).failed
    assert two.files() == lazy.files() == one.files()
    for each in computers:
        each.close()
