"""Conflicts: both sides are there until somebody decides, and a decision needs no network."""

import os
from collections.abc import Callable

import pytest

from bayou.errors import NotFound
from bayou.sync.deciding import kept_at, take_mine, take_theirs
from bayou.testing.computers import Computer

Make = Callable[..., Computer]


async def conflict(computer: Make, **settings: str) -> tuple[Computer, Computer]:
    one, two = computer("one", **settings), computer("two", **settings)
    one.write("logs/a", b"0")
    await one.push()
    await two.pull()
    one.write("logs/a", b"one")
    two.write("logs/a", b"two")
    await one.sync()
    await two.sync()
    return one, two


@pytest.mark.parametrize("namespace", ["", "infra"])
async def test_ours_takes_the_place_of_theirs_everywhere(computer: Make, namespace: str) -> None:
    one, two = await conflict(computer, namespace=namespace)
    (kept,) = two.journal.reports.conflicts()
    assert kept.path == "logs/a"
    assert kept_at(two.journal, "logs/a").read_bytes() == b"two"
    take_mine(two.journal, two.tree, "logs/a")
    assert two.files() == {"logs/a": b"two"}
    assert two.journal.reports.conflicts() == []
    await two.sync()
    await one.sync()
    assert one.files() == {"logs/a": b"two"}


async def test_theirs_stays_and_ours_is_dropped(computer: Make) -> None:
    one, two = await conflict(computer)
    take_theirs(two.journal, "logs/a")
    assert two.files() == one.files() == {"logs/a": b"one"}
    assert two.journal.reports.conflicts() == []
    assert not kept_at(two.journal, "logs/a").exists()
    assert (await two.sync()).pushed == []


async def test_what_an_earlier_conflict_left_is_there_until_somebody_removes_it(computer: Make) -> None:
    one, two = await conflict(computer)
    for ours in (b"two again", b"two again", b"two at last"):
        two.write("logs/a", ours)
        one.write("logs/a", b"not " + ours + one.files()["logs/a"])
        await one.sync()
        await two.sync()
    kept = kept_at(two.journal, "logs/a")
    assert kept.read_bytes() == b"two at last"
    take_theirs(two.journal, "logs/a")
    assert sorted(file.read_bytes() for file in kept.parent.iterdir()) == [b"two", b"two again"]


async def test_what_is_no_conflict_is_refused(computer: Make) -> None:
    _, two = await conflict(computer)
    with pytest.raises(NotFound, match="no conflict over 'logs/b'"):
        take_mine(two.journal, two.tree, "logs/b")
    os.unlink(kept_at(two.journal, "logs/a"))  # noqa: PTH108 - a Path would be blocking, in name
    with pytest.raises(NotFound, match="is not at"):
        take_mine(two.journal, two.tree, "logs/a")
    take_theirs(two.journal, "logs/a")
