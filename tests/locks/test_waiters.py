"""Who waits is shown to those who look, and that costs nobody his lock."""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bayou.domain.models import Model
from bayou.layout.keys import Keyspace
from bayou.locks import FileCells, LockBusy, Locks, StoreCells
from bayou.locks.inspection import status
from bayou.locks.leases import Leases
from bayou.locks.patience import Patience
from bayou.locks.waiters import Presence, clear, waiters
from bayou.storage import Record, Store, Tally
from bayou.testing import clock
from bayou.testing.faults import Fault, Faulty
from bayou.testing.memory import MemoryStore
from bayou.wire import waiter
from bayou.wire.times import to_text
from bayou.wire.waiter import WaiterNote

Machine = Callable[..., Leases]
KEYS = Keyspace("team")
LOCK = KEYS.global_lock


@contextmanager
def patient(leases: Leases, seconds: float) -> Iterator[Patience]:
    presence = Presence(leases.cells, KEYS, leases.who, clock.now)
    try:
        yield Patience(seconds, clock=clock.now, presence=presence)
    finally:
        presence.leave()


async def take(leases: Leases, seconds: float) -> None:
    with patient(leases, seconds) as patience:
        lease = await leases.take(LOCK, patience)
    assert lease is not None
    await leases.drop(lease)


async def test_who_has_waited_for_some_seconds_is_shown_until_he_is_through(machine: Machine, store: Store) -> None:
    holder, cells = machine(), StoreCells(store)
    held = await holder.take(LOCK, Patience(0))
    assert held is not None
    waiting = asyncio.create_task(take(machine(name="runner-7", pid=4121), 300))
    await asyncio.sleep(2.5)
    assert await waiters(cells, KEYS) == []
    await asyncio.sleep(2)
    (overall,) = await status(cells, KEYS)
    (one,) = overall.waiters
    assert (one.lock_key, one.holder, one.hostname, one.pid) == (LOCK, "me@runner-7", "runner-7", 4121)
    assert 3 <= one.seconds < 5
    await asyncio.sleep(70)
    (one,) = await waiters(cells, KEYS)  # brought up to date meanwhile, still one
    assert one.seconds > 60
    await holder.drop(held)
    await waiting
    await asyncio.sleep(1)
    assert await waiters(cells, KEYS) == []


async def test_who_gives_up_or_is_stopped_is_shown_no_more(machine: Machine, store: Store) -> None:
    held = await machine().take(LOCK, Patience(0))
    assert held is not None
    first, second = (asyncio.create_task(take(machine(), seconds)) for seconds in (10, 100))
    await asyncio.sleep(8)
    assert len(await waiters(StoreCells(store), KEYS)) == 2
    with pytest.raises(LockBusy):
        await first
    second.cancel()
    await asyncio.sleep(1)
    assert await waiters(StoreCells(store), KEYS) == []


async def test_a_wait_costs_two_requests_a_minute_more(machine: Machine, store: Store) -> None:
    held = await machine().take(LOCK, Patience(0))
    assert held is not None
    tally = Tally(log=[])
    waiting = asyncio.create_task(take(machine(StoreCells(Record(store, tally))), 300))
    await asyncio.sleep(120)
    waiting.cancel()
    assert tally.log is not None
    assert [request.verb for request in tally.log if "waiting" in request.key] == ["put", "delete", "put"]


async def test_notes_that_cannot_be_left_or_taken_away_keep_nobody_from_his_lock(
    machine: Machine, store: Store
) -> None:
    holder = machine()
    held = await holder.take(LOCK, Patience(0))
    assert held is not None
    deaf = Faulty(store, lambda request: Fault.HANG_BEFORE if "waiting" in request.key else None)
    waiting = asyncio.create_task(take(machine(StoreCells(deaf)), 60))
    await asyncio.sleep(10)
    await holder.drop(held)
    freed = clock.now()
    await waiting
    assert clock.now() - freed < 1


async def test_what_is_old_or_cannot_be_read_says_nothing(store: Store) -> None:
    def note(minutes: int) -> bytes:
        at = to_text(time.time_ns() - minutes * 60 * 10**9)
        return waiter.encode(WaiterNote(LOCK, "me@here", "here", 7, at, at))

    for name, body in {"new": note(1), "old": note(5), "damaged": b"{"}.items():
        await store.put(KEYS.control(f"bayou/waiting/{name}.json"), body)
    (one,) = await waiters(StoreCells(store), KEYS)
    assert 59 < one.seconds < 120
    assert await clear(StoreCells(store), KEYS) == 2
    assert [kept.pid for kept in await waiters(StoreCells(store), KEYS)] == [7]
    assert await clear(StoreCells(store), KEYS) == 0


async def test_no_existing_client_takes_a_note_for_a_lock(machine: Machine, store: Store) -> None:
    held = await machine().take(LOCK, Patience(0))
    assert held is not None
    waiting = asyncio.create_task(take(machine(), 60))
    await asyncio.sleep(5)
    keys = [meta.key async for page in store.list() for meta in page]
    waiting.cancel()
    (note,) = set(keys) - {LOCK}
    assert note.startswith("team/_control/")
    assert not note.endswith(".lock")


def test_a_free_lock_costs_three_requests_and_not_one_more() -> None:
    store, tally = MemoryStore(), Tally()
    with Locks(lambda: StoreCells(Record(store, tally)), KEYS) as locks:
        with locks.commit():  # leaves the note of the registry
            pass
        before = tally.total
        with locks.commit():
            pass
    assert tally.total - before == 3


def test_who_waits_for_a_lock_in_a_folder_is_shown_too(
    tmp_path: Path, shell: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bayou.locks.waiters.PATIENT", 0.1)

    def wait() -> None:
        with Locks(lambda: FileCells(tmp_path), KEYS) as locks, locks.models([shell], timeout=60):
            pass

    waiting = threading.Thread(target=wait)
    with Locks(lambda: FileCells(tmp_path), KEYS) as locks:
        with locks.models([shell]):
            waiting.start()
            while not (shown := locks.status()[0].waiters):
                time.sleep(0.05)
        waiting.join()
        assert [one.pid for one in shown] == [os.getpid()]
        assert not [*tmp_path.glob("team/_control/bayou/waiting/*")]
