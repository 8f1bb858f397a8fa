"""Letting content go: only what the other side has, least recently used first, and never as a deletion."""

import os
from collections.abc import Callable

from bayou.sync import evicting, hydrating
from bayou.sync.evicting import Evicted, evict
from bayou.sync.eviction import evictable
from bayou.sync.report import Report
from bayou.testing.computers import Computer, name_of
from bayou.testing.existingclient import ExistingClient

Make = Callable[..., Computer]
FIRST, SECOND = f"{name_of()}/1/raw", f"{name_of()}/2/raw"


async def synced(computer: Make) -> Computer:
    one = computer("one", lazy=True)
    one.write_version(1, b"1" * 1000)
    one.write_version(2, b"2" * 1000)
    await one.push()
    # Read last when it was written last, whatever the disk's clock says.
    for seconds, path in enumerate((FIRST, SECOND), start=2_000_000_000):
        os.utime(one.ends.file(path), (seconds, one.ends.file(path).stat().st_mtime))
    await one.push(everything=True)
    return one


async def test_what_was_read_least_recently_goes_until_the_rest_fits(computer: Make) -> None:
    one = await synced(computer)
    assert evict(one.journal, one.ends.installs, 1000) == Evicted(1, 1000)
    assert one.files().keys() & {FIRST, SECOND} == {SECOND}
    assert evict(one.journal, one.ends.installs, 1000) == Evicted()


async def test_what_went_is_no_deletion_and_comes_back_only_when_it_is_asked_for(computer: Make) -> None:
    one, two = await synced(computer), computer("two")
    await two.pull()
    evict(one.journal, one.ends.installs, 0)
    report = await one.sync(everything=True)
    assert not report.deleted_there
    assert not report.pulled
    assert not hydrating.absent(one.journal, wanted=True)
    assert hydrating.absent(one.journal) == [FIRST, SECOND]
    await two.sync()
    assert {FIRST, SECOND} <= two.files().keys()
    await hydrating.hydrate(one.ends, [FIRST], Report())
    assert one.files()[FIRST] == b"1" * 1000


async def test_what_was_not_pushed_stays(computer: Make) -> None:
    one = await synced(computer)
    one.write_version(3, b"3" * 1000)
    evict(one.journal, one.ends.installs, 0)
    assert one.files().keys() & {FIRST, SECOND, f"{name_of()}/3/raw"} == {f"{name_of()}/3/raw"}


async def test_what_changed_since_it_was_chosen_stays(computer: Make) -> None:
    one = await synced(computer)
    chosen = evictable(one.journal, 0)
    one.ends.file(FIRST).write_bytes(b"changed")
    gone = evicting._remove(one.journal, one.ends.installs, chosen)
    assert [each.path for each in gone] == [SECOND]
    assert one.files()[FIRST] == b"changed"
    assert hydrating.absent(one.journal) == [SECOND]


async def test_existing_clients_on_the_cache_are_told_some_time_before(computer: Make) -> None:
    one = await synced(computer)
    ExistingClient(one.journal.place.cache, {}).mark_dirty("logs/theirs")
    one.journal.snapshot()
    assert evict(one.journal, one.ends.installs, 0).waits
    assert {FIRST, SECOND} <= one.files().keys()


async def test_the_size_of_a_cache(computer: Make) -> None:
    one = await synced(computer)
    before = evicting.size(one.journal)
    assert (before.evictable_files, before.evictable_bytes, before.absent) == (2, 2000, 0)
    evict(one.journal, one.ends.installs, 1000)
    after = evicting.size(one.journal)
    assert (after.evictable_files, after.absent) == (1, 1)
    assert (before.files - after.files, before.bytes - after.bytes) == (1, 1000)
